"""Workers that run one half of generations, and meet in rooms.

Representation   a room is known by the prefill worker's bootstrap port and its number. The decode
                 worker arrives in it and waits until it is filled, with the prompt and the grammar
                 that the prefill worker got; it answers right only to its own ones.
Invariants       I1 a half never waits longer than its connection lives: the gateway must end it.
Threads          those of FakeWorker.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from adapters.workers import ALONE, Half
from app.concurrency import cancel
from engine import Vocabulary
from tests.campaigns.workers.fake import FakeWorker, Reply

#: how a prefill worker ends
FILLED = {"type": "length", "length": 0}


@dataclass
class Room:
    """``asked``: what the prefill worker got; ``requests``: the ids of each half's."""

    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    filled: asyncio.Event = field(default_factory=asyncio.Event)
    asked: Any = None
    requests: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


class Rooms:
    """All rooms of one deployment."""

    def __init__(self) -> None:
        self._rooms: dict[tuple[str, int, int], Room] = {}
        self._ports = count(1)

    def port(self) -> int:
        """Return the bootstrap port of one more prefill worker; nothing listens there."""
        return next(self._ports)

    def of(self, body: Mapping[str, Any]) -> Room:
        key = (body["bootstrap_host"], body["bootstrap_port"], body["bootstrap_room"])
        return self._rooms.setdefault(key, Room())

    @property
    def shared(self) -> int:
        """The number of rooms that two requests to one half had."""
        rooms = self._rooms.values()
        return sum(any(len(ids) > 1 for ids in room.requests.values()) for room in rooms)


class FakeHalf(FakeWorker):
    """A worker of one half. ``open``: its running generations."""

    def __init__(self, vocabulary: Vocabulary, rooms: Rooms, half: Half) -> None:
        super().__init__(vocabulary)
        self.half, self.rooms = half, rooms
        self.open = 0
        self.info["disaggregation_mode"] = half
        if half == "prefill":
            self.info["disaggregation_bootstrap_port"] = rooms.port()

    async def _good(self, reply: Reply) -> None:
        if reply.path != "/generate":
            await super()._good(reply)
            return
        self.attempts += 1
        self.open += 1
        try:
            await (self._fill(reply) if self.half == "prefill" else self._decode(reply))
            self.answers += 1
        finally:
            self.open -= 1

    async def _fill(self, reply: Reply) -> None:
        if reply.body["bootstrap_host"] != ALONE.host:
            await self.fill(reply)
        await reply.begin()
        await reply.event(reply.state(reply.ids[:1], FILLED))
        await reply.piece(b"data: [DONE]\n\n")
        await reply.end()

    async def fill(self, reply: Reply) -> None:
        """Let the decode worker begin, once it has arrived."""
        room = self._entered(reply)
        assert reply.body["sampling_params"]["max_new_tokens"] == 1
        room.asked = _asked(reply)
        await self._until(reply, room.arrived)
        room.filled.set()

    async def _decode(self, reply: Reply) -> None:
        if reply.body["bootstrap_host"] != ALONE.host:
            room = await self.arrive(reply)
            if room.asked != _asked(reply):  # another prompt's keys and values
                reply.ids = reply.ids[-1:]
        await reply.answer()

    async def arrive(self, reply: Reply) -> Room:
        """Wait for the prefill worker, and return the room."""
        room = self._entered(reply)
        room.arrived.set()
        await self._until(reply, room.filled)
        return room

    def _entered(self, reply: Reply) -> Room:
        room = self.rooms.of(reply.body)
        room.requests[self.half].add(reply.body["rid"])
        return room

    async def _until(self, reply: Reply, event: asyncio.Event) -> None:
        """Wait for an event. Raises ConnectionError: the gateway gives up before."""
        gone = asyncio.ensure_future(reply.reader.read(1))
        happens = asyncio.ensure_future(event.wait())
        await asyncio.wait({gone, happens}, return_when=asyncio.FIRST_COMPLETED)
        await cancel(gone, happens)  # the connection has one reader at a time
        if not event.is_set():
            raise ConnectionResetError


def _asked(reply: Reply) -> Any:
    params = reply.body["sampling_params"]
    return reply.body["input_ids"], params.get("structural_tag"), params["temperature"]
