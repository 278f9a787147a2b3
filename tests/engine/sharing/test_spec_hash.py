"""Digests of specs: equal exactly where the contents are, whatever their types and nesting."""

import copy
import json
import marshal
from collections import OrderedDict
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import LimitExceeded, SpecError
from engine.limits import Limits
from engine.sharing.spec_hash import SpecHash

#: values that are easily taken for one another
LEAVES = [
    None, True, False, 0, 1, -1, 2, 0.0, -0.0, 1.0, 2**63 - 1, 2**63, -(2**63) - 1, 2**64,
    2**64 + 1, float("inf"), "", "a", "\0", "a\0", "aaaaaaaa", "aaaaaaaa\0", "aaaaaaab",
    "\u00e9", "\u0100", "\ud800", "\U0001f600", "0x10000000000000000",
]  # fmt: skip
VALUES = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(["", "a", "b", "\u0100"]), inner, max_size=3)
    ),
    max_leaves=8,
)


class Number(IntEnum):
    ONE = 1


class Text(str):
    pass


def identity(value: Any) -> bytes:
    return marshal.dumps(value, 2)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@given(st.lists(VALUES, min_size=2, max_size=12))
def test_two_digests_are_equal_exactly_where_marshal_finds_the_values_equal(
    values: list[Any],
) -> None:
    digest = SpecHash(Limits())
    by_digest = {(digest.of("x", value), identity(value)) for value in values}
    assert (
        len({one for one, _ in by_digest}) == len(by_digest) == len({two for _, two in by_digest})
    )


@given(VALUES)
def test_a_copy_has_the_digest_of_the_original(value: Any) -> None:
    digest = SpecHash(Limits())
    assert digest.of("x", copy.deepcopy(value)) == digest.of("x", value)


def test_all_leaves_alone_and_in_each_container_differ() -> None:
    digest = SpecHash(Limits())
    values = [
        v for leaf in LEAVES for v in (leaf, [leaf], (leaf,), {"k": leaf}, [leaf, 7], [[leaf]])
    ]
    values += [{leaf: None} for leaf in LEAVES if isinstance(leaf, str)]
    assert len({digest.of("x", value) for value in values}) == len(values)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([[1], 2], [[1, 2]]),
        ([[], []], [[[]]]),
        (["ab", "c"], ["a", "bc"]),
        ({"a": {}}, {"a": [{}]}),
        (["a", 1], {"a": 1}),
        (b"a", "a"),
        (Text("a"), b'j"a"'),
    ],
)
def test_values_that_look_alike_differ(one: Any, other: Any) -> None:
    digest = SpecHash(Limits())
    assert digest.of("x", one) != digest.of("x", other)


def test_the_kind_of_spec_and_the_instance_are_part_of_the_digest() -> None:
    digest = SpecHash(Limits())
    found = {digest.of("a", "b"), digest.of("ab", ""), digest.of("b", "b")}
    assert len(found | {SpecHash(Limits()).of("a", "b")}) == 4


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (OrderedDict(a=1), OrderedDict(a=1)),
        ({"a": Number.ONE}, {"a": Number.ONE}),
        ([Text("a")], [Text("a")]),
        ([{1, 2}], [{2, 1}]),
    ],
)
def test_other_types_have_digests_too(value: Any, same: Any) -> None:
    digest = SpecHash(Limits())
    try:
        json.dumps(value)
    except TypeError:
        same = value
    assert digest.of("x", value) == digest.of("x", same) != digest.of("x", None)


def circle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize("value", [object(), [object()], {"a": [lambda: 0]}, circle()])
def test_what_is_no_json_value_is_refused(value: Any) -> None:
    with pytest.raises(SpecError, match="not a JSON value"):
        SpecHash(Limits()).of("x", value)


def test_a_value_is_followed_as_deep_as_it_goes() -> None:
    digest = SpecHash(Limits())
    assert len({digest.of("x", nested(levels)) for levels in (498, 499, 500, 501, 502, 1_500)}) == 6
    with pytest.raises(LimitExceeded) as caught:
        digest.of("x", nested(100_000))
    assert (caught.value.limit, caught.value.maximum, caught.value.got) == ("spec_depth", 128, 129)


@pytest.mark.parametrize(
    "value",
    ["x" * 200, ["x"] * 40, {"a": "x" * 200}, [1] * 50, [[]] * 50, Text("x" * 200), 10**200],
)
def test_a_value_past_the_limit_on_its_size_is_refused_with_both_numbers(value: Any) -> None:
    SpecHash(Limits(spec_bytes=500)).of("x", value)
    with pytest.raises(LimitExceeded) as caught:
        SpecHash(Limits(spec_bytes=150)).of("x", value)
    assert (caught.value.limit, caught.value.maximum) == ("spec_bytes", 150)
    assert caught.value.got > 150


def test_the_limit_on_size_holds_exactly() -> None:
    SpecHash(Limits(spec_bytes=112)).of("x", "y" * 101)
    with pytest.raises(LimitExceeded) as caught:
        SpecHash(Limits(spec_bytes=111)).of("x", "y" * 101)
    assert caught.value.got == 112


def test_a_value_that_shares_its_parts_is_refused_before_it_is_written_out() -> None:
    value: Any = ["x"]
    for _ in range(100):
        value = [value, value]
    with pytest.raises(LimitExceeded, match="spec_bytes"):
        SpecHash(Limits(spec_bytes=10_000)).of("x", value)
