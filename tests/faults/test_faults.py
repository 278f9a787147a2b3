"""While the cache fails in any way, clients get what they would get without one."""

import pytest

from .campaign import Yardstick, run, yardstick
from .faults import FAULTS

pytestmark = pytest.mark.campaign

#: while a fault lasts; ``python -m tests.faults`` sends a thousand
REQUESTS = 48


@pytest.fixture(scope="module")
def right() -> Yardstick:
    return yardstick(REQUESTS)


def test_the_yardstick_knows_no_errors(right: Yardstick) -> None:
    assert [answer for answer in right.answers.values() if answer.startswith("error")] == []
    assert len(right.stock) > REQUESTS, "what is learnt is shared"


@pytest.mark.parametrize("name", FAULTS)
def test_no_client_hears_of_it_and_the_cache_comes_back(name: str, right: Yardstick) -> None:
    outcome = run(name, REQUESTS, right)
    assert outcome.complaints == []
