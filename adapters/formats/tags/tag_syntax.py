"""The syntax of calls in tags, as data: the texts of a family, and the calls that they make.

Not here    the grammar of answers (tag_answer).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..output_spec import OutputSpec, PastCall, ThinkingMarks
from ..spelling import Spelling, json_name
from ..wire_format import Format
from .chat_prompt import PLAIN_CHAT, Chat
from .notation import JSON, Notation

#: tools up to which a grammar has the numbers of a conversation, so that each turn needs a new one:
#: it takes 8 ms for 32 tools, 26 for 100. With more tools, all turns share a grammar
MAX_COUNTED_TOOLS = 32
#: of the numbers of calls, unless those of a conversation have as many
NUMBER_DIGITS = 4


class CallPlace(NamedTuple):
    """Which call of an answer: the one of this number, or any from it on."""

    number: int
    is_exact: bool = True


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
    """The texts around content; ``end`` may be "".

    ``is_beside_calls``  calls may follow it.
    ``only_with_tools``  content has no marks in conversations without tools.
    ``is_optional``      content may stand without marks, which it does not contain then.
    """

    begin: str
    end: str
    is_beside_calls: bool = False
    only_with_tools: bool = False
    is_optional: bool = False


@dataclass(frozen=True, kw_only=True)
class CallIds:
    """Ids that the model writes, at "{id}" in the begin or the end of a call.

    ``pattern``   a regular expression of the written text; of numbers: where any may stand.
    ``whole``     the call's id, made from the tool's "{name}" and the written "{id}"; "": the
                  gateway makes one.
    ``numbers``   the text is the number of the call in its conversation or answer; None: it is the
                  call's id. ``first``: the number of the first call.
    """

    pattern: str = "0|[1-9][0-9]{0,3}"
    whole: str = "{id}"
    numbers: Literal["conversation", "answer"] | None = None
    first: int = 0

    def pattern_of(self, place: CallPlace, calls_before: int) -> str:
        """Return the pattern of the number of a call at this place."""
        number = self._number(calls_before, place.number)
        return str(number) if place.is_exact else _numbers_from(number)

    def _number(self, calls_before: int, number: int) -> int:
        before = calls_before if self.numbers == "conversation" else 0
        return self.first + before + number

    def written(self, call: PastCall, calls_before: int, number: int) -> str:
        """Return the text of a past call's id; ``number``: of the call in its answer."""
        return call.id if self.numbers is None else str(self._number(calls_before, number))


def _numbers_from(first: int) -> str:
    """Return a pattern of the decimal numbers from ``first`` on, with at most NUMBER_DIGITS digits,
    or one more than ``first`` has.
    """
    digits = str(first)
    found = [digits]
    for at, digit in enumerate(map(int, digits)):
        rest = len(digits) - at - 1
        if digit < 9:
            found.append(f"{digits[:at]}[{digit + 1}-9]" + (f"[0-9]{{{rest}}}" if rest else ""))
    most = max(NUMBER_DIGITS, len(digits) + 1)
    found.append(f"[1-9][0-9]{{{len(digits)},{most - 1}}}")
    return "|".join(found)


@dataclass(frozen=True, kw_only=True)
class TagSyntax(Format):
    """The syntax of one family; its strings are the texts on the wire. Further texts: see Format.

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
    ``text``       the marks around content; None: content is free text.
    ``tail``       ends every answer.
    ``section``    the text around all calls; None: calls stand alone.
    ``arguments``  the notation of arguments.
    ``ids``        the ids that the model writes; None: it writes none.
    ``spell``      spells the name of a tool, at "{name}".
    ``thinking``   the marks of thoughts; None: the model does not think.
    ``chat``       the prompt for tokenizers without a chat template.
    """

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

    def calls_text(self, calls: Sequence[PastCall], calls_before: int = 0) -> str:
        """Return the calls of one answer, as history shows them; "" for none.

        ``calls_before``: the calls of earlier answers in the conversation.
        """
        if not calls:
            return ""
        texts = [self.call_text(call, calls_before, n) for n, call in enumerate(calls)]
        text = self.separator.join(texts)
        return f"{self.section.begin}{text}{self.section.end}" if self.section else text

    def call_text(self, call: PastCall, calls_before: int = 0, number: int = 0) -> str:
        """Return one call as history shows it; ``number``: of the call in its answer."""
        begin, end = self.begin.replace("{name}", self.spell(call.name) or ""), self.end
        if self.ids is not None:
            written = self.ids.written(call, calls_before, number)
            begin, end = begin.replace("{id}", written), end.replace("{id}", written)
        return begin + self.arguments.written(call.arguments) + end

    def counts_calls(self, output: OutputSpec) -> bool:
        if self.ids is None or self.ids.numbers != "conversation":
            return False
        tools = 1 if output.tool_choice == "named" else len(output.callable_tools)
        return output.tool_choice != "none" and 0 < tools <= MAX_COUNTED_TOOLS

    def triggers(self, names: Iterable[str]) -> list[str]:
        """Return the texts that open a call of one of these tools in free text."""
        trigger = self.section.trigger if self.section else self.trigger
        spelled = filter(None, map(self.spell, names))
        named = (trigger.replace("{name}", name) for name in spelled)
        own = named if "{name}" in trigger else [trigger]
        return [self.lead, *own] if self.lead else [*own]

    def thinking_marks(self) -> list[str]:
        """Return the texts around a thought, if any."""
        return [mark for pair in self.thinking.pairs for mark in pair] if self.thinking else []
