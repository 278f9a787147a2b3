"""Answers as a chat template shows them: the text of past calls, cut out of a prompt.

An answer begins where a prompt for it ends, and it ends where the text of a turn's end begins.
Both are found by comparing prompts: of a question, of an answer that is a word, and of calls.

Not here    what the text of calls means (calls, notations).
"""

import copy
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from adapters.formats import ThinkingMarks, Thought, Tool, tool_object

from ..profile import REASONING_KEYS, Messages, Render, TemplateError, Tools
from ..thinking import MARKS, named_marks, thought_at_end
from .texts import Borders

#: ids of calls: as this server makes them, and as Mistral's templates require them
IDS: Mapping[str, Sequence[str]] = {
    "any": (
        "call_0123456789abcdef01234567",
        "call_123456789abcdef012345678",
        "call_23456789abcdef0123456789",
        "call_3456789abcdef0123456789ab",
    ),
    "nine": ("a1b2c3d4e", "b1c2d3e4f", "c1d2e3f4g", "d1e2f3g4h"),
}
Ids = Literal["any", "nine"]
Arguments = Literal["object", "text"]
_FORMS: Sequence[tuple[Arguments, Ids]] = (
    ("object", "any"),
    ("object", "nine"),
    ("text", "any"),
    ("text", "nine"),
)
_QUESTION = "wordquestion"
_SAID = "wordsaid"
_NEXT = "wordnext"
_RESULT = "wordresult"
#: the text of a thought
THOUGHT = "wordthought"
_VALUE = "wordvalue"
#: a line feed and as many further characters are no accident
_MIN_COMMON = 2
#: characters of an answer with calls, and of the text between two turns. Models have at most 800
#: and 230 there. Texts are compared in a time that grows with the square of their lengths
MAX_ANSWER, MAX_BETWEEN = 20_000, 2_000


class NotDerived(ValueError):
    """No format can be derived from a template; the sentence says why."""


@dataclass(frozen=True)
class Call:
    """A call that a template shows."""

    name: str
    arguments: Mapping[str, Any]


class Answers:
    """The answers of one template.

    ``arguments``  how it takes the arguments of calls: as an "object", or as JSON "text".
    ``ids``        the ids of calls that it takes.
    ``text``       the texts around the content of an answer, both "" if there are none;
                   ``is_text_beside_calls``: calls may follow it; ``is_text_bare_without_tools``:
                   they are not there in conversations without tools.
    ``no_content`` the texts around content beside calls, where it is empty.
    ``tail``       ends every answer.
    ``stops``      tokens that end answers.
    ``thinking``   the marks of thoughts; None: it shows none.
    """

    arguments: Arguments = "object"
    ids: Ids = "any"

    def __init__(
        self, render: Render, tools: Tools, special: Collection[str], ends: Collection[str]
    ) -> None:
        """``special``: the texts of special tokens; ``ends``: of those that end an answer."""
        self._render = render
        self._tools = tools
        self._ends = tuple(ends)
        self.borders = Borders(special)
        self.thinking: ThinkingMarks | None = None
        self._opened = self._behind([_said("user", _QUESTION)], _QUESTION)
        self.stops: tuple[str, ...] = ()
        self.text, self.tail = ("", ""), ""
        self.no_content = ""
        self._frame()
        self.is_text_beside_calls = self.is_text_bare_without_tools = False
        #: the key of a past answer's thought
        self._thought_key = REASONING_KEYS[0]
        self._find_form()
        self.thinking = self._thinking_marks()
        self._find_text_marks()

    def of(self, calls: Sequence[Call], content: str = "", before: Sequence[Call] = ()) -> str:
        """Return the text of an answer with these calls, without a thought and without the texts
        around a missing content.

        ``before``: the calls of an earlier answer.

        Raises:
            NotDerived: the template refuses the conversation, or does not show the calls.
        """
        answer = self.whole(calls, content, before)
        return answer if content else answer.removeprefix(self.no_content)

    def whole(self, calls: Sequence[Call], content: str = "", before: Sequence[Call] = ()) -> str:
        """Return the same with the texts around a missing content."""
        answer = self._ended(self._shown(calls, content, before))
        return self._without_thought(answer).removesuffix(self.tail)

    def thoughtful(self, calls: Sequence[Call]) -> tuple[str, Thought]:
        """Return an answer with a thought before the calls, and the state of thoughts where it
        begins.
        """
        shown = self._shown(calls, thought=(self._thought_key, THOUGHT))
        return self._ended(shown).removesuffix(self.tail), thought_at_end(
            self._header, self.thinking
        )

    def _ended(self, shown: str) -> str:
        """Return a text without the end of the turn."""
        # the name of a tool may be a part of the text behind the end
        answer, *behind = shown.rsplit(self._end, self._end_count)
        if len(behind) != self._end_count:
            raise NotDerived("answers with calls end in different ways")
        return answer

    def with_tools(self, tools: Sequence[Tool]) -> "Answers":
        """Return the answers of conversations with other tools."""
        made = copy.copy(self)
        made._tools = [tool_object(tool) for tool in tools]
        return made

    # -- where answers begin and end ---------------------------------------------------------------
    def _behind(self, messages: Messages, question: str) -> str:
        try:
            prompt = self._render(messages, self._tools, {})
        except TemplateError as error:
            raise NotDerived(f"the template refuses a conversation: {error}") from error
        at = prompt.rfind(question)
        if at < 0:
            raise NotDerived("the template does not show a question")
        return prompt[at + len(question) :]

    def _frame(self) -> None:
        """Find the text before answers, and that behind an answer in words."""
        shown = self._behind(
            [_said("user", _QUESTION), _said("assistant", _SAID), _said("user", _NEXT)], _QUESTION
        )
        before, found, behind = shown.partition(_SAID)
        if not found or _NEXT not in behind:
            raise NotDerived("the template does not show answers")
        self._behind_said = _bounded(behind[: behind.index(_NEXT)], MAX_BETWEEN)
        header = self.borders.prefix(self._opened, before)
        if header != before:
            # some templates write instructions before the beginning of an answer
            rest = before[len(header) :]
            opened = self._opened.rstrip()
            is_same = self.borders.has_mark(rest) and opened.endswith(rest.rstrip())
            header = before if is_same else header
        if self.borders.has_mark(self._opened) and not self.borders.has_mark(header):
            raise NotDerived("answers do not begin where the prompt for an answer ends")
        # the white space behind it may be another one before calls
        self._header = header.rstrip()
        self._before_said = before[len(self._header) :]

    def _shown(
        self,
        calls: Sequence[Call],
        content: str = "",
        before: Sequence[Call] = (),
        thought: tuple[str, str] | None = None,
        with_results: bool = True,
    ) -> str:
        """Return the text from the beginning of an answer with calls to the first result."""
        messages: list[Mapping[str, Any]] = []
        if before:
            messages += [_said("user", "wordearlier"), *self._turn(before, 0, "", None)]
            messages += [_said("assistant", "wordanswered")]
        answer, *results = self._turn(calls, len(before), content, thought)
        messages += [_said("user", _QUESTION), answer, *(results if with_results else ())]
        shown = self._behind(messages, _QUESTION)
        at = shown.find(_RESULT) if with_results else len(shown)
        if at < 0 or not shown.startswith(self._header):
            raise NotDerived("the template does not show calls and their results")
        return _bounded(shown[len(self._header) : at], MAX_ANSWER)

    def _turn(
        self, calls: Sequence[Call], first: int, content: str, thought: tuple[str, str] | None
    ) -> list[Mapping[str, Any]]:
        made, results = [], []
        for number, call in enumerate(calls, first):
            arguments: Any = dict(call.arguments)
            if self.arguments == "text":
                arguments = json.dumps(arguments, ensure_ascii=False)
            function = {"name": call.name, "arguments": arguments}
            named = IDS[self.ids][number % len(IDS[self.ids])]
            made.append({"id": named, "type": "function", "function": function})
            result = {"role": "tool", "tool_call_id": named, "name": call.name}
            results.append({**result, "content": f"{_RESULT}{number}"})
        answer: dict[str, Any] = {"role": "assistant", "content": content, "tool_calls": made}
        if thought is not None:
            answer[thought[0]] = thought[1]
        return [answer, *results]

    def _find_form(self) -> None:
        """Find the arguments and ids with which the template shows a call, and where it ends."""
        call = Call("wordtool", {"wordkey": _VALUE})
        reason = NotDerived("the template shows no calls")
        for self.arguments, self.ids in _FORMS:
            try:
                shown = self._shown([call])
            except NotDerived as error:
                reason = error
                continue
            if "wordtool" in shown and _VALUE in shown:
                self._find_end(_bounded(shown.rpartition(_VALUE)[2], MAX_BETWEEN), call)
                return
        raise reason

    def _find_end(self, tail: str, call: Call) -> None:
        """Find the text behind calls. ``tail``: that behind the last argument.

        It begins like the text behind an answer in words. If both are different, as where the
        beginning of the next turn ends a turn, the prompt differs here from one without results.
        """
        at = min((tail.index(end) for end in self._ends if end in tail), default=-1)
        if at < 0 or not self._has_text_marks():
            same, skip = self._same_end(tail)
            if same >= 0 and (at < 0 or same < at):
                # a turn of calls may end with another token than a turn of words
                own = skip and not self._has_text_marks()
                at = self._own_end(tail, same, call) if own else same
        if at < 0:
            at = self._end_of_bare(tail, call)
        behind = tail[at:]
        mark = self.borders.first_mark(behind)
        self._end = behind[: mark.end()] if mark else behind
        if not self._end:
            raise NotDerived("nothing stands between calls and their results")
        self._end_count = behind.count(self._end)
        self.stops = self._first_token(behind)

    def _end_of_bare(self, tail: str, call: Call) -> int:
        """Return where the text behind calls differs from that of a prompt without results."""
        try:
            bare = self._shown([call], with_results=False).rpartition(_VALUE)[2]
        except NotDerived:
            bare = ""
        at = len(self.borders.prefix(tail, bare))
        # without a beginning of the next turn, the prompt ends with a token that begins results
        return self._token_before(tail, at) if at == len(bare) else at

    def _own_end(self, tail: str, at: int, call: Call) -> int:
        """Return where a token begins that ends the turns of calls alone; ``at`` if the mark there
        ends each call.
        """
        begin = self._token_before(tail, at)
        try:
            both = self._shown([call, call])
        except NotDerived:
            return begin
        mark = tail[begin:at]
        return begin if both.count(mark) == self._shown([call]).count(mark) else at

    def _token_before(self, text: str, at: int) -> int:
        """Return where a mark begins that ends here; ``at`` if there is none."""
        last = max(self.borders.marks(text[:at]), key=re.Match.end, default=None)
        return last.start() if last and last.end() == at else at

    def _has_text_marks(self) -> bool:
        return bool(self._without_thought(self._before_said).strip())

    def _same_end(self, tail: str) -> tuple[int, int]:
        """Return where the longest text begins that both kinds of answers have behind them: in
        ``tail``, -1 for nowhere, and behind an answer in words.

        An answer in words may have a mark before that text.
        """
        skips = self._begins(self._behind_said)
        if not self._has_text_marks():
            found = self._longest(tail, skips[:1])
            if found[0] >= 0:
                return found
        return self._longest(tail, skips)

    def _longest(self, tail: str, skips: Sequence[int]) -> tuple[int, int]:
        best, places = 0, (-1, 0)
        for at, skip in product(self._cuts(tail), skips):
            if len(tail) - at <= best:
                break
            common = self.borders.prefix(tail[at:], self._behind_said[skip:])
            is_line = "\n" in common and len(common) > _MIN_COMMON
            if len(common) > best and (is_line or self.borders.has_mark(common)):
                best, places = len(common), (at, skip)
        return places

    def _begins(self, text: str) -> list[int]:
        """Return the places where a mark or a line begins or ends."""
        marks = [at for mark in self.borders.marks(text) for at in mark.span()]
        lines = [at for found in re.finditer("\n", text) for at in found.span()]
        begins = sorted({0, *marks, *lines} - {len(text)})
        return [at for at in begins if not self.borders.is_cut(text, at)]

    def _cuts(self, text: str) -> list[int]:
        return [at for at in range(len(text)) if not self.borders.is_cut(text, at)]

    # -- thoughts and text -------------------------------------------------------------------------
    def _thinking_marks(self) -> ThinkingMarks | None:
        call = Call("wordtool", {"wordkey": _VALUE})
        calls = self.of([call]).strip()
        for key in REASONING_KEYS:
            try:
                shown = self._header + self._shown([call], thought=(key, THOUGHT))
            except NotDerived:
                continue
            before, found, behind = shown.partition(THOUGHT)
            if found and calls in behind:
                self._thought_key = key
                return self._marks_around(before, behind[: behind.index(calls)])
        return None

    def _marks_around(self, before: str, between: str) -> ThinkingMarks | None:
        """Return the marks of a thought. ``between``: the text between it and calls."""
        begin, end = before.rstrip("\n"), between.strip("\n")
        for marks in MARKS:
            if begin.endswith(marks.begin.rstrip("\n")) and end == marks.end:
                return marks
        opened = max(self.borders.marks(begin), key=re.Match.end, default=None)
        closed = self.borders.first_mark(end)
        if opened is None or opened.end() != len(begin) or closed is None or closed.start():
            return None
        if any(token in opened[0] + end for token in self._ends):
            return None
        return ThinkingMarks(
            begin=opened[0],
            end=end,
            inner_newlines=max(len(before) - len(begin), _line_feeds(between)),
            outer_newlines=_line_feeds(between[::-1]),
            ends_turn=bool(self._header) and self._header in end,
        )

    def _without_thought(self, answer: str) -> str:
        """Return an answer without an empty thought, or the end of one that the prompt began."""
        own = (self.thinking,) if self.thinking else ()
        for marks in (*own, *MARKS, *named_marks(answer.lstrip("\n"))):
            rest = answer.lstrip("\n").removeprefix(marks.begin.strip()).lstrip("\n")
            if rest.startswith(marks.end):
                return rest[len(marks.end) :]
        return answer

    def _find_text_marks(self) -> None:
        """Find the texts around content, if content has any before it."""
        call = Call("wordtool", {"wordkey": _VALUE})
        calls = self.of([call])
        before, after = self._around_content(call, calls)
        begin = self._without_thought(self._before_said)
        if before.strip():
            self.no_content = before + after
            calls = calls.removeprefix(self.no_content)
        if not self._has_text_marks():
            self.stops = (*self.stops, *self._first_token(self._behind_said))
            return
        behind = self._behind_said
        ends = [behind.index(end) for end in (*self._ends, *self.stops) if end in behind]
        # if no known token ends the turn, it is the first
        behind = behind[: min(ends, default=0)]
        self.is_text_beside_calls = before == begin and behind.startswith(after) and after != ""
        end = after
        if not self.is_text_beside_calls:
            end = behind.removesuffix(self.borders.suffix(calls, behind))
        # prompts may end with the white space before it
        begin = self.borders.begun(begin)
        self.text, self.tail = (begin, end), behind.removeprefix(end)
        self.is_text_bare_without_tools = self._is_bare_without_tools(begin)
        self.stops = (*self.stops, *self._first_token(self._behind_said[len(behind) :]))

    def _is_bare_without_tools(self, begin: str) -> bool:
        said = [_said("user", _QUESTION), _said("assistant", _SAID), _said("user", _NEXT)]
        try:
            before, found, _ = self._render(said, None, {}).partition(_SAID)
        except TemplateError:
            return False
        return bool(found) and not before.endswith(begin)

    def _around_content(self, call: Call, calls: str) -> tuple[str, str]:
        """Return the texts around content beside calls, which are there without content, too."""
        try:
            before, found, rest = self.of([call], _SAID).partition(_SAID)
        except NotDerived:
            return "", ""
        if not found or calls != before + rest or call.name in before:
            return "", ""
        after = self.borders.prefix(rest, self._behind_said)
        mark = self.borders.first_mark(rest)
        if not after and mark is not None and not mark.start():
            after = mark[0]
        return before, after

    def _first_token(self, text: str) -> tuple[str, ...]:
        """Return the special token with which a text begins, if it is not among the stops."""
        found = self.borders.special.match(text.lstrip())
        return (found[0],) if found and found[0] not in self.stops else ()


def _bounded(text: str, limit: int) -> str:
    if len(text) > limit:
        raise NotDerived(f"answers or the texts between turns have more than {limit} characters")
    return text


def _line_feeds(text: str) -> int:
    """Return the number of line feeds at the beginning."""
    return len(text) - len(text.lstrip("\n"))


def _said(role: str, text: str) -> Mapping[str, Any]:
    return {"role": role, "content": text}
