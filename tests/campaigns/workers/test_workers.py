"""REGRESSION: one bad worker of two costs attempts, and never a request before its first output."""

from collections.abc import Iterator

import pytest

from app import member

from .campaign import World, world
from .faults import FAULTS

#: while a fault lasts; ``python -m tests.campaigns.workers`` sends a thousand
REQUESTS = 32


@pytest.fixture(scope="module")
def both() -> Iterator[World]:
    """Backoffs are short: how they grow is tested with the pool."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(member, "BACKOFF_S", 0.05)
        patch.setattr(member, "BACKOFF_MAX_S", 0.2)
        with world() as made:
            yield made


@pytest.mark.parametrize("name", FAULTS)
def test_one_bad_worker_of_two(both: World, name: str) -> None:
    assert both.run(FAULTS[name], REQUESTS).complaints == []
