"""JSON numbers of a schema as IR, with exact bounds.

Unbounded   as in RFC 8259; -0 equals 0. An integer is digits, digits with zeros after a point (at most
            ``WHOLE_DIGITS`` digits before it), or one digit with an exponent that keeps it whole (2e3).
Bounded     a plain decimal, or d.ddd with an exponent that alone keeps it within the bounds (1e-05 between 0
            and 1). Readers that round to a double cannot cross a bound: rounding is monotonic, bounds are
            written as doubles are, and an excluded bound becomes its neighbour of ``PRECISION`` significant
            digits, which is a different double. With more than ``WHOLE_DIGITS`` digits before the point, a
            bounded number has no fraction.
Multiples   multiples, non-multiples and numbers with excluded values are plain decimals, recognised by a DFA
            (``DecimalAutomaton``). Whole ones may have zeros after a point if that takes few states and
            numbers need not be distinct.
Cost        a DFA has about as many states as the product of the remainders that differ (``DivisorC``) and the
            lengths of the bounds; ``pattern_states`` bounds it, and each state, which takes one or two
            microseconds, counts on the budget. ``Grammar.fragments`` caches the result for later grammars.
Source      JSON Schema Validation 2020-12, section 6.2.1: dividing by ``multipleOf`` gives an integer.
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ....grammar.ir cimport FragmentBuilder, FragmentCache, IrFragment, fragment_of
from ....native.pool cimport vector
from ....native.resources cimport WorkBudget, spend
from ....native.word_table cimport WordTableC, table_number, table_size
from ...regex.char_automaton cimport (
    Bound, CharAutomaton, CharStateC, add_range, append_state, finish, trim,
)
from ..json_text cimport ANY_INTEGER, ANY_NUMBER, NO_NODE, JsonText, named_texts, pointers_of
from ..schema_types cimport ConstraintText, Numbers

from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import ceil, floor, gcd, lcm

from ....errors import LimitExceeded
from ....grammar.ir import Grammar
from ...regex.char_automaton import Bound, intersection, words

#: doubles represent every whole number of this many digits
WHOLE_DIGITS = 15
DIGIT = ((0x30, 0x39),)
LAST_DIGIT = 9
#: doubles below this have fewer significant digits
SMALLEST = Decimal("2.3e-308")
#: the largest power of ten that a double represents exactly
EXACT_POWER = 22
#: the largest exponent of an integer, which every double represents exactly
MAX_POWER = 15

#: canonical numbers have an exponent from these powers of ten on, as Python's do: 1e-05, 1e+16
SMALL_POWER, LARGE_POWER = 5, 16
#: the largest exponent with which every d.ddd is finite
GREATEST_POWER = 307

#: states for multiples with zeros after a point; if it takes more, they have no zeros
POINTED_STATES = 2_000
#: excluded whole numbers that are compared by digits; more are excluded as texts, without a point
FEW_BARRED = 50
#: whole numbers of a short range that are listed one by one
MAX_LISTED = 5_000
#: the largest divisor: ten times a remainder fits into 64 bits
MAX_DIVISOR = 1 << 60


cdef uint32_t bounded(JsonText text, Numbers numbers, bint whole) except? 0xFFFFFFFF:
    cdef IrFragment fragment
    cdef NumberFragment fragment_builder
    cdef tuple key = (
        whole, numbers.low, numbers.low_open, numbers.high, numbers.high_open,
        named_texts(numbers.multiples), named_texts(numbers.foreign), numbers.barred, numbers.is_plain,
        text.canonical)
    made = text.kept.get(key)
    if made is None:
        fragment_builder = NumberFragment.__new__(NumberFragment)
        fragment_builder.numbers, fragment_builder.whole = numbers, whole
        fragment_builder.canonical = text.canonical
        fragment = text.grammar.fragments.get(text.grammar, key, fragment_builder)
        made = text.kept[key] = fragment.put_into(text.grammar)
    return made


cdef class NumberFragment(FragmentBuilder):
    """The fragment of bounded numbers."""
    cdef Numbers numbers
    cdef bint whole, canonical

    cdef list places(self):
        return pointers_of(self.numbers.multiples + self.numbers.foreign)

    cdef IrFragment make(self):
        grammar = self.new_grammar()
        return fragment_of(grammar, within(grammar, self.numbers, self.whole, self.canonical))


cdef within(g, Numbers numbers, bint whole, bint canonical):
    low, high = whole_bounds(numbers) if whole else closed(numbers)
    if numbers.multiples or numbers.foreign or numbers.barred or numbers.is_plain:
        return chosen(g, numbers, low, high, whole, canonical)
    return with_sign(g, low, high, whole, canonical)


cdef chosen(g, Numbers numbers, low, high, bint whole, bint canonical):
    """Add numbers low..high with multiples, non-multiples or excluded values."""
    cdef bint is_plain = numbers.is_plain or canonical
    cdef list multiples = common_multiple(decimals_of(numbers.multiples)), parts = []
    cdef list foreign = decimals_of(numbers.foreign)
    cdef list barred = [Decimal(repr(value)) for value in numbers.barred]
    bound = Bound(g.limits.pattern_states, pointer_of(numbers), g.budget)
    if low is not None and high is not None:
        if low > high:
            return g.fail()
        period = period_of([1, *multiples]).numerator
        if whole and (high - low) // period < MAX_LISTED:
            return listed_numbers(g, low, high, period, foreign, barred, is_plain, canonical)
    low = None if low is None else Decimal(low)
    high = None if high is None else Decimal(high)
    # of magnitudes: (lower bound, upper bound, excluded numbers, whether a bare zero is excluded)
    sides = []
    if high is None or high >= 0:
        some = [abs(value) for value in barred if value >= 0]
        sides.append((low if low is not None and low > 0 else None, high, some, False))
    if low is None or low <= 0:
        some = [abs(value) for value in barred if value <= 0]
        least = negative(high) if high is not None and high < 0 else None
        sides.append((least, None if low is None else abs(low), some, canonical))
    for side in sides:
        if side != sides[0] or not parts:
            least, most, some, no_zero = side
            node = chosen_magnitude(
                g, least, most, multiples, foreign, some, whole, is_plain, no_zero, bound)
        parts.append(node)
    if low is None or low <= 0:
        parts[-1] = g.seq(g.bytes(b"-"), parts[-1])
    return g.alt(*parts)


cdef period_of(list steps):
    """Return the distance between common multiples."""
    fractions = [Fraction(step) for step in steps]
    return Fraction(lcm(*[each.numerator for each in fractions]), gcd(*[each.denominator for each in fractions]))


cdef list common_multiple(list divisors):
    """Return the one divisor of the numbers that all of them divide, as a list; no divisors: none."""
    if len(divisors) < 2:
        return divisors
    period, q = period_of(divisors), 0
    while period.denominator > 1:
        period, q = period * 10, q + 1
    return [Decimal((0, tuple(map(int, str(period.numerator))), -q))]


cdef listed_numbers(g, low, high, period, list foreign, list barred, bint is_plain, bint canonical):
    """Add the multiples of ``period`` in a short range, one by one."""
    cdef list texts = []
    value = -(-low // period) * period
    while value <= high:
        if value not in barred and not any([Fraction(value) % Fraction(each) == 0 for each in foreign]):
            texts.append(str(value))
            if value == 0 and not canonical:
                texts.append("-0")
        value += period
    node = words(texts).to_node(g, inside_json=False)
    if is_plain or max(abs(low), abs(high)) >= 10**WHOLE_DIGITS:
        return node
    return g.seq(node, g.optional(g.seq(g.bytes(b"."), g.repeat(g.bytes(b"0"), 1, None))))


cdef chosen_magnitude(
    g, low, high, list multiples, list foreign, list barred, bint whole, bint is_plain, bint no_zero, Bound bound
):
    """Add magnitudes; whole numbers may have zeros after a point if that takes few states."""
    cdef list texts = ["0"] if no_zero else []
    cdef bint is_bare = not whole or len(barred) > FEW_BARRED
    if whole and is_bare:
        texts += [format(value, "f") for value in barred]
        barred = []
    found = decimals_between(low, high, multiples, foreign, barred, whole, bound, g.budget)
    if texts:
        found = intersection([found], [words(texts)], bound)
    node = found.to_node(g, inside_json=False)
    if is_plain or is_bare:
        return node
    if high is None or high >= 10**WHOLE_DIGITS:
        if low is not None and low >= 10**WHOLE_DIGITS:
            return node
        try:
            found = decimals_between(
                low, Decimal(10**WHOLE_DIGITS - 1), multiples, foreign, barred, True,
                Bound(POINTED_STATES, "", g.budget),
                g.budget)
        except LimitExceeded as error:
            if error.limit != "pattern_states":
                raise
            return node
    pointed = g.seq(found.to_node(g, inside_json=False), g.bytes(b"."), g.repeat(g.bytes(b"0"), 1, None))
    return g.alt(node, pointed)


cdef list decimals_of(tuple texts):
    return [Decimal((<ConstraintText>each).text) for each in texts]


cdef str pointer_of(Numbers numbers):
    for divisor in numbers.multiples + numbers.foreign:
        return (<ConstraintText>divisor).pointer()
    return "" if numbers.where is None else numbers.where.pointer()


cdef bint is_free(Numbers numbers) noexcept:
    """Whether there is no constraint."""
    return numbers is None or (
        numbers.low is None and numbers.high is None
        and not (numbers.multiples or numbers.foreign or numbers.barred or numbers.is_plain))


cdef uint32_t any_number(JsonText text, bint whole) except? 0xFFFFFFFF:
    cdef int which = ANY_INTEGER if whole else ANY_NUMBER
    cdef uint32_t rule
    if text.shared[which] == NO_NODE:
        rule = text.declare_shared(which)
        text.grammar.set_rule(rule, unbounded_number(text, whole).put_into(text.grammar))
    return text.shared[which]


cdef uint32_t build_number(JsonText text, Numbers numbers, bint whole) except? 0xFFFFFFFF:
    return any_number(text, whole) if is_free(numbers) else bounded(text, numbers, whole)


# -- integers --------------------------------------------------------------------------------------


cdef tuple whole_bounds(Numbers numbers):
    low = high = None
    if numbers.low is not None:
        low = ceil(numbers.low)
        low += low == numbers.low and numbers.low_open
    if numbers.high is not None:
        high = floor(numbers.high)
        high -= high == numbers.high and numbers.high_open
    return low, high


cdef negative(value):
    """Negate exactly: the minus operator rounds a Decimal to the 28 digits of its context."""
    return value.copy_negate() if isinstance(value, Decimal) else -value


cdef with_sign(g, low, high, bint whole, bint canonical):
    """Add numbers low..high (None: unbounded) from magnitudes; unless canonical, zero may have a sign."""
    if low is not None and high is not None and low > high:
        return g.fail()
    parts = []
    if high is None or high >= 0:
        parts.append(magnitude(g, whole, 0 if low is None else max(low, 0 * low), high, canonical))
    if low is None or low <= 0:
        least = 0 if high is None else max(negative(high), 0 * high)
        most = None if low is None else negative(low)
        if canonical and whole:
            least = max(least, 1)
        if not canonical or most is None or least <= most and most > 0:
            parts.append(g.seq(g.bytes(b"-"), magnitude(g, whole, least, most, canonical, False)))
    return g.alt(*parts)


cdef natural(g, low, high):
    """Add whole numbers low..high, 0 <= low, without leading zeros."""
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


cdef digits_between(g, str low, str high):
    """Add digit strings of one length, low..high. A state tracks which bounds the digits so far equal."""
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
        return g.seq(head, one_digit(g, int(low), int(high)))
    return g.seq(head, on_edges(g, low, high))


cdef on_edges(g, str low, str high):
    """Add ``digits_between`` from the first differing digit on.

    States 1..n-1 equal the lower bound so far, the following n-1 states the upper one.
    """
    n = len(low)
    end = 2 * n - 1
    free = [g.repeat(g.chars(DIGIT), left, left) for left in range(n)]
    edges = [
        (0, one_digit(g, int(low[0]), int(low[0])), 1),
        (0, one_digit(g, int(high[0]), int(high[0])), n),
        (0, g.seq(one_digit(g, int(low[0]) + 1, int(high[0]) - 1), free[n - 1]), end),
    ]
    for i in range(1, n):
        on_low, on_high = i, n - 1 + i
        to_low, to_high = (end, end) if i == n - 1 else (on_low + 1, on_high + 1)
        a, b = int(low[i]), int(high[i])
        edges.append((on_low, one_digit(g, a, a), to_low))
        edges.append((on_low, g.seq(one_digit(g, a + 1, LAST_DIGIT), free[n - 1 - i]), end))
        edges.append((on_high, one_digit(g, b, b), to_high))
        edges.append((on_high, g.seq(one_digit(g, 0, b - 1), free[n - 1 - i]), end))
    return g.graph(end + 1, edges, [end])


cdef one_digit(g, int low, int high):
    return g.chars(((0x30 + low, 0x30 + high),)) if low <= high else g.fail()


# -- bounded numbers -------------------------------------------------------------------------------


cdef magnitude(g, bint whole, least, most, bint canonical, bint has_zero=True):
    """Add magnitudes; ``has_zero``: canonical numbers may be a bare 0."""
    if whole:
        return natural(g, least, most) if canonical else whole_number(g, least, most)
    return positive(g, Decimal(least), most, canonical, has_zero or not canonical)


cdef whole_number(g, low, high):
    """Add whole numbers low..high, 0 <= low, in all forms: digits, zeros after a point, one digit with an exponent."""
    zeros = g.seq(g.bytes(b"."), g.repeat(g.bytes(b"0"), 1, None))
    short = 10**WHOLE_DIGITS - 1 if high is None else min(high, 10**WHOLE_DIGITS - 1)
    first = 0 if low == 0 else len(str(low)) - (low == 10 ** (len(str(low)) - 1))
    last = MAX_POWER if high is None else min(len(str(high)) - 2 if high else -1, MAX_POWER)
    powers = g.fail()
    if first <= last:
        exponent = g.seq(g.optional(g.bytes(b"+")), g.repeat(g.bytes(b"0"), 0, None), natural(g, first, last))
        powers = g.seq(
            g.chars(((0x31, 0x39),)), g.optional(zeros), g.chars(((0x45, 0x45), (0x65, 0x65))), exponent)
    return g.alt(natural(g, low, high), g.seq(natural(g, low, short), zeros), powers)


cdef without_sign(g):
    some = g.repeat(g.chars(DIGIT), 1, None)
    exponent = g.seq(
        g.chars(((0x45, 0x45), (0x65, 0x65))),
        g.optional(g.chars(((0x2B, 0x2B), (0x2D, 0x2D)))),
        some,
    )
    return g.seq(natural(g, 0, None), g.optional(g.seq(g.bytes(b"."), some)), g.optional(exponent))


cdef tuple closed(Numbers numbers):
    """Return inclusive bounds as Decimals."""
    low = None if numbers.low is None else Decimal(numbers.low)
    high = None if numbers.high is None else Decimal(numbers.high)
    if low is not None and numbers.low_open:
        low = negative(below(negative(low)))
    if high is not None and numbers.high_open:
        high = below(high)
    return low, high


cdef below(value):
    """Return the next lower number of ``PRECISION`` significant digits, skipping doubles with fewer."""
    if value == 0:
        return Decimal(-1).scaleb(-PRECISION)
    if abs(value) < SMALLEST:
        return Decimal(0) if value > 0 else negative(SMALLEST)
    context = Context(prec=PRECISION, rounding=ROUND_FLOOR)
    rounded = context.plus(value)
    return rounded if rounded < value else context.next_minus(value)


cdef positive(g, low, high, bint canonical, bint has_zero):
    """Add numbers low..high without a sign, 0 <= low."""
    if low == 0 and high is None and not canonical:
        return without_sign(g)
    first, low_digits = split_decimal(low)
    last, high_digits = (None, "") if high is None else split_decimal(high)
    inner = (first + 1, None if last is None else last - 1)
    large = max(first, last or 0) >= 10**WHOLE_DIGITS
    parts = [by_exponent(g, low, high, canonical)]
    if first == last:
        parts.append(joined(g, first, first, fraction_between(g, low_digits, high_digits), large, has_zero))
        return g.alt(*parts)
    parts.append(
        joined(
            g, first, first, fraction_between(g, low_digits, None), large and first >= 10**WHOLE_DIGITS, has_zero)
    )
    if last is not None:
        parts.append(joined(g, last, last, fraction_between(g, "", high_digits), large))
    free = fraction_between(g, "", None)
    if not large:
        parts.append(joined(g, inner[0], inner[1], free, False))
    else:
        middle = 10**WHOLE_DIGITS - 1 if inner[1] is None else min(inner[1], 10**WHOLE_DIGITS - 1)
        parts.append(joined(g, inner[0], middle, free, False))
        parts.append(joined(g, max(inner[0], middle + 1), inner[1], free, True))
    return g.alt(*parts)


cdef joined(g, low, high, tuple fraction, bint bare, bint has_zero=True):
    """Add whole parts low..high with a fraction, or without one (``bare``)."""
    digits, may_be_bare = fraction
    may_be_bare = may_be_bare and (has_zero or low != 0)
    whole = natural(g, low, high)
    if bare:
        return whole if may_be_bare else g.fail()
    pointed = g.seq(g.bytes(b"."), digits)
    return g.seq(whole, g.optional(pointed) if may_be_bare else pointed)


cdef tuple split_decimal(value):
    """Return the whole part, and the digits of the fraction without trailing zeros."""
    whole, _, fraction = format(value, "f").partition(".")
    return int(whole), fraction.rstrip("0")


cdef tuple fraction_between(g, str low, str high):
    """Return digits of fractions low..high (high None: below 1) of any length, and whether none is allowed, too."""
    if not low and high is None:
        return g.repeat(g.chars(DIGIT), 1, None), True
    return compared(g, low, high), not low


cdef compared(g, str low, str high):
    """Add an automaton over digits; a state is (digits read, equal to low, equal to high).

    After the digits of ``low`` any digits are allowed; after those of ``high`` only zeros.
    """
    n = max(len(low), len(high or ""), 1)
    lows, highs = low.ljust(n, "0"), (high or "").ljust(n + 1, "0")
    start, free = (0, bool(low), high is not None), (n, False, False)
    ids, todo = {start: 0}, [start]
    edges = []
    for i, on_low, on_high in todo:
        source = ids[i, on_low, on_high]
        a = int(lows[i]) if on_low else 0
        b = int(highs[i]) if on_high else LAST_DIGIT
        for first, last in runs(a, b, on_low, on_high):
            still_low = on_low and first == last == a and i + 1 < n
            still_high = on_high and first == last == b
            after = (min(i + 1, n), still_low, still_high) if still_low or still_high else free
            if after not in ids:
                ids[after] = len(ids)
                todo.append(after)
            edges.append((source, one_digit(g, first, last), ids[after]))
    finals = [ids[state] for state in todo if state[0] and (not state[1] or state[0] >= len(low))]
    return g.graph(len(ids), edges, [number for number in finals if number])


cdef list runs(int a, int b, bint on_low, bint on_high):
    """Divide the digits a..b into ranges that separate the ends at which a bound is still equal."""
    if a > b:
        return []
    if a == b:
        return [(a, a)]
    low = [(a, a)] if on_low else []
    high = [(b, b)] if on_high else []
    first, last = a + len(low), b - len(high)
    return low + ([(first, last)] if first <= last else []) + high


cdef power(exponent):
    return Decimal((0, (1,), exponent))


cdef by_exponent(g, low, high, bint canonical):
    """Add d.ddde+x with exponents that alone keep them within the bounds: low <= 10^x, 10^(x+1) <= high.

    Canonical ones are those that serializers write with an exponent.
    """
    first = None if low == 0 else low.adjusted() + (low != power(low.adjusted()))
    last = None if high is None else high.adjusted() - 1
    if high == 0:
        return g.fail()
    # a reader may round a larger power to a double beyond the bound
    if first is not None and first > EXACT_POWER:
        first += 1
    if last is not None and last >= EXACT_POWER:
        last -= 1
    zeros = g.repeat(g.bytes(b"0"), 0, None)
    parts = []
    if first is None or first < 0:
        least = 1 if last is None else max(1, -last)
        most = None if first is None else -first
        if canonical:
            # Python writes at least two digits
            parts.append(g.seq(g.bytes(b"-"), two_digits(g, max(least, SMALL_POWER), most)))
        else:
            parts.append(g.seq(g.bytes(b"-"), zeros, natural(g, least, most)))
    plus = g.optional(g.bytes(b"+"))
    if canonical:
        most = GREATEST_POWER if last is None else min(last, GREATEST_POWER)
        parts.append(g.seq(plus, natural(g, max(first or 0, LARGE_POWER), most)))
        tail = g.seq(g.repeat(g.chars(DIGIT), 0, None), g.chars(((0x31, 0x39),)))
        return g.seq(
            g.chars(((0x31, 0x39),)), g.optional(g.seq(g.bytes(b"."), tail)), g.bytes(b"e"), g.alt(*parts))
    if last is None or last >= 0:
        parts.append(g.seq(plus, zeros, natural(g, max(first or 0, 1), last)))
    some = g.repeat(g.chars(DIGIT), 1, None)
    digit = g.chars(DIGIT if first is None else ((0x31, 0x39),))
    fraction = g.optional(g.seq(g.bytes(b"."), some))
    return g.seq(digit, fraction, g.chars(((0x45, 0x45), (0x65, 0x65))), g.alt(*parts))


cdef two_digits(g, low, high):
    """Add whole numbers low..high; one digit may follow a zero."""
    if low > LAST_DIGIT:
        return natural(g, low, high)
    last = LAST_DIGIT if high is None else min(high, LAST_DIGIT)
    return g.alt(g.seq(g.optional(g.bytes(b"0")), natural(g, low, last)), natural(g, LAST_DIGIT + 1, high))


cdef IrFragment unbounded_number(JsonText text, bint whole):
    cdef bint canonical = text.canonical
    cdef FragmentCache fragments = text.grammar.fragments
    cdef IrFragment fragment = fragments.recall((whole, canonical))
    if fragment is None:
        g = Grammar()
        if canonical:
            node = with_sign(g, None, None, whole, True)
        else:
            node = g.seq(g.optional(g.bytes(b"-")), whole_number(g, 0, None) if whole else without_sign(g))
        fragment = fragment_of(g, node)
        fragments.keep((whole, canonical), fragment)
    return fragment


# -- decimals as automata -------------------------------------------------------------------------------

cdef enum:
    # doubles distinguish numbers of this many significant digits
    PRECISION = 15
    # level of a number that cannot become a multiple
    NEVER = 0xFFFFFFFF

cdef enum:
    BEGIN
    ZERO
    WHOLE_PART
    POINT
    FRACTION

# words of a state: position, digits of this part, significant digits; then each comparison and, for each divisor,
# the level and the two halves of the remainder
cdef enum:
    PLACE
    DIGITS
    SIGNIFICANT
    FIRST

cdef enum:
    LEVEL
    LOW
    HIGH
    REMAINDER_WORDS

# result of a comparison with the digits so far
cdef enum:
    LESS
    EQUAL
    MORE


cdef struct ComparedC:
    vector[uint8_t] whole, fraction     # digits, without zeros at either end


# A divisor p / 10^q; of whole numbers, p divides them. Remainders from which the same texts lead to multiples are
# one state: seconds in whole days (86,400) take 141 states, and 10^k takes k + 1.
#
# Before the point, let i be the fewest digits that can make a multiple of the remainder r, together with q digits
# after the point: some c < 10^(i + q) has 10^(i + q) r + c = 0 (mod p). All multiples that r can become depend on
# 10^(i + q) r, and so on r mod p / gcd(10^(i + q), p). The state is that, and the level i. A digit leads to level
# i - 1 at least. After n digits behind the point, q - n takes the place of i + q.
cdef struct DivisorC:
    uint64_t p
    uint32_t q
    # by j, up to the first j >= q with 10^j >= p: 10^j modulo p; 10^j, at most p; p / gcd(10^j, p)
    vector[uint64_t] powers, tens, moduli


cdef extern from *:
    """
    static inline uint64_t product_modulo(uint64_t a, uint64_t b, uint64_t m) {
        return m >> 32 ? (uint64_t)((unsigned __int128)a * b % m) : a * b % m;
    }
    """
    uint64_t product_modulo(uint64_t a, uint64_t b, uint64_t m) noexcept nogil


cdef object decimals_between(
    low, high, list multiples, list foreign, list barred, bint whole, Bound bound, WorkBudget budget
):
    """Return the CharAutomaton of decimals >= 0 without sign or exponent.

    Args:
        low, high: inclusive bounds, or None.
        multiples, foreign: divisors of all numbers, and of none. A divisor p / 10^q divides a number with more
            than q digits after the point if the others are zeros.
        barred: excluded values. With these or ``foreign``, a number with a point has at most ``PRECISION``
            significant digits, so that readers cannot round it to an excluded number.

    Raises:
        LimitExceeded: ``pattern_states``, ``compile_steps``.
    """
    cdef DecimalAutomaton dfa = DecimalAutomaton.__new__(DecimalAutomaton)
    dfa.is_whole = whole
    dfa.low, dfa.high = low is not None, high is not None
    dfa.dividing = <size_t>len(multiples)
    dfa.is_short = bool(foreign or barred) and not whole
    dfa.most = dfa.fraction = 1
    divisors = [divisor_of(number, whole) for number in multiples + foreign]
    for p, q in divisors:
        if not dfa.high or p > MAX_DIVISOR:
            # each remainder modulo this is a state
            bound.check_limit(<uint64_t>min(without_tens(p), 1 << 63))
        bound.check_limit(0 if p <= MAX_DIVISOR else <uint64_t>1 << 63)
        dfa.add_divisor(p, q)
    for number in ([low] if dfa.low else []) + ([high] if dfa.high else []) + barred:
        dfa.add_compared(number)
    return dfa.automaton(bound, budget)


cdef tuple divisor_of(number, bint whole):
    """Return (p, q) of the divisor p / 10^q; for whole numbers, the divisor of them."""
    digits, exponent = Decimal(number).as_tuple()[1:]
    p, q = int("".join(map(str, digits))), -exponent
    if q < 0:
        p, q = p * 10**-q, 0
    return (p // gcd(p, 10**q), 0) if whole else (p, q)


cdef without_tens(p):
    """Return p without its factors 2 and 5."""
    while True:
        common = gcd(p, 10)
        if common == 1:
            return p
        p //= common


cdef class DecimalAutomaton:
    cdef bint is_whole, low, high, is_short
    cdef vector[ComparedC] compared     # the lower bound, the upper one, excluded numbers
    cdef vector[DivisorC] divisors      # ``multiples``, then ``foreign``
    cdef size_t dividing                # number of ``multiples``
    cdef uint32_t most, fraction        # counts of digits before and after the point saturate here

    cdef int add_compared(self, number) except -1:
        cdef ComparedC made
        whole, _, fraction = format(number, "f").partition(".")
        for digit in whole:
            made.whole.push_back(<uint8_t>int(digit))
        for digit in fraction.rstrip("0"):
            made.fraction.push_back(<uint8_t>int(digit))
        self.compared.push_back(made)
        self.most = max(self.most, <uint32_t>made.whole.size() + 1)
        self.fraction = max(self.fraction, <uint32_t>made.fraction.size())
        return 0

    cdef int add_divisor(self, p, q) except -1:
        cdef DivisorC made
        made.p, made.q = p, q
        j = 0
        while j <= q or made.tens.back() < made.p:
            made.powers.push_back(<uint64_t>(10**j % p))
            made.tens.push_back(<uint64_t>min(10**j, p))
            made.moduli.push_back(<uint64_t>(p // gcd(10**j, p)))
            j += 1
        self.divisors.push_back(made)
        self.fraction = max(self.fraction, made.q)
        return 0

    cdef object automaton(self, Bound bound, WorkBudget budget):
        cdef CharAutomaton made = CharAutomaton.__new__(CharAutomaton)
        cdef WordTableC numbers
        cdef CharStateC char_state
        cdef vector[uint32_t] state, after
        cdef size_t parts = self.compared.size() + self.divisors.size()
        cdef uint32_t s = 0, c, number
        cdef int digit
        state.assign(FIRST + self.compared.size(), EQUAL)
        state[PLACE], state[DIGITS], state[SIGNIFICANT] = BEGIN, 0, 0
        state.resize(FIRST + self.compared.size() + REMAINDER_WORDS * self.divisors.size(), 0)
        after = state
        table_number(&numbers, state.data(), state.size())
        while s < table_size(&numbers):
            spend(budget, 2 + <Py_ssize_t>parts)
            bound.count_work(10 * parts)
            state.assign(numbers.words.begin() + numbers.off[s], numbers.words.begin() + numbers.off[s + 1])
            made.states.final.push_back(self.is_final(state.data()))
            for digit in range(-1, 10):
                if not (
                    self.point(state.data(), after.data()) if digit < 0
                    else self.digit(state.data(), <uint32_t>digit, after.data())
                ):
                    continue
                c = 0x2E if digit < 0 else <uint32_t>(0x30 + digit)
                number = table_number(&numbers, after.data(), after.size())
                add_range(&char_state, c, c, number)
                bound.check_limit(table_size(&numbers))
            append_state(&char_state, &made.states)
            s += 1
        finish(&made.states)
        trim(&made.states)
        return made.minimal(bound)

    cdef bint digit(self, const uint32_t* state, uint32_t digit, uint32_t* after) noexcept nogil:
        """Write the state after a digit; False: it is not allowed."""
        cdef uint32_t place = state[PLACE], n = state[DIGITS], significant = state[SIGNIFICANT]
        cdef size_t k, of_compared = self.compared.size(), at
        if place == ZERO or (
            self.is_short and place >= POINT and significant >= PRECISION and digit
        ):
            return False
        for k in range(of_compared):
            after[FIRST + k] = self.compared_with(k, place, n, state[FIRST + k], digit)
        for k in range(self.divisors.size()):
            at = FIRST + of_compared + REMAINDER_WORDS * k
            add_digit(&self.divisors[k], place, n, state + at, digit, after + at)
            if after[at + LEVEL] == NEVER and k < self.dividing:
                return False
        after[SIGNIFICANT] = 0
        if self.is_short:
            after[SIGNIFICANT] = min(significant + (significant > 0 or digit > 0), <uint32_t>PRECISION)
        if place == BEGIN:
            after[PLACE], after[DIGITS] = WHOLE_PART if digit else ZERO, 1
        else:
            after[PLACE] = WHOLE_PART if place == WHOLE_PART else FRACTION
            after[DIGITS] = min(n + 1, self.most if place < POINT else self.fraction)
        return True

    cdef uint32_t compared_with(
        self, size_t k, uint32_t place, uint32_t n, uint32_t known, uint32_t digit
    ) noexcept nogil:
        cdef vector[uint8_t]* digits = (
            &self.compared[k].whole if place < POINT else &self.compared[k].fraction)
        if place < POINT and n >= digits.size():
            # the number has more digits before the point, which decides the comparison (``settled``)
            return EQUAL
        if known != EQUAL:
            return known
        return self.told(k, <int>digit - (<int>digits[0][n] if n < digits.size() else 0))

    cdef uint32_t told(self, size_t k, int difference) noexcept nogil:
        """Return the result of a comparison; for excluded numbers only equality matters."""
        if difference == 0:
            return EQUAL
        return MORE if difference > 0 or k >= <size_t>(self.low + self.high) else LESS

    cdef bint point(self, const uint32_t* state, uint32_t* after) noexcept nogil:
        """Write the state after a point; False: it is not allowed."""
        cdef size_t k, of_compared = self.compared.size(), at
        if self.is_whole or (state[PLACE] != ZERO and state[PLACE] != WHOLE_PART):
            return False
        if self.is_short and state[SIGNIFICANT] >= PRECISION:
            return False
        after[PLACE], after[DIGITS], after[SIGNIFICANT] = POINT, 0, state[SIGNIFICANT]
        for k in range(of_compared):
            after[FIRST + k] = self.settled(state, k)
        for k in range(self.divisors.size()):
            at = FIRST + of_compared + REMAINDER_WORDS * k
            # at a level, there is no multiple with these digits before the point
            set_remainder(after + at, NEVER if state[at + LEVEL] else 0, remainder_in(state + at))
            if state[at + LEVEL] and k < self.dividing:
                return False
        return True

    cdef uint32_t settled(self, const uint32_t* state, size_t k) noexcept nogil:
        """Return a comparison once the number of digits before the point is known."""
        cdef uint32_t found = self.told(k, <int>state[DIGITS] - <int>self.compared[k].whole.size())
        return state[FIRST + k] if found == EQUAL else found

    cdef bint is_final(self, const uint32_t* state) noexcept nogil:
        cdef size_t k, of_compared = self.compared.size(), at
        cdef uint32_t place = state[PLACE], known, n = state[DIGITS] if place == FRACTION else 0
        cdef DivisorC* divisor
        cdef bint is_multiple
        if place == BEGIN or place == POINT:
            return False
        for k in range(of_compared):
            known = state[FIRST + k] if place == FRACTION else self.settled(state, k)
            if known == EQUAL and n < self.compared[k].fraction.size():
                known = LESS
            if known == (
                LESS if k < <size_t>self.low else MORE if k < <size_t>(self.low + self.high) else EQUAL
            ):
                return False
        for k in range(self.divisors.size()):
            divisor, at = &self.divisors[k], FIRST + of_compared + REMAINDER_WORDS * k
            is_multiple = not state[at + LEVEL] and not product_modulo(
                remainder_in(state + at), divisor.powers[divisor.q - n if n < divisor.q else 0], divisor.p)
            if is_multiple != (k < self.dividing):
                return False
        return True


cdef inline uint64_t remainder_in(const uint32_t* at) noexcept nogil:
    return <uint64_t>at[HIGH] << 32 | at[LOW]


cdef inline void set_remainder(uint32_t* at, uint32_t level, uint64_t remainder) noexcept nogil:
    if level == NEVER:
        remainder = 0
    at[LEVEL], at[LOW], at[HIGH] = level, <uint32_t>remainder, <uint32_t>(remainder >> 32)


cdef inline bint can_be_multiple(const DivisorC* divisor, size_t j, uint64_t remainder) noexcept nogil:
    """Whether j digits more can make a multiple."""
    cdef uint64_t over = product_modulo(remainder, divisor.powers[j], divisor.p)
    return not over or divisor.p - over < divisor.tens[j]


cdef void add_digit(
    const DivisorC* divisor, uint32_t place, uint32_t n, const uint32_t* before, uint32_t digit, uint32_t* after
) noexcept nogil:
    """Write the level and the remainder after a digit; ``n``: digits of this part before it."""
    cdef uint64_t remainder
    cdef uint32_t level = before[LEVEL]
    if level == NEVER or (place >= POINT and n >= divisor.q):
        set_remainder(after, NEVER if digit else level, remainder_in(before))
        return
    remainder = (remainder_in(before) * 10 + digit) % divisor.p
    if place >= POINT:
        n = divisor.q - n - 1
        set_remainder(
            after, 0 if can_be_multiple(divisor, n, remainder) else NEVER, remainder % divisor.moduli[n])
        return
    level -= level > 0
    while not can_be_multiple(divisor, level + divisor.q, remainder):
        level += 1
    set_remainder(after, level, remainder % divisor.moduli[level + divisor.q])
