"""The types of the answers that operations name: those that routes, services and writers return."""

from typing import Annotated, Any

from pydantic import Field, RootModel

from ..errors import ErrorResponse
from ..observability import Requests
from ..service import (
    Alive,
    CacheReport,
    ConstraintModes,
    DetokenizeResponse,
    GrammarCheck,
    GrammarExplanation,
    GrammarWarmup,
    ItemPage,
    Model,
    ModelList,
    Readiness,
    ResponseDeleted,
    TokenizeResponse,
    Version,
    WorkerList,
)
from ..writers import (
    ChatCompletion,
    ChatCompletionChunk,
    Event,
    ResponseObject,
    TextCompletion,
    TextCompletionChunk,
)


class ChatCompletionEvent(RootModel[ChatCompletionChunk | ErrorResponse]):
    """The data of an event: a chunk, or the error that ends the stream. The data of the last event
    of a complete stream is the text `[DONE]` instead."""


class TextCompletionEvent(RootModel[TextCompletionChunk | ErrorResponse]):
    """The data of an event, see ChatCompletionEvent."""


class ResponseEvent(RootModel[Annotated[Event, Field(discriminator="type")]]):
    """The data of an event; the event's name is its type. There is no `[DONE]`."""


class MetricsText(RootModel[str]):
    """Metrics in the text format of Prometheus."""


ANSWERS: tuple[Any, ...] = (
    ErrorResponse,
    ChatCompletion,
    ChatCompletionEvent,
    TextCompletion,
    TextCompletionEvent,
    ResponseObject,
    ResponseEvent,
    ResponseDeleted,
    ItemPage,
    Model,
    ModelList,
    TokenizeResponse,
    DetokenizeResponse,
    GrammarCheck,
    GrammarExplanation,
    GrammarWarmup,
    Alive,
    Readiness,
    Version,
    MetricsText,
    WorkerList,
    Requests,
    ConstraintModes,
    CacheReport,
)
