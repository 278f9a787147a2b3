"""While the shared cache fails in any way, clients get what they would get without one."""

import pytest

from .campaign import Yardstick, run, yardstick
from .faults import FAULTS

pytestmark = pytest.mark.campaign

#: while a fault lasts; ``python -m tests.faults`` sends a thousand
REQUESTS = 32


@pytest.fixture(scope="module")
def right() -> Yardstick:
    return yardstick(REQUESTS)


def test_the_yardstick_knows_no_errors(right: Yardstick) -> None:
    assert [answer for answer in right.answers.values() if answer.startswith("error")] == []


def test_masks_are_shared(right: Yardstick) -> None:
    for stock in (right.before, right.during, right.after):
        assert [entry for entry in stock if entry.key.startswith(b"masks/")]


@pytest.mark.parametrize("name", FAULTS)
def test_no_client_hears_of_it_and_the_log_is_followed_again(name: str, right: Yardstick) -> None:
    assert run(name, REQUESTS, right).complaints == []
