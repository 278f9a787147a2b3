"""The work budget of compiles: its bound, sharing and cancellation."""

import threading

import pytest

import engine
from engine.grammar.ir import Grammar


def test_the_bound_holds_exactly_and_stays_passed() -> None:
    budget = engine.WorkBudget(engine.Limits(compile_steps=2_500))
    for _ in range(2_500):
        budget.spend(1)
    assert budget.spent == 2_500
    for got in (2_501, 2_502):
        with pytest.raises(engine.LimitExceeded) as caught:
            budget.spend(1)
        error = caught.value
        assert (error.limit, error.maximum, error.got) == ("compile_steps", 2_500, got)


def test_many_steps_at_once_count_as_many() -> None:
    budget = engine.WorkBudget(engine.Limits(compile_steps=10_000))
    budget.spend(9_000)
    budget.spend(1_000)
    assert budget.spent == 10_000
    with pytest.raises(engine.LimitExceeded):
        budget.spend(1)


def test_another_thread_cancels_a_running_loop() -> None:
    budget = engine.WorkBudget(engine.Limits(compile_steps=1 << 60))
    ended = threading.Event()

    def loop() -> None:
        while True:
            budget.spend(1)

    def work() -> None:
        with pytest.raises(engine.Cancelled):
            loop()
        ended.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    budget.cancel()
    thread.join(60)
    assert ended.is_set()
    with pytest.raises(engine.Cancelled):
        budget.spend(0)


def test_grammars_share_a_budget_or_have_their_own() -> None:
    budget = engine.WorkBudget()
    assert Grammar(budget=budget).budget is Grammar(budget=budget).budget
    assert Grammar().budget is not Grammar().budget
    assert Grammar(engine.Limits(compile_steps=7)).budget.limit == 7
