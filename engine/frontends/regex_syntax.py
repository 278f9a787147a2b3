"""ECMA-262 regular expressions (Unicode mode, with the leniencies of Annex B that people rely on) -> a small tree.

    Set(ranges)   one character          Cat(parts)   Alt(parts)
    Repeat(body, minimum, maximum)       maximum None: no upper bound; laziness does not change a language
    Start, End    the anchors ^ and $

Refused by name: look-around, back-references, word boundaries, inline flags. Source: ECMA-262, section 22.2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from ..errors import LimitExceeded, SpecError, UnsupportedSchema
from ..ir import ANY_CHAR, Ranges
from ..limits import Limits
from .charset import char, complement, normalise, union


@dataclass(frozen=True, slots=True)
class Set:
    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Cat:
    parts: tuple["Tree", ...]


@dataclass(frozen=True, slots=True)
class Alt:
    parts: tuple["Tree", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    body: "Tree"
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Start:
    pass


@dataclass(frozen=True, slots=True)
class End:
    pass


Tree = Set | Cat | Alt | Repeat | Start | End
EMPTY = Cat(())

DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE: Ranges = normalise(
    [(0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)]
    + [(0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)]
)
DOT: Ranges = complement(((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)))
CLASSES = {
    "d": DIGIT, "D": complement(DIGIT), "w": WORD, "W": complement(WORD), "s": SPACE, "S": complement(SPACE),
}  # fmt: skip
CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D, "0": 0x00}
HEX = frozenset("0123456789abcdefABCDEF")


@cache
def category(name: str) -> Ranges | None:
    """All characters of a Unicode general category such as ``L`` or ``Nd``; None if there is no such category."""
    import unicodedata

    found: list[tuple[int, int]] = []
    for low, high in ANY_CHAR:
        for c in range(low, high + 1):
            if unicodedata.category(chr(c)).startswith(name):
                if found and found[-1][1] == c - 1:
                    found[-1] = (found[-1][0], c)
                else:
                    found.append((c, c))
    return tuple(found) or None


CATEGORY_NAMES = {
    "Letter": "L", "Lowercase_Letter": "Ll", "Uppercase_Letter": "Lu", "Number": "N", "Decimal_Number": "Nd",
    "Punctuation": "P", "Symbol": "S", "Separator": "Z", "Mark": "M", "Other": "C",
}  # fmt: skip


def parse(pattern: str, *, pointer: str, limits: Limits) -> Tree:
    """
    Raises:
        SpecError: not a regular expression; the message names the position.
        UnsupportedSchema: a construct that can't be enforced, by name.
        LimitExceeded: ``pattern_chars`` or, for nested groups, ``spec_depth``.
    """
    if len(pattern) > limits.pattern_chars:
        raise LimitExceeded("pattern_chars", limits.pattern_chars, len(pattern), pointer)
    return _Parser(pattern, pointer, limits).parse()


class _Parser:
    def __init__(self, pattern: str, pointer: str, limits: Limits) -> None:
        self.text, self.pointer, self.limits = pattern, pointer, limits
        self.at = self.depth = 0

    def parse(self) -> Tree:
        tree = self._alternatives()
        if self.at < len(self.text):
            raise self._error("unmatched )")
        return tree

    def _error(self, message: str) -> SpecError:
        return SpecError(f"pattern, position {self.at}: {message}", self.pointer)

    def _refuse(self, what: str) -> UnsupportedSchema:
        return UnsupportedSchema(
            self.pointer, "pattern", f"pattern, position {self.at}: {what} can't be enforced"
        )

    def _peek(self, n: int = 1) -> str:
        return self.text[self.at : self.at + n]

    def _take(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    # -- structure ------------------------------------------------------------------------------------
    def _alternatives(self) -> Tree:
        self.depth += 1
        if self.depth > self.limits.spec_depth:
            raise LimitExceeded("spec_depth", self.limits.spec_depth, self.depth, self.pointer)
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Alt(tuple(parts))

    def _sequence(self) -> Tree:
        parts: list[Tree] = []
        while self.at < len(self.text) and self._peek() not in "|)":
            parts.append(self._quantified(self._atom()))
        return parts[0] if len(parts) == 1 else Cat(tuple(parts))

    def _quantified(self, body: Tree) -> Tree:
        bounds = self._quantifier()
        if bounds is None:
            return body
        if isinstance(body, Start | End):
            raise self._error("nothing to repeat")
        low, high = bounds
        if high is not None and high < low:
            raise self._error("numbers out of order in {} quantifier")
        self._take("?")
        if self._peek() in ("*", "+", "?") and self._peek():
            raise self._error("nothing to repeat")
        return Repeat(body, low, high)

    def _quantifier(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        end = self.text.find("}", self.at)
        if self._peek() != "{" or end < 0:
            return None
        low, comma, high = self.text[self.at + 1 : end].partition(",")
        if not low.isdecimal() or not low.isascii() or (high and not (high.isdecimal() and high.isascii())):
            return None
        if max(len(low), len(high)) > 9:
            raise self._error("a count of more than nine digits")
        self.at = end + 1
        return int(low), (int(high) if high else None) if comma else int(low)

    def _atom(self) -> Tree:
        c = self._peek()
        if c in "*+?" or (c == "{" and self._quantifier_follows()):
            raise self._error("nothing to repeat")
        self.at += 1
        if c == "(":
            return self._group()
        if c == "[":
            return Set(self._class())
        if c == ".":
            return Set(DOT)
        if c == "^":
            return Start()
        if c == "$":
            return End()
        if c == "\\":
            return Set(self._escape(in_class=False))
        return Set(self._literal(c))

    def _quantifier_follows(self) -> bool:
        at = self.at
        found = self._quantifier() is not None
        self.at = at
        return found

    def _literal(self, c: str) -> Ranges:
        if 0xD800 <= ord(c) <= 0xDFFF:
            raise self._error("a lone surrogate matches no text")
        return char(ord(c))

    def _group(self) -> Tree:
        for sign, what in (
            ("?=", "look-ahead"), ("?!", "look-ahead"), ("?<=", "look-behind"), ("?<!", "look-behind"),
        ):  # fmt: skip
            if self._peek(len(sign)) == sign:
                raise self._refuse(what)
        if self._take("?<"):
            end = self.text.find(">", self.at)
            if end < 0 or not self.text[self.at : end].isidentifier():
                raise self._error("a group needs a name between < and >")
            self.at = end + 1
        elif self._take("?:"):
            pass
        elif self._peek() == "?":
            raise self._refuse("a group with flags")
        tree = self._alternatives()
        if not self._take(")"):
            raise self._error("missing )")
        return tree

    # -- characters -----------------------------------------------------------------------------------
    def _class(self) -> Ranges:
        """Behind the [."""
        negated = self._take("^")
        found: list[Ranges] = []
        while not self._take("]"):
            low, single = self._class_atom()
            if single and self._peek() == "-" and self._peek(2) not in ("-]", "-"):
                at = self.at
                self.at += 1
                high, also_single = self._class_atom()
                if not also_single:
                    found += [char(0x2D), high]
                elif high[0][0] < low[0][0]:
                    self.at = at
                    raise self._error("range out of order in a class")
                else:
                    low = normalise([(low[0][0], high[0][0])])
            found.append(low)
        ranges = union(*found)
        return complement(ranges) if negated else ranges

    def _class_atom(self) -> tuple[Ranges, bool]:
        """A member of a class, and whether it is a single character."""
        c = self._peek()
        if not c:
            raise self._error("missing ]")
        self.at += 1
        if c != "\\":
            return self._literal(c), True
        single = self._peek() not in ("d", "D", "w", "W", "s", "S", "p", "P")
        return self._escape(in_class=True), single

    def _escape(self, *, in_class: bool) -> Ranges:
        """Behind the backslash."""
        c = self._peek()
        if not c:
            raise self._error("a backslash at the end")
        self.at += 1
        if c in CLASSES:
            return CLASSES[c]
        if c in "pP" and self._peek() == "{":
            return self._property(negated=c == "P")
        if c == "b" and in_class:
            return char(0x08)
        if c in "bB":
            raise self._refuse("a word boundary")
        if c == "k" or (c in "123456789" and not in_class):
            raise self._refuse("a back-reference")
        if c in CONTROLS and not (c == "0" and self._peek().isdecimal()):
            return char(CONTROLS[c])
        return self._code_escape(c)

    def _code_escape(self, c: str) -> Ranges:
        if c == "c" and self._peek().isascii() and self._peek().isalpha():
            self.at += 1
            return char(ord(self.text[self.at - 1]) % 32)
        if c == "x" and (code := self._hex(2)) is not None:
            return char(code)
        if c == "u":
            return self._unicode_escape()
        if c.isascii() and c.isalnum():
            raise self._error(f"unknown escape \\{c}")
        return self._literal(c)

    def _hex(self, n: int) -> int | None:
        digits = self._peek(n)
        if len(digits) != n or not set(digits) <= HEX:
            return None
        self.at += n
        return int(digits, 16)

    def _unicode_escape(self) -> Ranges:
        if self._take("{"):
            end = self.text.find("}", self.at)
            digits = self.text[self.at : end] if end >= 0 else ""
            if not digits or not set(digits) <= HEX or len(digits) > 8:
                raise self._error("hexadecimal digits are needed between { and }")
            self.at, code = end + 1, int(digits, 16)
        else:
            first = self._hex(4)
            if first is None:
                raise self._error("four hexadecimal digits are needed behind \\u")
            code = self._pair(first)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise self._error("not a character")
        return char(code)

    def _pair(self, high: int) -> int:
        """A surrogate pair written as two escapes is one character."""
        if not 0xD800 <= high <= 0xDBFF or not self._take("\\u"):
            return high
        low = self._hex(4)
        if low is None or not 0xDC00 <= low <= 0xDFFF:
            raise self._error("a high surrogate without a low one")
        return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)

    def _property(self, *, negated: bool) -> Ranges:
        end = self.text.find("}", self.at)
        name = self.text[self.at + 1 : end] if end >= 0 else ""
        short = name.removeprefix("General_Category=").removeprefix("gc=")
        short = CATEGORY_NAMES.get(short, short)
        ranges = category(short) if 0 < len(short) <= 2 else None
        if ranges is None:
            raise self._refuse(f"the property {name!r}")
        self.at = end + 1
        return complement(ranges) if negated else ranges


def fold(tree: Tree, visit: Callable[[Tree, list], object]) -> object:
    """Bottom-up over a tree: ``visit`` gets a node and its children's results."""
    if isinstance(tree, Cat | Alt):
        return visit(tree, [fold(part, visit) for part in tree.parts])
    if isinstance(tree, Repeat):
        return visit(tree, [fold(tree.body, visit)])
    return visit(tree, [])
