"""Counters of the last seconds, and the retry budget made of them."""

import pytest

from app.pool.retry_budget import WINDOW_S, RetryBudget
from app.pool.window import SLICES, WindowCounter


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_window_forgets_what_is_older():
    clock = Clock()
    counter = WindowCounter(10.0, clock)
    counter.add()
    clock.now += 5.0
    counter.add()
    assert counter.total == 2
    clock.now += 4.9
    assert counter.total == 2
    clock.now += 0.1
    assert counter.total == 1
    clock.now += 1000.0
    assert counter.total == 0


def test_a_full_turn_of_the_window_leaves_nothing():
    clock = Clock()
    counter = WindowCounter(10.0, clock)
    for _ in range(3 * SLICES):
        counter.add()
        clock.now += 10.0 / SLICES
    assert counter.total == SLICES - 1


#: (share, floor, requests, the retries that they allow)
BUDGETS = [
    (0.2, 0.0, 0, 0),
    (0.2, 0.0, 4, 0),
    (0.2, 0.0, 5, 1),
    (0.2, 0.0, 100, 20),
    (0.2, 1.0, 0, 10),
    (0.2, 1.0, 100, 30),
    (0.0, 0.0, 100, 0),
    (1.0, 0.0, 100, 100),
]


@pytest.mark.parametrize(("share", "floor", "requests", "allowed"), BUDGETS)
def test_retries_are_a_share_of_requests_and_a_floor(
    share: float, floor: float, requests: int, allowed: int
):
    budget = RetryBudget(share, floor, Clock())
    for _ in range(requests):
        budget.count_request()
    assert [budget.spend() for _ in range(allowed + 2)] == [True] * allowed + [False, False]


def test_a_spent_budget_returns_with_time():
    clock = Clock()
    budget = RetryBudget(0.0, 0.1, clock)
    assert (budget.spend(), budget.spend()) == (True, False)
    clock.now += WINDOW_S
    assert (budget.spend(), budget.spend()) == (True, False)
