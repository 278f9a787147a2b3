"""The least recently used values are dropped at the bound, and none counts twice."""

import pytest

from app.concurrency import RecentValues


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
