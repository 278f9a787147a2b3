"""With a namespace for each API key, no client finds what another one has compiled."""

import asyncio
import io
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.formats import OutputSpec, get_format
from app.constraints.compile_scheduler import CompileScheduler
from app.constraints.planner import ConstraintPlanner
from app.constraints.tenant_caches import TenantCaches, TenantNamespaces
from app.conversation.tokenizer import BuiltinTokenizer
from app.errors import ApiError
from app.observability.logs import make_logger
from app.observability.metrics import Metrics
from app.settings import SettingError, read_settings
from engine import Compiler, Limits, Namespaces, Relaxations, namespace_of, split_namespace
from tests.app.gateway import Gateway
from tests.app.planners import make_planner

VOCABULARY = BuiltinTokenizer().vocabulary
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
OUTPUT = OutputSpec(response_schema=SCHEMA, reasoning="off")
REFUSED = OutputSpec(response_schema={"type": "strin"}, reasoning="off")


def caches() -> TenantCaches:
    return TenantCaches(Compiler(VOCABULARY), Relaxations(Limits()))


@pytest.fixture
async def scheduler() -> AsyncIterator[CompileScheduler]:
    made = CompileScheduler(Limits())
    yield made
    await made.aclose()


def planner_of(
    namespaces: TenantNamespaces, scheduler: CompileScheduler, **options: Any
) -> ConstraintPlanner:
    shared = namespaces.shared
    return make_planner(
        shared.compiler,
        get_format("plain"),
        (),
        Metrics(),
        make_logger("info", io.StringIO()),
        scheduler=scheduler,
        relaxations=shared.relaxations,
        namespaces=namespaces,
        **options,
    )


async def test_each_client_compiles_for_itself(scheduler: CompileScheduler):
    """Grammars and refusals: the second request of one client is found, the first of another is
    compiled again, and the shared caches stay empty.
    """
    namespaces = Namespaces(caches(), caches, most=2)
    planner = planner_of(namespaces, scheduler)
    for client in ("one", "one", "two", "two"):
        await planner.plan(OUTPUT, client)
        with pytest.raises(ApiError):
            await planner.plan(REFUSED, client)
    for client in ("one", "two"):
        stats = namespaces.of(namespace_of(client)).compiler.stats()
        assert (stats["compiles"], stats["grammar_hits"] > 0) == (1, True)
    assert namespaces.shared.compiler.stats()["compiles"] == 0


async def test_operators_use_the_shared_caches(scheduler: CompileScheduler):
    namespaces = Namespaces(caches(), caches, most=2)
    await planner_of(namespaces, scheduler).enforcing().plan(OUTPUT, "warm-up")
    assert namespaces.shared.compiler.stats()["compiles"] == 1
    assert namespaces.stats()["namespaces"] == 0


async def test_a_client_at_the_same_time_makes_its_caches_once(scheduler: CompileScheduler):
    namespaces = Namespaces(caches(), caches, most=2)
    planner = planner_of(namespaces, scheduler)
    await asyncio.gather(*(planner.plan(OUTPUT, "one") for _ in range(5)))
    assert namespaces.stats()["namespaces_made"] == 1


async def test_specs_tell_workers_the_namespace(scheduler: CompileScheduler):
    """Only if asked: workers in this process and other grammar engines do not know the field."""
    namespaces = Namespaces(caches(), caches, most=2)
    plain = await planner_of(namespaces, scheduler).plan(OUTPUT, "one")
    named = await planner_of(namespaces, scheduler, names_namespace=True).plan(OUTPUT, "one")
    assert split_namespace(named.spec or "") == (namespace_of("one"), plain.spec)


ASK: dict[str, Any] = {
    "model": "noise",
    "messages": [{"role": "user", "content": "number 5"}],
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "r", "schema": SCHEMA},
    },
    "max_tokens": 5,
}


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_a_gateway_keeps_the_caches_of_its_keys_apart():
    with Gateway(api_keys="one,two,three", cache_namespace="key", cache_namespaces=2) as gateway:
        for key in ("one", "two", "three", "three"):
            assert gateway.post(ASK, headers=bearer(key)).status_code == 200
            asked = gateway.post({"schema": SCHEMA}, path="/v1/grammars/check", headers=bearer(key))
            assert asked.status_code == 200, asked.text
        assert gateway.metric("switchyard_compiler", what="namespaces") == 2
        assert gateway.metric("switchyard_compiler", what="namespaces_dropped") == 1


def test_namespaces_need_keys(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(SettingError, match="CACHE_NAMESPACE=key needs keys of clients"):
        read_settings(cache_namespace="key")
