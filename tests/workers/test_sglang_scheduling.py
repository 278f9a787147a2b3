"""The schedulers of a SGLang server by its own account, and the fields that it gets for them."""

import json
from typing import Any

import httpx
import pytest

from adapters.workers import Chunk, Health, SGLangWorker, WorkerError
from adapters.workers.sglang_scheduling import MAX_RANKS, priority_sign_of, ranks_of

from .helpers import collect, run
from .sglang_fakes import RECORDED, TOKENS, Body, MockClient, ask, event

INFO: dict[str, Any] = json.loads((RECORDED / "server_info.json").read_text())
#: what a server says when asked for a rank that it does not have, word for word
GONE = "routed_dp_rank=3 out of range [0, 2)"


class Asked:
    """A server that says something of itself, and answers or refuses by the bodies it gets."""

    def __init__(self, refuses: Any = lambda body: None, **info: Any) -> None:
        self.info, self.refuses = INFO | info, refuses
        self.sent: list[dict[str, Any]] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path != "/generate":
            return httpx.Response(200, json=self.info)
        body = json.loads(request.content)
        self.sent.append(body)
        refusal = self.refuses(body)
        one = {"error": refusal} if refusal else event([5], 1, {"type": "stop"})
        data = b"data: " + json.dumps(one).encode() + b"\n\ndata: [DONE]\n\n"
        return httpx.Response(200, stream=Body(data))

    def worker(self, **options: Any) -> SGLangWorker:
        return SGLangWorker("http://w", tokens=TOKENS, client=MockClient(self), **options)

    def health(self, **options: Any) -> Health:
        return run(self.worker(**options).health())

    def ask(self, **changes: Any) -> list[Chunk]:
        async def work() -> list[Chunk]:
            worker = self.worker()
            await worker.health()
            return await collect(worker, ask(**changes))

        return run(work())


@pytest.mark.parametrize(
    ("said", "ranks"),
    [
        ({}, 1),
        ({"dp_size": 1}, 1),
        ({"dp_size": 8}, 8),
        # up to 0.5.21, with attention by ranks
        ({"dp_size": 8, "enable_dp_attention": True}, 8),
        # since 0.5.22
        ({"dp_size": 1, "attn_dp_size": 8, "enable_dp_attention": True}, 8),
        ({"dp_size": 2, "attn_dp_size": 1, "disaggregation_mode": "null"}, 2),
        ({"dp_size": MAX_RANKS}, MAX_RANKS),
        ({"dp_size": MAX_RANKS + 1}, 1),
        ({"dp_size": MAX_RANKS, "attn_dp_size": 2}, 1),
        ({"dp_size": 1 << 200}, 1),
        *(({"dp_size": wrong}, 1) for wrong in (0, -2, 2.0, "2", True, None, [2], {"a": 2})),
        ({"dp_size": float("nan")}, 1),
        # the controller ends at a rank that has just gone
        ({"dp_size": 8, "elastic_ep_backend": "mooncake"}, 1),
        # the other half of a generation expects a rank
        ({"dp_size": 8, "disaggregation_mode": "prefill"}, 1),
        ({"dp_size": 8, "disaggregation_mode": "decode"}, 1),
        ({"dp_size": 8, "disaggregation_mode": ["null"]}, 1),
    ],
)
def test_ranks_are_those_that_requests_may_name(said: dict[str, Any], ranks: int) -> None:
    assert ranks_of(said) == ranks


def test_a_health_check_reads_the_ranks_anew() -> None:
    server = Asked(dp_size=4)
    assert server.health().ranks == 4
    server.info["dp_size"] = 2
    assert server.health().ranks == 2
    del server.info["dp_size"]
    assert server.health().ranks == 1


def test_a_rank_is_sent_and_none_if_the_generation_names_none() -> None:
    server = Asked(dp_size=2)
    server.ask(rank=1)
    server.ask()
    assert [body.get("routed_dp_rank") for body in server.sent] == [1, None]


def rank_gone(body: dict[str, Any]) -> Any:
    return {"message": GONE, "code": 400} if "routed_dp_rank" in body else None


def test_a_rank_that_has_gone_is_no_error_for_the_client() -> None:
    """A server that restarted with fewer ranks chooses one itself."""
    server = Asked(rank_gone, dp_size=4)
    assert [chunk.finish_reason for chunk in server.ask(rank=3)] == ["stop"]
    assert [body.get("routed_dp_rank") for body in server.sent] == [3, None]


def test_a_server_that_has_no_rank_whatever_it_is_asked_fails_once() -> None:
    server = Asked(lambda body: {"message": GONE, "code": 400}, dp_size=4)
    with pytest.raises(WorkerError, match="no data-parallel rank") as caught:
        server.ask(rank=3)
    assert (caught.value.status, caught.value.reason) == (503, "unavailable")
    assert len(server.sent) == 2


PRIORITIES = {"enable_priority_scheduling": True}
SMALL_FIRST = PRIORITIES | {"schedule_low_priority_values_first": True}


@pytest.mark.parametrize(
    ("said", "sign"),
    [
        ({}, 0),
        ({"enable_priority_scheduling": False}, 0),
        ({"enable_priority_scheduling": "true"}, 0),
        ({"schedule_low_priority_values_first": True}, 0),
        (PRIORITIES, 1),
        (PRIORITIES | {"schedule_low_priority_values_first": False}, 1),
        (SMALL_FIRST, -1),
    ],
)
def test_priorities_go_in_the_direction_that_the_server_says(
    said: dict[str, Any], sign: int
) -> None:
    """A server without them would ignore the field, or abort the request."""
    assert priority_sign_of(said) == sign
    server = Asked(**said)
    for priority in (1, 0, -1):
        server.ask(priority=priority)
    sent = [body.get("priority") for body in server.sent]
    assert sent == ([sign, 0, -sign] if sign else [None] * 3)
    assert server.health().details["priorities"] is bool(sign)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"version": "0.5.21"}, ""),
        ({"version": "0.5.23.post1"}, ""),
        ({"version": "0.6.0rc1"}, ""),
        ({"version": "1.0.0"}, ""),
        ({"version": "0.5.21", "enable_flexkv": False}, ""),
        # 0.5.19 and 0.5.20 may have a radix tree that ends the server at a salt
        ({"version": "0.5.20"}, "since 0.5.21, got version '0.5.20'"),
        ({"version": "0.5.19"}, "since 0.5.21, got version '0.5.19'"),
        ({"version": "0.4.99"}, "since 0.5.21"),
        ({"version": None}, "since 0.5.21, got version None"),
        ({"version": "main"}, "since 0.5.21, got version 'main'"),
        ({"version": "9" * 99 + ".0.0"}, "since 0.5.21"),
        ({"version": "0.5.23", "enable_flexkv": True}, "FlexKV"),
    ],
)
def test_a_server_that_might_share_keys_and_values_is_not_ready(
    said: dict[str, Any], reason: str
) -> None:
    health = Asked(**said).health(separates_caches=True)
    assert health.ready is (not reason) and reason in health.reason
    health = Asked(**said).health()
    assert health.ready and health.salts is (not reason), "no setting separates caches"


def test_a_server_that_might_share_keys_and_values_never_gets_a_salt() -> None:
    """It would ignore the salt, or end at it; requests without one are none of its business."""
    server = Asked(version="0.5.20")
    with pytest.raises(WorkerError, match="keeps the KV caches of salts apart") as caught:
        server.ask(cache_salt="a")
    assert (caught.value.status, caught.value.reason, server.sent) == (503, "unavailable", [])
    server.ask()
    server.info["version"] = "0.5.21"
    server.ask(cache_salt="a")
    assert [body.get("cache_salt") for body in server.sent] == [None, "a"]
