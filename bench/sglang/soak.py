"""A soak: many requests of all kinds against our backend, some of them aborted.

    python -m bench.sglang soak --seed 1 --first 1234 --requests 1      repeats one of them

Findings are: a status that is neither success nor a client error; an unrequested end of an answer;
a complete answer that does not fit; a request slower than ``SLOW``; a counter of ``MUST_BE_0`` that
is not 0; memory growth; a dead or unresponsive server.

Memory   private pages of the scheduler. It grows until the compiler's caches are full, which
         ``--memory`` limits so that they are full once ``WARM`` of the requests are done. The
         median of the last ``WINDOW`` must not exceed that of the window after the warm-up; single
         readings depend on the grammars of the moment. The report also shows the engine's pool,
         its used part, and the memory outside of it.
"""

import asyncio
import json
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import httpx

from . import OURS
from .client import Answer, Asked, Refused, ask, open_client, stream
from .figures import show, spread
from .fleet import Fleet, state
from .ordeal import Ordeal, ordeal

AT_ONCE = 16
#: maximum seconds of one request; the largest grammars take one or two
SLOW = 30.0
#: shares of all requests: the warm-up, and the compared windows
WARM, WINDOW = 0.3, 0.2
#: findings that are stored, and characters of their grammars
MAX_FINDINGS, MAX_CHARS = 50, 4_000
MUST_BE_0 = ("errors", "refused_tokens", "mask_failures")
#: SGLang's messages for grammars that exceeded a limit
LIMITS = ("making a mask failed", "accepting a token failed")
CLIENTS_FAULT = (400, 413, 422)
#: bias on tokens that end values, for every other request
PULL = 5.0


@dataclass
class Log:
    """Outcomes of the requests by kind, and findings."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: list[dict[str, Any]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    memory: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    done: int = 0

    def find(self, what: str, each: Ordeal | None = None, text: str = "") -> None:
        self.outcomes["findings", what.split(":")[0][:60]] += 1
        if len(self.findings) < MAX_FINDINGS:
            found: dict[str, Any] = {"what": what}
            if each is not None:
                grammar = {name: text[:MAX_CHARS] for name, text in each.asked.grammar.items()}
                found |= {"request": each.number, "kind": each.kind, "fate": each.fate}
                found |= {"grammar": grammar, "text": text[:MAX_CHARS]}
            self.findings.append(found)
            print(f"FINDING {json.dumps(found)[:1000]}", flush=True)


def run(fleet: Fleet, requests: int, seed: int, most_growth: float, first: int = 0) -> Any:
    """Return a record with its findings; print a table. ``most_growth``: MB."""
    with fleet.running(OURS) as servers:
        return run_on(servers[OURS], requests, seed, most_growth, first)


def run_on(server: Any, requests: int, seed: int, most_growth: float, first: int = 0) -> Any:
    """Run the soak on a running server."""
    log = Log()
    numbers = iter(range(first, first + requests))
    before = _Memory(server, log, requests)
    start = perf_counter()
    try:
        bias = _pull(server.model)
        asyncio.run(_send_all(server.base_url, numbers, seed, bias, log, before))
    except Exception as error:  # the server died: its log has the reason
        log.find(f"gave up: {error!r}")
    seconds = perf_counter() - start
    told = _look_after(server, log, before, most_growth)
    record = _record(log, requests, seed, seconds, told)
    _show(record)
    return record


# -- sending ---------------------------------------------------------------------------------------
async def _send_all(
    url: str, numbers: Iterator[int], seed: int, bias: dict[str, float], log: Log, memory: "_Memory"
) -> None:
    async def drain(client: httpx.AsyncClient) -> None:
        for number in numbers:
            each = ordeal(seed, number)
            start = perf_counter()
            await _one(client, each, bias if number % 2 else {}, log)
            took = perf_counter() - start
            log.seconds.append(took)
            log.done += 1
            if took > SLOW:
                log.find(f"slow: {took:.0f} s", each)
            memory.look()

    async with open_client(url) as client:
        await asyncio.gather(*(drain(client) for _ in range(AT_ONCE)))


async def _one(client: httpx.AsyncClient, each: Ordeal, bias: dict[str, float], log: Log) -> None:
    try:
        answer = await _sent(client, each, bias)
    except Refused as refused:
        _judge_refusal(each, refused.status, str(refused), log)
    except UnicodeEncodeError:
        log.outcomes[each.kind, "can't be sent"] += 1
    except httpx.TransportError as error:
        log.find(f"the connection broke: {error!r}", each)
    else:
        _judge(each, answer, log)


async def _sent(client: httpx.AsyncClient, each: Ordeal, bias: dict[str, float]) -> Answer | None:
    """Send a request; return None if it was left.

    Raises:
        Refused, httpx.TransportError
    """
    asked = _Biased(*each.asked, bias)
    rid = uuid.uuid4().hex
    if each.fate == "stream":
        return await stream(client, asked, rid=rid)
    if each.fate == "leave":
        return await stream(client, asked, rid=rid, leave_after=each.events)
    if each.fate == "abort":
        return (await asyncio.gather(ask(client, asked, rid=rid), _abort(client, each, rid)))[0]
    if each.fate == "vanish":
        try:
            return await asyncio.wait_for(ask(client, asked, rid=rid), max(0.01, each.delay))
        except TimeoutError:
            return None
    return await ask(client, asked, rid=rid)


async def _abort(client: httpx.AsyncClient, each: Ordeal, rid: str) -> None:
    await asyncio.sleep(each.delay)
    await client.post("/abort_request", json={"rid": rid})


class _Biased:
    """Return an ``Asked`` with a logit bias."""

    def __init__(self, *asked_and_bias: Any) -> None:
        *asked, self._bias = asked_and_bias
        self._asked = Asked(*asked)

    def body(self, **more: Any) -> dict[str, Any]:
        made = self._asked.body(**more)
        if self._bias:
            made["sampling_params"]["logit_bias"] = self._bias
        return made


def _pull(model: Path) -> dict[str, float]:
    """Return a bias towards quotes, brackets and commas, so that answers end."""
    known = json.loads((model / "tokenizer.json").read_text())["model"]["vocab"]
    return {str(number): PULL for text, number in known.items() if set(text) <= set('"]},')}


# -- judging ---------------------------------------------------------------------------------------
def _judge(each: Ordeal, answer: Answer | None, log: Log) -> None:
    if answer is None:
        log.outcomes[each.kind, "left"] += 1
    elif answer.how == "abort":
        _judge_abort(each, answer, log)
    elif answer.how == "length":
        log.outcomes[each.kind, "cut off"] += 1
    elif (wrong := each.wrong(answer.text)) is None:
        log.outcomes[each.kind, "finished"] += 1
    elif wrong.startswith("oracle:"):
        log.outcomes[each.kind, "finished, oracle gave up"] += 1
    else:
        log.outcomes[each.kind, "wrong"] += 1
        log.find(f"wrong answer: {wrong}", each, answer.text)


def _judge_abort(each: Ordeal, answer: Answer, log: Log) -> None:
    message = str(answer.finish.get("message"))
    status = answer.finish.get("status_code")
    if status in CLIENTS_FAULT:
        _judge_refusal(each, int(status), message, log)
    elif any(known in message for known in LIMITS) and "internal error" not in message:
        log.outcomes[each.kind, "gave up at a limit"] += 1
    elif each.fate == "abort":
        log.outcomes[each.kind, "aborted"] += 1
    else:
        log.find(f"abort: {json.dumps(answer.finish)}", each, answer.text)


def _judge_refusal(each: Ordeal, status: int, message: str, log: Log) -> None:
    if status not in CLIENTS_FAULT:
        if any(known in message for known in LIMITS) and "internal error" not in message:
            log.outcomes[each.kind, "gave up at a limit"] += 1
        else:
            log.find(f"status {status}: {message}", each)
    elif "internal error" in message or "timed out" in message:
        log.find(f"refused: {message}", each)
    elif "Aborted" in message or (each.fate == "abort" and "bort" in message):
        log.outcomes[each.kind, "aborted"] += 1
    else:
        log.outcomes[each.kind, "refused"] += 1
        if each.kind in ("plain", "ebnf"):
            log.find(f"a valid grammar was refused: {message}", each)


# -- the server ------------------------------------------------------------------------------------
class _Memory:
    """Readings of the scheduler's memory and of the engine's pool, in MB."""

    def __init__(self, server: Any, log: Log, requests: int) -> None:
        self._server, self._log = server, log
        self._requests, self._every = requests, max(1, requests // 20)

    def look(self) -> None:
        """Take a reading if one is due."""
        done = self._log.done
        if done % self._every == 0:
            found = self.megabytes()
            self._log.memory.append((done, found))
            told = ", ".join(f"{name} {each:,.0f}" for name, each in found.items())
            print(f"{done:,} requests, MB: {told}", flush=True)

    def window(self, begin: float) -> dict[str, float]:
        """Return the medians of a ``WINDOW`` of the requests."""
        first, last = begin * self._requests, (begin + WINDOW) * self._requests
        points = [found for done, found in self._log.memory if first <= done <= last]
        return {name: median(each[name] for each in points) for name in points[0]} if points else {}

    def megabytes(self) -> dict[str, float]:
        """``held`` and ``mapped``: of the pool. ``rest``: memory outside of the pool."""
        told = state(self._server)["switchyard"]["compiler"]
        whole = self._server.resident_bytes("sglang::scheduler")
        found = {
            "whole": whole,
            "held": told["pool_taken"],
            "mapped": told["pool_mapped"],
            "rest": whole - told["pool_mapped"],
        }
        return {name: each / 2**20 for name, each in found.items()}


def _look_after(server: Any, log: Log, memory: _Memory, most_growth: float) -> dict[str, Any]:
    """Check the server after all requests."""
    if not server.alive:
        log.find("the server is gone")
        return {"log": server.log(100)}
    try:
        asked = {"max_new_tokens": 8, "regex": "[ab]{3}"}
        if len(server.generate("x", **asked)["text"]) != 3:
            log.find("it answers wrongly afterwards")
        told = state(server)["switchyard"]
    except RuntimeError as error:
        log.find(f"it does not answer afterwards: {error}")
        return {"log": server.log(100)}
    for name in MUST_BE_0:
        if told["counters"].get(name) != 0:
            log.find(f"counter {name}: {told['counters'].get(name)}")
    warm, end = memory.window(WARM), memory.window(1 - WINDOW)
    grown = end.get("whole", 0.0) - warm.get("whole", 0.0)
    if grown > most_growth:
        log.find(f"memory: grew by {grown:,.0f} MB, from {warm} to {end}")
    return {"status": told, "memory_mb": {"warm": warm, "end": end, "grown": grown}}


def _record(log: Log, requests: int, seed: int, seconds: float, told: dict[str, Any]) -> Any:
    outcomes: dict[str, dict[str, int]] = {}
    for (kind, outcome), count in sorted(log.outcomes.items()):
        outcomes.setdefault(kind, {})[outcome] = count
    return {
        "requests": requests,
        "done": log.done,
        "seed": seed,
        "seconds": seconds,
        "request_seconds": spread(log.seconds) if log.seconds else {},
        "outcomes": outcomes,
        "memory_curve_mb": log.memory,
        "findings": log.findings,
        **told,
    }


def _show(record: dict[str, Any]) -> None:
    outcomes = record["outcomes"]
    columns = sorted(
        {name for kind, each in outcomes.items() if kind != "findings" for name in each}
    )
    lines = [["kind", *columns]]
    for kind, each in outcomes.items():
        if kind != "findings":
            lines.append([kind, *(f"{each.get(name, 0):,}" for name in columns)])
    show(lines)
    print(f"{record['done']:,} requests in {record['seconds']:,.0f} s")
    if "memory_mb" in record:
        print(f"memory (MB): {record['memory_mb']}")
        print(f"counters: {record['status']['counters']}")
    print(f"findings: {outcomes.get('findings', 'none')}")
