"""The output of a response: items, and the events that make them.

    reasoning        content of type reasoning_text, and an empty summary
    message          one part of type output_text
    function_call    arguments as the model wrote them
    custom_tool_call the input of a custom tool

Items follow each other: a delta of another kind closes the open item. So a text that a call
interrupts is two messages.

Invariants   I1 the events of an item are output_item.added, those of its text, output_item.done.
             I2 the items in done events are the output of the response.
Not here     the events of the response itself, and sequence numbers (writers).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, assert_never

from adapters.formats import (
    ContentDelta,
    Delta,
    ReasoningDelta,
    ToolArguments,
    ToolInput,
    ToolStart,
)

from ..generation import ContentToken
from ..protocol import item_id
from .chat_objects import new_call_id
from .logprobs import token_object

Event = dict[str, Any]
ItemStatus = Literal["in_progress", "completed", "incomplete"]
_PARTS = {"reasoning": "reasoning_text", "message": "output_text"}
#: of each kind of call: the key of its text, and the name of its events
_CALLS = {
    "function_call": ("arguments", "function_call_arguments"),
    "custom_tool_call": ("input", "custom_tool_call_input"),
}


#: returns the fields of a call that name its tool, by the name that the model writes
Named = Callable[[str], Mapping[str, str]]


class OutputItems:
    """The items of one response. ``items``: the closed ones."""

    def __init__(self, response_id: str, named: Named = lambda name: {"name": name}) -> None:
        self._named = named
        self.items: list[dict[str, Any]] = []
        self._response_id = response_id
        self._open: _OpenItem | None = None
        #: number of the open call
        self._call = -1

    def add(
        self,
        deltas: Iterable[Delta],
        logprobs: Sequence[Sequence[ContentToken] | None] | None = None,
    ) -> Iterator[Event]:
        """Yield the events of these deltas; ``logprobs``: by delta, the tokens of its content."""
        for number, delta in enumerate(deltas):
            match delta:
                case ContentDelta(text):
                    tokens = None if logprobs is None else logprobs[number]
                    yield from self._text("message", text, tokens or ())
                case ReasoningDelta(text):
                    yield from self._text("reasoning", text)
                case ToolStart(index, name, written, is_custom):
                    self._call = index
                    call = {"call_id": written or new_call_id(), **self._named(name)}
                    kind = "custom_tool_call" if is_custom else "function_call"
                    yield from self._begin(kind, **call)
                case ToolArguments(index, text) | ToolInput(index, text):
                    if self._open is None or self._open.kind not in _CALLS:
                        raise RuntimeError(f"arguments of call {index}, but no call is open")
                    if index != self._call:
                        raise RuntimeError(f"arguments of call {index}, which is not open")
                    yield self._open.delta(text)
                case _:
                    assert_never(delta)

    def end(self, status: ItemStatus) -> Iterator[Event]:
        """Close the last item; an empty output gets a message, as chat completions have one."""
        if self._open is None and not self.items:
            yield from self._begin("message")
        yield from self._close(status)

    def cut(self) -> Iterator[Event]:
        """Close the item that a failure cut off."""
        yield from self._close("incomplete")

    def _text(self, kind: str, text: str, tokens: Iterable[ContentToken] = ()) -> Iterator[Event]:
        if self._open is None or self._open.kind != kind:
            yield from self._begin(kind)
        assert self._open is not None
        yield self._open.delta(text, [token_object(token) for token in tokens])

    def _begin(self, kind: str, **fields: Any) -> Iterator[Event]:
        yield from self._close("completed")
        number = len(self.items)
        opened = _OpenItem(kind, item_id(kind, self._response_id, "o", number), number, fields)
        self._open = opened
        yield from opened.begin()

    def _close(self, status: ItemStatus) -> Iterator[Event]:
        opened, self._open = self._open, None
        if opened is not None:
            yield from opened.end(status)
            self.items.append(opened.item(status))


class _OpenItem:
    """An item that grows."""

    def __init__(self, kind: str, number: str, index: int, fields: dict[str, Any]) -> None:
        self.kind = kind
        self._id = number
        self._index = index
        self._fields = fields
        self._texts: list[str] = []
        #: of the text so far
        self._logprobs: list[dict[str, Any]] = []

    @property
    def _place(self) -> dict[str, Any]:
        """The fields that tell where an event belongs."""
        place = {"item_id": self._id, "output_index": self._index}
        return place if self.kind in _CALLS else {**place, "content_index": 0}

    def item(self, status: ItemStatus) -> dict[str, Any]:
        """Return the item; in progress it has no content yet."""
        is_new = status == "in_progress"
        text = "" if is_new else "".join(self._texts)
        base = {"id": self._id, "type": self.kind, "status": status}
        if self.kind in _CALLS:
            key, _ = _CALLS[self.kind]
            return {**base, **self._fields, key: text}
        content = [] if is_new else [self._part(text, self._logprobs)]
        if self.kind == "reasoning":
            return {**base, "summary": [], "content": content}
        return {**base, "role": "assistant", "content": content}

    def _part(self, text: str, logprobs: list[dict[str, Any]]) -> dict[str, Any]:
        if self.kind == "reasoning":
            return {"type": "reasoning_text", "text": text}
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}

    def begin(self) -> Iterator[Event]:
        """Yield the first events."""
        added = self.item("in_progress")
        yield {"type": "response.output_item.added", "output_index": self._index, "item": added}
        if self.kind not in _CALLS:
            part = self._part("", [])
            yield {"type": "response.content_part.added", **self._place, "part": part}

    def delta(self, text: str, logprobs: Sequence[dict[str, Any]] = ()) -> Event:
        """Add text and return its event; ``logprobs``: of its tokens."""
        self._texts.append(text)
        self._logprobs += logprobs
        return {**self._event("delta", list(logprobs)), "delta": text}

    def end(self, status: ItemStatus) -> Iterator[Event]:
        """Yield the last events."""
        text = "".join(self._texts)
        if self.kind == "function_call":
            # some versions of OpenAI's clients know the name here
            yield {**self._event("done"), "name": self._fields["name"], "arguments": text}
        elif self.kind == "custom_tool_call":
            yield {**self._event("done"), "input": text}
        else:
            yield {**self._event("done", self._logprobs), "text": text}
            part = self._part(text, self._logprobs)
            yield {"type": "response.content_part.done", **self._place, "part": part}
        done = self.item(status)
        yield {"type": "response.output_item.done", "output_index": self._index, "item": done}

    def _event(self, step: str, logprobs: Sequence[dict[str, Any]] = ()) -> Event:
        name = _CALLS[self.kind][1] if self.kind in _CALLS else _PARTS[self.kind]
        listed: Event = {"logprobs": logprobs} if self.kind == "message" else {}
        return {"type": f"response.{name}.{step}", **self._place, **listed}
