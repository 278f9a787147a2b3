"""The use case of /v1/grammars/check: what of a schema is enforced, without asking a model.

The answer is the engine's report. With ``strict`` it also names the rules of the profile that are
broken, and says whether a request with ``strict: true`` would be taken.
"""

from functools import partial
from itertools import islice
from typing import Any

from engine import Compiler, Relaxations, WorkBudget, check_json_schema

from ..constraints.compile_scheduler import Compiles
from ..constraints.strict_profile import violations
from ..settings import StrictProfile

#: broken rules that are listed
MOST_VIOLATIONS = 1_000


class CheckService:
    """One for an app."""

    def __init__(
        self,
        compiler: Compiler,
        profile: StrictProfile,
        compiles: Compiles,
        relaxations: Relaxations,
    ) -> None:
        self._compiler = compiler
        self._profile = profile
        self._compiles = compiles
        self._relaxations = relaxations

    async def check(
        self, schema: dict[str, Any] | bool, *, strict: bool, client: str = ""
    ) -> dict[str, Any]:
        """The report as JSON. Raises ApiError 429, see ``Compiles.run``."""
        return await self._compiles.run(client, partial(self._check, schema, strict))

    def _check(
        self, schema: dict[str, Any] | bool, strict: bool, budget: WorkBudget
    ) -> dict[str, Any]:
        report = check_json_schema(
            schema, self._compiler, relaxations=self._relaxations, budget=budget
        )
        answer = {"object": "grammar.check", **report.as_dict()}
        if not strict:
            return answer
        broken: list[dict[str, str]] = []
        if self._profile == "openai":
            found = islice(violations(schema if isinstance(schema, dict) else {}), MOST_VIOLATIONS)
            broken = [{"pointer": each.pointer, "reason": each.message} for each in found]
        is_taken = report.is_enforced and not broken
        return answer | {
            "strict": {"profile": self._profile, "is_taken": is_taken, "violations": broken}
        }
