"""Use cases, one class per route: the only modules that know the order of the steps."""

from .adapters import AdapterChange, AdapterList, load, states, unload
from .background_responses import BackgroundResponses
from .cache_report import CacheReport, cache_report, shared_count
from .cache_salts import CacheSalts
from .chat_prompts import ChatPrompts
from .chat_service import ChatService
from .check_service import CheckService, GrammarCheck
from .completion_service import CompletionService
from .conversations import ConversationDeleted, ConversationObject, Conversations
from .explain_service import ExplainService, GrammarExplanation
from .faults import Faults
from .generation_service import AnswerStream, Completion, GenerationService
from .messages_service import MessagesService, TokenCount
from .operation_types import (
    Alive,
    ConstraintModes,
    ConstraintState,
    ContextLength,
    MessagesModel,
    MessagesModelList,
    MetricsText,
    Model,
    ModelList,
    RankState,
    Readiness,
    Version,
    WorkerList,
    WorkerState,
)
from .pages import ItemPage
from .prepared_request import BACKEND_HEADER, TAUGHT_HEADER
from .request_context import RequestContext
from .responses_service import InputTokens, ResponsesService
from .served_models import ModelFacts, NamedModel, ServedModel, ServedModels
from .stored_responses import ResponseDeleted, StoredResponses
from .tokenize_service import DetokenizeResponse, TokenizeResponse, TokenizeService
from .warm_service import GrammarWarmup, WarmService, WarmupResult, totals
