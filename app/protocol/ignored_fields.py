"""Fields of a body that the gateway ignores, named for the client.

    provider field, messages/3/tools field, messages/4/content/0/detail field

Objects of a message may have any fields, since clients send back what a server sent them, and some
ask for what only another server does. Each name is listed once, at its first place.

Not here   the header (observability.left_out).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args
from urllib.parse import quote

from pydantic import BaseModel

from .chat_request import ChatRequest
from .messages import (
    PARTS,
    AssistantMessage,
    CalledCustomTool,
    CalledFunction,
    FunctionMessage,
    PastToolCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from .thinking_fields import ReasoningOptions, Thinking
from .tokenize_request import TokenizeRequest
from .unserved_fields import Body
from .validation import NOTHING, Lenient

#: names that are listed, and characters of one
MAX_NAMES, NAME_CHARS = 32, 64
#: fields that are not listed: what servers and frameworks add to answers, and hints for caches
ECHOED = frozenset(
    (
        *("additional_kwargs", "annotations", "audio", "cache_control", "citations"),
        *(
            "copilot_cache_control",
            "created",
            "created_at",
            "extra_content",
            "finish_reason",
            "id",
            "images",
            "index",
            "logprobs",
        ),
        *("metadata", "model", "name", "object", "parsed", "parsed_arguments", "refusal"),
        *("provider_specific_fields", "reasoning_details", "reasoning_opaque", "response_metadata"),
        *("role", "status", "stop_reason", "thinking_blocks", "thought_signature", "timestamp"),
        *("token_ids", "type", "usage", "usage_metadata"),
    )
)
_NUMBER = re.compile(r"\d+")
#: fields that are read, by the role of the message
_READ = {
    role: kind.model_fields.keys() | ECHOED
    for kind in (SystemMessage, UserMessage, AssistantMessage, ToolMessage, FunctionMessage)
    for role in get_args(kind.model_fields["role"].annotation)
}
#: objects beside the messages that may have any fields
_OPTIONS: dict[str, type[Lenient]] = {"thinking": Thinking, "reasoning": ReasoningOptions}
_CALL = PastToolCall.model_fields.keys() | ECHOED | {"custom"}
_CALLED = CalledFunction.model_fields.keys() | ECHOED
_CALLED_CUSTOM = CalledCustomTool.model_fields.keys() | ECHOED


def ignored_fields(kind: type[BaseModel], body: Any) -> list[str]:
    """Return the ignored fields of a valid body: the first place of each."""
    if not issubclass(kind, Body):
        return []
    fields = kind.ignored_in(body)
    return [*fields, *_of_chat(body)] if issubclass(kind, ChatRequest | TokenizeRequest) else fields


def _of_chat(body: Mapping[str, Any]) -> list[str]:
    """Return the ignored fields inside of a chat."""
    messages = body.get("messages")
    if not messages:
        return []
    first: dict[str, str] = {}
    for field, kind in _OPTIONS.items():
        for _, name in _others(body.get(field) or {}, "", kind.model_fields.keys()):
            first[f"{field}/{name}"] = f"{field}/{name} field"
    for at, message in enumerate(messages):
        if _is_plain(message):
            continue
        for place, name in _ignored(message):
            unnumbered = _NUMBER.sub("", place)
            first.setdefault(unnumbered + name, f"messages/{at}/{place}{name} field")
            if len(first) >= MAX_NAMES:
                return list(first.values())[:MAX_NAMES]
    return list(first.values())[:MAX_NAMES]


def _is_plain(message: Mapping[str, Any]) -> bool:
    """Whether a message has no parts and calls, and only fields that are read; most are so."""
    if message.get("tool_calls") or isinstance(message.get("content"), list):
        return False
    return message.keys() <= _READ[message["role"]]


def _ignored(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the place inside of a message, with its slash, and the name of each ignored field."""
    yield from _others(message, "", _READ[message["role"]])
    content = message.get("content")
    for number, part in enumerate(content if isinstance(content, list) else ()):
        if part["type"] in PARTS:  # others are named whole
            yield from _others(part, f"content/{number}/", ECHOED | {part["type"]})
    for number, call in enumerate(message.get("tool_calls") or ()):
        place = f"tool_calls/{number}/"
        yield from _others(call, place, _CALL)
        for kind, known in (("function", _CALLED), ("custom", _CALLED_CUSTOM)):
            if isinstance(call.get(kind), dict):
                yield from _others(call[kind], f"{place}{kind}/", known)


def _others(value: Mapping[str, Any], place: str, known: Any) -> Iterator[tuple[str, str]]:
    if value.keys() <= known:
        return
    for name, each in value.items():
        if name not in known and each not in NOTHING:
            yield place, quote(name[:NAME_CHARS], safe="")
