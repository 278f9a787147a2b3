"""What a worker says of itself at SGLang's /server_info, in ``internal_states[i]["switchyard"]``.

A gateway takes a worker for ready only if this is there and fits: a plug-in that failed to load
leaves a worker without it, and one with another vocabulary would constrain other tokens.
"""

from dataclasses import asdict
from importlib import metadata
from typing import Any

from engine import SPEC_VERSION, Compiler

from .compiling import Compilations
from .grammar import Shared


def describe(compiler: Compiler, shared: Shared, compilations: Compilations) -> dict[str, Any]:
    """As JSON."""
    return {
        "backend": "switchyard",
        "version": _version(),
        "spec_version": SPEC_VERSION,
        "vocabulary": compiler.vocabulary.fingerprint,
        "vocabulary_size": compiler.vocabulary.size,
        "counters": {
            "accepts": shared.tally.accepts,
            "accept_ns": shared.tally.accept_ns,
            **asdict(shared.counters),
            "mask_failures": shared.masks.failures,
            "masks_ahead": 0 if shared.prefetcher is None else shared.prefetcher.made,
            **compilations.counts,
        },
        "compiler": compiler.stats(),
    }


def _version() -> str:
    try:
        return metadata.version("switchyard")
    except metadata.PackageNotFoundError:
        return "0+unknown"
