"""The campaign's own parts: every front end is reached, and nothing but refusals comes out."""

import json
from random import Random

import pytest

from engine import LimitExceeded, Limits, WorkBudget

from .growth import SERIES, SIZES, growth_cases
from .languages import value_of
from .measured import run_measured
from .subjects import FRONT_ENDS, Case, Subjects, refusal_of, walk
from .trial import Trial

pytestmark = pytest.mark.campaign

#: random inputs of each front end
RANDOM = 20


@pytest.fixture(scope="module")
def subjects() -> Subjects:
    return Subjects("small")


def small(case: Case) -> Case:
    """Name a token that the small vocabulary has."""
    return Case(
        case.name,
        case.front_end,
        json.loads(json.dumps(case.value).replace("start_header_id", "start")),
    )


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_every_front_end_compiles_some_inputs_and_refuses_the_others_by_name(
    subjects: Subjects, front_end: str
) -> None:
    """The first size of every series, and random inputs."""
    cases = [case for case in growth_cases(SIZES[:1]) if case.front_end == front_end]
    cases += [Case(f"0:{n}", front_end, value_of(Random(n), front_end)) for n in range(RANDOM)]
    made = 0
    for case in map(small, cases):
        work = subjects.work(case)
        if work is None:
            continue
        budget = WorkBudget(subjects.limits)
        try:
            work(budget)
        except Exception as error:
            if refusal_of(error) is None:
                raise
        else:
            made += 1
        # one charge may exceed the limit, and ends the compile
        assert budget.spent <= 2 * budget.limit, case
    assert made >= RANDOM // 4


def test_the_table_is_large_enough() -> None:
    assert set(SERIES) == set(FRONT_ENDS)
    assert sum(len(SIZES) for series in SERIES.values() for _ in series) >= 400


def test_a_trial_finds_what_a_step_takes() -> None:
    """A step that takes memory, never pauses for others and does not end is found as such."""

    def work(budget: WorkBudget) -> object:
        held = bytearray(80 << 20)
        sum(map(len, [b"ab"] * 4_000_000))
        raise LimitExceeded("compile_steps", 1, len(held))

    cost = run_measured(work, Limits())
    assert cost.peak > 64 << 20
    assert cost.cpu >= cost.pause > 0
    assert cost.error is not None and refusal_of(cost.error) == "compile_steps"


def test_a_case_is_compiled_and_walked(subjects: Subjects) -> None:
    outcome = Trial(subjects, Case("0:0", "regex", "[ab]{1,9}"), lambda phase: None).run()
    assert outcome.result == "compiled"
    assert not [found for found in outcome.findings if found[0] == "error"]


def test_errors_that_are_no_refusals_are_found(subjects: Subjects) -> None:
    assert refusal_of(RecursionError()) is None
    assert refusal_of(MemoryError()) is None
    compiled = subjects.caches.compiler.compile_regex("a")
    assert run_measured(walk(compiled, "0"), Limits()).error is None
