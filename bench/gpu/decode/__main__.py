"""Measures the decode loop, a batch size after another.

    python -m bench.gpu.decode OPTIONS      OPTIONS: a JSON object, see ``Options``; prints a line
                                            of JSON for each batch size as soon as it is measured

Backends take turns: a round runs each of them once, in another order each time, with rows that no
earlier round had. The figure of a backend is the median, over the rounds, of its tokens per second
divided by those without a grammar in the same round; with a 95 % interval by bootstrap.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch

from ...data import bfcl, builtin_tools
from ...measure import percentile
from ...sglang.figures import interval
from ...vocabularies import load
from ..shapes import SHAPES, width_of
from . import backends
from .answers import Judged, Rows
from .backends import NONE, OURS, Backend
from .device_queue import DeviceQueue
from .loop import Run, Told
from .model import Decoder, Pass

#: measured rounds of each batch size, after the warm-up; fewer if they take twice the time
LEAST_ROUNDS = 3
#: numbers between the first rows of two runs: more than a run uses
APART = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``seconds``: for everything; ``steps``: of a run; ``tokens``: of a row, at most; ``prompt``:
    slots before each row; ``tools``: a folder of BFCL's data, "": built-in ones.
    """

    device: str
    shape: str
    vocabulary: str
    backends: Sequence[str]
    batches: Sequence[int]
    seconds: float
    steps: int
    tokens: int
    prompt: int
    tools: str


class Bench:
    """The model, the rows and the backends of all batch sizes."""

    def __init__(self, options: Options) -> None:
        self.options = options
        device = options.device
        torch.manual_seed(1)
        if device == "cpu":
            # threads of torch would wait for those of the backends
            torch.set_num_threads(max(1, (os.cpu_count() or 2) // 2))
        loaded, shape = load(options.vocabulary), SHAPES[options.shape]
        cases = bfcl(Path(options.tools)) if options.tools else builtin_tools()
        self.rows = Rows(cases, loaded, options.tokens)
        self.masks = backends.mask_buffers(device)
        self.backends: dict[str, Backend | None] = {
            name: backends.make(name, loaded, self.masks, options.prompt)
            for name in (NONE, *options.backends)
        }
        self._decoder = Decoder(
            shape,
            width_of(shape, options.vocabulary),
            rows=max(options.batches),
            slots=options.prompt + options.tokens,
            device=device,
            dtype=torch.float32 if device == "cpu" else torch.bfloat16,
        )
        self._first = 0

    def measure(self, size: int, seconds: float) -> dict[str, Any]:
        """Return the record of a batch size."""
        options = self.options
        likely = self.rows.likely
        model = Pass(self._decoder, size, is_graph=options.device != "cpu")
        queue = DeviceQueue(model, self.masks, likely=likely, prompt=options.prompt)
        judged = {name: Judged(self.rows) for name in self.backends}
        told: dict[str, list[Told]] = {name: [] for name in self.backends}
        for number in self._rounds(seconds):
            for name in _turned(list(self.backends), number):
                run = Run(
                    queue, self.backends[name], self.rows, self._first, judged[name], options.tokens
                )
                found = run.run(options.steps)
                if number:  # the first warms up
                    told[name].append(found)
            self._first += APART
        return {
            "batch": size,
            "steps": options.steps,
            "backends": {name: _record(told[name], told[NONE], judged[name]) for name in told},
        }

    def _rounds(self, seconds: float) -> Iterator[int]:
        """Yield 0 for the warm-up, then 1 and more until the time is over."""
        start = perf_counter()
        for number in count():
            if number > LEAST_ROUNDS and perf_counter() - start > seconds:
                return
            if number > 1 and perf_counter() - start > 2 * seconds:
                return
            yield number


def _turned(names: list[str], number: int) -> list[str]:
    at = number % len(names)
    return names[at:] + names[:at]


def _record(told: Sequence[Told], plain: Sequence[Told], judged: Judged) -> dict[str, Any]:
    rates, others = ([each.tokens / each.seconds for each in runs] for runs in (told, plain))
    ratios = [own / other for own, other in zip(rates, others, strict=True)]
    us = {
        kind: {f"p{p}": percentile(every, p) for p in (50, 99)}
        for kind in ("fill", "accept")
        if (every := [us for each in told for us in each.us[kind]])
    }
    steps = sum(len(each.us["accept"]) + 1 for each in told)
    return {
        "tokens_a_second": rates,
        "ratio": median(ratios),
        "interval_95": interval(ratios),
        "us": us,
        "late": sum(each.late for each in told) / steps,
        "answers": judged.answers,
        "checked": judged.checked,
        "wrong": judged.wrong[:20],
        "wrongs": len(judged.wrong),
        "refused": [text for each in told for text in each.refused][:20],
    }


def _findings(record: dict[str, Any], failures: int) -> list[str]:
    """Return errors of ours."""
    ours = record["backends"].get(OURS)
    if ours is None:
        return []
    found = [f"refused: {each}" for each in ours["refused"]] + ours["wrong"]
    if not ours["checked"]:
        found.append(f"none of {ours['answers']} answers had a complete call")
    if failures:
        found.append(f"mask_failures: {failures}")
    return [f"batch {record['batch']}: {each}" for each in found]


def main() -> None:
    options = Options(**json.loads(sys.argv[1]))
    end = perf_counter() + options.seconds
    with torch.inference_mode():
        with redirect_stdout(sys.stderr):
            bench = Bench(options)
        for number, size in enumerate(options.batches):
            left = (end - perf_counter()) / (len(options.batches) - number)
            with redirect_stdout(sys.stderr):
                record = bench.measure(size, left)
            record["findings"] = _findings(record, bench.masks.failures)
            print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
