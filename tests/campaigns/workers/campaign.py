"""Requests to a gateway with two workers, one of which is bad, and what came of them.

An Outcome's ``complaints`` say what must not be: a request that failed although nothing of its
answer was sent, an answer that is wrong or short, a failure that is no error object, a worker that
was not ejected, or did not come back.
"""

import asyncio
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import httpx

from app.conversation.tokenizer import load_tokenizer
from app.pool.member import EJECT_AFTER
from tests.app.gateway import OPERATOR, Gateway
from tests.app.messages import payloads
from tests.sglang.tiny_model import make_tokenizer

from .fake import FakeWorker, Fault, Loop

#: seconds: short, but longer than a busy machine stops a good worker
FIRST_TOKEN_S, TOKEN_S, HEALTH_S = 4.0, 4.0, 0.2
#: requests at a time
AT_ONCE = 16
#: seconds that ejection and recovery may take at most, on a busy machine
PATIENCE = 60.0
MODEL = "fake"
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


@dataclass
class Outcome:
    """Of one fault. Seconds are None where the fault was not noticed, or did not go away."""

    fault: Fault
    requests: int
    failures: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    attempts: int = 0
    ejections: int = 0
    seconds_to_eject: float | None = None
    seconds_to_recover: float | None = None
    #: failed attempts by worker and message
    seen: Counter[str] = field(default_factory=Counter)

    @property
    def complaints(self) -> list[str]:
        found = [f"wrong: {text}" for text in self.wrong]
        # one request at a time on probation, and what ran when the worker was first ejected
        allowed = AT_ONCE + EJECT_AFTER + self.ejections if self.fault.when == "mid" else 0
        if len(self.failures) > allowed:
            found.append(f"{len(self.failures)} failed, {allowed} may: {self.failures[0]}")
        # the load may end before the ejection is seen, but it is counted
        if self.seconds_to_eject is None and not self.ejections:
            found.append("the worker was never marked")
        if self.seconds_to_recover is None:
            found.append("the worker did not come back")
        if found:
            found.append(f"attempts: {dict(self.seen)}")
        return found


class World:
    """A gateway and its two workers, the first of which can be made bad."""

    operator: ClassVar = {"Authorization": f"Bearer {OPERATOR}"}

    def __init__(self, gateway: Gateway, bad: FakeWorker, loop: Loop) -> None:
        self.gateway, self.bad, self.loop = gateway, bad, loop
        self._number = 0

    def run(self, fault: Fault, requests: int) -> Outcome:
        """Sends requests while the fault lasts, then waits until the worker is back."""
        outcome = Outcome(fault, requests)
        attempts, ejections, logged = self.bad.attempts, self._ejections(), self._logged()
        if not fault.listens:
            self.loop.run(self.bad.refuse())
        self.bad.fault = fault
        asyncio.run(self._load(outcome))
        outcome.attempts = self.bad.attempts - attempts
        outcome.ejections = int(self._ejections() - ejections)
        self.bad.fault = None
        self.loop.run(self.bad.listen())
        asyncio.run(self._recovery(outcome))
        outcome.seen = Counter(self._logged()) - Counter(logged)
        return outcome

    async def _load(self, outcome: Outcome) -> None:
        numbers = iter(range(self._number, self._number + outcome.requests))
        self._number += outcome.requests
        async with self._client() as client:
            watch = asyncio.create_task(self._ejection(client, outcome))
            await asyncio.gather(*(self._ask_all(client, numbers, outcome) for _ in range(AT_ONCE)))
            if outcome.fault.when != "health":
                watch.cancel()
            await asyncio.wait({watch})

    async def _ask_all(
        self, client: httpx.AsyncClient, numbers: Iterator[int], outcome: Outcome
    ) -> None:
        for number in numbers:
            await ask(client, number, outcome)

    async def _ejection(self, client: httpx.AsyncClient, outcome: Outcome) -> None:
        start = time.monotonic()
        while time.monotonic() < start + PATIENCE:
            worker = await self._state(client)
            if worker["circuit"] != "closed" or not worker["ready"]:
                outcome.seconds_to_eject = time.monotonic() - start
                return
            await asyncio.sleep(0.02)

    async def _recovery(self, outcome: Outcome) -> None:
        """Until the worker has a clean record again, which takes a whole answer of its own."""
        start = time.monotonic()
        ignored = Outcome(outcome.fault, 0)
        async with self._client() as client:
            while time.monotonic() < start + PATIENCE:
                self._number += 1
                await ask(client, self._number, ignored)
                worker = await self._state(client)
                if worker["circuit"] == "closed" and worker["ready"] and not worker["failures"]:
                    outcome.seconds_to_recover = time.monotonic() - start
                    break
                await asyncio.sleep(0.02)
        outcome.wrong += ignored.wrong
        outcome.failures += ignored.failures

    async def _state(self, client: httpx.AsyncClient) -> Any:
        return (await client.get("/health/ready", headers=self.operator)).json()["workers"][0]

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.gateway.url, timeout=PATIENCE)

    def _logged(self) -> list[str]:
        """Failed attempts of both workers so far."""
        return [
            f"{line['name']}: {line['kind']}: {line.get('reason', '')[:80]}"
            for line in self.gateway.lines()
            if line["event"] == "attempt failed"
        ]

    def _ejections(self) -> float:
        return self.gateway.metric("switchyard_worker_ejections_total", worker=self._name)

    @property
    def _name(self) -> str:
        return f"sglang 127.0.0.1:{self.bad.port}"


class Answered(Protocol):
    """The results that a campaign keeps."""

    failures: list[str]
    wrong: list[str]


async def ask(client: httpx.AsyncClient, number: int, outcome: "Answered") -> None:
    """Sends one request, every other one as a stream, and judges what comes."""
    streams = number % 2 == 1
    response = await client.post("/v1/chat/completions", json=body_of(number, streams))
    try:
        text = text_of(response, streams)
    except Failed as failure:
        outcome.failures.append(f"{number}: {failure}")
    except (ValueError, LookupError, TypeError) as error:
        outcome.wrong.append(f"{number}: {error!r}: {response.text[-300:]}")
    else:
        if text != f'{{"n": {number}}}':
            outcome.wrong.append(f"{number}: {text!r}")


class Failed(Exception):
    """The client got a proper error."""


def body_of(number: int, streams: bool) -> dict[str, Any]:
    wanted = {"name": "n", "schema": SCHEMA}
    return {
        "model": MODEL,
        "messages": [{"role": "user", "content": f"Say number {number} please."}],
        "response_format": {"type": "json_schema", "json_schema": wanted},
        "stream": streams,
    }


def text_of(response: httpx.Response, streams: bool) -> str:
    """The answer's text. Raises Failed for an error object, ValueError for anything else."""
    if response.status_code != 200:
        raise Failed(_error(response.json()))
    if not streams:
        choice = response.json()["choices"][0]
        return _finished(choice["message"]["content"], choice["finish_reason"])
    *events, last = payloads(response.text)
    if last != "[DONE]":
        raise Failed(_error(json.loads(last)))
    choices = [json.loads(event)["choices"][0] for event in events]
    text = "".join(choice["delta"].get("content") or "" for choice in choices)
    return _finished(text, choices[-1]["finish_reason"])


def _finished(text: str, reason: str) -> str:
    if reason != "stop":
        raise ValueError(f"finish_reason is {reason!r}")
    return text


def _error(body: Any) -> str:
    error = body["error"]
    if set(error) != {"message", "type", "param", "code"}:
        raise ValueError("not an error object")
    return f"{error['code']}: {error['message']}"


@contextmanager
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        make_tokenizer(1024).save_pretrained(folder)
        vocabulary = load_tokenizer(folder, "auto").vocabulary
        loop, workers = Loop(), [FakeWorker(vocabulary), FakeWorker(vocabulary)]
        try:
            for worker in workers:
                loop.run(worker.listen())
            with Gateway(**settings_of(folder, workers)) as gateway:
                yield World(gateway, workers[0], loop)
        finally:
            loop.close()


def settings_of(folder: str, workers: Sequence[FakeWorker]) -> dict[str, Any]:
    """Return the settings of a gateway before these workers."""
    return {
        "workers": ",".join(worker.url for worker in workers),
        "tokenizer": folder,
        "model_name": MODEL,
        "reasoning": "off",
        "admin_keys": OPERATOR,
        "worker_health_seconds": HEALTH_S,
        "worker_first_token_seconds": FIRST_TOKEN_S,
        "worker_token_seconds": TOKEN_S,
    }
