"""Reading answers that no grammar constrained.

The grammar of the format still separates reasoning, content and calls, but it asks for nothing:
content is any text, a call may name any offered tool, and arguments are any JSON. Only arguments
that a family writes as elements keep their schema, which tells strings from other values.

Text that this grammar cannot read becomes content: a call of an unknown tool, arguments that are no
JSON, a call that does not end. The rest of the answer is then content too, as written.

Representation   the events of a call, and those of a section before its first call, are held back
                 until the call ends, so that a client gets whole calls only.
Invariants       I1 the parser raises nothing for any tokens.
                 I2 the concatenated bytes of all events are the text.
Cost             that of the engine's parser; arguments of a call are not streamed.
Not here         the comparison with the enforced grammar (shadow).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adapters.formats import (
    CONTENT,
    Format,
    FormatError,
    FormatPlan,
    InputFormat,
    Kind,
    Origin,
    OutputSpec,
    Role,
    Tool,
    for_reading_foreign,
    get_format,
)
from engine import (
    Compiled,
    Compiler,
    Event,
    LimitExceeded,
    ParseDivergence,
    Parser,
    SpecError,
    Vocabulary,
    WorkBudget,
)

from ..generation import ForeignParser
from .shadow import ShadowParser

#: the node of text that the grammar could not read; no spec has it
UNREAD = "/unread"
_ANY_OBJECT = {"type": "object"}


@dataclass(frozen=True, slots=True)
class FreeText:
    """The free answers of one format. ``compiler``: of the grammars that read them.

    ``special_texts``: the vocabulary's special tokens. Text may contain all but those that the
    format itself needs.
    """

    compiler: Compiler
    wire: Format
    special_texts: tuple[str, ...]

    def compile(self, output: OutputSpec, budget: WorkBudget) -> tuple[FormatPlan, Compiled]:
        """Return the plan that reads an answer to this request, and its grammar.

        A format that cannot write the tools reads text without calls.

        Raises:
            Cancelled: the budget was cancelled.
        """
        own = tuple(text for text in self.special_texts if text in self.wire.own_tokens)
        for wanted in self._candidates(output):
            try:
                plan = _reading(self.wire.plan(wanted, own))
                return plan, self.compiler.compile_structural_tag(plan.spec_json, budget=budget)
            except (FormatError, SpecError, LimitExceeded):
                continue
        plan = _reading(get_format("plain").plan(OutputSpec(reasoning="off"), ()))
        # its own budget: the request's may be spent
        return plan, self.compiler.compile_structural_tag(plan.spec_json, budget=WorkBudget())

    def _candidates(self, output: OutputSpec) -> Iterator[OutputSpec]:
        """Yield what the answer may be, from the most to the least that can be read."""
        free = _free(output)
        yield free
        untyped = tuple(
            tool if tool.input is not None else replace(tool, parameters=_ANY_OBJECT)
            for tool in free.tools
        )
        yield replace(free, tools=untyped)
        yield replace(free, tools=(), barred=(), builtin_tools=(), tool_choice="auto")


def _free(output: OutputSpec) -> OutputSpec:
    """Return the same request without constraints."""
    return replace(
        output,
        tools=tuple(map(_free_tool, output.tools)),
        tool_choice="none" if output.tool_choice == "none" else "auto",
        tool_name=None,
        parallel_tool_calls=True,
        response_schema=None,
        response_grammar=None,
        response_strict=False,
        thinking_tokens=None,
        calls_before=None,
    )


def _free_tool(tool: Tool) -> Tool:
    return replace(tool, strict=None, input=None if tool.input is None else InputFormat())


def _reading(plan: FormatPlan) -> FormatPlan:
    """Return the plan in the dialect that reads any JSON, with a role for unread text."""

    def untyped(origin: Origin, schema: Any) -> Any:
        # loose JSON ignores the schema: without it, requests share grammars
        return _ANY_OBJECT if origin.style == "json" else schema

    loose = for_reading_foreign(plan.with_schemas(untyped))
    return replace(loose, roles={**loose.roles, UNREAD: CONTENT})


class TolerantParser:
    """An engine.Parser that reads any text. ``roles``: of the plan's nodes."""

    def __init__(
        self,
        parser: Parser,
        roles: Mapping[str, Role],
        tokens: Sequence[bytes],
        stop_token_ids: Sequence[int],
    ) -> None:
        self._parser = parser
        self._roles = roles
        self._tokens = tokens
        self._stops = frozenset(stop_token_ids)
        #: bytes fed that are in no event yet
        self._behind = bytearray()
        #: events of the open call or section
        self._held: list[Event] = []
        self._is_lost = False

    def feed(self, token: int) -> list[Event]:
        """Like Parser.feed."""
        is_text = token not in self._stops and 0 <= token < len(self._tokens)
        data = self._tokens[token] if is_text else b""
        return self._fed(data, self._parser.feed, token)

    def feed_bytes(self, data: bytes) -> list[Event]:
        """Like Parser.feed_bytes."""
        return self._fed(data, self._parser.feed_bytes, data)

    def _fed(
        self, data: bytes, feed: Callable[[Any], list[Event]], value: int | bytes
    ) -> list[Event]:
        if self._is_lost:
            return _unread(data)
        self._behind += data
        try:
            return self._kept(feed(value))
        except (ParseDivergence, LimitExceeded):
            return self._lose()

    def finish(self) -> list[Event]:
        """Like Parser.finish; a call that has not ended is content."""
        if self._is_lost:
            return []
        try:
            events = self._kept(self._parser.finish())
        except LimitExceeded:
            return self._lose()
        return [*events, *self._lose()] if self._held else events

    def is_whole(self) -> bool:
        """Return True: any text is an answer."""
        return True

    def _kept(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that may be read now, and hold back those of an open call."""
        shown: list[Event] = []
        for event in events:
            del self._behind[: len(event.bytes)]
            is_border = event.kind != "text" and self._is_call(event.node)
            if not self._held and not (is_border and event.kind == "open"):
                shown.append(event)
                continue
            self._held.append(event)
            if is_border and event.kind == "close":
                shown += self._held
                self._held = []
        return shown

    def _is_call(self, node: str) -> bool:
        """Whether the node is a call or a section of calls."""
        role = self._roles.get(node)
        return role is not None and role.kind in (Kind.CALL, Kind.SECTION)

    def _lose(self) -> list[Event]:
        """Return all bytes that are in no event as content."""
        data = b"".join(event.bytes for event in self._held) + bytes(self._behind)
        self._held, self._is_lost = [], True
        self._behind.clear()
        return _unread(data)


class FreeParser(ForeignParser):
    """A parser of an answer that nothing constrained; ``shadow``: compares it with its grammar."""

    def __init__(
        self,
        parser: TolerantParser,
        vocabulary: Vocabulary,
        token_ids: frozenset[int],
        shadow: ShadowParser | None = None,
    ) -> None:
        super().__init__(parser, vocabulary, token_ids)
        self._shadow = shadow

    def feed(self, token: int) -> list[Event]:
        """See TolerantParser; a special token counts as its text, as in ForeignParser."""
        if self._shadow is not None:
            self._shadow.feed(token)
        return super().feed(token)

    def finish(self) -> list[Event]:
        """See TolerantParser."""
        if self._shadow is not None:
            self._shadow.finish()
        return super().finish()

    def is_whole(self) -> bool:
        """Return True. Callers ask only about answers that ended of themselves."""
        if self._shadow is not None:
            self._shadow.stopped()
        return super().is_whole()


def _unread(data: bytes) -> list[Event]:
    return [Event("text", UNREAD, data)] if data else []
