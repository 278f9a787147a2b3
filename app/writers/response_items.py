"""The output of a response: items, and the events that make them.

    reasoning        content of type reasoning_text, and an empty summary
    message          one part of type output_text
    function_call    arguments as the model wrote them
    custom_tool_call the input of a custom tool
    shell_call, ...  the calls of client tools (client_calls)

Items follow each other: a delta of another kind closes the open item. So a text that a call
interrupts is two messages.

Invariants   I1 the events of an item are output_item.added, those of its text, output_item.done.
             I2 the items in done events are the output of the response.
Not here     the events of the response itself, and sequence numbers (writers).
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Literal, assert_never

from adapters.formats import (
    ContentDelta,
    Delta,
    ReasoningDelta,
    ToolArguments,
    ToolInput,
    ToolStart,
)

from ..generation import ContentToken
from ..protocol import ClientTool, ToolName, item_id
from .chat_objects import new_call_id
from .client_calls import OpenClientCall
from .logprobs import TokenLogprob, token_object
from .response_types import (
    CustomCallOutput,
    Event,
    FunctionCallOutput,
    ItemPlace,
    ItemStatus,
    NamedCall,
    OutputItem,
    OutputMessage,
    OutputText,
    PartPlace,
    PieceName,
    ReasoningOutput,
    ReasoningText,
    TextPlace,
)

TextKind = Literal["message", "reasoning"]
CallKind = Literal["function_call", "custom_tool_call"]
#: returns the fields of a call that name its tool, or the client tool, by the name that the model
#: writes
Named = Callable[[str], ToolName | ClientTool]
#: seals a thought
SealText = Callable[[str], str]


class OutputItems:
    """The items of one response. ``items``: the closed ones. ``seal``: None: thoughts have none."""

    def __init__(
        self,
        response_id: str,
        named: Named = lambda name: {"name": name},
        seal: SealText | None = None,
    ) -> None:
        self._named = named
        self._seal = seal
        self.items: list[OutputItem] = []
        self._response_id = response_id
        self._open: _OpenText | _OpenCall | OpenClientCall | None = None
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
                    yield from self._close("completed")
                    self._call = index
                    yield from self._start(name, written or new_call_id(), is_custom=is_custom)
                case ToolArguments(index, text) | ToolInput(index, text):
                    if self._open is None or isinstance(self._open, _OpenText):
                        raise RuntimeError(f"arguments of call {index}, but no call is open")
                    if index != self._call:
                        raise RuntimeError(f"arguments of call {index}, which is not open")
                    yield from self._open.add(text)
                case _:
                    assert_never(delta)

    def end(self, status: ItemStatus) -> Iterator[Event]:
        """Close the last item; an empty output gets a message, as chat completions have one."""
        if self._open is None and not self.items:
            yield from self._begin_text("message")
        yield from self._close(status)

    def cut(self) -> Iterator[Event]:
        """Close the item that a failure cut off."""
        yield from self._close("incomplete")

    def _text(
        self, kind: TextKind, text: str, tokens: Iterable[ContentToken] = ()
    ) -> Iterator[Event]:
        opened = self._open
        if not isinstance(opened, _OpenText) or opened.kind != kind:
            yield from self._close("completed")
            opened = yield from self._begin_text(kind)
        yield opened.delta(text, [token_object(token) for token in tokens])

    def _begin_text(self, kind: TextKind) -> Generator[Event, None, "_OpenText"]:
        opened = _OpenText(kind, self._place(kind), self._seal)
        yield from self._begin(opened)
        yield opened.part_added()
        return opened

    def _start(self, name: str, call_id: str, *, is_custom: bool) -> Iterator[Event]:
        """Begin a call; none is open."""
        named = self._named(name)
        if not isinstance(named, ClientTool):
            kind: CallKind = "custom_tool_call" if is_custom else "function_call"
            call: NamedCall = {"call_id": call_id, **named}
            yield from self._begin(_OpenCall(kind, self._place(kind), call))
            return
        opened = OpenClientCall(named, name, self._place(named.call), call_id)
        self._open = opened
        if opened.is_streamed:
            yield from self._added(opened.item(opened.members() or {}, "in_progress"))

    def _place(self, kind: str) -> ItemPlace:
        """Return the place of the next item; none is open."""
        number = len(self.items)
        return {"item_id": item_id(kind, self._response_id, "o", number), "output_index": number}

    def _begin(self, opened: "_OpenText | _OpenCall") -> Iterator[Event]:
        self._open = opened
        yield from self._added(opened.item("in_progress"))

    def _added(self, item: OutputItem) -> Iterator[Event]:
        number = len(self.items)
        yield {"type": "response.output_item.added", "output_index": number, "item": item}

    def _close(self, status: ItemStatus) -> Iterator[Event]:
        opened, self._open = self._open, None
        if isinstance(opened, OpenClientCall):
            yield from self._close_client(opened, status)
        elif opened is not None:
            yield from opened.end()
            yield from self._done(opened.item(status))

    def _close_client(self, opened: OpenClientCall, status: ItemStatus) -> Iterator[Event]:
        """End a call of a client tool; one whose arguments make no item is one of a function."""
        members = opened.members()
        if members is not None and opened.is_streamed:
            yield from self._done(opened.item(members, status))
        elif members is not None:
            yield from self._added(opened.item(members, "in_progress"))
            yield from self._done(opened.item(members, "completed"))
        else:
            call: NamedCall = {"call_id": opened.call_id, "name": opened.name}
            function = _OpenCall("function_call", self._place("function_call"), call)
            yield from self._added(function.item("in_progress"))
            yield from function.add(opened.text)
            yield from function.end()
            yield from self._done(function.item(status))

    def _done(self, item: OutputItem) -> Iterator[Event]:
        number = len(self.items)
        self.items.append(item)
        yield {"type": "response.output_item.done", "output_index": number, "item": item}


class _OpenText:
    """A message or reasoning that grows."""

    def __init__(self, kind: TextKind, place: ItemPlace, seal: SealText | None) -> None:
        self.kind = kind
        self._seal = seal
        self._id, index = place["item_id"], place["output_index"]
        self._part: PartPlace = {"item_id": self._id, "output_index": index, "content_index": 0}
        self._text: TextPlace = {"item_id": self._id, "output_index": index, "content_index": 0}
        self._texts: list[str] = []
        #: of the text so far
        self._logprobs: list[TokenLogprob] = []

    def item(self, status: ItemStatus) -> OutputMessage | ReasoningOutput:
        """Return the item; in progress it has no content yet."""
        text, is_new = "".join(self._texts), status == "in_progress"
        if self.kind == "reasoning":
            thought: ReasoningOutput = {
                "id": self._id,
                "type": "reasoning",
                "status": status,
                "summary": [],
                "content": [] if is_new else [_thought(text)],
            }
            if self._seal is not None and not is_new:
                thought["encrypted_content"] = self._seal(text)
            return thought
        return {
            "id": self._id,
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": [] if is_new else [_said(text, self._logprobs)],
        }

    def part_added(self) -> Event:
        """Return the event of the new part."""
        part = _thought("") if self.kind == "reasoning" else _said("", [])
        return {"type": "response.content_part.added", **self._part, "part": part}

    def delta(self, text: str, logprobs: list[TokenLogprob]) -> Event:
        """Add text and return its event; ``logprobs``: of its tokens."""
        self._texts.append(text)
        self._logprobs += logprobs
        place = self._text_place(logprobs)
        if self.kind == "reasoning":
            return {"type": "response.reasoning_text.delta", **place, "delta": text}
        return {"type": "response.output_text.delta", **place, "delta": text}

    def end(self) -> Iterator[Event]:
        """Yield the last events of the part."""
        text, place = "".join(self._texts), self._text_place(self._logprobs)
        if self.kind == "reasoning":
            yield {"type": "response.reasoning_text.done", **place, "text": text}
            part: OutputText | ReasoningText = _thought(text)
        else:
            yield {"type": "response.output_text.done", **place, "text": text}
            part = _said(text, self._logprobs)
        yield {"type": "response.content_part.done", **self._part, "part": part}

    def _text_place(self, logprobs: list[TokenLogprob]) -> TextPlace:
        return self._text if self.kind == "reasoning" else {**self._text, "logprobs": logprobs}


def _thought(text: str) -> ReasoningText:
    return {"type": "reasoning_text", "text": text}


def _said(text: str, logprobs: list[TokenLogprob]) -> OutputText:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}


class _OpenCall:
    """A call whose arguments, or input, grow."""

    def __init__(self, kind: CallKind, place: ItemPlace, call: NamedCall) -> None:
        self.kind = kind
        self._place = place
        self._call = call
        self._texts: list[str] = []

    def item(self, status: ItemStatus) -> FunctionCallOutput | CustomCallOutput:
        """Return the item with the text so far."""
        number, call, text = self._place["item_id"], self._call, "".join(self._texts)
        if self.kind == "custom_tool_call":
            return {"id": number, "type": self.kind, "status": status, **call, "input": text}
        return {"id": number, "type": self.kind, "status": status, **call, "arguments": text}

    def add(self, text: str) -> Iterator[Event]:
        """Add text and yield its event."""
        self._texts.append(text)
        kind: PieceName = "response.function_call_arguments.delta"
        if self.kind == "custom_tool_call":
            kind = "response.custom_tool_call_input.delta"
        number, index = self._place["item_id"], self._place["output_index"]
        yield {"type": kind, "item_id": number, "output_index": index, "delta": text}

    def end(self) -> Iterator[Event]:
        """Yield the event of the whole text."""
        text, place = "".join(self._texts), self._place
        if self.kind == "custom_tool_call":
            yield {"type": "response.custom_tool_call_input.done", **place, "input": text}
        else:
            # some versions of OpenAI's clients know the name here
            yield {
                "type": "response.function_call_arguments.done",
                **place,
                "name": self._call["name"],
                "arguments": text,
            }
