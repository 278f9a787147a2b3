"""Memory of a process that compiles many different grammars, beside what its compiler counts.

    python -m tests.campaigns.memory [--grammars 10000] [--memory-mb 832] [--seed 0]
        [--front-end regex]

Tool sets in every format, schemas that people wrote (MaskBench, where its folder is there), counted
arrays, regular expressions and grammars in Lark and EBNF, or those of one front end; of each a
short walk with masks, so that rows, masks and token masks grow. Prints what is counted and what is
resident, and leaves with 1 if the process took more than ``MAX_RATIO`` times what the compiler
counts, or what it may keep, or did not fall once everything was dropped.
"""

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from adapters.formats import FORMATS, OutputSpec, Tool, for_own_engine
from bench.made import ebnf_grammar, lark_grammar
from engine import Compiled, Compiler, EngineError, Limits, Matcher
from tests.vocabularies import real_tokens, real_vocabulary

MEBIBYTE = 1 << 20
#: the one that has the special tokens of every format
VOCABULARY = "o200k_harmony"
#: resident bytes for each byte counted
MAX_RATIO = 1.2
#: bytes beside the grammars that no ratio holds for: a region of touched memory, what the pool
#: keeps free before it gives memory back, and Python's and the C library's free memory
SLACK = 64 * MEBIBYTE
#: bytes that the engine's vectors take for each byte counted, and those that no ratio holds for:
#: nothing may be left out
MAX_TAKEN = 1.1
TAKEN_SLACK = 2 * MEBIBYTE
FRONT_ENDS = ("json_schema", "structural_tag", "regex", "grammar")
#: tokens of a walk
STEPS = 24
#: rows of the table
POINTS = 10
MASKBENCH = Path(__file__).parents[3] / "shared" / "data" / "maskbench"

#: the front end, and its arguments
Spec = tuple[str, tuple[Any, ...]]


class Point(NamedTuple):
    """After so many grammars. ``taken`` by vectors, and ``resident``, beyond a warm compiler's."""

    grammars: int
    kept: int
    counted: int
    taken: int
    resident: int

    def is_fair(self) -> bool:
        return (
            self.taken <= MAX_TAKEN * self.counted + TAKEN_SLACK
            and self.resident <= MAX_RATIO * self.counted + SLACK
        )


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def counted_bytes(compiler: Compiler) -> int:
    stats = compiler.stats()
    parts = ("grammar_bytes", "token_mask_bytes", "automaton_bytes", "fragment_bytes")
    return sum(stats[part] for part in parts)


# -- specs -----------------------------------------------------------------------------------------
class SpecMaker:
    """Specs of every kind, or of one front end, without end, no two alike."""

    def __init__(self, seed: int, front_end: str = "") -> None:
        self._front_end = front_end
        self._rng = Random(seed)
        self._special_texts = tuple(real_tokens(VOCABULARY)[1])
        self._schemas = schemas(self._rng)
        self._number = 0

    def __iter__(self) -> Iterator[Spec]:
        return self

    def __next__(self) -> Spec:
        self._number += 1
        kinds = (self._schema, self._regex, self._grammar, self._counted)
        of_one = {
            "json_schema": (self._schema, self._counted),
            "regex": (self._regex,),
            "grammar": (self._grammar,),
            "structural_tag": (lambda: self._tool_set(1 + self._number % 10),),
        }
        if self._front_end:
            makers = of_one[self._front_end]
            return makers[self._number % len(makers)]()
        if self._number % 250 == 0:
            return self._tool_set(1000)
        if self._number % 3 == 0:
            return self._tool_set(10 if self._number % 2 else 1)
        return kinds[self._number % len(kinds)]()

    def _tool_set(self, size: int) -> Spec:
        """As one of the formats writes it."""
        tools = tuple(self._tool(k) for k in range(size))
        wire = self._rng.choice([*FORMATS.values()])
        plan = wire.plan(OutputSpec(tools=tools), self._special_texts)
        return "structural_tag", (for_own_engine(plan).spec_json,)

    def _tool(self, k: int) -> Tool:
        names = [f"{word}_{k}" for word in ("name", "count", "when", "unit", "tags")]
        values: tuple[dict[str, Any], ...] = (
            {"type": "string", "description": "what people call it, in words of their own"},
            {"type": "integer"},
            {"enum": ["day", "week", f"never{k}"]},
            {"type": "array", "items": {"type": "string"}, "maxItems": 9},
        )
        properties = {
            name: self._rng.choice(values)
            for name in self._rng.sample(names, self._rng.randrange(1, len(names)))
        }
        parameters = {"type": "object", "properties": properties, "additionalProperties": False}
        return Tool(f"tool_{self._number}_{k}", parameters)

    def _schema(self) -> Spec:
        return "json_schema", ({**next(self._schemas), "$comment": str(self._number)},)

    def _regex(self) -> Spec:
        number, most = self._number, self._rng.randrange(4, 60)
        pattern = f"(item{number}|[a-f\\d]{{3,{most}}})(-[A-Za-z ]+)*\\.(com|org|x{number})"
        return "regex", (pattern,)

    def _grammar(self) -> Spec:
        if self._rng.random() < 0.5:
            return "grammar", (lark_grammar(self._rng), "lark")
        return "grammar", (ebnf_grammar(self._rng), "ebnf")

    def _counted(self) -> Spec:
        number = self._number
        contains = self._rng.choice(
            ({"type": "string"}, {"const": f"x{number}"}, {"type": "integer"})
        )
        least, most = 1 + number % 3, 99 + number
        schema = {"contains": contains, "minContains": least, "maxContains": most}
        return "json_schema", ({"type": "array", **schema},)


def schemas(rng: Random) -> Iterator[dict[str, Any]]:
    """MaskBench's, again and again; without its folder some that look like people's."""
    files = sorted(MASKBENCH.glob("*.json"))
    rng.shuffle(files)
    while True:
        for file in files:
            schema = json.loads(file.read_text("utf-8"))["schema"]
            if isinstance(schema, dict):
                yield schema
        if not files:
            names = [f"key{rng.randrange(1 << 20)}" for _ in range(rng.randrange(2, 12))]
            values: tuple[Any, ...] = ({"type": "string"}, {"type": "number"}, {"enum": names})
            yield {"type": "object", "properties": {name: rng.choice(values) for name in names}}


# -- walks -----------------------------------------------------------------------------------------
def walk(compiled: Compiled, rng: Random) -> None:
    """Tokens at random out of their masks."""
    mask = np.zeros((1, compiled.vocabulary.words), dtype=np.int32)
    matcher = Matcher(compiled)
    for _ in range(STEPS):
        matcher.fill_bitmask(mask)
        allowed = np.unpackbits(mask.view(np.uint8), bitorder="little").nonzero()[0]
        if not allowed.size or not matcher.accept_token(int(rng.choice(allowed))):
            return


class Campaign:
    """One compiler, and what it holds as it goes on."""

    def __init__(self, limits: Limits, *, seed: int = 0, front_end: str = "") -> None:
        self.compiler = Compiler(real_vocabulary(VOCABULARY), limits=limits)
        self._rng, self._specs = Random(seed), SpecMaker(seed, front_end)
        self.grammars = self.refused = 0
        self._meet("json_schema", ({"type": "object"},))
        stats, counted = self.compiler.stats(), counted_bytes(self.compiler)
        self._taken, self._resident = stats["pool_taken"] - counted, resident_bytes() - counted

    def run(self, grammars: int) -> Point:
        """So many grammars more."""
        for _ in range(grammars):
            self._meet(*next(self._specs))
        return self.point()

    def drop(self) -> Point:
        self.compiler.clear()
        return self.point()

    def point(self) -> Point:
        gc.collect()
        stats, resident = self.compiler.stats(), resident_bytes() - self._resident
        taken = stats["pool_taken"] - self._taken
        return Point(
            self.grammars, stats["grammars"], counted_bytes(self.compiler), taken, resident
        )

    def _meet(self, kind: str, arguments: tuple[Any, ...]) -> None:
        self.grammars += 1
        try:
            walk(getattr(self.compiler, f"compile_{kind}")(*arguments), self._rng)
        except EngineError:
            self.refused += 1


def complaints(points: Sequence[Point], dropped: Point, allowed: int) -> list[str]:
    """Return findings on the points of a campaign with this memory limit."""
    found = [f"{one}: counted wrongly" for one in points if not one.is_fair()]
    most = max(one.resident for one in points)
    if most > MAX_RATIO * allowed + SLACK:
        found.append(f"{most} bytes where {allowed} are allowed")
    if not dropped.is_fair():
        found.append(f"{dropped}: not given back")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.memory", description=__doc__)
    parser.add_argument("--grammars", type=int, default=10_000)
    parser.add_argument(
        "--memory-mb", type=int, default=832, help="SWITCHYARD_COMPILER_MEMORY_BYTES"
    )
    parser.add_argument("--kept", type=int, default=None, help="grammars kept at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--front-end", choices=FRONT_ENDS, default="", help="one instead of all")
    options = parser.parse_args(arguments)
    limits = Limits().within(options.memory_mb * MEBIBYTE)
    if options.kept is not None:
        limits = replace(limits, kept_grammars=options.kept)
    campaign, start = (
        Campaign(limits, seed=options.seed, front_end=options.front_end),
        time.monotonic(),
    )
    points = []
    print("| grammars | kept | counted, MB | taken | resident | ratio | seconds |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for _ in range(POINTS):
        points.append(campaign.run(options.grammars // POINTS))
        show(points[-1], time.monotonic() - start)
    dropped = campaign.drop()
    show(dropped, time.monotonic() - start)
    print(f"{campaign.refused} refused")
    found = complaints(points, dropped, options.memory_mb * MEBIBYTE)
    print("\n".join(found))
    return 1 if found else 0


def show(one: Point, seconds: float) -> None:
    sizes = (f"{size / 1e6:.1f}" for size in (one.counted, one.taken, one.resident))
    row = (one.grammars, one.kept, *sizes, f"{one.resident / one.counted:.2f}", f"{seconds:.0f}")
    print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
