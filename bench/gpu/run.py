"""Runs parts on a machine that meets all requirements."""

import json
import shlex
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from tests.sglang.environment import ROOT

from ..sglang import FREE, OURS, PEERS
from ..sglang.fleet import Fleet
from . import options, serving, tables
from .inspection import lines_of
from .report import Report
from .shapes import SHAPES, width_of, write_model

MODELS = ROOT / ".data" / "gpu-bench"
BFCL = ROOT / ".data" / "bfcl_eval" / "data"
#: tokens of a row of the decode loop: most true calls are shorter
ROW_TOKENS = 128
#: seconds after which a part without a server counts as hung
LONGEST = 1800.0


def run_local(asked: Namespace, part: str, report: Report) -> list[str]:
    """Run a part without a server in the interpreter of ``--python``; return findings. The report
    has each record as soon as it is measured.
    """
    told: list[Any] = []
    findings: list[str] = []
    try:
        for record in lines_of(
            asked, f"bench.gpu.{part}", *_options(asked, part), patience=LONGEST
        ):
            told.append(record)
            findings += record["findings"]
            report.add(part, _TABLES[part](told), told, printed=_TABLES[part]([record]))
    except (OSError, RuntimeError, ValueError) as error:
        findings.append(str(error))
    if not told:
        findings.append("no results")
    return [f"{part}: {each}" for each in findings]


_TABLES: dict[str, Callable[[Sequence[Any]], str]] = {
    "kernel": tables.kernel,
    "decode": tables.decode,
    "gateway": tables.gateway,
}


def _options(asked: Namespace, part: str) -> list[str]:
    """Return the arguments of a part's module."""
    if part == "kernel":
        widths = asked.widths or str(width_of(SHAPES[asked.shape], asked.vocabulary))
        batches = ",".join(str(batch) for batch in asked.batches)
        return [asked.device, widths, batches, str(asked.seconds)]
    tools = str(BFCL) if BFCL.is_dir() else ""
    given: dict[str, Any] = {"device": asked.device, "shape": asked.shape, "tools": tools}
    if part == "decode":
        given |= {
            "vocabulary": asked.vocabulary,
            "backends": [name for name in asked.backends if name in (OURS, *PEERS)],
            "batches": asked.batches,
            "seconds": asked.limit,
            "steps": asked.steps,
            "tokens": ROW_TOKENS,
            "prompt": asked.prompt,
        }
    else:
        given |= {
            "vocabulary": asked.vocabulary,
            "folder": str(MODELS / f"{asked.shape}-{asked.vocabulary}-{asked.device}"),
            "answers": asked.answers,
            "tokens": asked.tokens,
        }
    return [json.dumps(given)]


def run_served(
    asked: Namespace, parts: Sequence[str], machine: dict[str, Any], report: Report
) -> list[serving.Measured]:
    """Run one server after another."""
    folder = MODELS / f"{asked.shape}-{asked.vocabulary}"
    fleet = Fleet(
        write_model(folder, SHAPES[asked.shape], asked.vocabulary),
        metered="steps" in parts or FREE in asked.backends,
        python=asked.python,
        platform=options.platform(
            asked.device, has_flashinfer="flashinfer" not in machine["errors"]
        ),
        arguments=options.arguments(asked.batches, shlex.split(asked.server)),
    )
    sizes = serving.Sizes(asked.batches, asked.seconds, asked.tokens, asked.sets, asked.soak)
    every: list[serving.Measured] = []
    with fleet:
        for backend in asked.backends:
            try:
                with fleet.running(backend) as servers:
                    every.append(serving.measure(servers[backend], parts, sizes))
            except RuntimeError as error:  # this server does not start, but others may
                every.append(serving.Measured(backend, findings=[f"no server: {error}"]))
            _tell(every, every[-1:], report)
    _tell(every, every if len(every) > 1 else [], report)
    return every


def _tell(
    every: Sequence[serving.Measured], new: Sequence[serving.Measured], report: Report
) -> None:
    """Store all results, and print new ones."""
    text, printed = ("\n\n".join(tables.served(part)) for part in (every, new))
    report.add("served", text, [asdict(each) for each in every], printed=printed)
