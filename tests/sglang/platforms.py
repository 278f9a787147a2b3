"""Arguments and environment of servers, by the kind of device.

Only the standard library is imported here, so that missing requirements can be reported.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from .environment import ROOT

SHIMS = Path(__file__).with_name("shims")
#: what SGLang compiles is kept between runs
CACHE = ROOT / ".data" / "sglang-cache"

#: A tiny model in float32 costs nothing, and leaves no ties that another order of sums would break.
OPTIONS = {
    "--host": "127.0.0.1",
    "--device": "cpu",
    "--attention-backend": "torch_native",
    "--dtype": "float32",
    "--max-total-tokens": "32768",
    "--context-length": "4096",
    "--max-running-requests": "16",
}
ENVIRONMENT = {
    "SGLANG_USE_CPU_ENGINE": "1",
    "SGLANG_CACHE_DIR": str(CACHE),
    "SGLANG_JIT_CACHE_DIR": str(CACHE / "jit"),
    "XDG_CACHE_HOME": str(CACHE),
    "PYTHONPATH": str(SHIMS),
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
}
#: without compiled modules on disk a start takes twice as long
UNWANTED = ("PYTHONDONTWRITEBYTECODE", "SGLANG_PLUGINS")


class Platform(NamedTuple):
    """Options and environment of every server on one kind of device."""

    options: Mapping[str, str]
    environment: Mapping[str, str]


CPU = Platform(OPTIONS, ENVIRONMENT)


def environment_of(python: Path, platform: Platform) -> dict[str, str]:
    """The variables of every process that runs ``python`` on that platform."""
    inherited = {name: text for name, text in os.environ.items() if name not in UNWANTED}
    path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**inherited, **platform.environment, "PATH": path}
