"""Requests to a server's /generate, many at once.

Representation   an ``Asked`` is a prompt, what constrains the answer and the sampling parameters;
                 an ``Answer`` is its end, with the seconds it took and those to its first text.
Threads          one event loop; ``load`` runs one of its own.
"""

import asyncio
import json
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import httpx

#: timeout in seconds, far above the time of any request here
PATIENCE = 120.0


class Asked(NamedTuple):
    """A request. ``grammar``: an SGLang sampling parameter and its text; or none."""

    prompt: str
    grammar: dict[str, str]
    most_tokens: int = 200
    temperature: float = 1.0
    #: ignore stop tokens; requires a grammar that cannot end before ``most_tokens``
    ignores_stop: bool = False

    def body(self, **more: Any) -> dict[str, Any]:
        parameters = {
            "max_new_tokens": self.most_tokens,
            "temperature": self.temperature,
            "ignore_eos": self.ignores_stop,
            **self.grammar,
        }
        return {"text": self.prompt, "sampling_params": parameters, **more}


class Answer(NamedTuple):
    """An answer. ``finish``: SGLang's finish_reason; ``first``: None without text in a stream."""

    text: str
    tokens: int
    finish: dict[str, Any]
    seconds: float
    first: float | None = None

    @property
    def how(self) -> str:
        return str(self.finish.get("type"))


class Refused(Exception):
    """A status other than 200."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status} {text[:500]}")
        self.status = status


def open_client(base_url: str) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
    return httpx.AsyncClient(base_url=base_url, timeout=PATIENCE, trust_env=False, limits=limits)


async def ask(client: httpx.AsyncClient, asked: Asked, **more: Any) -> Answer:
    """Wait for the whole answer.

    Raises:
        Refused, httpx.TransportError
    """
    start = perf_counter()
    answer = await client.post("/generate", json=asked.body(**more))
    if answer.status_code != 200:
        raise Refused(answer.status_code, answer.text)
    return _answer(answer.json(), perf_counter() - start)


async def stream(
    client: httpx.AsyncClient, asked: Asked, *, leave_after: int | None = None, **more: Any
) -> Answer | None:
    """Read a stream; return None if it was left after the given number of events.

    Raises:
        Refused, httpx.TransportError
    """
    start, first, last, events = perf_counter(), None, None, 0
    body = asked.body(stream=True, **more)
    async with client.stream("POST", "/generate", json=body) as answer:
        if answer.status_code != 200:
            raise Refused(answer.status_code, (await answer.aread()).decode(errors="replace"))
        async for line in answer.aiter_lines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            last = json.loads(line[6:])
            if "error" in last:
                raise Refused(int(last["error"].get("code") or 500), json.dumps(last))
            if first is None and last["text"]:
                first = perf_counter() - start
            events += 1
            if leave_after is not None and events >= leave_after:
                return None
    if last is None:
        raise Refused(200, "an empty stream")
    return _answer(last, perf_counter() - start, first)


def load(base_url: str, requests: Sequence[Asked], at_once: int) -> list[Answer]:
    """Return answers in the order of the requests, with this many requests running at once.

    Raises:
        Refused, httpx.TransportError
    """

    async def run() -> list[Answer]:
        answers: dict[int, Answer] = {}
        async with open_client(base_url) as client:
            todo = enumerate(requests)
            await asyncio.gather(*(_drain(client, todo, answers) for _ in range(at_once)))
        return [answers[number] for number in range(len(requests))]

    return asyncio.run(run())


async def _drain(
    client: httpx.AsyncClient, todo: Iterable[tuple[int, Asked]], answers: dict[int, Answer]
) -> None:
    for number, asked in todo:
        answers[number] = await ask(client, asked)


def _answer(told: Any, seconds: float, first: float | None = None) -> Answer:
    about = told["meta_info"]
    finish = about["finish_reason"] or {}
    return Answer(told["text"], about["completion_tokens"], finish, seconds, first)
