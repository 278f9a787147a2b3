"""The types of the answers that operations name: those that routes, services and writers return."""

from typing import Annotated, Any

from pydantic import Field, RootModel

from .. import errors, observability, service, writers


class ChatCompletionEvent(RootModel[writers.ChatCompletionChunk | errors.ErrorResponse]):
    """The data of an event: a chunk, or the error that ends the stream. The data of the last event
    of a complete stream is the text `[DONE]` instead."""


class TextCompletionEvent(RootModel[writers.TextCompletionChunk | errors.ErrorResponse]):
    """The data of an event, see ChatCompletionEvent."""


class ResponseEvent(RootModel[Annotated[writers.Event, Field(discriminator="type")]]):
    """The data of an event; the event's name is its type. There is no `[DONE]`."""


class MetricsText(RootModel[str]):
    """Metrics in the text format of Prometheus."""


#: the answers that operations name
ANSWERS: tuple[Any, ...] = (
    errors.ErrorResponse,
    writers.ChatCompletion,
    ChatCompletionEvent,
    writers.TextCompletion,
    TextCompletionEvent,
    writers.ResponseObject,
    ResponseEvent,
    service.ResponseDeleted,
    service.ItemPage,
    service.Model,
    service.ModelList,
    service.TokenizeResponse,
    service.DetokenizeResponse,
    service.GrammarCheck,
    service.GrammarExplanation,
    service.GrammarWarmup,
    service.Alive,
    service.Readiness,
    service.Version,
    MetricsText,
    service.WorkerList,
    observability.Requests,
    service.ConstraintModes,
    service.CacheReport,
)
