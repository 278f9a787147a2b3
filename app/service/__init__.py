"""Use cases, one class per route: the only modules that know the order of the steps."""

from .cache_report import cache_report, shared_count
from .chat_service import ChatService
from .check_service import CheckService
from .completion_service import CompletionService
from .explain_service import ExplainService
from .faults import Faults
from .generation_service import BACKEND_HEADER, AnswerStream, Completion, GenerationService
from .request_context import RequestContext
from .responses_service import ResponsesService
from .served_models import ServedModel, ServedModels
from .stored_responses import StoredResponses
from .tokenize_service import TokenizeService
from .warm_service import WarmService, WarmupResult, totals
