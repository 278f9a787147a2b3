"""The reader of an answer: the engine's events in, deltas out.

The engine parses with the grammar that constrained the model, so the reader never searches text: an
event names its node, and the node's role gives the meaning of the bytes.

Representation   the begin of a character at the end of the text so far; text held back between two
                 calls (``_gap``, None elsewhere) and after a possible end of reasoning (``_tail``).
Invariants       I1 the deltas add up to the same message however events are grouped into calls of
                 feed and text into events. I2 a truncated answer loses no byte of content,
                 reasoning or arguments. I3 incomplete characters wait; only the end of a stretch
                 turns them into U+FFFD.
Cost             linear in the bytes, except white space held back between calls.
Not here         the distinction of text and syntax (the spec), tokens (the engine's parser).
"""

from codecs import utf_8_decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from engine import Event, StyleRegion

from ..parts import JSON_STYLE, SYNTAX, Kind, Role
from .argument_reader import ArgumentReader, argument_reader
from .deltas import (
    ContentDelta,
    Delta,
    ReasoningDelta,
    TextDelta,
    ToolArguments,
    ToolInput,
    ToolStart,
)
from .input_reader import InputReader

_KIND_AND_NODE = itemgetter(0, 1)


@dataclass(frozen=True)
class TagWhitespace:
    """White space around a family's tags that the grammar accepts as free text.

    ``between``          characters between two calls or after the last one that are not content.
    ``thought_newlines`` line feeds dropped after the mark that opens reasoning, and before the one
                         that closes it.
    ``answer_newlines``  line feeds dropped after the mark that closes reasoning.
    """

    between: str = ""
    thought_newlines: int = 0
    answer_newlines: int = 0


class Reader:
    """The reader of one answer.

    ``tool_calls_started`` counts the calls seen so far. ``thoughts`` locates reasoning in the
    answer's bytes, including its marks: (begin, end) of each stretch; end is None while it
    is open. ``taken_ids``: of earlier calls of the conversation; no call gets one of them.
    """

    def __init__(
        self, roles: Mapping[str, Role], whitespace: TagWhitespace, taken_ids: Iterable[str] = ()
    ) -> None:
        self.tool_calls_started = 0
        self.thoughts: list[tuple[int, int | None]] = []
        self._position = 0
        self._roles = dict(roles)
        self._whitespace = whitespace
        self._deltas: list[Delta] = []
        self._kind = Kind.SYNTAX
        #: the begin of a character
        self._partial = b""
        self._skip = 0
        self._gap: str | None = None
        self._tail = ""
        self._arguments: ArgumentReader | None = None
        self._input: InputReader | None = None
        self._region: StyleRegion | None = None
        self._starting: Role | None = None
        self._id = ""
        self._ids = set(taken_ids)

    def feed(self, events: Sequence[Event]) -> list[Delta]:
        """Return the deltas of these events."""
        if len(events) == 1 and events[0].kind == "text":
            (event,) = events
            self._position += len(event.bytes)
            self._text(self._role(event.node), event.bytes)
            return self._take()
        for (kind, node), group in groupby(events, _KIND_AND_NODE):
            role = self._role(node)
            if kind == "text" or role.kind is Kind.CONSTRAINED:
                # text that arrives together is read at once
                data = b"".join([event.bytes for event in group])
                self._position += len(data)
                self._text(role, data)
                continue
            for event in group:
                start, self._position = self._position, self._position + len(event.bytes)
                if kind == "open":
                    self._open(role, start)
                else:
                    self._close(role)
        return self._take()

    def next_text(self, node: str) -> TextDelta | None:
        """Return the delta, still empty, to which all text of a node adds at once, as it is or
        translated (``translate``); None: it may be dropped or held back, but for line feeds at its
        end (``holds_newlines``).
        """
        role = self._role(node)
        if role.kind is not self._kind or role.region is not self._region or self._partial:
            return None
        if role.kind is Kind.VALUE or role.kind is Kind.CONSTRAINED:
            return ContentDelta("", is_value=role.kind is Kind.VALUE)
        if self._skip or self._tail:
            return None
        number = self.tool_calls_started - 1
        if role.kind is Kind.CONTENT and self._gap is None:
            return ContentDelta("")
        if role.kind is Kind.REASONING:
            return ReasoningDelta("")
        if role.kind is Kind.INPUT:
            return ToolInput(number, "")
        if role.kind is Kind.ARGUMENTS:
            return ToolArguments(number, "") if self._input is None else ToolInput(number, "")
        return None

    @property
    def translate(self) -> Callable[[str], str] | None:
        """Return what makes the delta's text of text, which must come in order; None: it is the
        same.
        """
        is_same = self._arguments is None and self._input is None
        return None if is_same or self._kind is not Kind.ARGUMENTS else self._translated

    @property
    def holds_newlines(self) -> bool:
        """Return whether line feeds at the end of text are held back now."""
        return self._kind is Kind.REASONING and self._whitespace.thought_newlines > 0

    def pass_over(self, size: int) -> None:
        """Go on behind ``size`` bytes of text, which ``next_text`` was asked about."""
        self._position += size

    def finish(self) -> list[Delta]:
        """Return deltas of the text held back. Call it once, after the parser's finish."""
        if self._starting is not None:
            # the answer ends inside the id, or before it
            self._starting = replace(self._starting, call_id="")
        self._end_stretch()
        self._start_call()
        self._emit(ReasoningDelta(self._tail))
        self._tail = ""
        return self._take()

    def _role(self, node: str) -> Role:
        role = self._roles.get(node)
        if role is None:  # a location inside a node, such as a tag's begin
            role = self._role(node.rpartition("/")[0]) if node else SYNTAX
            self._roles[node] = role
        return role

    # -- tags --------------------------------------------------------------------------------------
    def _open(self, role: Role, start: int) -> None:
        self._end_stretch()
        if role.region is not None and self._arguments is not None:
            self._argue(self._arguments.open(role.region))
        elif role.kind is Kind.CALL:
            self._gap = None
            self.tool_calls_started += 1
            self._starting = role
            if not role.call_id:
                self._start_call()
        elif role.kind is Kind.THOUGHT:
            self.thoughts.append((start, None))
            self._skip = self._whitespace.thought_newlines

    def _close(self, role: Role) -> None:
        self._end_stretch()
        if role.region is not None and self._arguments is not None:
            self._argue(self._arguments.close(role.region))
        elif role.kind in (Kind.CALL, Kind.SECTION):
            if self._arguments is not None:
                self._argue(self._arguments.end())
                self._arguments = None
            self._gap = ""
        elif role.kind is Kind.THOUGHT:
            self.thoughts[-1] = (self.thoughts[-1][0], self._position)
            self._tail = ""
            self._skip = self._whitespace.answer_newlines

    def _start_call(self) -> None:
        """Emit the start of a call, once its id is complete; repeated ids are dropped."""
        role, self._starting = self._starting, None
        if role is None:
            return
        name, self._id = role.call_id.replace("{id}", self._id), ""
        is_new = name not in self._ids
        self._ids.add(name)
        shown = name if is_new else ""
        self._emit(ToolStart(self.tool_calls_started - 1, role.tool, shown, role.is_custom))
        self._input = InputReader() if role.is_custom else None
        if role.style != JSON_STYLE:
            self._arguments = argument_reader(role.style)
            self._argue(self._arguments.begin())

    def _argue(self, text: str) -> None:
        number = self.tool_calls_started - 1
        if self._input is None:
            self._emit(ToolArguments(number, text))
        else:
            self._emit(ToolInput(number, self._input.text(text)))

    def _translated(self, text: str) -> str:
        """Return what text of a call's arguments adds to them, or to the input."""
        if self._arguments is not None:
            text = self._arguments.text(self._region, text)
        return text if self._input is None else self._input.text(text)

    # -- text --------------------------------------------------------------------------------------
    def _text(self, role: Role, data: bytes) -> None:
        if role.kind is not self._kind or role.region is not self._region:
            self._end_stretch()
            self._kind, self._region = role.kind, role.region
        if self._partial:
            data = self._partial + data
        text, used = utf_8_decode(data, "replace", False)
        self._partial = data[used:]
        self._route(text)

    def _end_stretch(self) -> None:
        rest, self._partial = self._partial, b""
        self._route(rest.decode(errors="replace"))
        if self._kind is Kind.ID:
            self._start_call()
        if self._kind is not Kind.SYNTAX:
            self._skip = 0
        self._kind, self._region = Kind.SYNTAX, None

    def _route(self, text: str) -> None:
        if not text:
            return
        if self._kind is Kind.CONTENT:
            self._content(self._skipped(text))
        elif self._kind in (Kind.VALUE, Kind.CONSTRAINED):
            self._unchanged(text, is_value=self._kind is Kind.VALUE)
        elif self._kind is Kind.REASONING:
            self._reasoning(self._skipped(text))
        elif self._kind is Kind.ID:
            self._id += text
        elif self._kind is Kind.INPUT:
            self._emit(ToolInput(self.tool_calls_started - 1, text))
        elif self._kind is Kind.ARGUMENTS and self._arguments is not None:
            self._argue(self._arguments.text(self._region, text))
        elif self._kind is Kind.ARGUMENTS:
            self._argue(text)

    def _unchanged(self, text: str, *, is_value: bool) -> None:
        """Emit content of which nothing is held back or dropped."""
        self._emit(ContentDelta(text, is_value=is_value))

    def _skipped(self, text: str) -> str:
        """Return ``text`` without line feeds that are dropped at the start of a stretch."""
        while self._skip and text.startswith("\n"):
            text, self._skip = text[1:], self._skip - 1
        if text:
            self._skip = 0
        return text

    def _content(self, text: str) -> None:
        if self._gap is not None:
            text = self._gap + text
            self._gap = None if text.strip(self._whitespace.between) else text
            if self._gap is not None:
                return
        self._emit(ContentDelta(text))

    def _reasoning(self, text: str) -> None:
        text = self._tail + text
        kept = len(text.rstrip("\n"))
        cut = max(kept, len(text) - self._whitespace.thought_newlines)
        self._tail = text[cut:]
        self._emit(ReasoningDelta(text[:cut]))

    # -- out ---------------------------------------------------------------------------------------
    def _emit(self, delta: Delta) -> None:
        """Append a delta, or extend the last one of the same kind; ignore empty text."""
        if isinstance(delta, ToolStart):
            self._deltas.append(delta)
            return
        if not delta.text:
            return
        last = self._deltas[-1] if self._deltas else None
        if last is None or isinstance(last, ToolStart) or type(last) is not type(delta):
            self._deltas.append(delta)
            return
        joined = replace(last, text=last.text + delta.text)
        # text and a value stay apart
        if joined == replace(delta, text=joined.text):
            self._deltas[-1] = joined
        else:
            self._deltas.append(delta)

    def _take(self) -> list[Delta]:
        deltas, self._deltas = self._deltas, []
        return deltas
