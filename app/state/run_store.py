"""Responses that run in the background: what replicas must know of them beside the stored response.

    run       until when the process that runs it has promised to look at it again (its lease), and
              facts for answers
    order     what a client wants to happen to it: that process obeys
    events/0  the first events of its stream, compressed; events/1 the next ones

Invariants   I1 one process writes ``run`` and events; any process may write ``order``.
             I2 a block of events is written once, after those before it.
"""

import zlib
from typing import Annotated, Literal

from pydantic import BaseModel, Field, ValidationError

from .byte_store import ByteStore
from .response_store import value_name

#: blocks of events that one call deletes
DELETED_AT_ONCE = 64
#: bytes of events for one of its compressed block, at most
EVENTS_RATIO = 16

#: no other header, and none that ends the headers of an answer
Name = Annotated[str, Field(pattern=r"^x-switchyard-[a-z]+$")]
Text = Annotated[str, Field(pattern=r"^[\x20-\x7e\x80-\xff]*$")]

Order = Literal["cancel", "delete"]
_ORDERS: dict[bytes, Order] = {b"cancel": "cancel", b"delete": "delete"}


class RunState(BaseModel):
    """``until``: of the lease, in seconds since the epoch. ``streams``: whether events are kept.
    ``headers``: of answers about the response.
    """

    until: float
    streams: bool
    headers: dict[Name, Text] = {}


class RunStore:
    """The runs of one app. All methods may raise StateUnavailable.

    ``max_bytes``: of a block of events, compressed.
    """

    def __init__(self, store: ByteStore, *, max_bytes: int) -> None:
        self._store = store
        self._max_bytes = max_bytes

    async def put(self, client: str, number: str, state: RunState) -> None:
        """Store the state of a run; ``number``: of its response."""
        value = state.model_dump_json().encode()
        await self._store.set(client, {value_name(client, number, "run"): value})

    async def get(self, client: str, number: str) -> RunState | None:
        """Return the state of a run; None: missing or damaged."""
        (value,) = await self._store.get([value_name(client, number, "run")])
        try:
            return None if value is None else RunState.model_validate_json(value)
        except ValidationError:
            return None

    async def give(self, client: str, number: str, order: Order) -> None:
        """Tell the process that runs a response what to do."""
        await self._store.set(client, {value_name(client, number, "order"): order.encode()})

    async def order(self, client: str, number: str) -> Order | None:
        """Return the order of a client, if any."""
        (value,) = await self._store.get([value_name(client, number, "order")])
        return None if value is None else _ORDERS.get(value)

    async def add_events(self, client: str, number: str, block: int, events: bytes) -> int:
        """Store a block of events; return its bytes."""
        value = zlib.compress(events, 1)
        await self._store.set(client, {value_name(client, number, f"events/{block}"): value})
        return len(value)

    async def events(self, client: str, number: str, block: int) -> bytes | None:
        """Return a block of events; None: missing or damaged."""
        (value,) = await self._store.get([value_name(client, number, f"events/{block}")])
        step = zlib.decompressobj()
        try:
            data = step.decompress(value or b"", EVENTS_RATIO * self._max_bytes)
        except zlib.error:
            return None
        return data if step.eof else None

    async def delete(self, client: str, number: str) -> None:
        """Delete all of a run but its order, which the process that runs it still needs."""
        await self._store.delete([value_name(client, number, "run")])
        first = 0
        while True:
            blocks = range(first, first + DELETED_AT_ONCE)
            names = [value_name(client, number, f"events/{block}") for block in blocks]
            if not any(await self._store.sizes(names)):
                return
            await self._store.delete(names)
            first += DELETED_AT_ONCE

    async def forget_order(self, client: str, number: str) -> None:
        """Delete the order."""
        await self._store.delete([value_name(client, number, "order")])
