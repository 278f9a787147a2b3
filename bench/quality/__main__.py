"""Measure what real models meet in the grammar, and whether their answers are right.

python -m bench.quality --models smollm2 --sets simple_python,multiple,extraction --cases 10
"""

import argparse
import asyncio
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from app.cli.quality import WAYS_OF_ASKING

from .grammars import WAYS
from .report import report
from .run import Options, run

ROOT = Path(__file__).parents[2]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    made.add_argument("--models", default="smollm2", help="names in --folder, or folders")
    made.add_argument("--folder", type=Path, default=ROOT / ".data" / "models")
    made.add_argument("--sets", default="simple_python,multiple,extraction")
    made.add_argument("--cases", type=int, default=10, help="of each set (default: %(default)s)")
    made.add_argument("--share", choices=("tuning", "reported", "all"), default="tuning")
    made.add_argument("--ways", default="ours,off", help=f"of {', '.join(WAYS)}")
    made.add_argument("--asking", choices=WAYS_OF_ASKING, default="required")
    made.add_argument("--max-tokens", type=int, default=128)
    made.add_argument("--temperature", type=float, default=0.0)
    made.add_argument("--bfcl", type=Path, default=ROOT / ".data" / "bfcl_eval" / "data")
    made.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the model, such as json_layout=flexible",
    )
    made.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="for report.md, figures.json and answers.jsonl, which has every step",
    )
    return made


def main() -> None:
    given = parser().parse_args()
    out, rows = given.out, []
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    with (out / "answers.jsonl").open("w") if out else nullcontext() as file:

        def record(answer: dict[str, Any]) -> None:
            print(_line(answer), file=sys.stderr, flush=True)
            if file is not None:
                print(json.dumps(answer), file=file, flush=True)

        try:
            asyncio.run(run(_options(given), rows, record))
        except KeyboardInterrupt:
            print("interrupted: figures so far", file=sys.stderr)
    text = report(" ".join(["python -m bench.quality", *sys.argv[1:]]), rows)
    print(text)
    if out is not None:
        (out / "report.md").write_text(text)
        names = ("model", "set", "way")
        figures = [{n: getattr(row, n) for n in names} | row.summary() for row in rows]
        (out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")


def _options(given: argparse.Namespace) -> Options:
    return Options(
        models=[Path(n) if "/" in n else given.folder / n for n in given.models.split(",")],
        sets=given.sets.split(","),
        cases=given.cases,
        share=given.share,
        ways=given.ways.split(","),
        asking=given.asking,
        max_tokens=given.max_tokens,
        temperature=given.temperature,
        bfcl=given.bfcl,
        settings=dict(each.split("=", 1) for each in given.set),
    )


def _line(answer: dict[str, Any]) -> str:
    """Return the line of progress of an answer."""
    place = f"{answer['model']} {answer['case']} {answer['way']}"
    if "failure" in answer:
        return f"{place}: {answer['failure'][:300]}"
    return f"{place}: {'cut' if answer['cut'] else 'complete'}, {answer['seconds']:.1f} s"


if __name__ == "__main__":
    main()
