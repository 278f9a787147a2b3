"""Compiles take turns between clients, end with their requests, and are done once."""

import asyncio
import gc
import json
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from app.access.keys import Keys
from app.common_form import common_chat
from app.composition import engines
from app.constraints import compile_scheduler as compiling
from app.constraints.compile_scheduler import CompileScheduler
from app.errors import ApiError
from engine import Cancelled, Compiled, Compiler, LimitExceeded, Limits, WorkBudget
from tests.app.examples import LIGHT, body, json_schema, tool
from tests.app.gateway import PATIENCE, Gateway
from tests.app.service.scripted import Service, context, request
from tests.vocabularies import small_vocabulary
from tests.waiting import eventually


class Work:
    """Compiles that last until they are let go; ``begun`` is in their order."""

    def __init__(self, scheduler: CompileScheduler) -> None:
        self.scheduler = scheduler
        self.begun: list[str] = []
        self.let_go: dict[str, threading.Event] = {}

    def start(self, client: str, name: str) -> "asyncio.Task[str]":
        self.let_go[name] = threading.Event()

        def work(budget: WorkBudget) -> str:
            self.begun.append(name)
            while not self.let_go[name].wait(0.001):
                budget.spend(1_000)
            return name

        return asyncio.create_task(self.scheduler.run(client, work))

    async def has_begun(self, *names: str) -> None:
        await eventually(lambda: self.begun == list(names))


@pytest.fixture
def unbounded() -> Limits:
    return Limits(compile_steps=1 << 60)


async def test_clients_take_turns(unbounded: Limits) -> None:
    work = Work(CompileScheduler(unbounded, threads=1))
    tasks = [work.start(name[0], name) for name in ("a0", "a1", "a2", "b0", "c0", "b1")]
    # a suspended compile goes on before its client's next one begins
    await work.has_begun("a0", "b0", "c0")
    for name, next_one in (("a0", "a1"), ("b0", "b1"), ("a1", "a2")):
        work.let_go[name].set()
        await eventually(lambda: next_one in work.begun)  # noqa: B023
    for event in work.let_go.values():
        event.set()
    assert await asyncio.gather(*tasks) == ["a0", "a1", "a2", "b0", "c0", "b1"]
    assert work.begun == ["a0", "b0", "c0", "a1", "b1", "a2"]
    await eventually(lambda: work.scheduler.stats()["running"] == 0)
    await work.scheduler.aclose()


async def test_one_client_leaves_a_thread_to_the_others(unbounded: Limits) -> None:
    """REGRESSION: eight requests of one client took all threads for over a minute."""
    work = Work(CompileScheduler(unbounded, threads=3))
    mine = [work.start("a", f"a{n}") for n in range(8)]
    await eventually(lambda: sorted(work.begun) == ["a0", "a1"])
    other = work.start("b", "b0")
    await eventually(lambda: work.begun[2:] == ["b0"])
    work.let_go["b0"].set()
    assert await other == "b0"
    assert len(work.begun) == 3
    for event in work.let_go.values():
        event.set()
    await asyncio.gather(*mine)
    await work.scheduler.aclose()


async def test_what_waits_is_bounded_by_client_and_in_all(
    unbounded: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work(CompileScheduler(unbounded, threads=1, queue=2))
    tasks = [work.start("a", f"a{n}") for n in range(3)]
    await eventually(lambda: work.scheduler.stats()["waiting"] == 2)
    with pytest.raises(ApiError) as caught:
        await work.start("a", "a3")
    error = caught.value
    assert (error.status, error.code, error.type) == (
        429,
        "rate_limit_exceeded",
        "rate_limit_error",
    )
    assert error.headers == {"Retry-After": "1"}
    tasks.append(work.start("b", "b0"))
    await eventually(lambda: work.scheduler.stats()["waiting"] == 3)
    monkeypatch.setattr(compiling, "MAX_WAITING", 3)
    with pytest.raises(ApiError):
        await work.start("c", "c0")
    assert work.scheduler.stats()["rejected"] == 2
    for event in work.let_go.values():
        event.set()
    assert sorted(await asyncio.gather(*tasks)) == ["a0", "a1", "a2", "b0"]
    await work.scheduler.aclose()


async def test_cancelling_ends_what_runs_and_what_waits(unbounded: Limits) -> None:
    work = Work(CompileScheduler(unbounded, threads=1))
    running, waiting, next_one = (work.start("a", f"a{n}") for n in range(3))
    await work.has_begun("a0")
    waiting.cancel()
    running.cancel()
    await work.has_begun("a0", "a2")
    work.let_go["a2"].set()
    assert await next_one == "a2"
    await eventually(lambda: work.scheduler.stats()["running"] == 0)
    assert work.scheduler.stats() == {
        "started": 2, "cancelled": 1, "rejected": 0, "suspended": 0, "running": 0, "waiting": 0,
    }  # fmt: skip
    await work.scheduler.aclose()


#: a schema that takes many times the steps of a compile
HOSTILE = {
    "properties": {f"p{n}": {"type": "integer", "multipleOf": 19_900 + n} for n in range(2_000)}
}


def compile_with(compiler: Compiler, schema: Any) -> Callable[[WorkBudget], Compiled]:
    return lambda budget: compiler.compile_json_schema(schema, budget=budget)


async def test_a_small_schema_does_not_wait_for_the_compiles_of_others(unbounded: Limits) -> None:
    """REGRESSION: two keys with one costly schema each made a third one wait for two minutes."""
    scheduler = CompileScheduler(unbounded)
    compiler = Compiler(small_vocabulary(), limits=unbounded)
    hostile = [
        asyncio.create_task(
            scheduler.run(client, compile_with(compiler, HOSTILE | {"title": client}))
        )
        for client in ("a", "b")
    ]
    async with asyncio.timeout(PATIENCE):
        while scheduler.stats()["started"] < 2:
            await asyncio.sleep(0.001)
        for number in range(5):
            small = compile_with(compiler, {"const": number})
            assert await scheduler.run(f"c{number}", small)
            assert not any(task.done() for task in hostile)
        assert scheduler.stats()["suspended"] > 0
    for task in hostile:
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.gather(*hostile)
    await scheduler.aclose()
    assert compiler.stats()["compiles"] == 5


async def test_compiles_of_one_schema_wait_for_each_other_without_a_slot(unbounded: Limits) -> None:
    """The one that compiles is suspended while the others, which wait for it, have the slots."""
    scheduler = CompileScheduler(unbounded, threads=1)
    limits = Limits(compile_steps=40_000)
    compiler = Compiler(small_vocabulary(), limits=limits)
    schema = {"enum": [f"{n:04d}" for n in range(3_000)]}
    tasks = [scheduler.run(client, compile_with(compiler, schema)) for client in "abcd"]
    async with asyncio.timeout(PATIENCE):
        made = await asyncio.gather(*tasks)
    assert len(set(map(id, made))) == compiler.stats()["compiles"] == 1
    await scheduler.aclose()


async def test_the_compiles_that_have_begun_are_bounded(
    unbounded: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each holds a thread and its memory."""
    monkeypatch.setattr(compiling, "MAX_STARTED", 3)
    work = Work(CompileScheduler(unbounded, threads=1))
    tasks = [work.start(client, client) for client in "abcd"]
    await work.has_begun("a", "b", "c")
    await eventually(lambda: work.scheduler.stats()["suspended"] > 6)
    assert work.begun == ["a", "b", "c"]
    work.let_go["b"].set()
    await work.has_begun("a", "b", "c", "d")
    for task in tasks:
        task.cancel()
    await eventually(lambda: work.scheduler.stats()["running"] == 0)
    assert work.scheduler.stats()["waiting"] == 0
    await work.scheduler.aclose()


async def test_closing_ends_what_is_suspended(unbounded: Limits) -> None:
    work = Work(CompileScheduler(unbounded, threads=1))
    tasks = [work.start(client, client) for client in "ab"]
    await work.has_begun("a", "b")
    await work.scheduler.aclose()
    assert all(
        isinstance(each, Cancelled) for each in await asyncio.gather(*tasks, return_exceptions=True)
    )


async def test_closing_ends_what_runs(unbounded: Limits) -> None:
    work = Work(CompileScheduler(unbounded, threads=1))
    task = work.start("a", "a0")
    await work.has_begun("a0")
    await work.scheduler.aclose()
    with pytest.raises(Cancelled):
        await task


def test_a_client_is_a_key_or_without_keys_an_address() -> None:
    keys = Keys(["one", "two"])
    one, two = (keys.identify(f"Bearer {key}", "10.0.0.1").id for key in ("one", "two"))
    assert one == keys.identify("bearer  one ", "10.0.0.2").id != two
    assert "one" not in one
    assert Keys([]).identify("Bearer one", "10.0.0.1").id == "10.0.0.1"


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch, unbounded: Limits) -> Iterator[Gateway]:
    """Compile specs with a member "heavy" until they are cancelled."""
    build = Compiler._build

    def build_for_ever(self: Compiler, spec: Any, front_end: Any, budget: WorkBudget) -> Compiled:
        while '"heavy"' in json.dumps(spec):
            time.sleep(0.001)
            budget.spend(1_000)
        return build(self, spec, front_end, budget)

    monkeypatch.setattr(Compiler, "_build", build_for_ever)
    monkeypatch.setattr(engines, "Limits", lambda: unbounded)
    with Gateway(api_keys="one,two", compile_queue=1) as running:
        yield running


def test_a_heavy_schema_takes_nothing_from_others_and_ends_with_its_request(
    gateway: Gateway,
) -> None:
    """REGRESSION: it ran on for minutes after its client had left."""

    def compiles(what: str) -> float:
        return gateway.metric("switchyard_compiles", what=what)

    keys = [{"authorization": f"Bearer {key}"} for key in ("one", "two")]
    asked = [body(tools=[tool(f"f{n}", {"required": ["heavy"]})]) for n in range(3)]
    with gateway.raw_request(asked[0], headers=keys[0]):
        gateway.eventually(lambda: compiles("running") == 1)
        with gateway.raw_request(asked[1], headers=keys[0]):
            gateway.eventually(lambda: compiles("waiting") == 1)
            refused = gateway.post(asked[2], headers=keys[0])
            assert refused.status_code == 429 and refused.headers["retry-after"] == "1"
            assert refused.json()["error"]["code"] == "rate_limit_exceeded"
            assert gateway.get("/health/live").status_code == 200
            light = body(tools=[tool("set_light", LIGHT)], tool_choice="required")
            assert gateway.post(light, headers=keys[1]).status_code == 200
            # known by now: found without a turn
            assert gateway.post(light, headers=keys[0]).status_code == 200
            assert (compiles("running"), compiles("waiting")) == (1, 1)
        gateway.eventually(lambda: compiles("waiting") == 0)
    gateway.eventually(lambda: compiles("running") == 0)
    assert compiles("cancelled") == 1
    assert gateway.metric("switchyard_compiler", what="refusals") == 0


async def test_what_is_known_is_not_compiled_again() -> None:
    """REGRESSION: a schema that was refused or relaxed was so anew with every request."""
    service = Service(strict_profile="extended")
    caches = service.planner.enforcement.caches
    schema = {"type": "object", "properties": {"a": {"$ref": "https://a.example/b"}}}
    for _ in range(3):
        asked = partial(common_chat, request(response_format=json_schema(schema)))
        prepared, _ = await service.generation._prepare(asked, context())
        assert prepared.constraint.relaxed
    for _ in range(3):
        with pytest.raises(ApiError) as caught:
            await service.complete(response_format=json_schema(schema, strict=True))
        assert caught.value.status == 400
    stats = caches.compiler.stats() | caches.relaxations.stats() | service.scheduler.stats()
    assert (stats["started"], stats["compiles"], stats["grammar_hits"]) == (1, 1, 2)
    assert (stats["refused"], stats["refusal_hits"]) == (1, 5)
    assert (stats["relaxations_made"], stats["relaxation_hits"]) == (1, 2)


async def test_a_schema_that_takes_too_long_is_refused_by_the_bounds_name() -> None:
    service = Service()
    many = {f"p{n}": {"type": "integer", "multipleOf": 19_900 + n} for n in range(60)}
    with pytest.raises(ApiError) as caught:
        await service.complete(tools=[tool("f", {"type": "object", "properties": many})])
    error = caught.value
    assert (error.status, error.code) == (400, "invalid_json_schema")
    assert "compile_steps: at most 1,000,000 allowed" in error.message


class Large:
    """Something that a compile makes."""


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_an_error_does_not_keep_what_its_compile_made(is_cancelled: bool) -> None:
    """REGRESSION: the error held the frames, and these the half-made grammar."""
    scheduler = CompileScheduler(Limits(compile_steps=100_000 if not is_cancelled else 1 << 60))
    made: list[weakref.ref[Large]] = []

    def work(budget: WorkBudget) -> None:
        large = Large()
        made.append(weakref.ref(large))
        try:
            while True:
                budget.spend(1_000)
        except LimitExceeded:
            raise ApiError(400, "refused") from None

    task = asyncio.create_task(scheduler.run("a", work))
    if is_cancelled:
        while not made:
            await asyncio.sleep(0.001)
        task.cancel()
    gc.disable()
    try:
        with pytest.raises(asyncio.CancelledError if is_cancelled else ApiError):
            await task
        while scheduler.stats()["running"]:
            await asyncio.sleep(0.001)
        assert made[0]() is None
    finally:
        gc.enable()
    await scheduler.aclose()
