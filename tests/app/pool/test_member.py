"""The circuit breaker of one worker, without I/O."""

import pytest

from adapters.workers import FailureReason
from app.pool import member as breaker
from app.pool.member import Member
from tests.app.pool.fakes import Fake


def test_the_backoff_doubles_up_to_its_bound_with_jitter():
    member = Member(Fake("a"))
    for n in range(40):
        full = min(breaker.BACKOFF_MAX_S, breaker.BACKOFF_S * 2**n)
        assert full * (1 - breaker.JITTER) <= member.open() <= full
    member.answer()
    assert (member.state, member.ejections) == ("closed", 0)


@pytest.mark.parametrize("reason", ["connection", "timeout", "protocol"])
def test_failures_in_a_row_eject_at_the_bound(reason: FailureReason):
    member = Member(Fake("a"))
    bound = 1 if reason in breaker.AT_ONCE else breaker.EJECT_AFTER
    assert [member.fail(reason, 0) for _ in range(bound)] == [False] * (bound - 1) + [True]
    member.open()
    assert not member.fail(reason, 0), "what is open already is not ejected again"


def test_a_complete_answer_between_failures_keeps_a_worker():
    """One client whose requests break must not take a busy worker from all others."""
    member = Member(Fake("a"))
    for _ in range(100):
        assert not member.fail("aborted", member.answers)
        member.answer()


@pytest.mark.parametrize("reason", sorted(breaker.AT_ONCE))
def test_a_worker_that_answers_others_is_only_busy(reason: FailureReason):
    """A request that waits too long in a queue does not show that the worker hangs."""
    member = Member(Fake("a"))
    answers = member.answers
    member.answer()
    assert not member.fail(reason, answers)
    assert member.fail(reason, member.answers)
