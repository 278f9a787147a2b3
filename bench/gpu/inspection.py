"""Runs modules in a server's interpreter and environment, and returns their output."""

import json
import subprocess
from argparse import Namespace
from typing import Any

from tests.sglang.environment import ROOT
from tests.sglang.platforms import environment_of

from . import needs
from .options import platform, tokens_kept
from .shapes import SHAPES, width_of

#: seconds to import all of SGLang, on a busy machine
PATIENCE = 300.0


def told_by(asked: Namespace, module: str, *options: str, patience: float = PATIENCE) -> Any:
    """Return the output of a module of this project.

    Raises:
        OSError, RuntimeError, subprocess.TimeoutExpired
    """
    common = platform(asked.device, has_flashinfer=True)
    done = subprocess.run(
        [str(asked.python), "-m", module, *options], cwd=ROOT, capture_output=True, text=True,
        env=environment_of(asked.python, common), timeout=patience, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{module} left with {done.returncode}: {done.stderr[-2000:].strip()}")
    return json.loads(done.stdout.splitlines()[-1])


def probe(asked: Namespace, parts: list[str]) -> tuple[dict[str, Any] | None, list[str], list[str]]:
    """Return the machine (None: its interpreter does not run), missing requirements, and notes."""
    lacks = needs.driver_lacks(parts)
    shape, memory = SHAPES[asked.shape], 0
    if not lacks:
        width = width_of(shape, asked.vocabulary)
        memory = shape.memory_bytes(width, tokens_kept(asked.batches), asked.device)
    try:
        machine = told_by(asked, "bench.gpu.machine", asked.device)
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        return None, [*lacks, f"{asked.python}: does not run: {error}"], []
    wanted = needs.Asked(asked.device, parts, asked.backends, memory)
    return machine, lacks + needs.machine_lacks(machine, wanted), needs.notes(machine, wanted)
