"""The status of a worker in SGLang's /server_info, at ``internal_states[i]["switchyard"]``.

A gateway treats a worker as ready only if this entry is present and matches. A worker whose plug-in
failed to load has no entry; one with another vocabulary would constrain other tokens.
"""

from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from typing import Any

from engine import SPEC_VERSION, Compiler, Namespaces

from .compiling import Compilations
from .grammar import Shared
from .versions import SGLangApi


def describe(
    compilers: Namespaces[Compiler],
    shared: Shared,
    compilations: Compilations,
    api: SGLangApi,
    warnings: Sequence[str],
) -> dict[str, Any]:
    """Return the status as JSON. ``warnings``: options of the server that are not applied."""
    compiler = compilers.shared
    untested = [] if api.is_tested else [api.untested()]
    return {
        "backend": "switchyard",
        "version": _version(),
        "sglang": api.version,
        "sglang_tested": api.is_tested,
        "warnings": [*untested, *warnings],
        "spec_version": SPEC_VERSION,
        "vocabulary": compiler.vocabulary.fingerprint,
        "vocabulary_size": compiler.vocabulary.size,
        "namespace": "key" if compilers.most else "shared",
        "counters": {
            "accepts": shared.tally.accepts,
            "accept_ns": shared.tally.accept_ns,
            **asdict(shared.counters),
            "mask_failures": shared.masks.failures,
            "masks_ahead": 0 if shared.prefetcher is None else shared.prefetcher.made,
            **compilations.counts,
            **compilers.stats(),
        },
        "compiler": compiler.stats(),
    }


def _version() -> str:
    try:
        return metadata.version("switchyard")
    except metadata.PackageNotFoundError:
        return "0+unknown"
