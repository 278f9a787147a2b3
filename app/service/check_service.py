"""The use case of /v1/grammars/check: which keywords of a schema are enforced.

The answer is the engine's report. With ``strict`` it also lists the broken rules of the strict
profile, and whether a request with ``strict: true`` would be accepted.
"""

from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from engine import WorkBudget

from ..constraints import CompileScheduler, TenantCaches, TenantNamespaces, caches_of, violations
from ..settings import StrictProfile
from .schema_report import EngineReport, SchemaMistake, schema_report, shortened

#: broken rules that an answer lists
MAX_VIOLATIONS = 1_000


class StrictReport(TypedDict):
    profile: str
    is_taken: Annotated[bool, Field(description="Whether `strict: true` would be accepted.")]
    violations: list[SchemaMistake]


class StrictPart(TypedDict, total=False):
    strict: StrictReport


class GrammarCheck(EngineReport, StrictPart):
    """Which keywords of a schema are enforced."""

    object: Literal["grammar.check"]


@dataclass(frozen=True, slots=True)
class CheckService:
    """The schema checks of one model."""

    namespaces: TenantNamespaces
    profile: StrictProfile
    scheduler: CompileScheduler

    async def check(
        self, schema: dict[str, Any] | bool, client: str, *, strict: bool
    ) -> GrammarCheck:
        """Return the report as JSON. Raises ApiError 429 (see ``CompileScheduler.run``)."""
        _, caches = await caches_of(client, self.namespaces, self.scheduler)
        return await self.scheduler.run(client, partial(self._check, caches, schema, strict))

    def _check(
        self,
        caches: TenantCaches,
        schema: dict[str, Any] | bool,
        strict: bool,
        budget: WorkBudget,
    ) -> GrammarCheck:
        report = schema_report(schema, caches, budget)
        profile = self._strict(schema, report) if strict else StrictPart()
        return {"object": "grammar.check", **report, **profile}

    def _strict(self, schema: dict[str, Any] | bool, report: EngineReport) -> StrictPart:
        broken: list[SchemaMistake] = []
        if self.profile == "openai":
            found = islice(violations(schema if isinstance(schema, dict) else {}), MAX_VIOLATIONS)
            broken = [
                shortened({"pointer": each.pointer, "reason": each.message}) for each in found
            ]
        is_taken = report["is_enforced"] and not broken
        return {"strict": {"profile": self.profile, "is_taken": is_taken, "violations": broken}}
