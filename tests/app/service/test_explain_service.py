"""Explanations: the caches of each client, and the size of what is inspected."""

import io
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.constraints.compile_scheduler import CompileScheduler
from app.constraints.planner import ConstraintPlanner
from app.constraints.tenant_caches import TenantCaches, TenantNamespaces
from app.conversation.tokenizer import BuiltinTokenizer
from app.observability.logs import make_logger
from app.observability.metrics import Metrics
from app.offload import Offload
from app.protocol.explain_request import ExplainRequest
from app.service import grammar_outline
from app.service.explain_service import ExplainService
from app.settings import read_settings
from engine import (
    Compiled,
    Compiler,
    Inspection,
    Limits,
    Namespaces,
    Relaxations,
    WorkBudget,
    namespace_of,
)
from tests.app.examples import json_schema

TOKENIZER = BuiltinTokenizer()
DAYS = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
#: each row has an item for each alternative: exploring all meets hundreds of thousands
WIDE = {
    "anyOf": [
        {"type": "array", "items": {"type": "object", "properties": {f"k{n}": {"const": n}}}}
        for n in range(400)
    ]
}
ASKED = {"response_format": json_schema(DAYS), "output": '{"days": x'}


def caches() -> TenantCaches:
    return TenantCaches(Compiler(TOKENIZER.vocabulary), Relaxations(Limits()))


@pytest.fixture
async def scheduler() -> AsyncIterator[CompileScheduler]:
    made = CompileScheduler(Limits())
    yield made
    await made.aclose()


def service_of(namespaces: TenantNamespaces, scheduler: CompileScheduler) -> ExplainService:
    planner = ConstraintPlanner(
        namespaces.shared.compiler,
        TOKENIZER.wire,
        TOKENIZER.special_texts,
        Metrics(),
        make_logger("info", io.StringIO()),
        scheduler=scheduler,
        relaxations=namespaces.shared.relaxations,
        namespaces=namespaces,
    )
    return ExplainService(
        settings=read_settings(noise_seed=1).models[0],
        tokenizer=TOKENIZER,
        planner=planner,
        namespaces=namespaces,
        scheduler=scheduler,
        offload=Offload(),
    )


async def explained(service: ExplainService, client: str, **fields: Any) -> dict[str, Any]:
    return await service.explain(ExplainRequest.model_validate(fields), 1, client=client)


async def test_with_namespaces_nothing_is_found_that_another_client_compiled(
    scheduler: CompileScheduler,
):
    """The first explanation of each client compiles, later ones do not; none uses shared caches."""
    namespaces = Namespaces(caches(), caches, most=2)
    service = service_of(namespaces, scheduler)

    def compiles(client: str) -> int:
        return namespaces.of(namespace_of(client)).compiler.stats()["compiles"]

    for client in ("one", "two"):
        assert compiles(client) == 0
        first = await explained(service, client, **ASKED)
        made = compiles(client)
        assert made > 0
        assert await explained(service, client, **ASKED) == first
        assert compiles(client) == made
    assert namespaces.shared.compiler.stats()["compiles"] == 0


async def test_what_is_inspected_is_bounded(
    scheduler: CompileScheduler, monkeypatch: pytest.MonkeyPatch
):
    """An inspection holds the interpreter lock for as long as it is large."""
    seen: list[int] = []
    take = grammar_outline.inspect

    def inspect(subject: Any, *, explore: int = 0, budget: WorkBudget) -> Inspection:
        found = take(subject, explore=explore, budget=budget)
        compiled = subject if isinstance(subject, Compiled) else subject.compiled
        seen.append(compiled.stats()["bytes"])
        return found

    monkeypatch.setattr(grammar_outline, "inspect", inspect)
    service = service_of(Namespaces(caches(), caches, most=0), scheduler)
    found = await explained(service, "", response_format=json_schema(WIDE), output="[" + "{" * 9)
    assert found["trace"]["rejected"]["text"].startswith("{")
    assert len(found["grammar"]["drawing"]["nodes"]) > 1
    assert len(seen) == 2
    assert max(seen) <= grammar_outline.MOST_INSPECTED
