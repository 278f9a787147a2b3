"""Numbers, with exact bounds.

Unbounded numbers are those of RFC 8259. An integer has neither fraction nor exponent (1.0 and 1e1 are not written). A bounded
number is a plain decimal without exponent, whose fraction is so short that a reader who rounds to a double can't step
over a bound: ``PRECISION`` significant digits, counted from the bounds' integer part.
"""

from decimal import Decimal
from typing import Any

from ...errors import SpecError
from ...ir import Grammar, Node
from .text import Text

#: decimal digits that a double keeps apart
PRECISION = 15
DIGIT = ((0x30, 0x39),)
LARGE_EXPONENT = 400


class Bounds:
    """``low`` and ``high`` (None: none), each with whether it is allowed itself."""

    def __init__(self, schema: dict[str, Any], pointer: str) -> None:
        self.low, self.low_allowed = _tightest(schema, pointer, "minimum", "exclusiveMinimum", max)
        self.high, self.high_allowed = _tightest(schema, pointer, "maximum", "exclusiveMaximum", min)

    def none(self) -> bool:
        return self.low is None and self.high is None


def _tightest(
    schema: dict[str, Any], pointer: str, inclusive: str, exclusive: str, pick: Any
) -> tuple[Decimal | None, bool]:
    found = {key: _decimal(schema[key], f"{pointer}/{key}") for key in (inclusive, exclusive) if key in schema}
    if not found:
        return None, True
    value = pick(found.values())
    return value, found.get(exclusive) != value


def _decimal(value: Any, pointer: str) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SpecError("a bound must be a number", pointer)
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise SpecError("a bound must be finite", pointer)
    if number and (abs(number.adjusted()) > LARGE_EXPONENT):
        raise SpecError("a bound of more than 400 digits", pointer)
    return number


def build_integer(text: Text, schema: dict[str, Any], pointer: str) -> Node:
    g = text.grammar
    bounds = Bounds(schema, pointer)
    if bounds.none():
        natural = g.alt(g.bytes(b"0"), _natural(g, 1, None))
        return text.shared("integer", lambda: g.seq(g.optional(g.bytes(b"-")), natural))
    low, high = _integer_bounds(bounds)
    if low is not None and high is not None and low > high:
        return g.fail()
    parts = []
    if low is None or low < 0:
        least = 1 if high is None or high >= 0 else -high
        parts.append(g.seq(g.bytes(b"-"), _natural(g, least, None if low is None else -low)))
    if (low is None or low <= 0) and (high is None or high >= 0):
        parts.append(g.seq(g.optional(g.bytes(b"-")), g.bytes(b"0")))
    if high is None or high > 0:
        parts.append(_natural(g, 1 if low is None else max(low, 1), high))
    return g.alt(*parts)


def _integer_bounds(bounds: Bounds) -> tuple[int | None, int | None]:
    low = high = None
    if bounds.low is not None:
        low = _ceil(bounds.low)
        low += low == bounds.low and not bounds.low_allowed
    if bounds.high is not None:
        high = -_ceil(-bounds.high)
        high -= high == bounds.high and not bounds.high_allowed
    return low, high


def _ceil(value: Decimal) -> int:
    whole = int(value)
    return whole + (value > whole)


def _natural(g: Grammar, low: int, high: int | None) -> Node:
    """Whole numbers low..high, low >= 1, without leading zeros."""
    digits = len(str(low))
    if high is None:
        more = g.seq(g.chars(((0x31, 0x39),)), g.repeat(g.chars(DIGIT), digits, None))
        return g.alt(_same_length(g, str(low), "9" * digits), more)
    parts = []
    for n in range(digits, len(str(high)) + 1):
        first, last = max(low, 10 ** (n - 1)), min(high, 10**n - 1)
        if first <= last:
            parts.append(_same_length(g, str(first), str(last)))
    return g.alt(*parts)


def _same_length(g: Grammar, low: str, high: str) -> Node:
    """Digit strings low..high of one length."""
    n = len(low)
    if low == "0" * n and high == "9" * n:
        return g.repeat(g.chars(DIGIT), n, n)
    if low[0] == high[0]:
        return g.seq(g.bytes(low[0].encode()), _same_length(g, low[1:], high[1:]))
    parts = []
    first, last = int(low[0]), int(high[0])
    if low[1:] != "0" * (n - 1):
        parts.append(g.seq(g.bytes(low[0].encode()), _same_length(g, low[1:], "9" * (n - 1))))
        first += 1
    if high[1:] != "9" * (n - 1):
        parts.append(g.seq(g.bytes(high[0].encode()), _same_length(g, "0" * (n - 1), high[1:])))
        last -= 1
    if first <= last:
        parts.append(g.seq(_digit(g, first, last), g.repeat(g.chars(DIGIT), n - 1, n - 1)))
    return g.alt(*parts)


def _digit(g: Grammar, low: int, high: int) -> Node:
    return g.chars(((0x30 + low, 0x30 + high),)) if low <= high else g.fail()


def build_number(text: Text, schema: dict[str, Any], pointer: str) -> Node:
    g = text.grammar
    bounds = Bounds(schema, pointer)
    if bounds.none():
        return text.shared("number", lambda: _any_number(g))
    low, high, zero = bounds.low, bounds.high, Decimal(0)
    parts = []
    if high is None or high >= 0:
        least, allowed = (zero, True) if low is None or low < 0 else (low, bounds.low_allowed)
        parts.append(_magnitude(g, least, allowed, high, bounds.high_allowed))
    if low is None or low <= 0:
        least, allowed = (zero, True) if high is None or high > 0 else (-high, bounds.high_allowed)
        most = None if low is None else -low
        parts.append(g.seq(g.bytes(b"-"), _magnitude(g, least, allowed, most, bounds.low_allowed)))
    return g.alt(*parts)


def _any_number(g: Grammar) -> Node:
    some = g.repeat(g.chars(DIGIT), 1, None)
    sign = g.optional(g.bytes(b"-"))
    whole = g.alt(g.bytes(b"0"), _natural(g, 1, None))
    fraction = g.optional(g.seq(g.bytes(b"."), some))
    exponent = g.seq(g.chars(((0x45, 0x45), (0x65, 0x65))), g.optional(g.chars(((0x2B, 0x2B), (0x2D, 0x2D)))), some)
    return g.seq(sign, whole, fraction, g.optional(exponent))


def _split(value: Decimal) -> tuple[int, str]:
    """Integer part, and the fraction's digits without trailing zeros."""
    whole, _, fraction = format(value, "f").partition(".")
    return int(whole), fraction.rstrip("0")


def _magnitude(g: Grammar, low: Decimal, low_ok: bool, high: Decimal | None, high_ok: bool) -> Node:
    """Plain decimals from low to high, 0 <= low."""
    if high is not None and (low > high or (low == high and not (low_ok and high_ok))):
        return g.fail()
    first, low_digits = _split(low)
    last, high_digits = (None, "") if high is None else _split(high)
    room = max(1, PRECISION - len(str(first if last is None else last)), len(low_digits), len(high_digits))
    fractions = _Fractions(g)
    if first == last:
        return g.seq(_whole(g, first, first), fractions.between(low_digits, low_ok, high_digits, high_ok, room))
    parts = [g.seq(_whole(g, first, first), fractions.between(low_digits, low_ok, None, True, room))]
    inner_last = None if last is None else last - 1
    if inner_last is None or first + 1 <= inner_last:
        inner = fractions.between("", True, None, True, room)
        parts.append(g.seq(_whole(g, first + 1, inner_last), inner))
    if last is not None:
        parts.append(g.seq(_whole(g, last, last), fractions.between("", True, high_digits, high_ok, room)))
    return g.alt(*parts)


def _whole(g: Grammar, low: int, high: int | None) -> Node:
    """Integer parts low..high, low >= 0."""
    if low > 0:
        return _natural(g, low, high)
    return g.alt(g.bytes(b"0"), _natural(g, 1, high) if high is None or high >= 1 else g.fail())


class _Fractions:
    """The fractions 0.d between two bounds, as nothing or a point with digits."""

    def __init__(self, grammar: Grammar) -> None:
        self.g = grammar

    def between(self, low: str, low_ok: bool, high: str | None, high_ok: bool, room: int) -> Node:
        """``high`` None: below 1. ``room``: digits that may be written."""
        digits, empty = self._digits(low, low_ok, high, high_ok, room)
        pointed = self.g.seq(self.g.bytes(b"."), digits)
        return self.g.optional(pointed) if empty else pointed

    def _digits(self, low: str, low_ok: bool, high: str | None, high_ok: bool, room: int) -> tuple[Node, bool]:
        """(non-empty digit strings, whether the empty one lies between the bounds too)."""
        g = self.g
        empty = low == "" and low_ok and (high is None or high != "" or high_ok)
        if room == 0:
            return g.fail(), empty
        if high is None and low == "" and low_ok:
            return g.repeat(g.chars(DIGIT), 1, room), True
        if high == "" and low == "":
            return (g.repeat(g.bytes(b"0"), 1, room) if empty else g.fail()), empty
        first = int(low[0]) if low else 0
        last = 9 if high is None else int(high[0]) if high else 0
        low_rest, high_rest = low[1:], None if high is None else high[1:]
        if high is not None and first == last:
            return self._behind(first, first, low_rest, low_ok, high_rest, high_ok, room), empty
        parts = [self._behind(first, first, low_rest, low_ok, None, True, room)]
        top = last if high is None else last - 1
        parts.append(self._behind(first + 1, top, "", True, None, True, room))
        if high is not None and first <= last:
            parts.append(self._behind(last, last, "", True, high_rest, high_ok, room))
        return g.alt(*parts), empty

    def _behind(
        self, first: int, last: int, low: str, low_ok: bool, high: str | None, high_ok: bool, room: int
    ) -> Node:
        """One digit first..last, then what the bounds leave."""
        if first > last:
            return self.g.fail()
        rest, empty = self._digits(low, low_ok, high, high_ok, room - 1)
        return self.g.seq(_digit(self.g, first, last), self.g.optional(rest) if empty else rest)
