"""The shape of a call: its texts, with holes for name, id and arguments, and with open white space.

A response template leaves white space open: its reader skips it. The chat template writes some, and
the model was trained on that. So a shape is matched with a rendered call, which fills its gaps.

    shape     <tool_call> Gap {"name": Gap "NAME" ... ARGUMENTS ... } Gap </tool_call>
    rendered  <tool_call>\\n{"name": "f", "arguments": {"city": "Oslo"}}\\n</tool_call>
    filled    <tool_call>\\n{"name": "  and  ", "arguments":   and  }\\n</tool_call>

Invariants  a match goes forward only and never tries again, so its time is linear in the text.
Not here    the texts themselves (patterns, response_template).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adapters.formats import Notation, PastCall

from .patterns import Gap, Text

#: characters of a rendered conversation that are searched
MAX_RENDERED = 10_000
#: places where a call may begin in it
MAX_PLACES = 64
_NAMES: Mapping[str, str] = {"name": "{name}", "id": "{id}"}


@dataclass(frozen=True)
class Hole:
    """A place for a value of a call."""

    value: Literal["name", "id", "arguments"]


@dataclass(frozen=True)
class Junk:
    """Any text, which a reader of elements ignores; ``usual``: the one written if nothing shows
    another.
    """

    usual: str = ""


Part = Text | Gap | Junk | Hole


@dataclass(frozen=True)
class ElementShape:
    """The shape of one argument: an element around its key and its value. ``guard``: a text that no
    value contains; "": the end of the element.
    """

    before: tuple[Text | Gap, ...]
    between: tuple[Text | Gap, ...]
    after: tuple[Text | Gap, ...]
    guard: str = ""


@dataclass(frozen=True)
class CallShape:
    """The texts around calls. ``section``: those before and behind all calls, if one region holds
    them. ``separators``: texts other than white space that may stand between two calls.
    """

    call: tuple[Part, ...]
    section: tuple[tuple[Part, ...], tuple[Part, ...]] | None = None
    separators: tuple[str, ...] = ()

    @property
    def sides(self) -> list[tuple[Part, ...]]:
        return [self.call, *(self.section or ())]


@dataclass(frozen=True)
class FilledShape:
    """A shape without gaps. ``separator``: between two calls; None: nothing shows one.
    ``space``: the white space behind an element.
    """

    begin: str
    end: str
    section: tuple[str, str] | None = None
    separator: str | None = None
    element: tuple[str, str] = ("", "")
    space: str = ""


class _Mismatch(Exception):
    """The text does not have this shape."""


class _Cursor:
    """A place in a text that only goes forward."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def skip(self, expected: str) -> str:
        if not self.text.startswith(expected, self.at):
            raise _Mismatch
        self.at += len(expected)
        return expected

    def space(self) -> str:
        start = self.at
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[start : self.at]

    def up_to(self, expected: str) -> str:
        end = self.text.find(expected, self.at)
        if end < 0:
            raise _Mismatch
        start, self.at = self.at, end
        return self.text[start:end]

    def texts(self, parts: Sequence[Text | Gap]) -> str:
        return "".join(
            self.skip(part.text) if isinstance(part, Text) else self.space() for part in parts
        )


def usual(shape: CallShape, element: ElementShape | None) -> FilledShape:
    """Return the shape with the usual text at each gap."""
    begin, end = _halves([_usual_text(part) for part in shape.call], shape.call)
    section = None
    if shape.section is not None:
        before, behind = (("".join(map(_usual_text, side))) for side in shape.section)
        section = before, behind
    texts = ("", "")
    if element is not None:
        opened = (*map(_usual_text, element.before), "{key}", *map(_usual_text, element.between))
        texts = "".join(opened), "".join(map(_usual_text, element.after))
    return FilledShape(begin, end, section, element=texts)


def filled(
    shape: CallShape,
    element: ElementShape | None,
    notation: Notation,
    rendered: str,
    calls: Sequence[PastCall],
) -> FilledShape | None:
    """Return the shape with the white space of rendered calls; None: they have another shape."""
    text = rendered[:MAX_RENDERED]
    start = shape.section[0] if shape.section else shape.call
    first = start[0] if start and isinstance(start[0], Text) else None
    place = -1
    for _ in range(MAX_PLACES if first and calls else 0):
        assert first is not None
        place = text.find(first.text, place + 1)
        if place < 0:
            break
        try:
            return _Filling(shape, element, notation, _Cursor(text, place)).fill(calls)
        except _Mismatch:
            continue
    return None


@dataclass
class _Filling:
    shape: CallShape
    element: ElementShape | None
    notation: Notation
    cursor: _Cursor
    texts: tuple[str, str] = ("", "")
    space: str | None = None

    def fill(self, calls: Sequence[PastCall]) -> FilledShape:
        before = behind = ""
        if self.shape.section is not None:
            before = "".join(self._part(part, calls[0]) for part in self.shape.section[0])
        begin, end = self._call(calls[0])
        separator = self._another(calls[1]) if len(calls) > 1 else None
        if self.shape.section is not None:
            behind = "".join(self._part(part, calls[0]) for part in self.shape.section[1])
        return FilledShape(
            begin,
            end,
            (before, behind) if self.shape.section is not None else None,
            separator,
            self.texts,
            self.space or "",
        )

    def _call(self, call: PastCall) -> tuple[str, str]:
        begin, end = _halves([self._part(p, call) for p in self.shape.call], self.shape.call)
        if self.element is not None and self.space is None:
            # white space between the last element and the end is written behind every element
            rest = end.lstrip()
            self.space, end = end[: len(end) - len(rest)], rest
        elif self.space:
            end = end.removeprefix(self.space)
        return begin, end

    def _another(self, call: PastCall) -> str | None:
        """Return the text between two calls; None: another call does not follow."""
        first, start = self.shape.call[0], self.cursor.at
        try:
            text = self.cursor.up_to(first.text if isinstance(first, Text) else call.name)
            if text.strip() not in ("", *self.shape.separators):
                raise _Mismatch
            self._call(call)
        except _Mismatch:
            self.cursor.at = start
            return None
        return text

    def _part(self, part: Part, call: PastCall) -> str:
        cursor = self.cursor
        if isinstance(part, Text):
            return cursor.skip(part.text)
        if isinstance(part, Gap):
            return cursor.space()
        if isinstance(part, Hole):
            if part.value == "arguments":
                self._arguments(call)
                return ""
            cursor.skip(call.name if part.value == "name" else call.id)
            return _NAMES[part.value]
        following = self._behind(part)
        return cursor.up_to(following)

    def _behind(self, junk: Junk) -> str:
        """Return the text at which ignored text ends."""
        at = next(at for at, part in enumerate(self.shape.call) if part is junk)
        behind = self.shape.call[at + 1 :]
        if behind and isinstance(behind[0], Hole) and self.element is not None:
            behind = self.element.before
        if not behind or not isinstance(behind[0], Text):
            raise _Mismatch
        return behind[0].text

    def _arguments(self, call: PastCall) -> None:
        if self.element is not None:
            self._elements(self.element, json.loads(call.arguments))
            return
        if self.notation.style != "json":
            self.cursor.skip(self.notation.written(call.arguments))
            return
        try:
            value, end = json.JSONDecoder().raw_decode(self.cursor.text, self.cursor.at)
        except (ValueError, RecursionError):
            raise _Mismatch from None
        if value != json.loads(call.arguments):
            raise _Mismatch
        self.cursor.at = end

    def _elements(self, element: ElementShape, arguments: Mapping[str, object]) -> None:
        for number, (key, value) in enumerate(arguments.items()):
            if number:
                self.space = self.cursor.space()
            begin = self.cursor.texts(element.before) + "{key}"
            self.cursor.skip(key)
            begin += self.cursor.texts(element.between)
            self.cursor.skip(value if isinstance(value, str) else json.dumps(value))
            self.texts = begin, self.cursor.texts(element.after)


def _usual_text(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Hole):
        return _NAMES.get(part.value, "")
    return part.usual


def _halves(texts: Sequence[str], parts: Sequence[Part]) -> tuple[str, str]:
    at = parts.index(Hole("arguments"))
    return "".join(texts[:at]), "".join(texts[at:])


# -- JSON around the arguments ---------------------------------------------------------------------

Members = Mapping[str, "Hole | Members"]


def json_parts(value: "Hole | Members") -> list[Part]:
    """Return an object whose white space is open; a name or an id stands in a string."""
    if isinstance(value, Hole):
        return [value] if value.value == "arguments" else [Text('"'), value, Text('"')]
    parts: list[Part] = [Text("{"), Gap()]
    for number, (key, member) in enumerate(value.items()):
        if number:
            parts += [Gap(), Text(","), Gap(" ")]
        parts += [Text(json.dumps(key, ensure_ascii=False)), Gap(), Text(":"), Gap(" ")]
        parts += json_parts(member)
    return [*parts, Gap(), Text("}")]
