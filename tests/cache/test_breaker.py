"""Breaker: opens at the first failure, waits longer after each knock in vain, then closes."""

from cache.breaker import Breaker


class Clock:
    """A clock that stands until it is moved."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_waits_double_up_to_the_bound_and_start_small_again() -> None:
    clock = Clock()
    breaker = Breaker(first_s=1, most_s=5, clock=clock)
    assert breaker.wait_s() is None
    assert not breaker.is_open
    for wait in (1, 2, 4, 5, 5):
        breaker.failed()
        assert breaker.is_open
        assert breaker.wait_s() == wait
        clock.now += wait
        assert breaker.wait_s() == 0
    breaker.knocked()
    assert breaker.wait_s() is None
    breaker.failed()
    assert breaker.wait_s() == 1
    assert breaker.times_opened == 2


def test_late_failures_of_calls_under_way_do_not_lengthen_the_wait() -> None:
    breaker = Breaker(first_s=1, most_s=5, clock=Clock())
    assert [breaker.failed() for _ in range(10)] == [True] + [False] * 9
    assert breaker.wait_s() == 1
    assert breaker.times_opened == 1
