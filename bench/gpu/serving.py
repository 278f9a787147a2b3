"""Measurements in one server: one backend after another, each alone.

A measured server has the device for itself, so backends do not take turns. Throughput and first
text without a grammar, measured on each server, show whether the machine has drifted.

Checks   for all backends, every finished answer of *steps* must fit its schema, and every finished
         call that of its tool. For ours, also the counters that must stay 0, and the soak.
"""

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter
from typing import Any, NamedTuple

from tests.sglang.server import SGLangServer

from ..sglang import FREE, OURS
from ..sglang.client import Answer, Asked
from ..sglang.first_token import TOKENS, asked_of, first_text
from ..sglang.fleet import state
from ..sglang.meter.tally import size_of
from ..sglang.steps import EACH, LEAST, Sample, metered
from ..sglang.throughput import tokens_a_second
from ..sglang.workload import SCHEMAS, endless, schemas, tool_calls, tool_sets
from .judging import misfit

#: backends with tags of tool calls
TAGGED = (OURS, "xgrammar")
#: warm-up tool sets; the seed of sets without a grammar
WARM_SETS, PLAIN_SEED = 3, 32
#: lines of a server's log to show if a part fails
LOG_LINES = 60
MUST_BE_0 = ("errors", "refused_tokens", "mask_failures")
_CALL = re.compile(r'<tool_call>\n\{"name": "(\w+)", "arguments": (.*?)\}\n</tool_call>', re.DOTALL)
_NAMES = ("order", "person", "review", "event")


class Sizes(NamedTuple):
    """The amount of measurement. ``seconds``: per figure, with at least one run."""

    batches: Sequence[int]
    seconds: float
    tokens: int
    sets: int
    soak: int


@dataclass
class Measured:
    """Results of one backend: records by part, wrong answers, and other findings."""

    backend: str
    records: dict[str, Any] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    answers: int = 0
    checked: int = 0


# -- one backend -----------------------------------------------------------------------------------
def measure(server: SGLangServer, parts: Sequence[str], sizes: Sizes) -> Measured:
    """Run the parts for this backend; a part that fails is a finding."""
    found = Measured(server.grammar_backend)
    for part in parts:
        try:
            found.records[part] = PARTS[part](server, sizes, found)
        except Exception as error:  # the server may have died; other parts may work
            found.findings.append(f"{part}: {error!r}")
            sys.stderr.write(f"{server.log(LOG_LINES)}\n{part}: {error!r}\n")
    if found.backend == OURS and server.alive:
        _look_at_counters(server, found)
    if found.answers and not found.checked:
        found.findings.append(f"none of {found.answers} answers was complete, so none was checked")
    return found


def _steps(server: SGLangServer, sizes: Sizes, found: Measured) -> list[dict[str, Any]]:
    backend = server.grammar_backend
    asked = {"schemas": schemas, **({"tool calls": tool_calls} if backend in TAGGED else {})}
    records = []
    for name, workload in asked.items():
        for batch in sizes.batches:
            many = workload(backend, max(LEAST, EACH * batch))
            requests = [each._replace(most_tokens=sizes.tokens) for each in many]
            rows: list[list[int]] = []
            kinds: Sequence[str] = ()
            for number in _rounds(sizes.seconds):
                answers, told = metered(server, requests, batch)
                _check(requests, answers, found)
                if number:  # the first warms up
                    kinds = told["kinds"]
                    rows += told["rows"].get(str(size_of(batch)), [])
            sample = Sample(kinds, rows)
            records.append({"workload": name, "batch": batch, **sample.record()})
    return records


def _throughput(server: SGLangServer, sizes: Sizes, found: Measured) -> list[dict[str, Any]]:
    """Measure throughput with and without grammars, in turns."""
    records = []
    for batch in sizes.batches:
        constrained = endless(batch, sizes.tokens)
        loads = {"none": [each._replace(grammar={}) for each in constrained], "own": constrained}
        rates: dict[str, list[float]] = {name: [] for name in loads}
        for number in _rounds(2 * sizes.seconds):
            for name, requests in loads.items():
                rate = tokens_a_second(server, requests, batch)
                if number:
                    rates[name].append(rate)
        records.append({"batch": batch, "tokens_a_second": rates})
    return records


def _first_text(server: SGLangServer, sizes: Sizes, found: Measured) -> dict[str, Any]:
    """Measure milliseconds by tool set: with grammars, and without for sets of another seed."""

    async def run() -> dict[str, list[Any]]:
        told: dict[str, list[Any]] = {"none": [], "own": []}
        every = (tool_sets(WARM_SETS + sizes.sets, seed=PLAIN_SEED),
                 tool_sets(WARM_SETS + sizes.sets))  # fmt: skip
        for pair in zip(*every, strict=True):
            for name, tools in zip(told, pair, strict=True):
                asked = asked_of(tools)
                if name == "none":
                    asked = Asked(asked.prompt, {}, TOKENS, ignores_stop=True)
                told[name].append(await first_text(server.base_url, asked))
        return {name: each[WARM_SETS:] for name, each in told.items()}

    told = asyncio.run(run())
    times = {n: [1000 * t for t in each if isinstance(t, float)] for n, each in told.items()}
    refused = [t for t in told["own"] if not isinstance(t, float)]
    if refused and server.grammar_backend == OURS:
        found.findings.append(f"first text: {len(refused)} refused, such as {refused[0]}")
    return {"ms": times, "refused": len(refused), "why": [str(each) for each in refused[:3]]}


def _soak(server: SGLangServer, sizes: Sizes, found: Measured) -> dict[str, Any] | None:
    if server.grammar_backend != OURS:
        return None
    from ..sglang import soak  # it needs more packages than the other parts

    record: dict[str, Any] = soak.run_on(server, sizes.soak, 1, float("inf"))
    found.findings += [f"soak: {each['what']}" for each in record["findings"]]
    return record


PARTS: dict[str, Callable[[SGLangServer, Sizes, Measured], Any]] = {
    "steps": _steps,
    "throughput": _throughput,
    "first-text": _first_text,
    "soak": _soak,
}


def _rounds(seconds: float) -> Iterator[int]:
    """Yield 0 for the warm-up, then 1 and more numbers until the time is over."""
    for number in count():
        if number == 1:
            until = perf_counter() + seconds
        if number >= 2 and perf_counter() >= until:
            return
        yield number


# -- checks ----------------------------------------------------------------------------------------
def _check(requests: Sequence[Asked], answers: Sequence[Answer], found: Measured) -> None:
    if found.backend == FREE:
        return
    for asked, answer in zip(requests, answers, strict=True):
        whole = whole_parts(asked, answer)
        found.answers += 1
        found.checked += bool(whole)
        for schema, text in whole:
            if wrong := misfit(schema, text):
                found.wrong.append(f"{wrong} in {answer.text[:500]!r}")


def whole_parts(asked: Asked, answer: Answer) -> list[tuple[Any, str]]:
    """Yield each complete text or call of an answer, with its schema."""
    is_finished = answer.how == "stop"
    if "structural_tag" not in asked.grammar:
        return [(json.loads(asked.grammar["json_schema"]), answer.text)] if is_finished else []
    known = dict(zip(_NAMES, SCHEMAS, strict=True))
    calls = [(known.get(name), text) for name, text in _CALL.findall(answer.text)]
    # a complete answer has at least one call
    return calls or ([(None, answer.text)] if is_finished else [])


def _look_at_counters(server: SGLangServer, found: Measured) -> None:
    counters = state(server)["switchyard"]["counters"]
    found.records["counters"] = counters
    found.findings += [f"counter {name}: {counters.get(name)}" for name in MUST_BE_0
                       if counters.get(name) != 0]  # fmt: skip
