"""The texts around the names and arguments of calls, found by comparing one call with two.

One call is written as ``L name M arguments R``, two as ``L name M arguments X name M arguments R``.
A call begins with the common end of L and X and ends with the common beginning of R and X. The rest
of L and R is around all calls, and the rest of X between two.

Not here    arguments (notations), the beginning of calls in free text (triggers).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from adapters.formats import CallIds

from .answers import IDS, Answers, Call, NotDerived
from .notations import FIRST, SECOND, Found

#: ids that a template prints as it gets them: of this server, and as Mistral's models write them
_WRITTEN = {"any": "[a-zA-Z0-9_-]{1,40}", "nine": "[a-zA-Z0-9]{9}"}
_LONE_NUMBER = re.compile(r"(?<![\w.])\d{1,4}(?![\w.])")
_NUMBER = "0|[1-9][0-9]{0,3}"
#: Kimi's ids, which clients get as they are
_NAMED_ID = "functions.{name}:{id}"
Counts = Literal["conversation", "answer"]
ONE = Call("wordtool", {FIRST: "wordvalue"})
OTHER = Call("wordother", {SECOND: "wordlast"})


@dataclass(frozen=True)
class CallTexts:
    """The texts of calls, with "{name}" and "{id}"; see TagSyntax.

    ``section``     the texts around all calls; None: there are none.
    ``is_parallel`` the template shows two calls in an answer.
    ``space``       behind all calls, before the end of a turn; no part of answers.
    """

    begin: str
    end: str
    separator: str = ""
    section: tuple[str, str] | None = None
    ids: CallIds | None = None
    is_parallel: bool = True
    space: str = ""


def call_texts(answers: Answers, found: Found) -> CallTexts:
    """Return the texts of a template's calls. Raises NotDerived."""
    alone = _pieces(answers.of([ONE]), [ONE], found)
    try:
        both = _pieces(answers.of([ONE, OTHER]), [ONE, OTHER], found)
    except NotDerived:
        both = None
    reason = NotDerived("calls are written in different ways")
    for ids, one, two in _with_ids(answers, alone, both):
        try:
            return _compared(answers, ids, one, two)
        except NotDerived as error:
            reason = error
    raise reason


def _pieces(shown: str, calls: Sequence[Call], found: Found) -> list[str]:
    """Return the texts before, between and behind the names and arguments of calls."""
    pieces, rest = [], shown
    for call in calls:
        for text in (call.name, found.written(call.arguments)):
            piece, is_there, rest = rest.partition(text)
            if not is_there:
                raise NotDerived("the template does not show all calls with their arguments")
            pieces.append(piece)
    if any(call.name in piece for call in calls for piece in [*pieces, rest]):
        raise NotDerived("the name of a tool is written twice in a call")
    return [*pieces, rest]


def _with_ids(
    answers: Answers, alone: list[str], both: list[str] | None
) -> Iterator[tuple[CallIds | None, list[str], list[str] | None]]:
    """Yield the pieces with "{id}" in place of ids, in the ways in which they may be ids."""
    first, second = IDS[answers.ids][:2]
    if any(first in piece for piece in alone):
        texts = [
            [piece.replace(first, "{id}").replace(second, "{id}") for piece in pieces or ()]
            for pieces in (alone, both)
        ]
        yield CallIds(pattern=_WRITTEN[answers.ids]), texts[0], texts[1] or None
        return
    for number in (0, 1):
        if _numbers_in(alone) == [number] and both and _numbers_in(both) == [number, number + 1]:
            texts = [
                [_LONE_NUMBER.sub("{id}", piece) for piece in pieces] for pieces in (alone, both)
            ]
            yield _numbers(answers, alone, number), texts[0], texts[1]
    yield None, alone, both


def _numbers_in(pieces: Sequence[str]) -> list[int]:
    return [int(found) for piece in pieces for found in _LONE_NUMBER.findall(piece)]


def _numbers(answers: Answers, alone: list[str], first: int) -> CallIds:
    later = answers.of([ONE], before=[OTHER])
    counts: Counts = "answer" if later == answers.of([ONE]) else "conversation"
    shown = "".join(alone[:1]) + "{name}" + alone[1]
    is_named = _NAMED_ID.replace("{id}", str(first)) in shown
    return CallIds(
        pattern=_NUMBER if first == 0 else "[1-9][0-9]{0,3}",
        whole=_NAMED_ID if is_named else "",
        numbers=counts,
        first=first,
    )


def _compared(
    answers: Answers, ids: CallIds | None, one: list[str], two: list[str] | None
) -> CallTexts:
    before, middle, behind = one
    borders = answers.borders
    # an answer may begin behind white space, and so may the end of a turn
    before, behind, space = borders.begun(before), behind.rstrip(), _space_behind(behind)
    if two is None:
        begin = f"{before}{{name}}{middle}"
        return CallTexts(begin, behind, ids=ids, is_parallel=False, space=space)
    first, same, between, also, last = two
    if (borders.begun(first), same, also, last.rstrip()) != (before, middle, middle, behind):
        raise NotDerived("one call is written in another way than two")
    begin = borders.suffix(before, between)
    end = borders.prefix(behind, between)
    if len(begin) + len(end) > len(between):
        # both have the same text between two calls
        end = end[: len(between) - len(begin)]
    separator = between[len(end) : len(between) - len(begin)]
    opened, closed = before.removesuffix(begin), behind.removeprefix(end)
    if opened.strip():
        # line feeds between calls follow each of them
        space = begin[: len(begin) - len(begin.lstrip("\n"))]
        begin, opened, separator = begin.removeprefix(space), opened + space, separator + space
        if separator and separator.isspace() and closed.startswith(separator):
            end, closed, separator = end + separator, closed.removeprefix(separator), ""
    else:
        opened = ""
    if not opened and closed:
        # what follows all calls of an answer, but belongs to none, ends the turn
        closed = ""
    section = (opened, closed) if opened else None
    return CallTexts(f"{begin}{{name}}{middle}", end, separator, section, ids, space=space)


def _space_behind(text: str) -> str:
    return text[len(text.rstrip()) :]
