"""No request fails or is answered wrong while the ranks of a worker fail, come and go."""

from collections.abc import Iterator

import pytest

from .campaign import RANKS, SCENARIOS, World, world

pytestmark = pytest.mark.campaign

#: of each scenario; ``python -m tests.campaigns.ranks`` sends a thousand
REQUESTS = 96


@pytest.fixture(scope="module")
def both(short_backoffs: None) -> Iterator[World]:
    with world() as made:
        yield made


@pytest.mark.parametrize("name", SCENARIOS)
def test_ranks_that_fail_come_and_go(both: World, name: str) -> None:
    assert both.run(name, REQUESTS).complaints == []


def test_every_rank_of_both_workers_gets_requests(both: World) -> None:
    for worker in both.workers:
        worker.served.clear()
    assert both.run("well", REQUESTS).complaints == []
    assert [sorted(worker.served) for worker in both.workers] == [list(range(RANKS))] * 2
