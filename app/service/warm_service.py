"""The use case of POST /v1/grammars and ``switchyard warm``: grammars compiled ahead.

Each request is compiled as chat completions are (constraints.planner), for every tool choice that
clients may send with it. Then masks of its grammars are computed, and costly results are published
so that other replicas load them.

Invariants   I1 a request is refused exactly as its chat completion would be, in the same words; the
                other requests are compiled.
             I2 one warm-up of a process at a time, at most ``request_timeout`` seconds long, since
                it shares the processor with chat completions. Requests that it did not begin are
                reported as skipped. A cancelled warm-up stops when its thread finishes.
Threads      the event loop; compiles and masks run in threads.
"""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field
from typing_extensions import TypedDict

from engine import Compiled, Compiler

from ..common_form import common_grammar
from ..constraints import ConstraintPlanner, requested_output
from ..errors import RETRY_AFTER, ApiError, ErrorObject
from ..generation import ShownAnswers
from ..protocol import GrammarRequest
from ..settings import ModelSettings
from .cache_report import shared_count

Result = TypeVar("Result")

#: masks of one request, the costliest first, divided among its grammars; and at least of each
#: grammar. For thirty tools with five patterns each and llama3's vocabulary, 64 masks of one
#: grammar left 5 rules in the store, 256 left 18 and 4,096 left 23, in 4, 47 and 155 ms
MASKS, LEAST_MASKS = 1_024, 64
#: the client that its compiles count for in the compile scheduler
CLIENT = "warm-up"


WarmupStatus = Literal["compiled", "refused", "skipped"]


class WarmupCounts(TypedDict):
    grammars: int
    masks: int
    compile_ms: float
    mask_ms: float


class WarmedRequest(WarmupCounts):
    index: int
    status: WarmupStatus
    relaxed: list[str]
    error: ErrorObject | None


class WarmupTotals(WarmupCounts):
    requests: int
    compiled: int
    refused: int
    skipped: int
    seconds: float


class GrammarWarmup(TypedDict):
    """The result of a warm-up."""

    object: Literal["grammar.warmup"]
    requests: list[WarmedRequest]
    totals: WarmupTotals
    stored: Annotated[
        bool | None, Field(description="Whether Redis has the results; null: no Redis.")
    ]


@dataclass(slots=True)
class WarmupResult:
    """The result of one request. ``prefix``: precedes the fields that its errors name."""

    prefix: str
    status: WarmupStatus = "compiled"
    grammars: int = 0
    masks: int = 0
    compile_seconds: float = 0.0
    mask_seconds: float = 0.0
    #: relaxed keywords, as the header of a chat completion names them
    relaxed: list[str] = field(default_factory=list)
    error: ApiError | None = None

    def refuse(self, error: ApiError) -> None:
        """Record a refusal."""
        self.status = "refused"
        param = None if error.param is None else self.prefix + error.param
        self.error = ApiError(error.status, error.message, param=param, code=error.code)

    def as_dict(self, index: int) -> WarmedRequest:
        """Return the result as JSON."""
        return {
            "index": index,
            "status": self.status,
            "grammars": self.grammars,
            "masks": self.masks,
            "compile_ms": round(1e3 * self.compile_seconds, 3),
            "mask_ms": round(1e3 * self.mask_seconds, 3),
            "relaxed": self.relaxed,
            "error": None if self.error is None else self.error.body()["error"],
        }


@dataclass(frozen=True, slots=True)
class WarmService:
    """The warm-ups of one model. ``shown``: how its prompts show answers. ``running``: held during
    a warm-up, shared by all models.
    """

    settings: ModelSettings
    shown: ShownAnswers
    planner: ConstraintPlanner
    compiler: Compiler
    running: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def warm(self, requests: Sequence[tuple[str, GrammarRequest]]) -> GrammarWarmup:
        """Return the answer as JSON. Raises ApiError 429: another warm-up is running."""
        if self.running.locked():
            raise ApiError(
                429,
                "A warm-up is running already.",
                code="warmup_running",
                headers={"Retry-After": str(RETRY_AFTER)},
            )
        async with self.running:
            start = time.perf_counter()
            dropped = self._dropped()
            warmed = await self._all(requests, start + self.settings.request_timeout)
            is_published = await self.publish()
            seconds = time.perf_counter() - start
        return {
            "object": "grammar.warmup",
            "requests": [each.as_dict(index) for index, each in enumerate(warmed)],
            "totals": totals(warmed, seconds),
            # the background thread may have failed before ``publish`` did
            "stored": is_published and dropped == self._dropped(),
        }

    async def _all(
        self, requests: Sequence[tuple[str, GrammarRequest]], end: float
    ) -> list[WarmupResult]:
        warmed = []
        for prefix, request in requests:
            if time.perf_counter() > end:
                warmed.append(WarmupResult(prefix, status="skipped"))
            else:
                warmed.append(await self.warm_one(request, prefix))
        return warmed

    async def warm_one(self, request: GrammarRequest, prefix: str = "") -> WarmupResult:
        """Compile one request for every tool choice, and compute masks."""
        warmed = WarmupResult(prefix)
        try:
            choices = request.choices()
            budget = max(LEAST_MASKS, MASKS // len(choices))
            for choice in choices:
                asked = common_grammar(request, choice)
                output = requested_output(asked, self.settings, self.shown)
                start = time.perf_counter()
                constraint = await _to_its_end(self.planner.plan(output, CLIENT))
                warmed.compile_seconds += time.perf_counter() - start
                warmed.grammars += 1
                warmed.relaxed = [each.fragment for each in constraint.relaxed]
                await self._make_masks(constraint.compiled, budget, warmed)
        except ApiError as error:
            warmed.refuse(error)
        return warmed

    async def _make_masks(self, compiled: Compiled, budget: int, warmed: WarmupResult) -> None:
        start = time.perf_counter()
        made = asyncio.to_thread(compiled.prepare, budget)
        warmed.masks += await _to_its_end(made)
        warmed.mask_seconds += time.perf_counter() - start

    async def publish(self) -> bool | None:
        """Publish new artifacts. Returns whether Redis answered; None: no Redis is configured."""
        if not self.compiler.has_store:
            return None
        try:
            await _to_its_end(asyncio.to_thread(self.compiler.flush))
        except Exception:
            # the background thread logs the reason
            return False
        return True

    def _dropped(self) -> int:
        """Return the number of artifacts that were not published."""
        return shared_count(self.compiler.stats(), "dropped")


async def _to_its_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of ``work``. Cancelled callers still wait, because the thread runs on."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        task.exception()
        raise


def totals(warmed: Sequence[WarmupResult], seconds: float) -> WarmupTotals:
    """Return sums over the requests."""
    statuses = [each.status for each in warmed]
    return {
        "requests": len(warmed),
        "compiled": statuses.count("compiled"),
        "refused": statuses.count("refused"),
        "skipped": statuses.count("skipped"),
        "grammars": sum(each.grammars for each in warmed),
        "masks": sum(each.masks for each in warmed),
        "compile_ms": round(1e3 * sum(each.compile_seconds for each in warmed), 3),
        "mask_ms": round(1e3 * sum(each.mask_seconds for each in warmed), 3),
        "seconds": round(seconds, 3),
    }
