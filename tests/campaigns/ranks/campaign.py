"""Requests to a gateway with two workers of several ranks, and what came of them.

No request may fail before its first output, and none may be answered wrong, while ranks fail, a
server restarts with fewer or more of them, or says something wrong about them: the other worker
and the other ranks are there.
"""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from app.conversation.tokenizer import load_tokenizer
from tests.app.gateway import Gateway
from tests.campaigns.workers.campaign import (
    AT_ONCE,
    PATIENCE,
    ask,
    settings_of,
)
from tests.campaigns.workers.fake import Loop
from tests.sglang.tiny_model import make_tokenizer

from .fake import RankedWorker, RankFault

#: ranks of each worker at the start of a scenario
RANKS = 4
#: times that a scenario changes something while its requests come
CHANGES = 8

#: changes a worker for the n-th time while requests come
Change = Callable[["World", int], None]


def bad_rank(fault: RankFault) -> Change:
    """One rank is bad all the time."""

    def change(world: "World", number: int) -> None:
        world.worker.bad = {1: fault}

    return change


def bad_ranks(world: "World", number: int) -> None:
    """Another rank is bad each time."""
    world.worker.bad = {number % RANKS: "fails"}


def restarts(*ranks: int) -> Change:
    """The server ends, and begins with another number of ranks."""

    def change(world: "World", number: int) -> None:
        world.loop.run(world.worker.refuse())
        world.worker.restart(ranks[number % len(ranks)])
        world.loop.run(world.worker.listen())

    return change


def says(*said: object) -> Change:
    """The server says something of its ranks that is not so."""

    def change(world: "World", number: int) -> None:
        world.worker.info["dp_size"] = said[number % len(said)]

    return change


def forgets(world: "World", number: int) -> None:
    """The server leaves its ranks out every other time."""
    world.worker.info.pop("dp_size", None)
    if number % 2:
        world.worker.info["dp_size"] = RANKS


SCENARIOS: dict[str, Change] = {
    "well": lambda world, number: None,
    "a rank fails": bad_rank("fails"),
    "a rank cuts connections": bad_rank("cuts"),
    "a rank hangs": bad_rank("hangs"),
    "ranks fail in turn": bad_ranks,
    "restarts with fewer ranks": restarts(3, 2, 1),
    "restarts with more ranks": restarts(2, 6),
    "loses all ranks and gets them back": restarts(1, RANKS),
    "forgets its ranks": forgets,
    "says more ranks than it has": says(64, 1024),
    "says nonsense": says("many", -1, 0, 1 << 80, [4], {"a": 1}, True, 2.5, float("nan")),
}


@dataclass
class Outcome:
    """Of one scenario. ``named``: generations that named a rank; ``gone``: a missing one."""

    requests: int
    failures: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    named: int = 0
    gone: int = 0

    @property
    def complaints(self) -> list[str]:
        return [f"wrong: {text}" for text in self.wrong] + [
            f"failed: {text}" for text in self.failures
        ]


class World:
    """A gateway and its two workers; something happens to the ranks of the first one."""

    def __init__(self, gateway: Gateway, workers: list[RankedWorker], loop: Loop) -> None:
        self.gateway, self.workers, self.loop = gateway, workers, loop
        self.worker = workers[0]
        self._number = 0

    def run(self, name: str, requests: int) -> Outcome:
        """Send requests while a scenario lasts, and until the worker is well again."""
        outcome = Outcome(requests)
        named, gone = self.worker.named, self.worker.gone
        asyncio.run(self._load(SCENARIOS[name], outcome))
        self.worker.bad = {}
        self.worker.restart(RANKS)
        self.loop.run(self.worker.listen())
        outcome.named, outcome.gone = self.worker.named - named, self.worker.gone - gone
        self.gateway.eventually(self._is_well)
        return outcome

    def _is_well(self) -> bool:
        available = self.gateway.metric("switchyard_workers_available", what=self._name)
        last = f"{self._name}#{RANKS - 1}"
        return available == 1 and self.gateway.metric("switchyard_ranks_running", what=last) == 0

    @property
    def _name(self) -> str:
        return f"0:sglang 127.0.0.1:{self.worker.port}"

    async def _load(self, change: Change, outcome: Outcome) -> None:
        share = outcome.requests // CHANGES
        async with httpx.AsyncClient(base_url=self.gateway.url, timeout=PATIENCE) as client:
            for number in range(CHANGES):
                numbers = iter(range(self._number, self._number + share))
                self._number += share
                asking = [self._ask_all(client, numbers, outcome) for _ in range(AT_ONCE)]
                changing = asyncio.to_thread(change, self, number)
                await asyncio.gather(changing, *asking)

    async def _ask_all(
        self, client: httpx.AsyncClient, numbers: Iterator[int], outcome: Outcome
    ) -> None:
        for number in numbers:
            await ask(client, number, outcome)


@contextmanager
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        make_tokenizer(1024).save_pretrained(folder)
        vocabulary = load_tokenizer(folder, "auto").vocabulary
        loop, workers = Loop(), [RankedWorker(vocabulary, RANKS) for _ in range(2)]
        try:
            for worker in workers:
                loop.run(worker.listen())
            settings = settings_of(folder, workers) | {"worker_policy": "prefix-aware"}
            with Gateway(**settings) as gateway:
                yield World(gateway, workers, loop)
        finally:
            loop.close()
