"""The simulation of a fleet: what must hold whatever its figures are."""

from itertools import accumulate

from bench.follow_sim import SAMPLE, Fleet, Replica, cold_fleet, hit_rate, rollout

WEIGHTS = list(accumulate(1 / rank for rank in range(1, 201)))
FLEET = Fleet(2 * SAMPLE, 1.0, 60, is_blind=False, is_choosy=False, weights=WEIGHTS)


def number(cell: str) -> float:
    return float(cell.replace(",", ""))


def test_a_replica_keeps_what_was_used_last_within_its_memory() -> None:
    replica = Replica(memory=3 * 80_000, budget=0)
    hits = [replica.draw(each) for each in (1, 2, 3, 1, 4, 2)]
    assert hits == [False, False, False, True, False, False]
    assert list(replica.held) == [1, 4, 2]
    assert hit_rate([replica]) == 1 / 6


def test_following_raises_hits_and_traffic() -> None:
    without, following = (cold_fleet(FLEET, 1 << 30, budget) for budget in (0, 10_000_000))
    assert number(following[2]) > number(without[2])
    assert number(following[4]) > number(without[4])


def test_loading_the_hottest_helps_a_replica_that_starts() -> None:
    *_, cold, warm = rollout(FLEET, 64 << 20)
    assert number(warm) > number(cold)


def test_equal_fleets_give_equal_figures() -> None:
    assert cold_fleet(FLEET, 1 << 24, 1_000) == cold_fleet(FLEET, 1 << 24, 1_000)
