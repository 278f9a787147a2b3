"""The least recently used values are dropped at the bound, and none counts twice."""

import marshal
import sys
from typing import Any

import pytest

from app.concurrency import RecentValues, bytes_of_json


def test_the_least_recently_used_values_are_dropped() -> None:
    values = RecentValues[str](40)
    for key in "abcd":
        values.keep(key, key.upper(), 10)
    assert values.held == 40
    assert values.get("a") == "A"
    values.keep("e", "E", 10)
    assert [values.get(key) for key in "abcde"] == ["A", None, "C", "D", "E"]
    assert values.held == 40


@pytest.mark.parametrize(("size", "kept"), [(10, "A"), (11, None)])
def test_a_value_of_more_than_a_quarter_is_not_kept(size: int, kept: str | None) -> None:
    values = RecentValues[str](40)
    values.keep("a", "A", size)
    assert values.get("a") == kept


def test_a_value_that_two_threads_made_counts_once() -> None:
    values = RecentValues[str](40)
    values.keep("a", "A", 10)
    values.keep("a", "B", 10)
    assert (values.get("a"), values.held) == ("A", 10)


def memory_of(value: Any) -> int:
    """The bytes of JSON values, each of which counts once."""
    left, seen = [value], dict[int, Any]()
    while left:
        each = left.pop()
        if id(each) not in seen:
            seen[id(each)] = each
            left += [*each, *each.values()] if isinstance(each, dict) else ()
            left += each if isinstance(each, list) else ()
    return sum(map(sys.getsizeof, seen.values()))


@pytest.mark.parametrize(
    "value",
    [
        {"type": "object", "properties": {"city": {"type": "string", "enum": ["a", "b"]}}},
        [{} for _ in range(1000)],
        [{"a": {}} for _ in range(1000)],
        {f"key{number}": {} for number in range(1000)},
        [[] for _ in range(1000)],
        [None] * 1000,
        [number / 3 for number in range(1000)],
        [f"\u00e9{number}" for number in range(1000)],
        {"description": "x" * 1000 + "\U0001f600"},
    ],
)
def test_the_memory_of_json_is_not_underestimated(value: Any) -> None:
    assert bytes_of_json(marshal.dumps(value, 2)) >= 0.9 * memory_of(value)
