"""The simulation of a fleet: small fleets, and what must hold of any."""

import pytest

from bench.follow_sim import (
    ENTRY_BYTES,
    SAMPLE,
    TABLE_FACTOR,
    Fleet,
    Replica,
    arguments,
    cold_fleet,
    cold_table,
    fleet_of,
    start,
    start_table,
)
from engine.sharing.artifact_cache import AT_ONCE, FOLLOW_SECONDS, MAX_HOTTEST

TABLE = 1 << 24


@pytest.fixture
def fleet() -> Fleet:
    given = ["--replicas=30", "--namespace-mb=5", "--draws=2", "--seconds=40"]
    return fleet_of(arguments(given))


def test_a_seed_gives_the_same_figures(fleet: Fleet) -> None:
    assert cold_fleet(fleet, TABLE, 50, seed=3) == cold_fleet(fleet, TABLE, 50, seed=3)
    assert start(fleet, TABLE, 1, seed=3) == start(fleet, TABLE, 1, seed=3)


def test_replicas_that_load_hit_more(fleet: Fleet) -> None:
    alone, following = (cold_fleet(fleet, TABLE, budget) for budget in (0, 500))
    assert alone.hits < following.hits
    assert alone.messages == following.messages
    assert alone.values_out < following.values_out


def test_what_redis_has_is_not_announced_again(fleet: Fleet) -> None:
    found = cold_fleet(fleet, TABLE, 0)
    # those that several miss in one step are published by each
    assert found.messages * fleet.seconds < 2 * len(fleet.weights)
    assert found.values_in >= len(fleet.weights) / 2 * ENTRY_BYTES / fleet.seconds


def test_a_table_is_filled_to_half_by_loading_and_dropped_when_full() -> None:
    replica = Replica(4 * AT_ONCE, budget=1_000)
    replica.load(range(10 * AT_ONCE))
    assert len(replica.held) == replica.reads == 2 * AT_ONCE
    for number in range(4 * AT_ONCE):
        replica.draw(number)
    assert (len(replica.held), replica.drops, replica.hits) == (4 * AT_ONCE, 0, 2 * AT_ONCE)
    assert not replica.draw(-1) and replica.held == {-1} and replica.drops == 1


def test_a_budget_bounds_what_a_step_reads() -> None:
    replica = Replica(1_000, budget=8)
    replica.hear(range(100))
    assert replica.reads == 8
    replica.hear(range(100, 200))
    assert replica.reads == 8 + 8 * FOLLOW_SECONDS


def test_a_start_loads_what_its_seconds_the_table_and_the_engine_allow(fleet: Fleet) -> None:
    many = fleet_of(arguments(["--namespace-mb=200"]))
    half = TABLE / TABLE_FACTOR / 2
    assert start(many, TABLE, 0).loaded_bytes == 0
    assert start(many, TABLE, 5).loaded_bytes <= half + AT_ONCE * ENTRY_BYTES
    assert start(many, 1 << 30, 60).loaded_bytes == MAX_HOTTEST * ENTRY_BYTES
    assert start(fleet, TABLE, 0).hits < start(fleet, TABLE, 1).hits


def test_tables_are_printed_and_too_small_a_fleet_is_refused(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cold_table(fleet).count("\n") == 7 and start_table(fleet).count("\n") == 10
    with pytest.raises(SystemExit):
        arguments([f"--replicas={SAMPLE - 1}"])
    assert f"at least {SAMPLE}" in capsys.readouterr().err
