"""Responses that run in the background: they go on after the client has left.

A run is one task of the process that took the request. Any replica can read its state, stream its
events and order its end, since all of these are in the store (state.run_store).

Invariants   I1 a stored response that has not ended has a run whose lease is valid, or is answered
                as failed: its process is gone.
             I2 a run ends by its answer, an order, a deadline or the end of a shutdown, and its
                response is stored before its last event.
             I3 a client has at most ``most_of_client`` runs in this process, all have ``most``.
Threads      the event loop only.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, aclosing, contextmanager, suppress
from functools import partial
from typing import Any

from ..errors import ApiError
from ..state import (
    EVENTS_RATIO,
    ResponseStore,
    RunState,
    RunStore,
    StateUnavailable,
    state_unavailable,
    store_needed,
)
from ..writers import ENDED, named_event
from .background_run import BackgroundRun, BegunResponse, failed, is_open
from .faults import Faults

#: seconds between two looks of a run at its orders, and between two blocks of its events
TICK_SECONDS = 0.2
#: seconds of a lease, and after which it is renewed; clocks of replicas may differ by the rest
LEASE_SECONDS, RENEWAL_SECONDS = 30.0, 5.0
#: seconds in which a response must have been stored, or its events must be readable
STORE_SECONDS = 20.0
#: seconds that a client waits for the end that it has ordered
ORDER_SECONDS = 10.0
_ABANDONED = "The server that ran this response has stopped. Please create it again."
_UNSTORED = (
    "This response could not be stored: the store is down, or the response too large for it."
)
#: the last events of a stream begin with these
_LAST = tuple(f"event: {name}\n".encode() for name in set(ENDED.values()))


class BackgroundResponses:
    """See the file's header.

    Args:
        enclose: each run; raises ApiError in it at the end of a shutdown.
        max_bytes: of the events of a run, compressed.
    """

    def __init__(
        self,
        store: ResponseStore,
        runs: RunStore,
        enclose: Callable[[], AbstractAsyncContextManager[None]],
        faults: Faults,
        *,
        most: int,
        most_of_client: int,
        max_bytes: int,
    ) -> None:
        self._store = store
        self._runs = runs
        self._enclose = enclose
        self._faults = faults
        self._most = most
        self._most_of_client = most_of_client
        self._max_bytes = max_bytes
        self._running: dict[tuple[str, str], BackgroundRun] = {}
        self._of_client: Counter[str] = Counter()

    @property
    def running(self) -> int:
        """Number of runs."""
        return self._of_client.total()

    async def aclose(self) -> None:
        """Wait for all runs; a shutdown ends them."""
        tasks = [run.task for run in self._running.values() if run.task is not None]
        if tasks:
            await asyncio.wait(tasks)

    # -- running -----------------------------------------------------------------------------------

    @contextmanager
    def slot(self, client: str) -> Iterator[ExitStack]:
        """Take the place of one run; the stack frees it. Raises ApiError 429."""
        for count, most, whose in (
            (self._of_client[client], self._most_of_client, " with this API key"),
            (self.running, self._most, ""),
        ):
            if count >= most:
                raise ApiError(
                    429,
                    f"Too many responses in the background{whose}: at most {most:,} may run at "
                    "once. Please try again later.",
                    code="too_many_background_responses",
                    headers={"Retry-After": "1"},
                )
        self._of_client[client] += 1
        with ExitStack() as stack:
            stack.callback(self._free, client)
            yield stack

    def _free(self, client: str) -> None:
        self._of_client[client] -= 1
        if not self._of_client[client]:
            del self._of_client[client]

    async def start(self, begun: BegunResponse, at_end: ExitStack) -> None:
        """Run a response; ``at_end``, from ``slot``, is then closed at its end. Raises ApiError
        503.
        """
        run = BackgroundRun(begun, RunState(until=0, streams=begun.streams))
        run.add(begun.events.queued())
        try:
            await self._tick(run)
        except StateUnavailable:
            error = state_unavailable()
            begun.record.error = error.code
            raise error from None
        self._running[begun.client, run.number] = run
        run.task = asyncio.create_task(self._guarded(run, at_end.pop_all()))

    async def _guarded(self, run: BackgroundRun, at_end: ExitStack) -> None:
        """Run a response, with what must go on beside it, and what must follow."""
        ticking = asyncio.create_task(self._ticking(run))
        try:
            with at_end:
                await self._run(run)
        finally:
            # not cancelled: in the middle of a command, Redis' client may lose that
            run.done.set()
            await asyncio.wait([ticking])
            with suppress(StateUnavailable, TimeoutError):
                async with asyncio.timeout(STORE_SECONDS):
                    await self._close(run)
            del self._running[run.begun.client, run.number]

    async def _run(self, run: BackgroundRun) -> None:
        begun, last = run.begun, b""
        try:
            async with self._enclose(), aclosing(await begun.begin()) as stream:
                run.state.headers = dict(stream.headers)
                run.renewed = 0.0
                await self._mark(run, {**begun.response, "status": "in_progress"})
                held: list[bytes] = []
                await stream.send_to(partial(self._take, run, held))
                last = b"".join(held)
        except asyncio.CancelledError:
            if not run.is_cancelled:
                raise
            if run.ended is None:
                begun.record.error, last = "cancelled", begun.events.cancelled()
        except Exception as error:
            failure = self._faults.as_api_error(error, begun.record.id)
            if run.ended is None:
                begun.record.error, last = failure.code, begun.events.failed(failure)
        if last and run.ended is not None and not run.is_deleted:
            run.ended["store"] = await run.begun.save(run.ended)
        run.add(last)

    def _take(self, run: BackgroundRun, held: list[bytes], data: bytes) -> None:
        """Take events; ``held``: those of the end of a response that failed, which is stored before
        they are shown. Raises ApiError.
        """
        if run.ended is None:
            self._check_size(run)
        elif run.ended["status"] in ("failed", "cancelled"):
            held.append(data)
            return
        run.add(data)

    def _check_size(self, run: BackgroundRun) -> None:
        # half, since the last events come in any case
        if max(run.kept, len(run.pending) // (EVENTS_RATIO // 2)) > self._max_bytes:
            raise ApiError(
                500,
                f"The events of this response are too large: at most {self._max_bytes:,} bytes of "
                "them are stored. Ask for less output, or without 'stream'.",
                code="response_too_large",
            )

    async def _mark(self, run: BackgroundRun, response: Mapping[str, Any]) -> None:
        with suppress(ApiError):  # the end stores it, too
            await self._store.mark(run.begun.client, response)

    async def _ticking(self, run: BackgroundRun) -> None:
        client = run.begun.client
        while not run.done.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await run.done.wait()
            with suppress(StateUnavailable):
                order = await self._runs.order(client, run.number)
                if order is not None or run.is_cancelled:
                    run.end(delete=order == "delete")
                await self._tick(run)

    async def _tick(self, run: BackgroundRun) -> None:
        """Renew the lease, and store new events. Raises StateUnavailable."""
        now = time.time()
        if now - run.renewed >= RENEWAL_SECONDS:
            run.state.until = now + LEASE_SECONDS
            await self._runs.put(run.begun.client, run.number, run.state)
            run.renewed = now
        if run.pending:
            events = bytes(run.pending)
            run.kept += await self._runs.add_events(
                run.begun.client, run.number, run.blocks, events
            )
            del run.pending[: len(events)]
            run.blocks += 1

    async def _close(self, run: BackgroundRun) -> None:
        """Store the last events, or delete everything. Raises StateUnavailable."""
        client, number = run.begun.client, run.number
        if run.is_deleted:
            with suppress(ApiError):
                await self._store.delete(client, number)
            await self._runs.delete(client, number)
        else:
            if run.ended is not None and not run.ended["store"]:
                await self._mark(run, failed(run.ended, _UNSTORED))
            await self._tick(run)
        await self._runs.forget_order(client, number)

    # -- reading, on any replica -------------------------------------------------------------------

    async def current(self, number: str, client: str) -> tuple[dict[str, Any], RunState | None]:
        """Return a stored response and its run, if it has one. Raises ApiError 404 or 503."""
        response = await self._store.response(client, number)
        if not response.get("background"):
            return response, None
        with store_needed():
            state = await self._runs.get(client, number)
        is_here = (client, number) in self._running
        if is_open(response) and not is_here and (state is None or state.until < time.time()):
            # it may have ended since
            response = await self._store.response(client, number)
            if is_open(response):
                response = failed(response, _ABANDONED)
                await self._store.mark(client, response)
        return response, state

    async def cancel(self, number: str, client: str) -> dict[str, Any]:
        """End a run, and return its response. Raises ApiError 404 or 503."""
        return await self._order(number, client, delete=False)

    async def delete(self, number: str, client: str) -> None:
        """Delete a response, and end its run. Raises ApiError 404 or 503."""
        await self._order(number, client, delete=True)
        with store_needed():
            await self._runs.delete(client, number)
        try:
            await self._store.delete(client, number)
        except ApiError as error:
            if error.status != 404:  # the run may have deleted it
                raise

    async def _order(self, number: str, client: str, *, delete: bool) -> dict[str, Any]:
        """Return a response after the end of its run; it may run on if its process is busy."""
        response, _ = await self.current(number, client)
        if not is_open(response):
            return response
        run = self._running.get((client, number))
        if run is not None:
            run.end(delete=delete)
            if run.task is not None:
                await asyncio.wait([run.task], timeout=ORDER_SECONDS)
        else:
            with store_needed():
                await self._runs.give(client, number, "delete" if delete else "cancel")
        until = time.monotonic() + ORDER_SECONDS
        while not delete and is_open(response) and time.monotonic() < until:
            response, _ = await self.current(number, client)
            await asyncio.sleep(TICK_SECONDS if is_open(response) else 0)
        return response

    async def follow(
        self, number: str, client: str, *, after: int = -1
    ) -> AsyncGenerator[bytes, None]:
        """Yield the events of a run until its end, those after the number ``after``."""
        first, block, silent = 0, 0, 0.0
        while True:
            try:
                data = await self._runs.events(client, number, block)
            except StateUnavailable:
                data = None
            if data is not None:
                events = data.split(b"\n\n")[:-1]
                if new := events[max(0, after + 1 - first) :]:
                    yield b"\n\n".join(new) + b"\n\n"
                first, block, silent = first + len(events), block + 1, 0.0
                if events and events[-1].startswith(_LAST):
                    return
                continue
            silent += TICK_SECONDS
            if silent > 5 * TICK_SECONDS and (last := await self._last(number, client, first)):
                yield last
                return
            await asyncio.sleep(TICK_SECONDS)

    async def _last(self, number: str, client: str, first: int) -> bytes | None:
        """Return the last event of a run whose events end without one; None: it goes on."""
        try:
            response, _ = await self.current(number, client)
        except ApiError as error:
            told = {"code": error.code, "message": error.message, "param": error.param}
            return named_event({"type": "error", **told, "sequence_number": first})
        if is_open(response):
            return None
        kind = ENDED[response["status"]]
        return named_event({"type": kind, "response": response, "sequence_number": first})
