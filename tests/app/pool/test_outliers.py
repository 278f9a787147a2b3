"""Outliers by success rate: who is one, and who is ejected for it."""

import pytest

from adapters.workers import Chunk, WorkerError
from app.pool.member import Member
from app.pool.outliers import MIN_ATTEMPTS, Outcomes, is_outlier, may_eject
from tests.app.pool.fakes import BROKEN, DONE, Counted, Fake, counted, run


def outcomes(answers: int, failures: int) -> Outcomes:
    made = Outcomes()
    for _ in range(answers):
        made.answers.add()
    for _ in range(failures):
        made.failures.add()
    return made


#: (what it shows, the worker's answers and failures, those of its peers, whether it is an outlier)
CASES = [
    ("well below its peer", (60, 40), [(100, 0)], True),
    ("at the margin", (80, 20), [(100, 0)], False),
    ("one past the margin", (79, 21), [(100, 0)], True),
    ("all alike: the requests are bad", (50, 50), [(50, 50), (45, 55)], False),
    ("better than its peers", (100, 0), [(50, 50)], False),
    ("too few attempts", (0, MIN_ATTEMPTS - 1), [(100, 0)], False),
    ("just enough attempts", (0, MIN_ATTEMPTS), [(100, 0)], True),
    ("too few attempts of peers", (0, 100), [(MIN_ATTEMPTS - 1, 0)], False),
    ("peers count together", (0, 100), [(MIN_ATTEMPTS - 1, 0), (1, 0)], True),
    ("alone", (0, 100), [], False),
]


@pytest.mark.parametrize(
    ("worker", "peers", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_an_outlier_is_well_below_its_peers(
    worker: tuple[int, int], peers: list[tuple[int, int]], expected: bool
):
    assert is_outlier(outcomes(*worker), [outcomes(*peer) for peer in peers]) is expected


@pytest.mark.parametrize(
    ("ejected", "workers", "expected"),
    [(0, 1, False), (0, 2, True), (1, 2, False), (0, 3, True), (1, 3, False), (1, 4, True)],
)
def test_at_most_half_of_the_pool_is_ejected_for_it(ejected: int, workers: int, expected: bool):
    assert may_eject(ejected, workers) is expected


class Flaky(Fake):
    """Answers some requests, never failing three times in a row."""

    def __init__(self, name: str, period: int) -> None:
        super().__init__(name, DONE)
        self.period = period

    async def generate(self, generation):  # type: ignore[no-untyped-def]
        self.script = (BROKEN,) if self.calls % self.period else (DONE,)
        async for chunk in super().generate(generation):
            yield chunk


def with_records(made: Counted, records: list[tuple[int, int]]) -> list[Member]:
    for member, record in zip(made.pool.members, records, strict=True):
        member.outcomes = outcomes(*record)
    return made.pool.members


async def test_a_worker_that_often_fails_is_ejected_though_never_three_times_in_a_row():
    flaky, good = Flaky("flaky", period=2), Fake("good", DONE)
    async with counted(flaky, good) as made:
        with_records(made, [(20, 20), (100, 0)])
        while not made.ejections:
            assert await run(made.pool) == [DONE]
        assert made.ejections == ["flaky"]
        calls = flaky.calls
        assert await run(made.pool) == [DONE]
        assert flaky.calls == calls


async def test_of_two_outliers_only_as_many_as_the_pool_bears_are_ejected():
    workers = [Fake(name, Chunk((1,)), BROKEN) for name in "abc"]
    async with counted(*workers) as made:
        members = with_records(made, [(0, 50), (0, 50), (900, 0)])
        members[2].running = 5
        for _ in range(2):
            with pytest.raises(WorkerError):
                await run(made.pool)
        assert made.ejections == ["a"]
        assert [member.state for member in members] == ["open", "closed", "closed"]
