"""The writers of Anthropic's Messages API: a whole message, or the events of a stream.

    message_start, ping
    of each block: content_block_start, content_block_delta ..., content_block_stop
    message_delta, message_stop; or error

Blocks follow each other: a delta of another kind closes the open block. A thought ends with its
seal, which the client sends back; with ``display`` "omitted" that is all that is shown of it.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, assert_never

import orjson

from adapters.formats import (
    ContentDelta,
    Delta,
    ReasoningDelta,
    ToolArguments,
    ToolInput,
    ToolStart,
)

from ..errors import ApiError
from ..generation import ChoiceDeltas, ChoiceEnd
from ..protocol import NO_THREADS
from .chat_objects import new_id
from .events import named_event
from .message_types import (
    BlockChange,
    ContentBlock,
    DeltaUsage,
    MessageEnd,
    MessageObject,
    MessagesError,
    MessagesErrorObject,
    WrittenEvent,
)
from .writer import Batch, EventWriter

#: what keeps the connection open during silence
PING = named_event({"type": "ping"})
#: types of errors by the status of the answer
_ERRORS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
#: statuses of errors in place of usual ones: 529 says that the server is full or stops
MESSAGES_STATUSES = {503: 529}


def error_object(error: ApiError, request_id: str | None) -> MessagesError:
    """Return an error as Anthropic writes it. It has no field of its own for the place, so the
    message begins with the place, unless it names it anyway.
    """
    message, kind = error.message, _ERRORS.get(error.status)
    if error.param and error.param not in message:
        message = f"{error.param}: {message}"
    if kind is None:
        kind = "api_error" if error.status >= 500 else "invalid_request_error"
    problem: MessagesErrorObject = {"type": kind, "message": message}
    if error.code == NO_THREADS:
        problem["details"] = {"error_code": NO_THREADS}
    return {"type": "error", "error": problem, "request_id": request_id}


@dataclass(slots=True)
class _Open:
    """The open block: its start, and its text so far."""

    block: ContentBlock
    texts: list[str] = field(default_factory=list)


class MessageBlocks:
    """The blocks of one message. ``seal``: of a thought. ``blocks``: the closed ones."""

    def __init__(self, seal: Callable[[str], str], *, shows_thoughts: bool) -> None:
        self._seal = seal
        self._shows_thoughts = shows_thoughts
        self.blocks: list[dict[str, Any]] = []
        self._open: _Open | None = None

    def add(self, deltas: Iterable[Delta]) -> Iterator[WrittenEvent]:
        """Yield the events of these deltas."""
        for delta in deltas:
            match delta:
                case ContentDelta(text):
                    yield from self._begin_unless_open({"type": "text", "text": ""})
                    yield self._change({"type": "text_delta", "text": text}, text)
                case ReasoningDelta(text):
                    start: ContentBlock = {"type": "thinking", "thinking": "", "signature": ""}
                    yield from self._begin_unless_open(start)
                    event = self._change({"type": "thinking_delta", "thinking": text}, text)
                    if self._shows_thoughts:
                        yield event
                case ToolStart(_, name, written):
                    number = written or new_id("toolu_")
                    yield from self._begin(
                        {"type": "tool_use", "id": number, "name": name, "input": {}}
                    )
                case ToolArguments(_, text) | ToolInput(_, text):
                    yield self._change({"type": "input_json_delta", "partial_json": text}, text)
                case _:
                    assert_never(delta)

    def end(self) -> Iterator[WrittenEvent]:
        """Close the last block; an empty message gets one: clients read the first."""
        if self._open is None and not self.blocks:
            yield from self._begin({"type": "text", "text": ""})
        yield from self._close()

    def _close(self) -> Iterator[WrittenEvent]:
        if self._open is None:
            return
        text, block = "".join(self._open.texts), dict(self._open.block)
        if block["type"] == "thinking":
            signature = self._seal(text)
            yield self._changed({"type": "signature_delta", "signature": signature})
            block |= {"thinking": text if self._shows_thoughts else "", "signature": signature}
        elif block["type"] == "text":
            block["text"] = text
        else:
            # as the model wrote it, so that its numbers keep all digits
            block["input"] = orjson.Fragment(text) if _is_object(text) else {}
        yield {"type": "content_block_stop", "index": len(self.blocks)}
        self.blocks.append(block)
        self._open = None

    def _begin_unless_open(self, block: ContentBlock) -> Iterator[WrittenEvent]:
        if self._open is None or self._open.block["type"] != block["type"]:
            yield from self._begin(block)

    def _begin(self, block: ContentBlock) -> Iterator[WrittenEvent]:
        yield from self._close()
        self._open = _Open(block)
        yield {
            "type": "content_block_start",
            "index": len(self.blocks),
            "content_block": block,
        }

    def _change(self, change: BlockChange, text: str) -> WrittenEvent:
        assert self._open is not None, "a delta outside of a block"
        self._open.texts.append(text)
        return self._changed(change)

    def _changed(self, change: BlockChange) -> WrittenEvent:
        return {"type": "content_block_delta", "index": len(self.blocks), "delta": change}


def _is_object(text: str) -> bool:
    """Whether a call's input is a whole JSON object; the output limit may have cut it.

    Numbers stay text: an integer may be too long, and a number too large, for a number of Python.
    """
    try:
        value = json.loads(text, parse_int=str, parse_float=str, parse_constant=_no_json)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)


def _no_json(constant: str) -> None:
    raise ValueError(f"JSON has no {constant}")


def _end(end: ChoiceEnd) -> MessageEnd:
    if end.finish == "length":
        return {"stop_reason": "max_tokens", "stop_sequence": None}
    if end.stop_text is not None:
        return {"stop_reason": "stop_sequence", "stop_sequence": end.stop_text}
    return {"stop_reason": "tool_use" if end.called else "end_turn", "stop_sequence": None}


def _usage(end: ChoiceEnd) -> DeltaUsage:
    return {
        "input_tokens": end.prompt_tokens - end.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": end.cached_tokens,
        "output_tokens": end.completion_tokens,
        "output_tokens_details": {"thinking_tokens": end.reasoning_tokens},
    }


def begun_message(model: str, prompt_tokens: int) -> MessageObject:
    """Return a message without content."""
    return {
        "id": new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": prompt_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 0,
            "output_tokens_details": {"thinking_tokens": 0},
            "service_tier": "standard",
        },
    }


class MessageWriter:
    """Writes a whole message."""

    def __init__(self, begun: MessageObject, blocks: MessageBlocks) -> None:
        self._begun = begun
        self._blocks = blocks
        self._ended: ChoiceEnd | None = None

    def write(self, batch: Batch) -> None:
        """Add items."""
        for _, item in batch:
            if isinstance(item, ChoiceDeltas):
                list(self._blocks.add(item.deltas))
            else:
                self._ended = item

    async def whole(self) -> dict[str, Any]:
        """Return a MessageObject; inputs of calls are JSON text."""
        assert self._ended is not None
        list(self._blocks.end())
        used = self._begun["usage"] | _usage(self._ended)
        content = {"content": self._blocks.blocks, "usage": used}
        return self._begun | content | _end(self._ended)


class MessageEventWriter(EventWriter):
    """Writes the events of a message. ``request_id``: for errors."""

    def __init__(self, begun: MessageObject, blocks: MessageBlocks, request_id: str) -> None:
        self._begun = begun
        self._blocks = blocks
        self._request_id = request_id

    def begin(self) -> bytes:
        """Return the events before the content."""
        return named_event({"type": "message_start", "message": self._begun}) + PING

    def write(self, batch: Batch) -> bytes:
        """Return the events of these items."""
        events: list[WrittenEvent] = []
        for _, item in batch:
            if isinstance(item, ChoiceDeltas):
                events += self._blocks.add(item.deltas)
            else:
                events += self._blocks.end()
                events.append({"type": "message_delta", "delta": _end(item), "usage": _usage(item)})
                events.append({"type": "message_stop"})
        return b"".join(map(named_event, events))

    async def end(self) -> bytes:
        """Return nothing: the last item has written the last event."""
        return b""

    def failed(self, error: ApiError) -> bytes:
        """Return the last event of a message that failed."""
        return named_event(error_object(error, self._request_id))
