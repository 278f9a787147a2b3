"""The use case of POST /v1/grammars and of ``switchyard warm``: grammars compiled ahead.

Each request is compiled as chat completions are (planning), for every tool choice that clients may
send with it; then masks are made of it as while a prompt is read, and all that is worth it is
published, so that other replicas load it.

Invariants       I1 what is refused is refused as a chat completion would be, in the same words; the
                    others are compiled all the same.
                 I2 one warm-up at a time, of ``seconds`` at most: it shares the processor with
                    people's requests. What it could not begin is told as skipped. One that nobody
                    waits for any more is over when its thread is.
Threads          the event loop; compiling and making masks run in threads.
"""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from engine import Compiled, Compiler

from ..constraints.output import make_asking
from ..constraints.planner import Planner
from ..errors import ApiError
from ..protocol.warmup_request import GrammarRequest
from ..settings import Settings
from .cache_report import shared_count

Result = TypeVar("Result")

#: masks that are made of one request, those that cost most first, shared by its grammars; and of
#: one grammar at least. Of thirty tools with five patterns each, with llama3's vocabulary, 64 masks
#: of one grammar left 5 rules in the store, 256 left 18 and 4,096 left 23, in 4, 47 and 155 ms
MASKS, LEAST_MASKS = 1_024, 64
#: whom its compiles count for, among the clients that take turns
CLIENT = "warm-up"


@dataclass(slots=True)
class Warmed:
    """What became of one request; ``prefix``: what stands before its places."""

    prefix: str
    status: str = "compiled"
    grammars: int = 0
    masks: int = 0
    compile_seconds: float = 0.0
    mask_seconds: float = 0.0
    #: places that a chat completion's header would tell
    relaxed: list[str] = field(default_factory=list)
    error: ApiError | None = None

    def refuse(self, error: ApiError) -> None:
        self.status = "refused"
        param = None if error.param is None else self.prefix + error.param
        self.error = ApiError(error.status, error.message, param=param, code=error.code)

    def as_dict(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "grammars": self.grammars,
            "masks": self.masks,
            "compile_ms": round(1e3 * self.compile_seconds, 3),
            "mask_ms": round(1e3 * self.mask_seconds, 3),
            "relaxed": self.relaxed,
            "error": None if self.error is None else self.error.body()["error"],
        }


class WarmService:
    """One for an app."""

    def __init__(self, settings: Settings, planner: Planner, compiler: Compiler) -> None:
        self._settings = settings
        self._planner = planner
        self._compiler = compiler
        self._is_running = False

    async def warm(self, requests: Sequence[tuple[str, GrammarRequest]]) -> dict[str, Any]:
        """The answer as JSON. Raises ApiError 429: another warm-up is running."""
        if self._is_running:
            raise ApiError(429, "A warm-up is running already.", code="warmup_running")
        self._is_running = True
        try:
            start = time.perf_counter()
            dropped = self._dropped()
            warmed = await self._all(requests, start + self._settings.request_timeout)
            is_published = await self.publish()
            seconds = time.perf_counter() - start
        finally:
            self._is_running = False
        return {
            "object": "grammar.warmup",
            "requests": [{"index": n, **each.as_dict()} for n, each in enumerate(warmed)],
            "totals": {**totals(warmed), "seconds": round(seconds, 3)},
            # the background thread may have met a failure before ``publish`` did
            "stored": is_published and dropped == self._dropped(),
        }

    async def _all(
        self, requests: Sequence[tuple[str, GrammarRequest]], end: float
    ) -> list[Warmed]:
        warmed = []
        for prefix, request in requests:
            if time.perf_counter() > end:
                warmed.append(Warmed(prefix, status="skipped"))
            else:
                warmed.append(await self.warm_one(request, prefix))
        return warmed

    async def warm_one(self, request: GrammarRequest, prefix: str = "") -> Warmed:
        """Compiles one request, and makes masks."""
        warmed = Warmed(prefix)
        try:
            chats = request.chats()
            budget = max(LEAST_MASKS, MASKS // len(chats))
            for chat in chats:
                asking = make_asking(chat, self._settings)
                start = time.perf_counter()
                planned = await _to_its_end(self._planner.plan(asking, CLIENT))
                warmed.compile_seconds += time.perf_counter() - start
                warmed.grammars += 1
                warmed.relaxed = [place.fragment for place in planned.relaxed]
                await self._make_masks(planned.compiled, budget, warmed)
        except ApiError as error:
            warmed.refuse(error)
        return warmed

    async def _make_masks(self, compiled: Compiled, budget: int, warmed: Warmed) -> None:
        start = time.perf_counter()
        made = asyncio.to_thread(compiled.prepare, budget)
        warmed.masks += await _to_its_end(made)
        warmed.mask_seconds += time.perf_counter() - start

    async def publish(self) -> bool | None:
        """Publish what was made; whether Redis could be asked. None: no Redis is set."""
        if not self._compiler.has_store:
            return None
        try:
            await _to_its_end(asyncio.to_thread(self._compiler.flush))
        except Exception:
            # the background thread logs what it is
            return False
        return True

    def _dropped(self) -> int:
        """Artifacts that Redis did not take."""
        return shared_count(self._compiler.stats(), "dropped")


async def _to_its_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Its result. Who is cancelled meanwhile waits for it all the same, as a thread can't be."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        task.exception()
        raise


def totals(warmed: Sequence[Warmed]) -> dict[str, Any]:
    """Sums over the requests."""
    statuses = [each.status for each in warmed]
    return {
        "requests": len(warmed),
        **{status: statuses.count(status) for status in ("compiled", "refused", "skipped")},
        "grammars": sum(each.grammars for each in warmed),
        "masks": sum(each.masks for each in warmed),
        "compile_ms": round(1e3 * sum(each.compile_seconds for each in warmed), 3),
        "mask_ms": round(1e3 * sum(each.mask_seconds for each in warmed), 3),
    }
