"""Requirements of a run, and those that a machine lacks, by name.

Both lists of missing requirements must be empty before a run starts; ``notes`` lists optional ones.
This module imports only the standard library, and modules that do the same.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from adapters.sglang_plugin.versions import TESTED

from ..sglang import OURS, PEERS
from .machine import APPLIES, IMPORTS, OF_DECODE, OF_GATEWAY, PLUGIN

#: parts that start a server
SERVED = ("steps", "throughput", "first-text", "soak")
#: parts without one, and the modules that they need
LOCAL = {"kernel": ("torch", "engine"), "decode": OF_DECODE, "gateway": OF_GATEWAY}
#: modules of this interpreter, and their names in messages
DRIVER = {
    "httpx": "httpx", "jsonschema": "jsonschema", "numpy": "numpy",
    "engine": "engine, compiled for this Python (make build)",
    "quicktok": "quicktok-v1, which has the real vocabularies",
    "tiktoken": "tiktoken, which encodes as the vocabulary does", "tokenizers": "tokenizers",
}  # fmt: skip
OF_SOAK = {"hypothesis": "hypothesis, for the soak", "regex": "regex, for the soak"}
#: on a GPU besides weights, keys and values: the runtime, its graphs, logits and masks of a batch
ROOM_BYTES = 6 << 30

Has = Callable[[str], bool]


class Asked(NamedTuple):
    """``memory_bytes``: of the model and of the cached tokens."""

    device: str
    parts: Sequence[str]
    backends: Sequence[str]
    memory_bytes: int


def has_module(name: str) -> bool:
    """Whether this interpreter can import the module."""
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def driver_lacks(parts: Sequence[str], has: Has = has_module) -> list[str]:
    """Return missing requirements of this interpreter."""
    wanted = {**DRIVER, **(OF_SOAK if "soak" in parts else {})}
    return [f"{told}: not installed for this command" for name, told in wanted.items()
            if not has(name)]  # fmt: skip


def machine_lacks(machine: dict[str, Any], asked: Asked) -> list[str]:
    """Return missing requirements of the server's interpreter and the device, without those that
    follow from others.
    """
    device = _device(machine, asked) if asked.device == "cuda" else []
    return [*device, *_packages(machine, asked)]


def _device(machine: dict[str, Any], asked: Asked) -> list[str]:
    found = []
    device = machine["device"]
    if device is None:
        found.append(
            "CUDA device: torch sees none" + ("" if machine["driver"] else "; no NVIDIA driver")
        )
    else:
        wanted = asked.memory_bytes + ROOM_BYTES
        runs_a_model = _is_served(asked) or "decode" in asked.parts
        if runs_a_model and device["free_bytes"] < wanted:
            free = device["free_bytes"]
            found.append(f"GPU memory: {free / 2**30:.1f} GiB free, {wanted / 2**30:.1f} needed")
    if _is_served(asked):
        found += [f"{tool}: not on PATH; SGLang compiles kernels with it"
                  for tool in ("nvcc", "ninja") if not machine["tools"][tool]]  # fmt: skip
    return found


def _packages(machine: dict[str, Any], asked: Asked) -> list[str]:
    packages, errors = machine["packages"], machine["errors"]
    where = machine["executable"]
    wanted = ("torch", "sglang") if _is_served(asked) else ("torch",)
    found = [f"{name}: not installed for {where}" for name in wanted if name not in packages]
    absent = {name for name in ("torch", "sglang") if name not in packages}
    needed = [name for name in modules(asked) if name.split(".")[0] not in absent]
    if absent and PLUGIN in needed:
        needed.remove(PLUGIN)  # it imports both
    return found + [f"{name}: {errors[name]}" for name in needed if name in errors]


def modules(asked: Asked) -> list[str]:
    """Return the modules that the server's interpreter needs for these parts."""
    found = [name for part, names in LOCAL.items() if part in asked.parts for name in names]
    if asked.device == "cuda" and ("kernel" in asked.parts or "decode" in asked.parts):
        found += ["triton", APPLIES]
    if _is_served(asked):
        found += IMPORTS[asked.device]
    if _is_served(asked) or "decode" in asked.parts:
        found += [name for name in asked.backends if name in PEERS]
    return list(dict.fromkeys(found))


def notes(machine: dict[str, Any], asked: Asked) -> list[str]:
    """Return missing optional requirements."""
    found = []
    if asked.device == "cuda" and "flashinfer" in machine["errors"]:
        found.append("flashinfer: missing; attention by triton, sampling by pytorch")
    if "xgrammar" in machine["errors"] and "xgrammar" not in modules(asked):
        found.append("xgrammar: missing; no kernel beside ours")
    sglang = machine["packages"].get("sglang", TESTED[-1])
    if _is_served(asked) and sglang not in TESTED:
        found.append(f"sglang {sglang}: not tested with the plug-in ({', '.join(TESTED)} were)")
    if OURS not in asked.backends and "soak" in asked.parts:
        found.append(f"soak: only {OURS} is judged")
    return found


def _is_served(asked: Asked) -> bool:
    return any(part in SERVED for part in asked.parts)


def about(machine: dict[str, Any]) -> list[str]:
    """Return lines about the device and its software."""
    found = []
    if device := machine["device"]:
        memory = f"{device['total_bytes'] / 2**30:.0f} GiB, {device['free_bytes'] / 2**30:.0f} free"
        found.append(f"device: {device['name']} ({device['capability']}), {memory}")
        found.append(f"driver: {machine['driver']}, CUDA {device['cuda']}")
    found.append(f"machine: {machine['machine']}, Python {machine['python']}")
    return found + [f"{name}: {version}" for name, version in machine["packages"].items()]
