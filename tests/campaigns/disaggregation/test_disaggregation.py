"""One bad worker of either half costs attempts, and never a request before its first output."""

from collections.abc import Iterator

import pytest

from adapters.workers import Half

from .campaign import Pairs, complaints_of, pairs
from .faults import FAULTS

pytestmark = pytest.mark.campaign

#: while a fault lasts; ``python -m tests.campaigns.disaggregation`` sends a thousand in all
REQUESTS = 8


@pytest.fixture(scope="module")
def world(short_backoffs: None) -> Iterator[Pairs]:
    with pairs() as made:
        yield made


@pytest.mark.share
@pytest.mark.parametrize(("half", "name"), FAULTS)
def test_one_bad_worker_of_two(world: Pairs, half: Half, name: str) -> None:
    assert complaints_of(world.run_at(half, FAULTS[half, name], REQUESTS)) == []
