"""The algebra of character sets, against sets of code points."""

from hypothesis import given
from hypothesis import strategies as st

from engine.frontends.regex.char_classes import complement, contains, intersect, normalise, union
from engine.grammar.ir import ANY_CHAR

POINTS = st.one_of(st.integers(0, 40), st.integers(0xD7F0, 0xE010), st.integers(0x10FFF0, 0x10FFFF))
PAIRS = st.lists(st.tuples(POINTS, POINTS), max_size=5)
PROBES = (*range(45), *range(0xD7EE, 0xE014), *range(0x10FFEE, 0x110000))


def members(ranges: tuple[tuple[int, int], ...]) -> set[int]:
    return {c for c in PROBES if contains(ranges, c)}


def is_normal(ranges: tuple[tuple[int, int], ...]) -> bool:
    ends = [-2, *(end for pair in ranges for end in pair)]
    gaps = all(b > a + 1 for a, b in zip(ends[::2], ends[1::2], strict=False))
    return (
        gaps and all(low <= high for low, high in ranges) and intersect(ranges, ANY_CHAR) == ranges
    )


@given(PAIRS)
def test_normalised_sets_are_sorted_disjoint_and_without_surrogates(
    pairs: list[tuple[int, int]],
) -> None:
    ranges = normalise(pairs)
    wanted = {c for c in PROBES if any(a <= c <= b for a, b in pairs) and not 0xD800 <= c <= 0xDFFF}
    assert is_normal(ranges) and members(ranges) == wanted


@given(PAIRS, PAIRS)
def test_union_intersection_and_complement_are_those_of_sets(
    left: list[tuple[int, int]], right: list[tuple[int, int]]
) -> None:
    a, b = normalise(left), normalise(right)
    assert members(union(a, b)) == members(a) | members(b)
    assert members(intersect(a, b)) == members(a) & members(b)
    assert members(complement(a)) == members(ANY_CHAR) - members(a)
    assert is_normal(union(a, b)) and is_normal(intersect(a, b)) and is_normal(complement(a))
    assert complement(complement(a)) == a
