"""Runs the parts of the kit, each in a process with a limit, and reports after each of them.

    python -m bench.gpu.kit.run --out OUT [--device cuda] [--tiny] [--parts kernel,decode]

OUT/report.md begins with a table of the parts; OUT/PART.json has all figures of a part,
OUT/kit.json the table. All are written again while a part runs, every TICK seconds, so a part that
fails or exceeds its limit, or a run that is cut off, keeps the results that it had reported.

Exit status: 0; 1, if a part fails or finds an error; requirements that sglang lacks are no failure.
"""

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from tests.sglang.environment import ROOT

from ...report import markdown
from ..__main__ import LACKING
from ..inspection import end_group
from .parts import FULL, MAX_MINUTES, TINY, Part

#: seconds for a part to end its own processes
GRACE = 15.0
TICK = 3.0
OK, LACKS, RUNS = "ok", "not run", "running"


@dataclass(frozen=True, slots=True)
class Done:
    """``result``: "ok", or why not. ``text``: the part's report."""

    name: str
    seconds: float
    limit: float
    result: str
    text: str
    found: dict[str, Any]

    @property
    def is_good(self) -> bool:
        return self.result == OK or self.result.startswith(LACKS)


def run_part(part: Part, command: Sequence[str], limit: float) -> Iterator[Done]:
    """Run a command that reports into the folder of its last argument; yield its results so far,
    every TICK seconds, and at its end.
    """
    start = perf_counter()
    with TemporaryDirectory(prefix="kit-") as folder:
        made = subprocess.Popen([*command, folder], cwd=ROOT, start_new_session=True)
        try:
            while made.poll() is None and (spent := perf_counter() - start) < limit:
                with suppress(subprocess.TimeoutExpired):
                    made.wait(min(TICK, limit - spent))
                yield Done(part.name, perf_counter() - start, limit, RUNS, *_told(Path(folder)))
            status = made.poll()
        finally:
            _end(made)
        text, found = _told(Path(folder))
    result = _result(part, status, limit, found)
    yield Done(part.name, perf_counter() - start, limit, result, text, found)


def _told(folder: Path) -> tuple[str, dict[str, Any]]:
    """Return the report of a part, and its JSON files by name; one may be half written."""
    found = {}
    for file in sorted(folder.glob("*.json")):
        with suppress(ValueError):
            found[file.stem] = json.loads(file.read_text())
    report = folder / "report.md"
    return report.read_text() if report.is_file() else "", found


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a part: politely first, so that it ends servers, which lead groups of their own."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    end_group(process)
    process.wait()


def _result(part: Part, status: int | None, limit: float, found: dict[str, Any]) -> str:
    if status is None:
        return f"ended at its limit of {limit:.0f} s"
    if status == LACKING:
        lacks = "; ".join(found.get("probe", {}).get("lacks", ()))
        return f"{LACKS}, this machine lacks {lacks}" if part.may_lack else f"lacks {lacks}"
    if status == 1:
        return f"{len(found.get('findings', {}).get('ours', ()))} findings"
    return OK if status == 0 else f"left with {status}"


class KitReport:
    """The files in OUT. ``facts``: lines about the run."""

    def __init__(self, out: Path, facts: Sequence[str]) -> None:
        self._out, self._facts = out, facts
        self._done: dict[str, Done] = {}
        out.mkdir(parents=True, exist_ok=True)

    def add(self, done: Done) -> None:
        """Add or replace the results of a part."""
        self._done[done.name] = done
        (self._out / f"{done.name}.json").write_text(json.dumps(done.found, indent=1) + "\n")
        rows = [
            {"part": each.name, "seconds": each.seconds, "limit": each.limit, "result": each.result}
            for each in self._done.values()
        ]
        facts = {"facts": self._facts, "parts": rows}
        (self._out / "kit.json").write_text(json.dumps(facts, indent=1) + "\n")
        texts = [
            f"## {each.name}\n\n{_below(each.text)}" for each in self._done.values() if each.text
        ]
        head = "# Kit\n\n" + "".join(f"- {fact}\n" for fact in self._facts)
        (self._out / "report.md").write_text(
            "\n\n".join([head.strip(), self.table(), *texts]) + "\n"
        )

    def table(self) -> str:
        """Return the parts with their times and results."""
        lines = [["part", "seconds", "limit", "result"]]
        for each in self._done.values():
            lines.append([each.name, f"{each.seconds:.0f}", f"{each.limit:.0f}", each.result])
        return markdown(lines)


def _below(text: str) -> str:
    """Return a report with its headings one level lower."""
    return "\n".join(f"##{line}" if line.startswith("# ") else line for line in text.splitlines())


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="run-kit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--out", type=Path, required=True, help="folder for the results")
    add("--device", choices=("cuda", "cpu"), default="cuda")
    add("--tiny", action="store_true", help="tiny shapes")
    add("--parts", default="kernel,decode,gateway,sglang")
    add("--fact", action="append", default=[], help="a line about the run, for the report")
    add("--minutes", type=float, default=MAX_MINUTES, help="for everything")
    add("--spent", type=float, default=0.0, help="seconds spent before: installing, building")
    asked = parser.parse_args(given)
    end = perf_counter() + 60 * asked.minutes - asked.spent
    report, is_good = KitReport(asked.out, asked.fact), True
    for part in TINY if asked.tiny else FULL:
        if part.name not in asked.parts.split(","):
            continue
        command = [sys.executable, "-m", "bench.gpu", *part.arguments, "--device", asked.device,
                   "--python", sys.executable, "--out"]  # fmt: skip
        limit = max(1.0, min(part.seconds, end - perf_counter()))
        for done in run_part(part, command, limit):
            report.add(done)
        is_good &= done.is_good
    print(report.table(), flush=True)
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    # as an exception, so that this process ends the part that runs
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    main()
