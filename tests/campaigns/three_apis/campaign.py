"""Send random requests in the words of three APIs, and compare what the worker and clients get."""

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from random import Random
from typing import Any
from unittest.mock import patch

import httpx

from adapters.workers import Chunk, Generation, NoiseWorker
from app.sealing import Seal
from tests.app.gateway import OPTIONS, Gateway
from tests.campaigns.three_apis import bodies
from tests.campaigns.three_apis.answers import Facts, of_chat, of_message, of_response
from tests.campaigns.three_apis.questions import Question, question

#: of the gateways, one after the other
FORMATS = ("hermes", "harmony", "llama3_json", "qwen_coder")
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
#: paths that count the tokens of a prompt, and the fields that they lack
COUNTS = {RESPONSES: "/input_tokens", MESSAGES: "/count_tokens"}
#: returns what an answer says
Read = Callable[[httpx.Response], Facts]
_KEY = "a key of sixteen or more letters"


@dataclass(slots=True)
class Findings:
    """``counts``: requests, answers and what they have; ``texts``: differences."""

    counts: Counter[str] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)


def run(requests: int, seed: int, formats: tuple[str, ...] = FORMATS) -> Findings:
    """Send so many requests, spread over gateways of these formats."""
    found = Findings()
    for at, name in enumerate(formats):
        numbers = range(at, requests, len(formats))
        settings = {"format": name, "reasoning": "on", "cache_key": _KEY}
        with recorded() as generations, Gateway(**settings) as gateway:
            with httpx.Client(base_url=gateway.url, **OPTIONS) as client:
                for number in numbers:
                    asked = question(Random(f"{seed}/{number}"))
                    ask = Asking(client, generations, found, f"{name}, request {number}")
                    ask.compare(asked)
            found.counts["internal errors"] += int(
                gateway.metric("switchyard_internal_errors_total")
            )
    return found


@contextmanager
def recorded() -> Iterator[list[Generation]]:
    """Keep what noise workers get. Their draws follow the seed and the grammar alone, so the
    prompts are compared here.
    """
    generations: list[Generation] = []
    generate = NoiseWorker.generate

    def keeping(self: NoiseWorker, generation: Generation) -> AsyncGenerator[Chunk, None]:
        generations.append(replace(generation, rid="", traceparent=None))
        return generate(self, generation)

    with patch.object(NoiseWorker, "generate", keeping):
        yield generations


def written(
    asked: Question,
) -> Iterator[tuple[str, bodies.Body, Callable[[httpx.Response], Facts]]]:
    """Yield the request in each API that has words for all of it: path, body, reader of answers.

    Responses have no stop strings, messages no choice between some of the tools.
    """
    yield CHAT, bodies.chat(asked), partial(of_chat, is_named=asked.choice == "named")
    if not asked.stops:
        yield RESPONSES, bodies.response(asked), of_response
    if asked.choice != "allowed":
        seal = partial(Seal(_KEY.encode()).seal, "127.0.0.1")
        yield MESSAGES, bodies.message(asked, seal), of_message


@dataclass(frozen=True, slots=True)
class Asking:
    """One request, sent to each API. ``where``: for findings."""

    client: httpx.Client
    generations: list[Generation]
    found: Findings
    where: str

    def compare(self, asked: Question) -> None:
        """Send the request and add each difference from the chat completion."""
        counts = self.found.counts
        counts["requests"] += 1
        results = {path: self._send(path, body, read) for path, body, read in written(asked)}
        first = results[CHAT]
        counts["refused"] += first["status"] != 200
        counts.update(name for name, value in first.items() if value and name in _COUNTED)
        for path, other in results.items():
            counts["answers"] += 1
            for name, value in first.items():
                if other.get(name) != value and not _is_cut(name, first, other):
                    told = _difference(value, other.get(name))
                    self.found.texts.append(f"{self.where}, {path}: {name}: {told}")

    def _send(self, path: str, body: bodies.Body, read: Read) -> dict[str, Any]:
        """Return the status, what the worker got, and what the answer says."""
        self.generations.clear()
        answer = self.client.post(path, json=body)
        if answer.status_code != 200:
            error = answer.json()["error"]
            return {"status": answer.status_code, "error": error["type"]}
        facts = read(answer)
        # counts of images are a worker's, too
        (generation,) = self.generations
        if path in COUNTS:
            self._count(path, body, facts.prompt)
        ignored = answer.headers.get("x-switchyard-ignored")
        got = asdict(replace(generation, images=()))
        got["images"] = [(image.data_url, at) for image, at in generation.images]
        return {"status": 200, "ignored": ignored, **asdict(facts), **got}

    def _count(self, path: str, body: bodies.Body, tokens: int) -> None:
        """Check the tokens that the prompt has if it is only counted."""
        counted = self.client.post(path + COUNTS[path], json=_countable(path, body))
        got = counted.json().get("input_tokens", counted.text)
        self.found.counts["counts"] += 1
        if got != tokens:
            self.found.texts.append(f"{self.where}, {path}: counted {got}, used {tokens}")


#: facts that many requests and answers must have
_COUNTED = ("text", "reasoning", "calls", "thoughts", "images")


def _countable(path: str, body: bodies.Body) -> bodies.Body:
    return {name: value for name, value in body.items() if name != "stream"}


def _difference(value: Any, other: Any) -> str:
    """Return where two values begin to differ."""
    if isinstance(value, str | list) and isinstance(other, str | list):
        at = next((n for n, (a, b) in enumerate(zip(value, other, strict=False)) if a != b), 0)
        return f"{value[at : at + 100]!r} and {other[at : at + 100]!r} at {at}"
    return f"{value!r} and {other!r}"


def _is_cut(name: str, first: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether a difference is the input of a cut call, which a whole message cannot show."""
    if name != "calls" or first["reason"] != "cut" or name not in other:
        return False
    (*calls, last), (*others, other_last) = first["calls"], other["calls"] or [None]
    return bool(calls == others and other_last == (last[0], "{}"))
