"""Requests to a model and its adapters while workers lose, load and refuse them, and restart.

Four workers have different adapters. One of them, the last, has all and stays well, so that every
request can be answered: none may fail before its first byte, and none be answered by another
adapter than its own.
"""

import asyncio
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from app.conversation.tokenizer import load_tokenizer
from tests.app.gateway import OPERATOR, Gateway
from tests.campaigns.workers.campaign import Failed, body_of, text_of
from tests.campaigns.workers.fake import Loop
from tests.sglang.tiny_model import make_tokenizer
from tests.waiting import PATIENCE

from .fake import CODES, NAMES, AdapterWorker, code_of

MODEL = "fake"
#: seconds between health checks: long enough that requests find the losses first
HEALTH_S = 1.0
#: requests at a time, and those between two changes
AT_ONCE, BETWEEN = 8, 7
#: adapters that each worker starts with
SETS = (("law",), ("law", "tax"), (), NAMES)


@dataclass
class Report:
    """The outcome of the requests. ``changes``: by kind. ``answers``: by adapter."""

    requests: int
    failures: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    changes: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    #: attempts at workers that did not have the adapter
    lost: int = 0


class World:
    """A gateway and its workers."""

    def __init__(self, gateway: Gateway, workers: list[AdapterWorker], loop: Loop) -> None:
        self.gateway, self.workers, self.loop = gateway, workers, loop

    def run(self, requests: int, seed: int) -> Report:
        """Send requests, and change workers meanwhile."""
        report = Report(requests)
        asyncio.run(self._load(report, random.Random(seed)))
        report.lost = int(
            sum(
                self.gateway.metric(
                    "switchyard_worker_failures_total", worker=name_of(worker), reason="adapter"
                )
                for worker in self.workers
            )
        )
        return report

    async def _load(self, report: Report, draw: random.Random) -> None:
        numbers = iter(range(1, report.requests + 1))
        changing = asyncio.Lock()
        async with httpx.AsyncClient(base_url=self.gateway.url, timeout=PATIENCE) as client:

            async def ask_all() -> None:
                for number in numbers:
                    if number % BETWEEN == 0:
                        async with changing:
                            report.changes[await self._change(client, draw)] += 1
                    await self._ask(client, number, draw.choice((None, *NAMES)), report)

            await asyncio.gather(*(ask_all() for _ in range(AT_ONCE)))

    async def _ask(
        self, client: httpx.AsyncClient, number: int, adapter: str | None, report: Report
    ) -> None:
        streams = number % 2 == 1
        name = MODEL if adapter is None else f"{MODEL}:{adapter}"
        body = body_of(number, streams) | {"model": name}
        response = await client.post("/v1/chat/completions", json=body)
        try:
            text = text_of(response, streams)
        except Failed as failure:
            report.failures.append(f"{number} {name}: {failure}")
        except (ValueError, LookupError, TypeError) as error:
            report.wrong.append(f"{number} {name}: {error!r}: {response.text[-300:]}")
        else:
            report.answers[name] += 1
            right = answer_of(number, adapter)
            if text != right:
                report.wrong.append(f"{number} {name}: {text!r}, not {right!r}")

    async def _change(self, client: httpx.AsyncClient, draw: random.Random) -> str:
        """Change a worker that is not the last one; return what happened."""
        worker = draw.choice(self.workers[:-1])
        name = draw.choice(NAMES)
        kind = draw.choice(("lose", "refuse", "restart", "down", "load", "unload"))
        match kind:
            case "lose":
                worker.lose(name)
            case "refuse":
                worker.refused.add(name)
            case "restart":
                worker.restart()
            case "down":
                await asyncio.to_thread(self.loop.run, worker.refuse())
                worker.restart()
                await asyncio.sleep(0.2)
                await asyncio.to_thread(self.loop.run, worker.listen())
            case "load" | "unload":
                worker.refused.discard(name)
                asked: dict[str, Any] = {"name": name, "worker": name_of(worker)}
                if kind == "load":
                    asked["path"] = f"/adapters/{name}"
                await client.post(f"/admin/adapters/{kind}", json=asked, headers=OPERATORS)
        return kind


OPERATORS = {"authorization": f"Bearer {OPERATOR}"}


def answer_of(number: int, adapter: str | None) -> str:
    """Return the right answer."""
    return json.dumps({"n": number * CODES + code_of(adapter)})


def name_of(worker: AdapterWorker) -> str:
    """Return the worker's name at the gateway."""
    return f"sglang 127.0.0.1:{worker.port}"


@contextmanager
def world(*sets: tuple[str, ...], **settings: Any) -> Iterator[World]:
    """A gateway with a worker for each set of adapters."""
    with tempfile.TemporaryDirectory() as folder:
        make_tokenizer(1024).save_pretrained(folder)
        vocabulary = load_tokenizer(folder, "auto").vocabulary
        loop, workers = Loop(), [AdapterWorker(vocabulary, *each) for each in sets or SETS]
        try:
            for worker in workers:
                loop.run(worker.listen())
            chosen = {
                "workers": ",".join(worker.url for worker in workers),
                "tokenizer": folder,
                "model_name": MODEL,
                "reasoning": "off",
                "admin_keys": OPERATOR,
                "worker_health_seconds": HEALTH_S,
            }
            with Gateway(**{**chosen, **settings}) as gateway:
                yield World(gateway, workers, loop)
        finally:
            loop.close()
