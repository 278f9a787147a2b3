"""Explanations: the caches of each client, and the size of inspected grammars."""

import io
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from app.concurrency import Offload
from app.constraints.compile_scheduler import CompileScheduler
from app.constraints.tenant_caches import TenantCaches, TenantNamespaces
from app.conversation.tokenizer import BuiltinTokenizer
from app.observability.logs import make_logger
from app.observability.metrics import Metrics
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
from tests.app.examples import json_schema, tool
from tests.app.planners import make_planner

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


#: takes some thousand steps
COSTLY = {
    "type": "object",
    "properties": {"a": {"allOf": [{"type": "string", "pattern": f"a{n}"} for n in range(5)]}},
}


def caches(limits: Limits | None = None) -> TenantCaches:
    limits = limits or Limits()
    return TenantCaches(Compiler(TOKENIZER.vocabulary, limits=limits), Relaxations(limits))


async def explained_within(steps: int, **fields: Any) -> tuple[dict[str, Any], list[int]]:
    """Return an explanation on a budget of these steps, and the steps spent after each part."""
    limits = Limits(compile_steps=steps)
    scheduler = CompileScheduler(limits)
    spent: list[int] = []
    run = scheduler.run

    async def counted(client: str, work: Callable[[WorkBudget], Any]) -> Any:
        def counting(budget: WorkBudget) -> Any:
            try:
                return work(budget)
            finally:
                spent.append(budget.spent)

        return await run(client, counting)

    scheduler.run = counted  # type: ignore[method-assign]
    try:
        namespaces = Namespaces(caches(limits), caches, most=0)
        found = await explained(service_of(namespaces, scheduler), "", **fields)
    finally:
        await scheduler.aclose()
    return found, spent


@pytest.fixture
async def scheduler() -> AsyncIterator[CompileScheduler]:
    made = CompileScheduler(Limits())
    yield made
    await made.aclose()


def service_of(namespaces: TenantNamespaces, scheduler: CompileScheduler) -> ExplainService:
    planner = make_planner(
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
    return await service.explain(ExplainRequest.model_validate(fields), 1, client)


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
    assert max(seen) <= grammar_outline.MAX_INSPECTED


async def test_all_steps_of_an_explanation_have_one_budget():
    """Parts beyond the budget are left out and counted; a constraint within it has no error.

    REGRESSION: each step had a budget of its own, so that an explanation took five times as long as
    the compile of its grammar.
    """
    asked = {"response_format": json_schema(COSTLY), "output": '{"a'}
    whole, steps = await explained_within(1_000_000, **asked)
    assert (len(whole["schemas"]), whole["more_schemas"]) == (1, 0)
    assert whole["grammar"]["drawing"]["nodes"]
    assert whole["trace"]["accepted"] > 0
    assert steps == sorted(steps)
    few, _ = await explained_within(steps[0] + 10, **asked)
    assert (few["error"], few["schemas"], few["more_schemas"]) == (None, [], 1)
    assert (few["grammar"]["drawing"], few["trace"]) == (None, None)


async def test_schemas_behind_one_that_takes_all_steps_are_left_out():
    """REGRESSION: the second costly schema of a request ended its explanation with 500."""
    tools = [
        {
            "type": "function",
            "function": {"name": f"f{n}", "parameters": COSTLY | {"title": f"{n}"}},
        }
        for n in range(3)
    ]
    other = {"type": "function", "function": {"name": "other"}}
    found, _ = await explained_within(300, tools=tools, tool_choice=other)
    assert found["error"]["param"].startswith("tool_choice")
    (report,) = found["schemas"]
    assert "compile_steps" in report["mistake"]["reason"]
    assert found["more_schemas"] == 2


@pytest.mark.parametrize(
    ("fields", "one"),
    [
        ({}, False),
        ({"parallel_tool_calls": False}, True),
        ({"format": "plain"}, True),
        ({"format": "plain", "parallel_tool_calls": True}, False),
    ],
    ids=str,
)
async def test_explained_grammars_have_as_many_calls_as_those_of_answers(
    fields: dict[str, Any], one: bool, scheduler: CompileScheduler
):
    service = service_of(Namespaces(caches(Limits()), caches, most=0), scheduler)
    found = await explained(service, "", tools=[tool("f", {})], tool_choice="required", **fields)
    assert f'"stop_after_first":{str(one).lower()}' in found["grammar"]["spec"]
