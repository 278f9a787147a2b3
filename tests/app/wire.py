"""Answers and events on the wire against the types of the official clients, strictly.

The clients' own models take any field and any type. Here they are closed and never convert, and a
null is allowed only where OpenAI's document has one.
"""

import types
import typing
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

from anthropic.types import ErrorResponse, RawMessageStreamEvent
from openai.types import Completion
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDeltaToolCall
from openai.types.responses import ResponseStreamEvent
from openai.types.shared import ErrorObject
from pydantic import BaseModel

#: fields of OpenAI's document that are optional and not nullable, by type
NO_NULLS: dict[str, tuple[str, ...]] = {
    "CustomTool": ("description", "format", "defer_loading"),
    "FunctionTool": ("defer_loading",),
    "ResponseCustomToolCall": ("id", "namespace"),
    "ResponseFormatTextJSONSchemaConfig": ("description", "strict"),
    "ResponseFunctionToolCall": ("id", "namespace", "status"),
    "ResponseReasoningItem": ("content", "status"),
    "ToolFunction": ("defer_loading",),
}
#: fields that this server adds to the types of OpenAI
OWN = {
    "ChatCompletionMessage": {"reasoning_content", "reasoning"},
    "ChoiceDelta": {"reasoning_content", "reasoning"},
    "Response": {"store", "frequency_penalty", "presence_penalty"},
    "ResponseCustomToolCall": {"status"},
    "ResponseError": {"param", "type"},
    # of OpenAI's document, but not of the client
    "ResponseFunctionCallArgumentsDoneEvent": {"name"},
    # of chat completions
    "Logprob": {"bytes"},
    "LogprobTopLogprob": {"bytes"},
}


class CustomCallInput(BaseModel):
    name: str = ""
    input: str


class CustomCallDelta(BaseModel):
    """A call of a custom tool in a chunk, for which OpenAI's client has no type."""

    index: int
    id: str = ""
    type: Literal["custom"] = "custom"
    custom: CustomCallInput


#: wider types of fields: of what OpenAI streams, but its client does not describe
WIDER: dict[str, dict[str, Any]] = {
    "ChoiceDelta": {"tool_calls": list[ChoiceDeltaToolCall | CustomCallDelta] | None},
    "CompletionChoice": {"finish_reason": Literal["stop", "length", "content_filter"] | None},
}
#: types of streamed objects, by the field that names them
STREAMED = {"chat.completion.chunk": ChatCompletionChunk, "text_completion": Completion}


def check(kind: Any, value: Any) -> None:
    """Check that a value is of a type of the clients."""
    wrong = mistakes(kind, value)
    assert not wrong, wrong


def check_event(event: Any) -> None:
    """Check the data of an event of any API."""
    if "object" in event:
        check(STREAMED[event["object"]], event)
    elif "type" not in event:
        assert event.keys() == {"error"}
        check(ErrorObject, event["error"])
    elif event["type"] == "error":
        check(ErrorResponse, event)
    elif event["type"].startswith("response."):
        check(ResponseStreamEvent, event)
    elif event != {"type": "ping"}:
        check(RawMessageStreamEvent, event)


def mistakes(kind: Any, value: Any, place: str = "") -> list[str]:
    """Return the places at which a value is not of a type of the client; none: it is."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return mistakes(inner[0], value, place)
    if origin in (typing.Union, types.UnionType):
        tried = [mistakes(each, value, place) for each in _alike(inner, value)]
        return min(tried, key=len) if tried else [f"{place}: no type for {value!r:.80}"]
    if origin is list:
        if not isinstance(value, list):
            return [f"{place}: no list"]
        return [m for n, each in enumerate(value) for m in mistakes(inner[0], each, f"{place}/{n}")]
    if origin is typing.Literal:
        return [] if value in inner else [f"{place}: {value!r:.80}"]
    if origin is dict or kind in (object, Any):
        return [] if origin is None or isinstance(value, dict) else [f"{place}: no object"]
    if kind is datetime:
        kind = str
    if kind is float:
        return [] if type(value) in (int, float) else [f"{place}: no number"]
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return list(_of_object(kind, value, place))
    return [] if type(value) is kind else [f"{place}: {value!r:.80} is no {kind}"]


def _alike(kinds: Any, value: Any) -> Iterator[Any]:
    """Yield the types of a union that have the value's ``type``, if it has one."""
    for kind in kinds:
        field = getattr(kind, "model_fields", {}).get("type")
        given = value.get("type") if isinstance(value, dict) else None
        if field is None or given is None or not mistakes(field.annotation, given):
            yield kind


def _of_object(kind: type[BaseModel], value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place}: no object"
        return
    fields = {field.alias or name: field for name, field in kind.model_fields.items()}
    for name in value.keys() - fields.keys() - OWN.get(kind.__name__, set()):
        yield f"{place}/{name}: unknown in {kind.__name__}"
    for name, field in fields.items():
        if name not in value:
            if field.is_required():
                yield f"{place}/{name}: missing in {kind.__name__}"
        elif value[name] is None and name in NO_NULLS.get(kind.__name__, ()):
            yield f"{place}/{name}: null in {kind.__name__}"
        else:
            wider = WIDER.get(kind.__name__, {}).get(name, field.annotation)
            yield from mistakes(wider, value[name], f"{place}/{name}")
