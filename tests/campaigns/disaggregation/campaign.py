"""Requests to a gateway with two workers of each half, one of which is bad.

As in tests/campaigns/workers. Besides, no half may run when all requests have ended, and no room
may serve two generations.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx

from adapters.workers import Half
from app.conversation.tokenizer import load_tokenizer
from tests.app.gateway import Gateway
from tests.campaigns.workers.campaign import PATIENCE, Outcome, World, settings_of
from tests.campaigns.workers.fake import Fault, Loop
from tests.sglang.tiny_model import make_tokenizer

from .halves import FakeHalf, Rooms

#: workers of each half
WORKERS = 2
HALVES: tuple[Half, ...] = ("decode", "prefill")


class Pairs(World):
    """A gateway and its workers of both halves; the first of either half can be made bad."""

    def __init__(self, gateway: Gateway, workers: Sequence[FakeHalf], loop: Loop) -> None:
        super().__init__(gateway, workers[0], loop)
        self.workers = workers

    def run_at(self, half: Half, fault: Fault, requests: int) -> Outcome:
        """See World.run."""
        self.bad = next(worker for worker in self.workers if worker.half == half)
        outcome = self.run(fault, requests)
        outcome.wrong += self._left()
        return outcome

    def _left(self) -> list[str]:
        end = time.monotonic() + PATIENCE
        while any(worker.open for worker in self.workers) and time.monotonic() < end:
            time.sleep(0.02)
        found = [f"{w.half} half left open" for w in self.workers if w.open]
        shared = self.workers[0].rooms.shared
        return [*found, f"{shared} rooms of two requests"] if shared else found

    async def _state(self, client: httpx.AsyncClient) -> Any:
        listed = (await client.get("/health/ready", headers=self.operator)).json()["workers"]
        return next(worker for worker in listed if worker["name"] == self._name)


def complaints_of(outcome: Outcome) -> list[str]:
    """Return the complaints, but not that the worker was never marked: few requests need no new
    connection to one that refuses them.
    """
    minor = ("the worker was never marked", "attempts:")
    found = outcome.complaints
    return [] if all(text.startswith(minor) for text in found) else found


@contextmanager
def pairs(**settings: Any) -> Iterator[Pairs]:
    """``settings``: of the gateway, beside those of tests/campaigns/workers."""
    with tempfile.TemporaryDirectory() as folder:
        make_tokenizer(1024).save_pretrained(folder)
        vocabulary = load_tokenizer(folder, "auto").vocabulary
        loop, rooms = Loop(), Rooms()
        workers = [FakeHalf(vocabulary, rooms, half) for half in HALVES for _ in range(WORKERS)]
        decode, prefill = workers[:WORKERS], workers[WORKERS:]
        try:
            for worker in workers:
                loop.run(worker.listen())
            urls = ",".join(worker.url for worker in prefill)
            chosen = {**settings_of(folder, decode), "prefill_workers": urls, **settings}
            with Gateway(**chosen) as gateway:
                yield Pairs(gateway, workers, loop)
        finally:
            loop.close()
