"""Runs modules in a server's interpreter and environment, and returns their output."""

import json
import os
import signal
import subprocess
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from tempfile import TemporaryFile
from threading import Timer
from typing import Any

from tests.sglang.environment import ROOT
from tests.sglang.platforms import environment_of

from . import needs
from .options import platform, tokens_kept
from .shapes import SHAPES, width_of

#: seconds to import all of SGLang, on a busy machine
PATIENCE = 300.0


def lines_of(
    asked: Namespace, module: str, *options: str, patience: float = PATIENCE
) -> Iterator[Any]:
    """Yield the lines of JSON that a module of this project prints, each as soon as it comes.

    Raises:
        OSError
        RuntimeError: the module failed, or ran for longer than ``patience`` seconds.
    """
    common = platform(asked.device, has_flashinfer=True)
    with TemporaryFile("w+") as errors:
        made = subprocess.Popen(
            [str(asked.python), "-m", module, *options], cwd=ROOT, stdout=subprocess.PIPE,
            stderr=errors, text=True, env=environment_of(asked.python, common),
            start_new_session=True,
        )  # fmt: skip
        timer = Timer(patience, end_group, [made])
        timer.start()
        try:
            for line in made.stdout or ():
                if line.startswith("{"):  # libraries may print greetings
                    yield json.loads(line)
            made.wait()
        finally:
            is_over = not timer.is_alive()
            timer.cancel()
            end_group(made)
            made.wait()
        if made.returncode:
            errors.seek(0)
            limit = f" at its limit of {patience:g} s" if is_over else ""
            told = errors.read()[-2000:].strip()
            raise RuntimeError(f"{module} left with {made.returncode}{limit}: {told}")


def end_group(process: "subprocess.Popen[Any]") -> None:
    """Kill a process that leads a group, and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def told_by(asked: Namespace, module: str, *options: str, patience: float = PATIENCE) -> Any:
    """Return the one line of JSON that a module prints.

    Raises:
        OSError, RuntimeError: see ``lines_of``.
    """
    (told,) = lines_of(asked, module, *options, patience=patience)
    return told


def probe(asked: Namespace, parts: list[str]) -> tuple[dict[str, Any] | None, list[str], list[str]]:
    """Return the machine (None: its interpreter does not run), missing requirements, and notes."""
    lacks = needs.driver_lacks(parts)
    shape, memory = SHAPES[asked.shape], 0
    if not lacks:
        width = width_of(shape, asked.vocabulary)
        memory = shape.memory_bytes(width, tokens_kept(asked.batches), asked.device)
    wanted = needs.Asked(asked.device, parts, asked.backends, memory)
    try:
        modules = ",".join(needs.modules(wanted))
        machine = told_by(asked, "bench.gpu.machine", asked.device, modules)
    except (OSError, RuntimeError, ValueError) as error:
        return None, [*lacks, f"{asked.python}: does not run: {error}"], []
    return machine, lacks + needs.machine_lacks(machine, wanted), needs.notes(machine, wanted)
