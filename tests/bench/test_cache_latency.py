"""The benchmark of what Redis adds to an answer runs, in all states of Redis."""

import pytest

from bench.cache_latency import measure, table

pytestmark = pytest.mark.campaign


def test_every_state_of_redis_gets_its_requests() -> None:
    found = measure(3)
    assert {name: len(pairs) for name, pairs in found.items()} == dict.fromkeys(
        ("none, twice", "healthy", "hung", "killed", "hostile"), 3
    )
    assert table(found).count("\n") == 6
