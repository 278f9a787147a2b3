"""Policies: what each picks, and what two of them reach with many conversations."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from statistics import fmean
from typing import Any, get_args

import pytest

from adapters.workers import Generation
from app.pool.policies import (
    LOAD_FACTOR,
    SLACK,
    Policy,
    PowerOfTwo,
    PrefixAware,
    has_spare,
    make_policy,
)
from app.settings.model import PolicyName


@dataclass
class Load:
    """A candidate."""

    name: str
    running: int = 0


def loads(*running: int) -> list[Load]:
    return [Load(f"w{number}", count) for number, count in enumerate(running)]


def asked(prompt: str | list[int], **options: Any) -> Generation:
    return Generation(rid="r", prompt=prompt, spec=None, max_tokens=1, **options)


def picks(policy: Policy, candidates: Sequence[Load], times: int) -> list[str]:
    return [policy.pick(candidates, asked("prompt")).name for _ in range(times)]


def test_round_robin_takes_turns_whatever_the_load():
    assert picks(make_policy("round-robin"), loads(9, 0, 5), 6) == ["w0", "w1", "w2"] * 2


def test_round_robin_is_fair_while_candidates_change():
    policy, (one, two, three) = make_policy("round-robin"), loads(0, 0, 0)
    assert picks(policy, [one, two], 3) == ["w0", "w1", "w0"]
    assert picks(policy, [one, three], 2) == ["w2", "w0"]
    assert picks(policy, [one, two, three], 3) == ["w1", "w2", "w0"]


def test_least_load_takes_the_least_busy_worker_and_equally_busy_ones_in_turn():
    assert picks(make_policy("least-load"), loads(3, 1, 2), 2) == ["w1", "w1"]
    assert picks(make_policy("least-load"), loads(1, 3, 1), 4) == ["w0", "w2", "w0", "w2"]


def test_power_of_two_takes_the_less_busy_of_two_and_reaches_all_but_the_busiest():
    seen = Counter(picks(PowerOfTwo(seed=1), loads(9, 1, 2, 3), 400))
    assert seen["w0"] == 0
    assert seen["w1"] > seen["w2"] > seen["w3"] > 0


@pytest.mark.parametrize("name", get_args(PolicyName))
def test_one_candidate_is_picked_by_every_policy(name: PolicyName):
    assert picks(make_policy(name), loads(7), 3) == ["w0"] * 3


SYSTEM = list(range(1000, 1500))


def turn(conversation: int, number: int, **options: Any) -> Generation:
    """One turn, whose prompt repeats all previous ones and ends with a header."""
    history = [conversation * 10_000 + at for at in range(number * 50)]
    return asked([*SYSTEM, *history, 1, 2, 3], **options)


def test_a_conversation_returns_to_the_worker_of_its_previous_turn():
    policy, workers = PrefixAware(), loads(0, 0, 0)
    homes = {each: policy.pick(workers, turn(each, 1)).name for each in range(30)}
    assert Counter(homes.values()) == {"w0": 10, "w1": 10, "w2": 10}, "new ones are spread"
    for number in range(2, 5):
        for each in range(30):
            assert policy.pick(workers, turn(each, number)).name == homes[each]


@pytest.mark.parametrize("ahead", [0, 1])
def test_a_conversation_leaves_a_worker_at_the_bound_of_load_and_stays_away(ahead: int):
    policy, workers = PrefixAware(), loads(0, 0)
    assert policy.pick(workers, turn(1, 1)).name == "w0"
    home, other = workers
    home.running = next(n for n in range(100) if not has_spare(Load("x", n + 1), loads(n + 1, 4)))
    other.running = 4
    home.running += ahead
    moved = "w1" if ahead else "w0"
    assert policy.pick(workers, turn(1, 2)).name == moved
    home.running = other.running = 0
    assert policy.pick(workers, turn(1, 3)).name == moved


def test_the_bound_of_load_is_a_share_of_the_mean_and_a_slack():
    total = 8 * 4 + 1
    assert has_spare(Load("a", 13), loads(13, 7, 6, 6)) is (LOAD_FACTOR * total / 4 + SLACK >= 14)
    assert not has_spare(Load("a", 14), loads(14, 6, 6, 6))


def test_a_conversation_whose_worker_is_no_candidate_moves():
    policy, workers = PrefixAware(), loads(0, 5)
    assert policy.pick(workers, turn(1, 1)).name == "w0"
    assert policy.pick(workers[1:], turn(1, 2)).name == "w1"
    assert policy.pick(workers, turn(1, 3)).name == "w1"


@pytest.mark.parametrize("field", ["lora", "cache_salt"])
def test_prompts_of_other_adapters_or_salts_are_other_conversations(field: str):
    """The worker of an equal prompt has no keys and values for them."""
    policy, workers = PrefixAware(), loads(0, 0, 0)
    options: list[dict[str, Any]] = [{}, {field: "a"}, {field: "b"}]
    assert [policy.pick(workers, turn(1, 1, **each)).name for each in options] == ["w0", "w1", "w2"]
    for number in range(2, 4):
        names = [policy.pick(workers, turn(1, number, **each)).name for each in options]
        assert names == ["w0", "w1", "w2"]


def serve(
    policy: Policy, busy: int, slow: int = 1, names: Sequence[str] = ("w0", "w1", "w2", "w3")
) -> tuple[list[bool], list[int], list[int]]:
    """Serve 3,000 turns on four workers, each with ``busy`` running generations in the mean.

    Generations end in random order, one of ``w0`` with 1 / ``slow`` of the others' chance, and the
    next turn of a random conversation begins. Return whether each later turn met its worker, and
    for each worker its turns and the sum of its running generations over time.
    """
    chance, workers, load = random.Random(busy), [Load(name) for name in names], [0] * len(names)
    fresh, meetings, turns = count(), list[bool](), Counter[str]()
    running: list[tuple[int, int, Load]] = []
    most = len(names) * busy
    waiting: list[tuple[int, int, Load | None]] = [(next(fresh), 1, None) for _ in range(2 * most)]
    for _ in range(3000):
        conversation, number, last = waiting.pop(chance.randrange(len(waiting)))
        home = policy.pick(workers, turn(conversation, number))
        meetings += [home is last] if last else []
        home.running += 1
        turns[home.name] += 1
        running.append((conversation, number, home))
        load = [total + each.running for total, each in zip(load, workers, strict=True)]
        if len(running) == most:
            weights = [1 if each is workers[0] else slow for *_, each in running]
            [at] = chance.choices(range(len(running)), weights)
            conversation, number, home = running.pop(at)
            home.running -= 1
            goes_on = number < 6
            waiting.append((conversation, number + 1, home) if goes_on else (next(fresh), 1, None))
    return meetings, [turns[each.name] for each in workers], load


@pytest.mark.parametrize("busy", [1, 4, 16])
def test_prefix_aware_meets_the_previous_worker_and_balances(busy: int):
    """The goal: 95 % of later turns meet their worker, no worker has 1.25 times the mean."""
    meetings, turns, load = serve(make_policy("prefix-aware"), busy)
    assert len(meetings) > 2000 and fmean(meetings) >= 0.95
    assert max(turns) <= 1.25 * fmean(turns) and max(load) <= 1.25 * fmean(load)


def test_prefix_aware_meets_the_previous_rank_and_balances():
    """The same for four workers with two ranks each: eight seats."""
    seats = [f"w{number}#{rank}" for number in range(4) for rank in range(2)]
    meetings, turns, load = serve(make_policy("prefix-aware"), 4, names=seats)
    assert len(meetings) > 2000 and fmean(meetings) >= 0.95
    assert max(turns) <= 1.25 * fmean(turns) and max(load) <= 1.25 * fmean(load)


def test_a_worker_that_is_ten_times_slower_gets_few_requests_by_the_least_load():
    _, turns, load = serve(make_policy("least-load"), busy=2, slow=10)
    assert turns[0] < 0.2 * sum(turns) and max(load) <= 1.25 * fmean(load)
