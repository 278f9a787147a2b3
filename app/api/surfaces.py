"""The APIs that generate: for each, one declaration of all that tells it from the others.

One function makes the route of each (answering.generation_router).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import orjson
from fastapi import Response
from fastapi.responses import JSONResponse
from pydantic_core import to_json

from .. import writers
from ..errors import ApiError
from ..openapi import OwnErrors, operation
from ..protocol import (
    ChatRequest,
    CompletionRequest,
    MessagesRequest,
    ResponseRequest,
    SamplingFields,
)
from ..server import COMMENT
from ..service import AnswerStream, Completion, RequestContext, ServedModel

Body = TypeVar("Body", bound=SamplingFields)
BodyIn = TypeVar("BodyIn", contravariant=True)


#: a header of every request of Anthropic's clients
ANTHROPIC_HEADER = "anthropic-version"


class AnswerService(Protocol[BodyIn]):
    """The use case of one API: an answer to a request, whole or as a stream."""

    async def complete(self, request: BodyIn, context: RequestContext) -> Completion: ...

    async def stream(self, request: BodyIn, context: RequestContext) -> AnswerStream: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface(Generic[Body]):
    """One API.

    ``service``    of a model.
    ``operation``  describes the route in the OpenAPI document.
    ``encode``     makes the response of a whole answer.
    ``keep_alive`` the event that keeps a silent stream open.
    ``own_errors`` how it answers errors; None: with OpenAI's object.
    """

    path: str
    body: type[Body]
    service: Callable[[ServedModel], AnswerService[Body]]
    operation: dict[str, Any]
    encode: Callable[[Completion], Response] = lambda whole: JSONResponse(
        whole.body, headers=whole.headers
    )
    keep_alive: bytes = COMMENT
    own_errors: OwnErrors | None = None


def exact_json(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer as the Responses API writes it: schemas of tools may have numbers beyond 64
    bits, and the events of its streams are written the same way.
    """
    return Response(to_json(body), headers=headers, media_type="application/json")


CHAT = Surface(
    path="/v1/chat/completions",
    body=ChatRequest,
    service=lambda model: model.chat,
    operation=operation(
        "create_chat_completion",
        "Create a chat completion",
        tag="Chat",
        body=ChatRequest,
        answer=writers.ChatCompletion,
        events=writers.ChatCompletionEvent,
        example={
            "model": "my-model",
            "messages": [{"role": "user", "content": "How warm is it in Oslo?"}],
            "max_completion_tokens": 500,
        },
    ),
)
COMPLETIONS = Surface(
    path="/v1/completions",
    body=CompletionRequest,
    service=lambda model: model.completions,
    operation=operation(
        "create_completion",
        "Create a text completion",
        tag="Chat",
        body=CompletionRequest,
        answer=writers.TextCompletion,
        events=writers.TextCompletionEvent,
        example={"model": "my-model", "prompt": "Once upon a time", "max_tokens": 50},
    ),
)
RESPONSES = Surface(
    path="/v1/responses",
    body=ResponseRequest,
    service=lambda model: model.responses,
    encode=lambda whole: exact_json(whole.body, whole.headers),
    operation=operation(
        "create_response",
        "Create a response",
        tag="Responses",
        body=ResponseRequest,
        answer=writers.ResponseObject,
        events=writers.ResponseEvent,
        example={
            "model": "my-model",
            "input": "How warm is it in Oslo?",
            "max_output_tokens": 500,
        },
        links={
            name: {"operationId": name, "parameters": {"response_id": "$response.body#/id"}}
            for name in (
                *("retrieve_response", "list_input_items"),
                *("cancel_response", "delete_response"),
            )
        },
    ),
)
#: how the Messages API answers errors
MESSAGES_ERRORS = OwnErrors(
    writers.MessagesError, writers.error_object, writers.MESSAGES_STATUSES, "request-id"
)
MESSAGES = Surface(
    path="/v1/messages",
    body=MessagesRequest,
    service=lambda model: model.messages,
    # inputs of calls are the text that the model wrote
    encode=lambda whole: Response(
        orjson.dumps(whole.body), headers=whole.headers, media_type="application/json"
    ),
    keep_alive=writers.PING,
    own_errors=MESSAGES_ERRORS,
    operation=operation(
        "create_message",
        "Create a message",
        tag="Messages",
        body=MessagesRequest,
        answer=writers.MessageObject,
        events=writers.MessageEvent,
        example={
            "model": "my-model",
            "max_tokens": 500,
            "messages": [{"role": "user", "content": "How warm is it in Oslo?"}],
        },
        own_errors=MESSAGES_ERRORS,
    ),
)
SURFACES: tuple[Surface[Any], ...] = (CHAT, RESPONSES, MESSAGES, COMPLETIONS)


def surface_of(path: str, *, is_anthropic: bool) -> Surface[Any] | None:
    """Return the API of a request. None: it is no API that generates.

    Anthropic's clients also ask for models; then errors have the form of the Messages API.
    """
    surface = next((each for each in SURFACES if (path + "/").startswith(each.path + "/")), None)
    return MESSAGES if surface is None and is_anthropic else surface


def error_answer(
    error: ApiError, surface: Surface[Any] | None, request_id: str
) -> tuple[int, Mapping[str, Any]]:
    """Return the status and the body of an error as an API writes them."""
    own = None if surface is None else surface.own_errors
    return (error.status, error.body()) if own is None else own.answer(error, request_id)
