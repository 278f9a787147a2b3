"""The answer of a TagFamily: its structural tag, for one output spec.

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

Ids that are numbers continue those of the prompt. The first calls of an answer have exactly the
next ones, of which each takes a copy of all tools; further calls have larger ones.

Not here    the families' texts (tag_syntax), the offered tools (offered_tools).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..offered_tools import OfferedTool, answer_value, must_call, one_call_only
from ..output_spec import OutputSpec, PastCall
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
from ..spelling import unwritable
from .tag_syntax import CallPlace, Section, TagSyntax, TextMarks

#: calls with exact numbers, and tags up to which more than one call has them: 64 take 7 ms to plan
#: and to compile, in each turn
MAX_EXACT_CALLS, MAX_NUMBERED_TAGS = 8, 64
#: that models may write around marks
_LINE_FEEDS = regex("\\n{0,2}")


@dataclass(frozen=True)
class TagAnswer:
    """The parts of one answer. ``special_texts``: see wire_format.Format.plan."""

    family: TagSyntax
    output: OutputSpec
    tools: Sequence[OfferedTool]
    special_texts: Sequence[str]

    def root(self) -> Part:
        """Return the whole answer."""
        return self._thoughtful(self._answer())

    def _answer(self) -> Part:
        family, marks = self.family, self.family.text
        if marks is None or (marks.only_with_tools and not self.output.tools):
            return self._plain_answer()
        if marks.is_optional:
            return self._either_answer(marks)
        answer = self._marked_answer(marks)
        return sequence(answer, const(family.tail)) if family.tail else answer

    def _either_answer(self, marks: TextMarks) -> Part:
        """Return an answer whose content may be between marks."""
        plain, value = self._plain_answer(), answer_value(self.output)
        if must_call(self.output):
            return plain
        text = any_text(CONTENT, self._excludes(besides=self.family.triggers(())))
        marked = _between(marks, value or text)
        if self.tools and marks.is_beside_calls and value is None:
            calls = self._only_calls(lead_required=True)
            marked = sequence(marked, optional(sequence(_LINE_FEEDS, calls)))
        # models may write line feeds behind a thought, and behind their answer
        marked = sequence(_LINE_FEEDS, marked, _LINE_FEEDS)
        return replace(either(marked, plain), role=plain.role)

    def _plain_answer(self) -> Part:
        """Return an answer whose content has no marks."""
        family = self.family
        value = answer_value(self.output)
        if must_call(self.output):
            return self._only_calls(lead_required=False)
        if value is not None:
            return either(self._only_calls(lead_required=True), value) if self.tools else value
        if self.tools:
            return self._text_with_calls()
        # without tools, text may contain the marks of calls
        names = [tool.name for tool in self.output.tools]
        return any_text(CONTENT, self._excludes(besides=family.triggers(names) if names else ()))

    def _marked_answer(self, marks: TextMarks) -> Part:
        """Return an answer whose content is between marks."""
        value = answer_value(self.output)
        text = any_text(CONTENT, self._excludes(besides=self.family.triggers(())))
        content = _between(marks, value or text)
        if not self.tools:
            return content
        calls = self._only_calls(lead_required=True)
        if must_call(self.output):
            return calls
        if not marks.is_beside_calls:
            return either(calls, content)
        # clients parse all content as the requested value, also beside calls
        beside = _between(marks, text if value is None else const(""))
        return either(sequence(optional(beside), calls), content)

    def _one_call_only(self) -> bool:
        return not self.family.is_parallel or one_call_only(self.output)

    def _only_calls(self, *, lead_required: bool) -> Part:
        family = self.family
        only_one = self._one_call_only()
        calls = self._calls(only_one=only_one)
        if family.separator.isspace() and not only_one:
            # models write it before they know whether another call follows
            calls = sequence(calls, optional(const(family.separator)))
        if family.section is not None:
            return self._section(family.section, calls, family.section.end, SECTION)
        if not family.lead:
            return calls
        lead = const(family.lead)
        return sequence(lead if lead_required else optional(lead), calls)

    def _calls(self, *, only_one: bool) -> Part:
        """Return one or more calls with separators between them; ``only_one``: exactly one."""
        begins, separator = [self.family.begin], self.family.separator
        if only_one or not self._is_numbered:
            return separated(self._tags(begins, CallPlace(0)), separator, only_one=only_one)
        between = [const(separator)] if separator else []
        exact = max(1, min(MAX_EXACT_CALLS, MAX_NUMBERED_TAGS // len(self.tools) - 1))
        others = self._tags(begins, CallPlace(exact, is_exact=False))
        calls = separated(others, separator, only_one=False)
        for number in reversed(range(exact)):
            call = separated(self._tags(begins, CallPlace(number)), separator, only_one=True)
            calls = sequence(call, optional(sequence(*between, calls)))
        return calls

    def _text_with_calls(self) -> Part:
        family = self.family
        if family.section is not None and "{name}" in family.section.trigger:
            return self._text_before_calls()
        triggers = family.triggers(tool.name for tool in self.output.callable_tools)
        if family.section is not None:
            excludes = self._excludes(without=triggers)
            sections = self._sections(family.section)
            return triggered(triggers, sections, excludes, only_one=True)
        begins = [family.begin, family.lead + family.begin] if family.lead else [family.begin]
        tags = self._tags(begins, CallPlace(0, is_exact=self._one_call_only()))
        barred = family.triggers(self.output.barred)
        excludes = self._excludes(besides=barred, without=triggers)
        return triggered(triggers, tags, excludes, only_one=self._one_call_only())

    def _text_before_calls(self) -> Part:
        """Return free text that ends where the call of a tool opens a section.

        One trigger for each tool would repeat the calls of all tools behind each of them.
        """
        begins = self.family.triggers(tool.name for tool in self.output.tools)
        text = any_text(CONTENT, self._excludes(besides=begins))
        calls = self._only_calls(lead_required=False)
        return replace(sequence(text, optional(calls)), role=CONTENT)

    def _sections(self, section: Section) -> list[Part]:
        """Return the sections that free text may contain."""
        calls = self._only_calls(lead_required=False)
        if not section.no_tool or any(tool.name == section.no_tool for tool in self.output.tools):
            return [calls]
        return [calls, self._text_without_calls(section)]

    def _text_without_calls(self, section: Section) -> Part:
        """Return free text behind a section that says that no tool is needed."""
        text = any_text(CONTENT, self._excludes(besides=self.family.triggers(())))
        call = self.family.call_text(PastCall("", section.no_tool, "{}"))
        return self._section(section, sequence(const(call + section.end), text), "", SYNTAX)

    @staticmethod
    def _section(section: Section, content: Part, end: str, role: Role) -> Part:
        if not section.variants:
            return tag(section.begin, content, end, role)
        begins = [section.begin, *section.variants]
        rests = [const(begin.removeprefix(section.trigger)) for begin in begins]
        return tag(section.trigger, sequence(either(*rests), content), end, role)

    def _tags(self, begins: Sequence[str], place: CallPlace) -> list[Part]:
        """Return the calls that may stand at a place of the answer."""
        return [self._call(tool, begin, place) for begin in begins for tool in self.tools]

    def _call(self, tool: OfferedTool, begin: str, place: CallPlace) -> Part:
        family = self.family
        arguments = tool.arguments(family.arguments.style)
        begin, id_at_begin, after_id = begin.replace("{name}", tool.spelled).partition("{id}")
        before_id, id_at_end, end = family.end.rpartition("{id}")
        content = [arguments]
        role = tool.role(family.arguments.style)
        if family.ids is not None:
            pattern = family.ids.pattern
            if self._is_numbered:
                pattern = family.ids.pattern_of(place, self.output.calls_before or 0)
            if id_at_begin:
                whole = family.ids.whole.replace("{name}", tool.tool.name)
                role = tool.role(family.arguments.style, whole)
                content = [regex(pattern, ID if whole else SYNTAX), const(after_id), arguments]
            elif id_at_end:
                # a stream has begun the call with another id by then
                content = [arguments, const(before_id), regex(pattern, SYNTAX)]
        return tag(begin, sequence(*content), end, role, tool.origin)

    @property
    def _is_numbered(self) -> bool:
        """Whether the ids of calls are numbers that the prompt continues."""
        ids = self.family.ids
        if ids is None or ids.numbers is None or self.output.calls_before is None:
            return False
        return ids.numbers == "answer" or self.family.counts_calls(self.output)

    # -- reasoning ---------------------------------------------------------------------------------
    def _thoughtful(self, answer: Part) -> Part:
        marks = self.family.thinking
        is_open = self.output.thought == "open"
        if (
            marks is None
            or self.output.thought == "closed"
            or (self.output.reasoning == "off" and not is_open)
        ):
            return answer
        inside = any_text(REASONING, self._excludes(), self.output.thinking_tokens)
        if self.output.reasoning == "off":
            # the prompt opened the thought: it ends at once
            inside = const("")
        if is_open:
            ends = [end for _, end in marks.pairs]
            thought = tag("", inside, ends if marks.others else marks.end, THOUGHT)
        else:
            thought = either(*(tag(begin, inside, end, THOUGHT) for begin, end in marks.pairs))
        if answer.role is not CONTENT:
            # free text accepts the line feeds behind the mark, and the reader drops them
            thought = sequence(thought, regex(f"\\n{{0,{marks.outer_newlines}}}"))
        return sequence(thought if is_open else optional(thought), answer)

    def _excludes(self, *, besides: Sequence[str] = (), without: Sequence[str] = ()) -> list[str]:
        """Return the texts that free text must exclude: special tokens, reasoning's marks and
        ``besides``, except those that collide with the marks in ``without``.
        """
        marks = self.family.text
        framed = [marks.begin.strip(), marks.end.strip()] if marks and marks.is_optional else []
        special = [*self.special_texts, *self.family.thinking_marks(), *framed]
        texts = dict.fromkeys([*unwritable(special, without), *besides])
        return [text for text in texts if not any(w in text or text in w for w in without)]


def _between(marks: TextMarks, content: Part) -> Part:
    """Return content between marks. Without a mark behind it, the content ends with the answer."""
    if not marks.end:
        return sequence(const(marks.begin), content)
    return tag(marks.begin, content, marks.end)
