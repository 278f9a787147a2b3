"""Parameters of Lark rules in llguidance: 64-bit numbers, with expressions and conditions.

    start: perm::0x0
    perm::_: ""                    %if is_ones([0:2])
           | "a" perm::set_bit(0)  %if bit_clear(0)
           | "b" perm::set_bit(1)  %if bit_clear(1)

lark_builder adds one rule for each value of a reference.

Source   llguidance, docs/parametric.md.
"""

import re
from collections.abc import Callable
from typing import TypeVar

from .source import Source

#: the value of a reference, given the value of the rule that contains it
Expression = Callable[[int | None], int]
#: whether an alternative is available
Condition = Callable[[int], bool]

T = TypeVar("T")

BITS = 64
_ALL = 2**BITS - 1
_WORD = re.compile(r"[a-z_]+")
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|[0-9]+")

#: comparisons of bits, or of their number, with a constant
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    "lt": int.__lt__,
    "le": int.__le__,
    "gt": int.__gt__,
    "ge": int.__ge__,
}


class ParameterReader:
    """Reads expressions and conditions at the position of the source; blanks may separate words."""

    def __init__(self, source: Source, blanks: Callable[[], None]) -> None:
        self.s, self._blanks = source, blanks

    # -- expressions ------------------------------------------------------------------------------
    def expression(self) -> Expression:
        at = self.s.at
        if self.s.peek().isascii() and self.s.peek().isdigit():
            constant = self._number(_ALL)
            return lambda value: constant
        change = self._change(at)

        def changed(value: int | None) -> int:
            if value is None:
                raise self.s.error("only a rule with a parameter may contain this", at)
            return change(value)

        return changed

    def _change(self, at: int) -> Callable[[int], int]:
        word = self._word()
        if word == "_":
            return lambda p: p
        if word in ("set_bit", "clear_bit"):
            bit = 1 << self._argument(lambda: self._number(BITS - 1))
            return (lambda p: p | bit) if word == "set_bit" else (lambda p: p & ~bit)
        if word in ("bit_and", "bit_or"):
            mask = self._argument(lambda: self._number(_ALL))
            return (lambda p: p & mask) if word == "bit_and" else (lambda p: p | mask)
        if word not in ("incr", "decr"):
            raise self.s.error(f"there is no expression {word!r} of a parameter", at)
        low, high = self._argument(self._bits)
        mask, one = (1 << high) - (1 << low), 1 << low
        if word == "incr":
            return lambda p: p if p & mask == mask else p + one
        return lambda p: p if p & mask == 0 else p - one

    # -- conditions -------------------------------------------------------------------------------
    def condition(self, depth: int = 0) -> Condition:
        self.s.check_depth(depth + 1)
        at = self.s.at
        word = self._word()
        if word == "true":
            self._blanks()
            if self.s.take("("):
                self._want(")")
            return lambda p: True
        if word in ("and", "or", "not"):
            return self._combined(word, depth)
        if word in ("bit_clear", "bit_set"):
            bit, expected = self._argument(lambda: self._number(BITS - 1)), word == "bit_set"
            return lambda p: bool(p >> bit & 1) == expected
        if word in ("is_ones", "is_zeros"):
            low, high = self._argument(self._bits)
            wanted = (1 << high - low) - 1 if word == "is_ones" else 0
            return lambda p: _cut(p, low, high) == wanted
        compare = _COMPARED.get(word.removeprefix("bit_count_"))
        if compare is None:
            raise self.s.error(f"there is no condition {word!r}", at)
        return self._comparison(compare, counts=word.startswith("bit_count_"))

    def _combined(self, word: str, depth: int) -> Condition:
        self._want("(")
        first = self.condition(depth + 1)
        if word == "not":
            self._want(")")
            return lambda p: not first(p)
        self._want(",")
        second = self.condition(depth + 1)
        self._want(")")
        if word == "and":
            return lambda p: first(p) and second(p)
        return lambda p: first(p) or second(p)

    def _comparison(self, compare: Callable[[int, int], bool], *, counts: bool) -> Condition:
        self._want("(")
        low, high = self._bits()
        self._want(",")
        number = self._number(BITS - 1 if counts else _ALL)
        self._want(")")
        if counts:
            return lambda p: compare(_cut(p, low, high).bit_count(), number)
        return lambda p: compare(_cut(p, low, high), number)

    # -- words ------------------------------------------------------------------------------------
    def _want(self, sign: str) -> None:
        self._blanks()
        self.s.want(sign)
        self._blanks()

    def _argument(self, read: Callable[[], T]) -> T:
        self._want("(")
        found = read()
        self._blanks()
        self.s.want(")")
        return found

    def _word(self) -> str:
        found = _WORD.match(self.s.text, self.s.at)
        if found is None:
            raise self.s.error("an expression of a parameter is missing")
        self.s.at = found.end()
        return found[0]

    def _number(self, most: int) -> int:
        at = self.s.at
        found = _NUMBER.match(self.s.text, at)
        if found is None:
            raise self.s.error("a number is missing")
        self.s.at = found.end()
        if len(found[0]) > 20 or int(found[0], 0 if "x" in found[0] else 10) > most:
            raise self.s.error(f"a number must not be above {most}", at)
        return int(found[0], 0 if "x" in found[0] else 10)

    def _bits(self) -> tuple[int, int]:
        """Read ``[0:3]`` or ``_`` as a half-open range of bits."""
        at = self.s.at
        if self.s.take("_"):
            return 0, BITS
        self._want("[")
        low = self._number(BITS - 1)
        self._want(":")
        high = self._number(BITS)
        self._want("]")
        if high <= low:
            raise self.s.error("bits are out of order", at)
        return low, high


def _cut(value: int, low: int, high: int) -> int:
    return value >> low & (1 << high - low) - 1
