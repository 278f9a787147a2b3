"""Salts of KV caches: who shares a worker's cached prompts, and what clients say about it."""

from typing import Any

import pytest

from adapters.workers import Health
from app.errors import ApiError
from app.protocol.sampling_fields import MAX_SALT
from app.service.cache_salts import SALT_BYTES, CacheSalts
from tests.app.service.scripted import Service, context, request, script

SEPARATE = CacheSalts(is_separate=True, secret=b"s")
SHARED = CacheSalts(secret=b"s")


def test_a_key_has_one_salt_of_its_own_which_shows_neither_it_nor_the_secret():
    salts = {client: SEPARATE.of(client) for client in ("a", "b", "", "a" * 1000, "\ud800")}
    assert len(set(salts.values())) == len(salts)
    assert all(salt and len(salt) == 2 * SALT_BYTES for salt in salts.values())
    assert SEPARATE.of("a") == CacheSalts(is_separate=True, secret=b"s").of("a"), "of replicas"
    assert SEPARATE.of("a") != CacheSalts(is_separate=True, secret=b"t").of("a")
    assert CacheSalts(is_separate=True).of("a") not in (None, SEPARATE.of("a"))


@pytest.mark.parametrize("asked", [(), ("", ""), ("x", ""), ("", "x"), ("x", "y")])
def test_a_clients_own_salt_only_separates_further(asked: tuple[str, ...]):
    mine, other = SEPARATE.of("a", asked), SEPARATE.of("b", asked)
    assert mine != other, "no salt leads to the cache of another client"
    assert {mine, other}.isdisjoint({SHARED.of("a", asked), SHARED.of("b", asked)})


def test_salts_of_other_lengths_are_other_salts():
    pairs = [("x", "yz"), ("xy", "z"), ("xyz", ""), ("", "xyz"), ("x", "y")]
    assert len({SEPARATE.of("a", pair) for pair in pairs}) == len(pairs)
    assert len({SHARED.of("a", pair) for pair in pairs}) == len(pairs)
    assert SEPARATE.of("ab", ("", "")) != SEPARATE.of("a", ("b", ""))


def test_without_separation_clients_share_what_they_say():
    assert SHARED.of("a") is None is SHARED.of("a", ("", ""))
    assert SHARED.of("a", ("x", "")) == SHARED.of("b", ("x", "")) != SHARED.of("a", ("y", ""))


async def sent(salts: CacheSalts, client: str, **fields: Any) -> Any:
    """Return the generation that a worker gets."""
    service = Service(script("hi"), salts=salts)
    await service.chat.complete(request(**fields), context(client, priority=1))
    return service.worker.asked[-1]


async def test_the_generation_has_salt_and_priority_of_the_key():
    one = await sent(SEPARATE, "a")
    assert (one.cache_salt, one.priority) == (SEPARATE.of("a"), 1)
    named = await sent(SEPARATE, "a", cache_salt="x", extra_key="y")
    assert named.cache_salt == SEPARATE.of("a", ("x", "y"))
    assert (await sent(SHARED, "a")).cache_salt is None
    assert (await sent(SHARED, "a", cache_salt="", extra_key=None)).cache_salt is None
    assert (await sent(SHARED, "a", extra_key="y")).cache_salt == SHARED.of("b", ("", "y"))


@pytest.mark.parametrize("name", ["cache_salt", "extra_key"])
@pytest.mark.parametrize("value", ["x" * (MAX_SALT + 1), ["a", "b"], 7, {"a": 1}])
def test_a_salt_is_a_text_of_bounded_length(name: str, value: Any):
    request(**{name: "x" * MAX_SALT})
    with pytest.raises(ApiError) as caught:
        request(**{name: value})
    assert (caught.value.status, caught.value.param) == (400, name)


#: what a client could take from others with, if it reached a worker
IGNORED = {
    "priority": 1000,
    "rid": "a",
    "routed_dp_rank": 1,
    "data_parallel_rank": 1,
    "disagg_prefill_dp_rank": 1,
    "custom_params": {"thinking_budget": 0},
    "routing_key": None,
}
REFUSED = {
    "custom_logit_processor": "pickled",
    "lora_path": "other",
    "bootstrap_host": "10.0.0.1",
    "bootstrap_port": 1,
    "bootstrap_room": 1,
    "session_params": {"id": "s"},
    "input_ids": [1],
}


async def test_a_client_names_neither_queue_nor_place_nor_adapter_of_a_worker():
    plain = await sent(SHARED, "a")
    asked = await sent(SHARED, "a", **IGNORED)
    assert asked.rid != "a" and len(asked.rid) == len(plain.rid)
    for name in ("priority", "rank", "bootstrap", "lora", "cache_salt", "sampling"):
        assert getattr(asked, name) == getattr(plain, name)


@pytest.mark.parametrize("name", REFUSED)
def test_a_field_that_would_change_answers_or_meet_a_worker_is_refused_by_name(name: str):
    with pytest.raises(ApiError) as caught:
        request(**{name: REFUSED[name]})
    assert (caught.value.status, caught.value.code) == (400, "unsupported_parameter")
    assert f"'{name}'" in caught.value.message
    request(**{name: None})


@pytest.mark.parametrize("name", ["cache_salt", "extra_key"])
async def test_a_salt_that_no_worker_would_follow_is_refused_by_name(name: str):
    service = Service(script("hi"))
    service.pool.members[0].check(Health(True, salts=False))
    with pytest.raises(ApiError) as caught:
        await service.chat.complete(request(**{name: "x"}), context())
    assert (caught.value.status, caught.value.param) == (400, name)
    assert caught.value.code == "unsupported_by_backend"
    await service.chat.complete(request(), context())
