"""Numbers, with exact bounds.

Unbounded numbers are those of RFC 8259. An integer has neither fraction nor exponent (1.0 and 1e1
are not written); -0 is 0. A bounded number is a plain decimal without exponent, or d.ddd with an
exponent that alone keeps it within the bounds (1e-05 between 0 and 1). Readers who round to a
double can't step over a bound: rounding keeps order, the bounds that are allowed are what a double
is written as, and an excluded bound is replaced by its neighbour of ``PRECISION`` significant
digits, which no double confuses with it. Beyond ``WHOLE`` digits before the point, a bounded number
has no fraction.
"""

from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

from ...ir import Grammar, Node
from .shapes import Numbers
from .text import Text

#: significant digits that a double keeps apart
PRECISION = 15
#: digits before the point up to which a double holds every whole number
WHOLE = 15
DIGIT = ((0x30, 0x39),)
LAST_DIGIT = 9
#: below this, doubles keep fewer digits apart
SMALLEST = Decimal("2.3e-308")
#: the largest power of ten that a double holds
EXACT_POWER = 22


# -- integers ------------------------------------------------------------------------------------


def any_integer(text: Text) -> Node:
    g = text.grammar
    return text.shared("integer", lambda: g.seq(g.optional(g.bytes(b"-")), _natural(g, 0, None)))


def build_integer(text: Text, numbers: Numbers | None) -> Node:
    if numbers is None or (numbers.low is None and numbers.high is None):
        return any_integer(text)
    g = text.grammar
    low, high = _whole_bounds(numbers)
    return _signed(g, low, high, lambda least, most: _natural(g, least, most))


def _whole_bounds(numbers: Numbers) -> tuple[int | None, int | None]:
    low = high = None
    if numbers.low is not None:
        low = _ceil(numbers.low)
        low += low == numbers.low and numbers.low_open
    if numbers.high is not None:
        high = int(numbers.high)
        high -= high > numbers.high
        high -= high == numbers.high and numbers.high_open
    return low, high


def _ceil(value: Decimal) -> int:
    whole = int(value)
    return whole + (value > whole)


def _negative(value: Any) -> Any:
    """Exactly: a minus sign would round a Decimal to the 28 digits of its context."""
    return value.copy_negate() if isinstance(value, Decimal) else -value


def _signed(g: Grammar, low: Any, high: Any, magnitude: Callable[[Any, Any], Node]) -> Node:
    """Numbers low..high from magnitudes 0 <= least..most; None: no bound. Both signs may stand
    before zero.
    """
    if low is not None and high is not None and low > high:
        return g.fail()
    parts = []
    if high is None or high >= 0:
        parts.append(magnitude(0 if low is None else max(low, 0 * low), high))
    if low is None or low <= 0:
        least = 0 if high is None else max(_negative(high), 0 * high)
        most = None if low is None else _negative(low)
        parts.append(g.seq(g.bytes(b"-"), magnitude(least, most)))
    return g.alt(*parts)


def _natural(g: Grammar, low: int, high: int | None) -> Node:
    """Whole numbers low..high, 0 <= low, without leading zeros."""
    if high is not None and low > high:
        return g.fail()
    first = str(low)
    n = len(first)
    if high is None:
        more = g.seq(g.chars(((0x31, 0x39),)), g.repeat(g.chars(DIGIT), n, None))
        return g.alt(digits_between(g, first, "9" * n), more)
    last = str(high)
    if len(last) == n:
        return digits_between(g, first, last)
    parts = [
        digits_between(g, first, "9" * n),
        digits_between(g, "1" + "0" * (len(last) - 1), last),
    ]
    if len(last) - n > 1:
        parts.append(g.seq(g.chars(((0x31, 0x39),)), g.repeat(g.chars(DIGIT), n, len(last) - 2)))
    return g.alt(*parts)


def digits_between(g: Grammar, low: str, high: str) -> Node:
    """Digit strings of one length, low..high. The automaton knows whether it is still on the edge
    of either bound.
    """
    shared = 0
    while shared < len(low) and low[shared] == high[shared]:
        shared += 1
    head = g.bytes(low[:shared].encode())
    low, high = low[shared:], high[shared:]
    n = len(low)
    if n == 0:
        return head
    if set(low) <= {"0"} and set(high) <= {"9"}:
        return g.seq(head, g.repeat(g.chars(DIGIT), n, n))
    if n == 1:
        return g.seq(head, _digit(g, int(low), int(high)))
    return g.seq(head, _edges(g, low, high))


def _edges(g: Grammar, low: str, high: str) -> Node:
    """As ``digits_between``, from the first digit at which the bounds differ; 1..n-1 on the lower,
    then on the upper edge.
    """
    n = len(low)
    end = 2 * n - 1
    free = [g.repeat(g.chars(DIGIT), left, left) for left in range(n)]
    edges = [
        (0, _digit(g, int(low[0]), int(low[0])), 1),
        (0, _digit(g, int(high[0]), int(high[0])), n),
        (0, g.seq(_digit(g, int(low[0]) + 1, int(high[0]) - 1), free[n - 1]), end),
    ]
    for i in range(1, n):
        on_low, on_high = i, n - 1 + i
        to_low, to_high = (end, end) if i == n - 1 else (on_low + 1, on_high + 1)
        a, b = int(low[i]), int(high[i])
        edges.append((on_low, _digit(g, a, a), to_low))
        edges.append((on_low, g.seq(_digit(g, a + 1, LAST_DIGIT), free[n - 1 - i]), end))
        edges.append((on_high, _digit(g, b, b), to_high))
        edges.append((on_high, g.seq(_digit(g, 0, b - 1), free[n - 1 - i]), end))
    return g.graph(end + 1, edges, [end])


def _digit(g: Grammar, low: int, high: int) -> Node:
    return g.chars(((0x30 + low, 0x30 + high),)) if low <= high else g.fail()


# -- numbers -------------------------------------------------------------------------------------


def any_number(text: Text) -> Node:
    g = text.grammar
    return text.shared("number", lambda: g.seq(g.optional(g.bytes(b"-")), _unsigned(g)))


def _unsigned(g: Grammar) -> Node:
    some = g.repeat(g.chars(DIGIT), 1, None)
    exponent = g.seq(
        g.chars(((0x45, 0x45), (0x65, 0x65))),
        g.optional(g.chars(((0x2B, 0x2B), (0x2D, 0x2D)))),
        some,
    )
    return g.seq(_natural(g, 0, None), g.optional(g.seq(g.bytes(b"."), some)), g.optional(exponent))


def build_number(text: Text, numbers: Numbers | None) -> Node:
    if numbers is None or (numbers.low is None and numbers.high is None):
        return any_number(text)
    g = text.grammar
    low, high = _closed(numbers)
    return _signed(g, low, high, lambda least, most: _magnitude(g, Decimal(least), most))


def _closed(numbers: Numbers) -> tuple[Decimal | None, Decimal | None]:
    """The bounds as included ones."""
    low, high = numbers.low, numbers.high
    if low is not None and numbers.low_open:
        low = _negative(_below(_negative(low)))
    if high is not None and numbers.high_open:
        high = _below(high)
    return low, high


def _below(value: Decimal) -> Decimal:
    """The next number of ``PRECISION`` significant digits below; doubles that are too small to have
    so many are passed over.
    """
    if value == 0:
        return Decimal(-1).scaleb(-PRECISION)
    if abs(value) < SMALLEST:
        return Decimal(0) if value > 0 else _negative(SMALLEST)
    context = Context(prec=PRECISION, rounding=ROUND_FLOOR)
    rounded = context.plus(value)
    return rounded if rounded < value else context.next_minus(value)


def _magnitude(g: Grammar, low: Decimal, high: Decimal | None) -> Node:
    """Numbers low..high without a sign, 0 <= low."""
    if low == 0 and high is None:
        return _unsigned(g)
    first, low_digits = _split(low)
    last, high_digits = (None, "") if high is None else _split(high)
    inner = (first + 1, None if last is None else last - 1)
    large = max(first, last or 0) >= 10**WHOLE
    parts = [_by_exponent(g, low, high)]
    if first == last:
        parts.append(_joined(g, first, first, _fraction(g, low_digits, high_digits), large))
        return g.alt(*parts)
    parts.append(
        _joined(g, first, first, _fraction(g, low_digits, None), large and first >= 10**WHOLE)
    )
    if last is not None:
        parts.append(_joined(g, last, last, _fraction(g, "", high_digits), large))
    free = _fraction(g, "", None)
    if not large:
        parts.append(_joined(g, *inner, free, False))
    else:
        middle = 10**WHOLE - 1 if inner[1] is None else min(inner[1], 10**WHOLE - 1)
        parts.append(_joined(g, inner[0], middle, free, False))
        parts.append(_joined(g, max(inner[0], middle + 1), inner[1], free, True))
    return g.alt(*parts)


def _joined(
    g: Grammar, low: int, high: int | None, fraction: tuple[Node, bool], bare: bool
) -> Node:
    """Whole parts low..high with a fraction behind them, unless they are to stand bare."""
    digits, may_be_bare = fraction
    whole = _natural(g, low, high)
    if bare:
        return whole if may_be_bare else g.fail()
    pointed = g.seq(g.bytes(b"."), digits)
    return g.seq(whole, g.optional(pointed) if may_be_bare else pointed)


def _split(value: Decimal) -> tuple[int, str]:
    """Whole part, and the fraction's digits without trailing zeros."""
    whole, _, fraction = format(value, "f").partition(".")
    return int(whole), fraction.rstrip("0")


def _fraction(g: Grammar, low: str, high: str | None) -> tuple[Node, bool]:
    """Digits of fractions low..high (high None: below 1), of any length, and whether no fraction at
    all fits, too.
    """
    if not low and high is None:
        return g.repeat(g.chars(DIGIT), 1, None), True
    return _compared(g, low, high), not low


def _compared(g: Grammar, low: str, high: str | None) -> Node:
    """An automaton over digits; a state is (digits read, still equal to low?, still equal to
    high?).

    Behind the digits of ``low`` nothing can fall below it; behind those of ``high`` only zeros stay
    within it.
    """
    n = max(len(low), len(high or ""), 1)
    lows, highs = low.ljust(n, "0"), (high or "").ljust(n + 1, "0")
    start, free = (0, bool(low), high is not None), (n, False, False)
    ids, todo = {start: 0}, [start]
    edges: list[tuple[int, Node, int]] = []
    for i, on_low, on_high in todo:
        source = ids[i, on_low, on_high]
        a = int(lows[i]) if on_low else 0
        b = int(highs[i]) if on_high else LAST_DIGIT
        for first, last in _runs(a, b, on_low, on_high):
            still_low = on_low and first == last == a and i + 1 < n
            still_high = on_high and first == last == b
            after = (min(i + 1, n), still_low, still_high) if still_low or still_high else free
            if after not in ids:
                ids[after] = len(ids)
                todo.append(after)
            edges.append((source, _digit(g, first, last), ids[after]))
    finals = [ids[state] for state in todo if state[0] and (not state[1] or state[0] >= len(low))]
    return g.graph(len(ids), edges, [number for number in finals if number])


def _runs(a: int, b: int, on_low: bool, on_high: bool) -> list[tuple[int, int]]:
    """The digits a..b, those at an edge apart."""
    if a > b:
        return []
    if a == b:
        return [(a, a)]
    low = [(a, a)] if on_low else []
    high = [(b, b)] if on_high else []
    first, last = a + len(low), b - len(high)
    return low + ([(first, last)] if first <= last else []) + high


def _power(exponent: int) -> Decimal:
    return Decimal((0, (1,), exponent))


def _by_exponent(g: Grammar, low: Decimal, high: Decimal | None) -> Node:
    """d.ddde+x whose exponents alone keep them within the bounds: low <= 10^x, and 10^(x+1) <=
    high.
    """
    first = None if low == 0 else low.adjusted() + (low != _power(low.adjusted()))
    last = None if high is None else high.adjusted() - 1
    if high == 0:
        return g.fail()
    # a reader may take a larger power for a double on the other side of a bound
    if first is not None and first > EXACT_POWER:
        first += 1
    if last is not None and last >= EXACT_POWER:
        last -= 1
    zeros = g.repeat(g.bytes(b"0"), 0, None)
    parts = []
    if first is None or first < 0:
        least = 1 if last is None else max(1, -last)
        most = None if first is None else -first
        parts.append(g.seq(g.bytes(b"-"), zeros, _natural(g, least, most)))
    if last is None or last >= 0:
        plus = g.optional(g.bytes(b"+"))
        parts.append(g.seq(plus, zeros, _natural(g, max(first or 0, 1), last)))
    some = g.repeat(g.chars(DIGIT), 1, None)
    digit = g.chars(DIGIT if first is None else ((0x31, 0x39),))
    fraction = g.optional(g.seq(g.bytes(b"."), some))
    return g.seq(digit, fraction, g.chars(((0x45, 0x45), (0x65, 0x65))), g.alt(*parts))
