"""Cases of all engines, one after another, into a file with a line for each case.

A later run with the same file continues behind the recorded cases. Engines take turns: ours
first, because the random texts that all engines walk follow its masks.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..data import SchemaCase
from ..measure import Result
from ..vocabularies import Loaded
from ..worker import OK, TIME_OUT, Runner
from .comparing import Comparer
from .walks import Walk, draw, record

OURS = "ours"
VALID, INVALID, DRAWN = "valid", "invalid", "drawn"
#: texts of each kind, and tokens of a text, whose masks are compared
TEXTS, TOKENS = 4, 400
#: random texts of a schema, and tokens of one
DRAWS, DRAWN_TOKENS = 2, 60
Line = dict[str, Any]


def seed_of(name: str) -> int:
    return zlib.crc32(name.encode())


class Recorder:
    """``slow``: engines that run only every so many cases, by the number."""

    def __init__(
        self, runners: Mapping[str, Runner], loaded: Loaded, file: Path, slow: Mapping[str, int]
    ) -> None:
        self._runners, self._loaded, self._file, self._slow = runners, loaded, file, slow
        self._comparer = Comparer(loaded)

    def run(self, cases: Iterable[SchemaCase]) -> None:
        done = {line["name"] for line in lines(self._file)}
        _drop_cut_line(self._file)
        with self._file.open("a") as out:
            for number, case in enumerate(cases):
                if case.name not in done:
                    print(json.dumps(self._case(number, case)), file=out, flush=True)

    def _case(self, number: int, case: SchemaCase) -> Line:
        self._comparer.begin(seed_of(case.name))
        texts = self._texts(case)
        records: dict[str, Any] = {}
        for name, runner in self._runners.items():
            if number % self._slow.get(name, 1):
                continue
            outcome = runner.run(record, case, [ids for _, ids in texts])
            found = outcome.value if isinstance(outcome.value, list) else []
            result = found[0] if found else Result()
            if outcome.status != OK:
                result.counts[outcome.status] += 1
                if outcome.status == TIME_OUT and not result.compiled:
                    result.times["first"].append(runner.seconds * 1e6)
            records[name] = (result, found[1:])
        masks: dict[str, dict[int, bytes]] = {name: {} for name in records}
        walks = []
        for k, (kind, ids) in enumerate(texts):
            own = {name: walk[k] for name, (_, walk) in records.items() if k < len(walk)}
            for name, walk in own.items():
                masks[name] |= walk.fresh
            walks.append(self._compared(kind, ids, own, masks))
        results = {
            name: {"times": _rounded(result.times), "counts": dict(result.counts)}
            for name, (result, _) in records.items()
        }
        return {"name": case.name, "results": results, "walks": walks}

    def _texts(self, case: SchemaCase) -> list[tuple[str, list[int]]]:
        found = []
        for kind, valid in ((VALID, True), (INVALID, False)):
            own = [text for text, is_valid in case.texts if is_valid == valid][:TEXTS]
            encoded = (self._loaded.encoding.encode(text, disallowed_special=()) for text in own)
            found += [(kind, ids[:TOKENS]) for ids in encoded]
        if OURS in self._runners:
            more = (DRAWS, DRAWN_TOKENS, seed_of(case.name))
            drawn = self._runners[OURS].run(draw, case, *more)
            found += [(DRAWN, ids) for ids in drawn.value or [] if isinstance(ids, list)]
        return found

    def _compared(
        self,
        kind: str,
        ids: list[int],
        own: Mapping[str, Walk],
        masks: Mapping[str, Mapping[int, bytes]],
    ) -> Line:
        """Compare the masks of one text. ``masks``: by engine, those of this and earlier texts."""
        steps = max((len(walk.masks) for walk in own.values()), default=0)
        compared = differ = 0
        differing: dict[str, int] = {}
        sampled = []
        for at in range(min(steps, len(ids) + 1)):
            here = {n: masks[n][walk.masks[at]] for n, walk in own.items() if at < len(walk.masks)}
            if at == TOKENS:
                break
            step = self._comparer.step(here, ids[at] if at < len(ids) else None)
            compared += len(here) > 1
            differ += bool(step.differing)
            for names, count in step.differing.items():
                differing[names] = differing.get(names, 0) + count
            sampled += [[at, *one] for one in step.sampled]
        return {"kind": kind, "ids": ids, "steps": {n: len(w.masks) for n, w in own.items()},
                "compared": compared, "differ": differ, "differing": differing,
                "sampled": sampled}  # fmt: skip


def _rounded(times: Mapping[str, list[float]]) -> dict[str, list[float]]:
    return {kind: [round(one, 1) for one in own] for kind, own in times.items()}


def _drop_cut_line(file: Path) -> None:
    """Remove the rest of a line that a killed run left."""
    if file.exists():
        with file.open("r+b") as own:
            data = own.read()
            own.truncate(data.rfind(b"\n") + 1)


def lines(file: Path) -> Iterator[Line]:
    """Yield the lines of a file, without one that was cut off."""
    if not file.exists():
        return
    with file.open() as own:
        for line in own:
            if line.endswith("\n"):
                yield json.loads(line)
