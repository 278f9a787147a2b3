"""Describes an interpreter and its machine for SGLang, as JSON on standard output.

    python -m bench.gpu.machine cuda MODULE,MODULE...    run by the server's interpreter, in a
                                                         server's environment

Imports are tried, so that an incompatible package shows its error here and not during a server's
start. Before that, only the standard library is imported.
"""

import importlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from adapters.sglang_plugin import versions

from .device_kernel import device_kernel

#: distributions whose versions a report names
PACKAGES = (
    "torch", "sglang", "sglang-kernel", "sgl-kernel", "triton", "flashinfer-python",
    "flashinfer-cubin", "xgrammar", "llguidance", "transformers", "tokenizers",
)  # fmt: skip
KERNEL = "sglang.kernels.ops.grammar.bitmask_ops"
#: the kernel that applies masks: SGLang's, or the copy of a kit
APPLIES = "bench.gpu.device_kernel"
PLUGIN, SERVER = "adapters.sglang_plugin.backend", "sglang.srt.entrypoints.http_server"
#: modules of the parts without a server: only the gateway's has all of them
OF_DECODE = ("torch", "engine", "quicktok", "tiktoken", "jsonschema")
OF_GATEWAY = (*OF_DECODE, "transformers", "tokenizers", "openai", "rfc3339_validator", "app.main")
#: modules that a server and the plug-in need, by device
IMPORTS = {
    "cpu": ("torch", "engine", PLUGIN, SERVER),
    "cuda": ("torch", "triton", "sgl_kernel", "engine", KERNEL, PLUGIN, SERVER),
}
#: optional modules
OPTIONAL = ("flashinfer", "xgrammar", "llguidance")


def found(device: str, modules: Sequence[str]) -> dict[str, Any]:
    """Return the facts that ``needs`` checks, with the errors of these modules."""
    attempts: dict[str, Callable[[], object]] = {APPLIES: device_kernel, PLUGIN: _plugin}
    errors = {
        name: _error(attempts.get(name) or partial(importlib.import_module, name))
        for name in dict.fromkeys((*OPTIONAL, *modules))
    }
    return {
        "executable": sys.executable,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "errors": {name: error for name, error in errors.items() if error},
        "tools": {name: _tool(name) for name in ("nvcc", "ninja")},
        "driver": _driver(),
        "device": _device() if device == "cuda" else None,
    }


def _plugin() -> None:
    """Import the plug-in, and look for the internals that it needs, as the start of a server."""
    importlib.import_module(PLUGIN)
    versions.check()


def _error(attempt: Callable[[], object]) -> str | None:
    """Import a module; return the last line of the error; None: it succeeded."""
    try:
        attempt()
    except BaseException as error:  # a library may exit instead of raising
        told = str(error).strip().splitlines()
        return f"{type(error).__name__}: {told[-1] if told else ''}".rstrip(": ")
    return None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _tool(name: str) -> str | None:
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    return shutil.which(name) or shutil.which(name, path=str(Path(home) / "bin"))


def _driver() -> str | None:
    query = ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.split("\n")[0].strip()


def _device() -> dict[str, Any] | None:
    """Return the first CUDA device; None: torch is missing, or finds none."""
    try:
        import torch

        if not torch.cuda.is_available():
            return None
        about = torch.cuda.get_device_properties(0)
        free, total = torch.cuda.mem_get_info(0)
    except Exception:
        return None
    return {
        "name": about.name,
        "capability": f"{about.major}.{about.minor}",
        "free_bytes": free,
        "total_bytes": total,
        "cuda": torch.version.cuda,
    }


def main() -> None:
    with redirect_stdout(sys.stderr):  # libraries print greetings
        told = found(sys.argv[1], sys.argv[2].split(","))
    print(json.dumps(told))


if __name__ == "__main__":
    main()
