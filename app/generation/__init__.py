"""The request for a generation, and a worker's chunks as the deltas of its answer."""

from .choice_decoder import ChoiceDecoder, ChoiceDeltas, ChoiceEnd, ChoiceItem
from .choices import Batch, Choice, Choices, TextWriter, WriteText
from .content_logprobs import ContentLogprobs, ContentToken
from .content_stops import ContentStops
from .foreign_parser import ForeignParser, token_node_ids
from .request import (
    TEXT_ONLY,
    ApiNames,
    AskedConstraint,
    AskedLayout,
    AskedSampling,
    AskedThinking,
    Call,
    ChosenTool,
    ConstraintKind,
    GenerationRequest,
    Media,
    Message,
    Part,
    Prompt,
    Text,
    Thought,
    ToolChoice,
    ToolMode,
    once,
)
from .sampling import SamplingParams, check_ending, sampling_params
from .shown_answers import ShownAnswers
