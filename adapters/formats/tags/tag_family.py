"""Families whose calls are tags in text: begin mark with the tool's name, arguments, end mark.

A TagFamily is data; this file defines the specs of all of them:

    choice, schema             the answer
    no tools, or none          free text that cannot contain calls
    auto                       free text with calls in it; if not parallel, one call ends it
    auto with a schema         only calls, or one JSON value
    required, named            only calls; a response schema has no effect then
    none with a schema         one JSON value

A family with a section writes all calls of an answer inside it, and the section ends the answer.

If the family has reasoning and the output allows it, reasoning may precede each of them. Its marks
are always offered, whether or not they are special tokens of the vocabulary, and never occur in
free text, so no text is ambiguous.

Not here    the families (one module for each vendor), prompts (chat_prompt.py), the text of
            arguments (notation.py).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..format_plan import FormatPlan, make_plan
from ..offered_tools import (
    OfferedTool,
    answer_value,
    must_call,
    offered_tools,
    one_call_only,
)
from ..output_spec import ChatMessage, OutputSpec, PastCall, ThinkingMarks, Tool
from ..parts import (
    CONTENT,
    ID,
    REASONING,
    SECTION,
    SYNTAX,
    THOUGHT,
    Part,
    Role,
    any_text,
    const,
    either,
    optional,
    regex,
    separated,
    sequence,
    tag,
    triggered,
)
from ..reading.reader import TagWhitespace
from ..spelling import Spelling, json_name, unwritable
from ..turns import read_turns
from .chat_prompt import PLAIN_CHAT, Chat, offers, render_chat, turn_text
from .notation import JSON, Notation


@dataclass(frozen=True, kw_only=True)
class Section:
    """The text around all calls of an answer. ``trigger``: the text that always opens a section in
    free text, a prefix of ``begin``; or with "{name}", ``begin`` with the beginning of a call.

    ``variants``   other texts with which models begin a section; all begin with ``trigger``.
    ``no_tool``    the name that models call, without arguments, if they need no tool; free text may
                   follow that section ("" = none). A tool of this name is a tool like others.
    """

    begin: str
    end: str
    trigger: str
    variants: tuple[str, ...] = ()
    no_tool: str = ""


@dataclass(frozen=True, kw_only=True)
class TextMarks:
    """The texts around content. ``is_beside_calls``: calls may follow the content."""

    begin: str
    end: str
    is_beside_calls: bool = False


@dataclass(frozen=True, kw_only=True)
class CallIds:
    """Ids that the model writes, at "{id}" in the begin or the end of a call.

    ``pattern``   a regular expression of the written text.
    ``whole``     the call's id, made from the tool's "{name}" and the written "{id}"; "": the
                  gateway makes one.
    ``numbers``   the text is the number of the call in its conversation or answer; None: it is the
                  call's id. ``first``: the number of the first call.
    """

    pattern: str
    whole: str = "{id}"
    numbers: Literal["conversation", "answer"] | None = None
    first: int = 0

    def written(self, call: PastCall, calls_before: int, number: int) -> str:
        """Return the text of a past call's id; ``number``: of the call in its answer."""
        if self.numbers is None:
            return call.id
        return str(self.first + number + (calls_before if self.numbers == "conversation" else 0))


@dataclass(frozen=True, kw_only=True)
class TagFamily:
    """One family; its strings are the texts on the wire.

    ``begin``      of a call; "{name}" stands for the tool's name as ``spell`` writes it, "{id}" for
                   an id.
    ``end``        of a call; may contain "{id}".
    ``trigger``    a prefix of every begin, which always opens a call in free text. With "{name}"
                   there is one trigger for each offered tool; with another name it is text. A
                   family with a section has none.
    ``lead``       an optional mark before the calls ("" = none). It is required in answers that are
                   either calls or a JSON value, because it distinguishes the two.
    ``separator``  between two calls if only calls are allowed; ``between``: characters that count
                   as syntax between calls in free text.
    ``is_parallel``  whether an answer may contain several calls.
    ``text``       the marks around content; None: content is free text.
    ``tail``       ends every answer.
    ``marks``      texts that show that a chat template uses this syntax, if it renders no calls.
    """

    name: str
    begin: str
    end: str
    separator: str
    chat: Chat = PLAIN_CHAT
    trigger: str = ""
    between: str = ""
    lead: str = ""
    section: Section | None = None
    text: TextMarks | None = None
    tail: str = ""
    arguments: Notation = JSON
    ids: CallIds | None = None
    spell: Spelling = json_name
    thinking: ThinkingMarks | None = None
    stop_texts: tuple[str, ...] = ()
    own_tokens: tuple[str, ...] = ()
    prompt_tokens: tuple[str, ...] = ()
    is_parallel: bool = True
    marks: tuple[str, ...] = ()

    def plan(self, output: OutputSpec, special_texts: Sequence[str]) -> FormatPlan:
        """See wire_format.Format."""
        tools = offered_tools(output, self.spell, [*special_texts, *self._marks()])
        root = self._thoughtful(output, special_texts, self._answer(output, tools, special_texts))
        return make_plan(root, output, stop_texts=self.stop_texts, whitespace=self._whitespace())

    def render(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], output: OutputSpec
    ) -> str:
        """See wire_format.Format."""
        return render_chat(self.chat, self.calls_text, messages, tools, output)

    def instructions(self, tools: Sequence[Tool], output: OutputSpec) -> str:
        """See wire_format.Format."""
        return "\n\n".join(offers(self.chat, self.calls_text, tools, output))

    def as_text(self, message: ChatMessage) -> str:
        """See wire_format.Format."""
        (turn,) = read_turns([message])
        return turn_text(self.chat, self.calls_text, turn)

    def calls_text(self, calls: Sequence[PastCall], calls_before: int = 0) -> str:
        """Return the calls of one answer, as history shows them; "" for none.

        ``calls_before``: the calls of earlier answers in the conversation.
        """
        if not calls:
            return ""
        texts = [self._call_text(call, calls_before, n) for n, call in enumerate(calls)]
        text = self.separator.join(texts)
        return f"{self.section.begin}{text}{self.section.end}" if self.section else text

    def calls_texts(self, calls: Sequence[PastCall]) -> Sequence[str]:
        """See wire_format.Format."""
        return [self.calls_text(calls), self.calls_text(calls[:1])]

    def _call_text(self, call: PastCall, calls_before: int, number: int) -> str:
        begin, end = self.begin.replace("{name}", self.spell(call.name) or ""), self.end
        if self.ids is not None:
            written = self.ids.written(call, calls_before, number)
            begin, end = begin.replace("{id}", written), end.replace("{id}", written)
        return begin + self.arguments.written(call.arguments) + end

    # -- the answer --------------------------------------------------------------------------------
    def _answer(
        self, output: OutputSpec, tools: list[OfferedTool], special_texts: Sequence[str]
    ) -> Part:
        if self.text is not None:
            answer = self._marked_answer(self.text, output, tools, special_texts)
            return sequence(answer, const(self.tail)) if self.tail else answer
        value = answer_value(output)
        if must_call(output):
            return self._only_calls(output, tools, lead_required=False)
        if value is not None:
            return (
                either(self._only_calls(output, tools, lead_required=True), value)
                if tools
                else value
            )
        if tools:
            return self._text_with_calls(output, tools, special_texts)
        forbidden = self._triggers(tool.name for tool in output.tools) if output.tools else []
        return any_text(CONTENT, self._excludes(special_texts, besides=forbidden))

    def _marked_answer(
        self,
        marks: TextMarks,
        output: OutputSpec,
        tools: list[OfferedTool],
        special_texts: Sequence[str],
    ) -> Part:
        """Return an answer whose content is between marks."""
        value = answer_value(output)
        text = any_text(CONTENT, self._excludes(special_texts, besides=self._triggers(())))
        content = tag(marks.begin, value or text, marks.end)
        if not tools:
            return content
        calls = self._only_calls(output, tools, lead_required=True)
        if not marks.is_beside_calls:
            return calls if must_call(output) else either(calls, content)
        # clients parse all content as the requested value, also beside calls
        beside = tag(marks.begin, text if value is None else const(""), marks.end)
        with_calls = sequence(optional(beside), calls)
        return with_calls if must_call(output) else either(with_calls, content)

    def _one_call_only(self, output: OutputSpec) -> bool:
        return not self.is_parallel or one_call_only(output)

    def _only_calls(
        self, output: OutputSpec, tools: list[OfferedTool], *, lead_required: bool
    ) -> Part:
        tags = [self._call(tool, self.begin) for tool in tools]
        calls = separated(tags, self.separator, only_one=self._one_call_only(output))
        if self.section is not None:
            return self._section(self.section, calls, self.section.end, SECTION)
        if not self.lead:
            return calls
        lead = const(self.lead)
        return sequence(lead if lead_required else optional(lead), calls)

    def _text_with_calls(
        self, output: OutputSpec, tools: list[OfferedTool], special_texts: Sequence[str]
    ) -> Part:
        if self.section is not None and "{name}" in self.section.trigger:
            return self._text_before_calls(output, tools, special_texts)
        triggers = self._triggers(tool.name for tool in output.callable_tools)
        if self.section is not None:
            excludes = self._excludes(special_texts, without=triggers)
            sections = self._sections(self.section, output, tools, special_texts)
            return triggered(triggers, sections, excludes, only_one=True)
        begins = [self.begin, self.lead + self.begin] if self.lead else [self.begin]
        tags = [self._call(tool, begin) for begin in begins for tool in tools]
        barred = self._triggers(output.barred)
        excludes = self._excludes(special_texts, besides=barred, without=triggers)
        return triggered(triggers, tags, excludes, only_one=self._one_call_only(output))

    def _text_before_calls(
        self, output: OutputSpec, tools: list[OfferedTool], special_texts: Sequence[str]
    ) -> Part:
        """Return free text that ends where the call of a tool opens a section.

        One trigger for each tool would repeat the calls of all tools behind each of them.
        """
        begins = self._triggers(tool.name for tool in output.tools)
        text = any_text(CONTENT, self._excludes(special_texts, besides=begins))
        calls = self._only_calls(output, tools, lead_required=False)
        return replace(sequence(text, optional(calls)), role=CONTENT)

    def _sections(
        self,
        section: Section,
        output: OutputSpec,
        tools: list[OfferedTool],
        special_texts: Sequence[str],
    ) -> list[Part]:
        """Return the sections that free text may contain."""
        calls = self._only_calls(output, tools, lead_required=False)
        if not section.no_tool or any(tool.name == section.no_tool for tool in output.tools):
            return [calls]
        return [calls, self._text_without_calls(section, special_texts)]

    def _text_without_calls(self, section: Section, special_texts: Sequence[str]) -> Part:
        """Return free text behind a section that says that no tool is needed."""
        text = any_text(CONTENT, self._excludes(special_texts, besides=self._triggers(())))
        call = self._call_text(PastCall("", section.no_tool, "{}"), 0, 0)
        return self._section(section, sequence(const(call + section.end), text), "", SYNTAX)

    @staticmethod
    def _section(section: Section, content: Part, end: str, role: Role) -> Part:
        if not section.variants:
            return tag(section.begin, content, end, role)
        begins = [section.begin, *section.variants]
        rests = [const(begin.removeprefix(section.trigger)) for begin in begins]
        return tag(section.trigger, sequence(either(*rests), content), end, role)

    def _call(self, tool: OfferedTool, begin: str) -> Part:
        arguments = tool.arguments(self.arguments.style)
        begin, id_at_begin, after_id = begin.replace("{name}", tool.spelled).partition("{id}")
        before_id, id_at_end, end = self.end.rpartition("{id}")
        content = [arguments]
        role = tool.role(self.arguments.style)
        if self.ids is not None and id_at_begin:
            whole = self.ids.whole.replace("{name}", tool.tool.name)
            role = tool.role(self.arguments.style, whole)
            written = regex(self.ids.pattern, ID if whole else SYNTAX)
            content = [written, const(after_id), arguments]
        elif self.ids is not None and id_at_end:
            # a stream has begun the call with another id by then
            content = [arguments, const(before_id), regex(self.ids.pattern, SYNTAX)]
        return tag(begin, sequence(*content), end, role, tool.origin)

    # -- reasoning ---------------------------------------------------------------------------------
    def _thoughtful(self, output: OutputSpec, special_texts: Sequence[str], answer: Part) -> Part:
        marks = self.thinking
        is_open = output.thought == "open"
        if (
            marks is None
            or output.thought == "closed"
            or (output.reasoning == "off" and not is_open)
        ):
            return answer
        inside = any_text(REASONING, self._excludes(special_texts), output.thinking_tokens)
        if output.reasoning == "off":
            # the prompt opened the thought: it ends at once
            inside = const("")
        thought = tag("" if is_open else marks.begin, inside, marks.end, THOUGHT)
        if answer.role is not CONTENT:
            # free text accepts the line feeds behind the mark, and the reader drops them
            thought = sequence(thought, regex(f"\\n{{0,{marks.outer_newlines}}}"))
        return sequence(thought if is_open else optional(thought), answer)

    # -- marks -------------------------------------------------------------------------------------
    def _triggers(self, names: Iterable[str]) -> list[str]:
        """Return the texts that open a call of one of these tools in free text."""
        trigger = self.section.trigger if self.section else self.trigger
        spelled = filter(None, map(self.spell, names))
        named = (trigger.replace("{name}", name) for name in spelled)
        own = named if "{name}" in trigger else [trigger]
        return [self.lead, *own] if self.lead else [*own]

    def _marks(self) -> list[str]:
        """Return texts that no tool's name may contain."""
        thinking = [self.thinking.begin, self.thinking.end] if self.thinking else []
        return [*self._triggers(()), *thinking]

    def _excludes(
        self,
        special_texts: Sequence[str],
        *,
        besides: Sequence[str] = (),
        without: Sequence[str] = (),
    ) -> list[str]:
        """Return the texts that free text must exclude: special tokens, reasoning's marks and
        ``besides``, except those that collide with the marks in ``without``.
        """
        thinking = [self.thinking.begin, self.thinking.end] if self.thinking else []
        texts = dict.fromkeys([*unwritable([*special_texts, *thinking], without), *besides])
        return [text for text in texts if not any(w in text or text in w for w in without)]

    def _whitespace(self) -> TagWhitespace:
        marks = self.thinking
        return TagWhitespace(
            between=self.between,
            thought_newlines=marks.inner_newlines if marks else 0,
            answer_newlines=marks.outer_newlines if marks else 0,
        )
