"""Fields of a body that the gateway ignores, named for the client.

    provider field, messages/3/tools field, messages/4/content/0/detail field

Objects of a message may have any fields, since clients send back what a server sent them, and some
ask for what only another server does. Each name is listed once, at its first place. Fields that the
official clients know are not listed.

Not here   the header (observability.left_out).
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, get_args
from urllib.parse import quote

from pydantic import BaseModel

from .anthropic.content import BLOCK_FIELDS, BLOCKS
from .anthropic.request import PromptFields
from .chat_request import ChatRequest
from .media import IMAGES, ImageUrl
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
from .responses.items import ITEM_FIELDS, ITEM_PARTS, KINDS
from .responses.request import ResponseRequest
from .tokenize_request import TokenizeRequest
from .unknown_fields import NOTHING
from .unserved_fields import Body

#: names that are listed, and characters of one
MAX_NAMES, NAME_CHARS = 32, 64
#: fields that are not listed: what servers and frameworks add to answers, and hints for caches
ECHOED = frozenset(
    (
        *("additional_kwargs", "annotations", "audio", "cache_control", "citations"),
        *("copilot_cache_control", "created", "created_at", "extra_content", "finish_reason"),
        *("id", "images", "index", "logprobs", "metadata", "model", "name", "object", "parsed"),
        *("parsed_arguments", "provider_specific_fields", "reasoning_details", "reasoning_opaque"),
        *("refusal", "response_metadata", "role", "status", "stop_reason", "thinking_blocks"),
        *("thought_signature", "timestamp", "token_ids", "type", "usage", "usage_metadata"),
    )
)
_NUMBER = re.compile(r"\d+")
#: fields that are read, by the role of the message
_READ = {
    role: kind.model_fields.keys() | ECHOED
    for kind in (SystemMessage, UserMessage, AssistantMessage, ToolMessage, FunctionMessage)
    for role in get_args(kind.model_fields["role"].annotation)
}
#: fields of items and blocks by their type; None: of one without a type
_ITEM: dict[str | None, Set[str]] = dict.fromkeys((None, *KINDS, *ITEM_PARTS), ITEM_FIELDS | ECHOED)
_ITEM_LISTS = ("content", "output", "summary")
_BLOCK: dict[str | None, Set[str]] = dict.fromkeys((None, *BLOCKS), BLOCK_FIELDS | ECHOED)
_IMAGE = ECHOED | {"detail", "file_id", "image_url", "prompt_cache_breakpoint"}
_CALL = PastToolCall.model_fields.keys() | ECHOED | {"custom"}
_CALLED = CalledFunction.model_fields.keys() | ECHOED
_CALLED_CUSTOM = CalledCustomTool.model_fields.keys() | ECHOED


def ignored_fields(kind: type[BaseModel], body: Any) -> list[str]:
    """Return the ignored fields of a valid body: the first place of each."""
    if not issubclass(kind, Body):
        return []
    fields = kind.ignored_in(body)
    if issubclass(kind, ChatRequest | TokenizeRequest):
        return [*fields, *_first(_inside_of_messages(body.get("messages") or ()))]
    if issubclass(kind, ResponseRequest):
        return [*fields, *_first(_nested(body.get("input"), "input", _ITEM, _ITEM_LISTS))]
    if issubclass(kind, PromptFields):
        return [*fields, *_first(_nested(body["messages"], "messages", _BLOCK, ("content",)))]
    return fields


def _first(found: Iterator[tuple[str, str]]) -> list[str]:
    """Return the first place of each field."""
    first: dict[str, str] = {}
    for place, name in found:
        first.setdefault(_NUMBER.sub("", place) + name, f"{place}{name} field")
        if len(first) >= MAX_NAMES:
            break
    return list(first.values())


def _nested(
    values: Any, place: str, known: Mapping[str | None, Set[str]], lists: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the place, with its slash, and the name of each ignored field of objects and of those
    in their ``lists``. ``known``: the fields of objects by type; others are named whole.
    """
    for number, each in enumerate(values if isinstance(values, list) else ()):
        kind = each.get("type") if isinstance(each, dict) else ""
        if not isinstance(kind, str | None) or kind not in known:
            continue
        here = f"{place}/{number}/"
        yield from _others(each, here, known[kind])
        for name in lists:
            if name in each:
                yield from _nested(each[name], here + name, known, lists)


def _inside_of_messages(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for at, message in enumerate(messages):
        if not _is_plain(message):
            yield from ((f"messages/{at}/{place}", name) for place, name in _ignored(message))


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
        place = f"content/{number}/"
        if part["type"] in PARTS:
            yield from _others(part, place, ECHOED | {part["type"]})
        elif part["type"] in IMAGES:  # others are named whole
            yield from _others(part, place, _IMAGE)
            if isinstance(url := part.get("image_url"), dict):
                yield from _others(url, f"{place}image_url/", ImageUrl.model_fields.keys())
    calls = message.get("tool_calls") if message["role"] == "assistant" else ()
    for number, call in enumerate(calls or ()):
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
