"""Runs parts on a machine that meets all requirements."""

import shlex
import subprocess
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tests.sglang.environment import ROOT

from ..sglang import FREE
from ..sglang.fleet import Fleet
from . import options, serving, tables
from .inspection import PATIENCE, told_by
from .report import Report
from .shapes import SHAPES, width_of, write_model

MODELS = ROOT / ".data" / "gpu-bench"


def run_kernel(asked: Namespace, report: Report) -> list[str]:
    """Check and time masks in the server's interpreter; return findings."""
    width = width_of(SHAPES[asked.shape], asked.vocabulary)
    batches = ",".join(str(batch) for batch in asked.batches)
    patience = PATIENCE + 10 * asked.seconds * len(asked.batches)
    try:
        told = told_by(
            asked, "bench.gpu.kernel", asked.device, str(width), batches, str(asked.seconds),
            patience=patience,
        )  # fmt: skip
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return [f"kernel: {error}"]
    report.add("kernel", tables.kernel(told), told)
    return [f"kernel: {each}" for each in told["findings"]]


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
