"""The use case of /v1/grammars/check: what of a schema is enforced, without asking a model.

The answer is the engine's report. With ``strict`` it also names the rules of the profile that are
broken, and says whether a request with ``strict: true`` would be taken.
"""

import asyncio
from itertools import islice
from typing import Any

from engine import Compiler, check_json_schema

from ..settings import StrictProfile
from .strict import violations

#: broken rules that are listed
MOST_VIOLATIONS = 1_000


class CheckService:
    """One for an app."""

    def __init__(self, compiler: Compiler, profile: StrictProfile) -> None:
        self._compiler = compiler
        self._profile = profile

    async def check(self, schema: dict[str, Any] | bool, *, strict: bool) -> dict[str, Any]:
        """The report as JSON."""
        return await asyncio.to_thread(self._check, schema, strict)

    def _check(self, schema: dict[str, Any] | bool, strict: bool) -> dict[str, Any]:
        report = check_json_schema(schema, self._compiler)
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
