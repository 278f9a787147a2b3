"""python -m bench.gpu PART... [options]: grammar backends in the real SGLang on a GPU.

probe        equipment of this machine, and missing requirements of all other parts
kernel       the plug-in's masks on the device: checked bit for bit, and timed
decode       tokens per second of a decode loop of torch, with every backend and without grammars
gateway      tool calls and streams through the gateway, whose process runs the model
steps        microseconds per step of the scheduler in the backend, by kind of call
throughput   tokens per second, with and without grammars
first-text   milliseconds to the first text of requests with new tools
soak         requests of all kinds against our backend
all          all of these
kit          no part: collects these parts for a machine without a network (kit --help)

Parts up to gateway need no SGLang. The model has the shape of a real one, random weights and a real
vocabulary (quicktok-v1). Each backend's server runs alone, and starts once for all parts. Every
finished answer is checked.

Exit status: 0; 1, if an answer of ours, a mask or a counter is wrong, or a part fails; 2, for
invalid arguments; 3, if the machine lacks something, which is listed before anything starts.
"""

import argparse
import shlex
import signal
import sys
from os import environ
from pathlib import Path

from tests.sglang.environment import ROOT

from ..sglang import BACKENDS, OURS, PEERS
from ..vocabularies import NAMES
from .inspection import probe
from .kit.collect import main as collect
from .needs import LOCAL, SERVED, about
from .report import Report, listed
from .shapes import SHAPES

LACKING = 3
PARTS = (*LOCAL, *SERVED)


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("parts", nargs="+", metavar="part", help=f"probe, {', '.join(PARTS)}, all")
    add("--out", type=Path, help="folder for report.md and a JSON file of each part")
    add("--device", choices=("cuda", "cpu"), default="cuda")
    add("--shape", choices=SHAPES, help="of the model: qwen3-0.6b; on a CPU tiny")
    add("--vocabulary", help=f"{', '.join(NAMES)}, or sized@N; else the shape's own")
    add("--backends", default=",".join((OURS, *PEERS)), help=", ".join(BACKENDS))
    add("--batches", default="1,16,64,256", help="requests at once")
    add("--seconds", type=float, default=3.0, help="of each figure, a run at least")
    add("--tokens", type=int, default=200, help="of an answer, at most")
    add("--sets", type=int, default=40, help="first-text: sets of tools")
    add("--soak", type=int, default=300, help="soak: requests")
    add("--widths", default="", help="kernel: numbers of logits; else those of the shape")
    add("--limit", type=float, default=200.0, help="decode: seconds for all batches")
    add("--steps", type=int, default=128, help="decode: steps of a run")
    add("--prompt", type=int, default=256, help="decode: tokens before each answer")
    add("--answers", type=int, default=24, help="gateway: answers of each load")
    add("--python", type=Path, help="the server's; else this one, on a CPU that of the tests")
    add("--server", default="", help="further arguments of the server, in one string")
    asked = parser.parse_args(given)
    _check(parser, asked)
    return asked


def _check(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> None:
    """Check the arguments, and split lists of names."""
    asked.backends = asked.backends.split(",")
    asked.batches = asked.batches.split(",")
    for kind, names, known in (
        ("part", asked.parts, ("probe", *PARTS, "all")),
        ("backend", asked.backends, BACKENDS),
    ):
        if unknown := set(names) - set(known):
            parser.error(f"no such {kind}: {', '.join(sorted(unknown))}")
    if wrong := [each for each in asked.batches if not each.isdigit() or int(each) < 1]:
        parser.error(f"--batches: {wrong[0]!r} is no number of requests")
    asked.batches = [int(each) for each in asked.batches]
    asked.shape = asked.shape or ("tiny" if asked.device == "cpu" else "qwen3-0.6b")
    asked.vocabulary = asked.vocabulary or SHAPES[asked.shape].vocabulary
    if asked.vocabulary not in NAMES and not asked.vocabulary.removeprefix("sized@").isdigit():
        parser.error(f"no such vocabulary: {asked.vocabulary}")
    asked.python = (asked.python or default_python(asked.device)).absolute()


def default_python(device: str) -> Path:
    """Return the interpreter with SGLang."""
    if given := environ.get("SWITCHYARD_SGLANG_PYTHON"):
        return Path(given)
    own = Path(environ.get("SWITCHYARD_SGLANG_VENV") or ROOT / ".data" / "sglang")
    tests = own / "bin" / "python"
    return tests if device == "cpu" and tests.exists() else Path(sys.executable)


def parts_of(asked: argparse.Namespace) -> list[str]:
    """Return the parts in order; a probe alone covers all of them."""
    if "all" in asked.parts or set(asked.parts) == {"probe"}:
        return list(PARTS)
    return [part for part in PARTS if part in asked.parts]


def main(given: list[str] | None = None) -> None:
    given = sys.argv[1:] if given is None else given
    if given[:1] == ["kit"]:
        collect(given[1:])
        return
    asked = arguments(given)
    parts, report = parts_of(asked), Report(asked.out)
    machine, lacks, notes = probe(asked, parts)
    told = [
        *(about(machine) if machine else ()),
        f"model: {asked.shape}, random weights; vocabulary: {asked.vocabulary}",
        f"arguments: {shlex.join(given)}",
    ]
    lists = (
        listed("# Grammar backends", told),
        listed("Done without:", notes),
        listed("This machine lacks:", lacks),
    )
    raw = {"machine": machine, "told": told, "notes": notes, "lacks": lacks}
    report.add("probe", "\n\n".join(text for text in lists if text), raw)
    if lacks:
        sys.exit(LACKING)
    if set(asked.parts) == {"probe"} or machine is None:
        return
    # its imports were checked before
    from . import run

    local = [part for part in parts if part in LOCAL]
    findings = [found for part in local for found in run.run_local(asked, part, report)]
    served = [part for part in parts if part in SERVED]
    every = run.run_served(asked, served, machine, report) if served else []
    findings += [f"{each.backend}: {found}" for each in every for found in each.findings]
    wrong = [f"{each.backend}: {found}" for each in every for found in each.wrong]
    findings += [found for found in wrong if found.startswith(OURS)]
    others = listed("Wrong answers of peers:", [each for each in wrong if each not in findings])
    text = listed("Findings:", findings) or "Findings: none"
    report.add("findings", f"{text}\n\n{others}".rstrip(), {"ours": findings, "answers": wrong})
    if findings:
        sys.exit(1)


if __name__ == "__main__":
    # as an exception, so that this process ends its servers before itself
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    main()
