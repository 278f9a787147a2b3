"""The use case of GET /v1/cache: what the cache did for this gateway, tier by tier.

    tiers       of each its name and its own counters, nearest first (cache)
    compiles    how many, and for how many the store had all, a part or nothing of what was looked
                for
    rules       rules that were looked for in the store, and handed to it
    patterns    the same of costly patterns
    audits      how many of what was loaded were made again and compared, and how many differed,
                which must stay 0
    time        in milliseconds: what masks and patterns from the store took to be made elsewhere,
                beside what reading and loading them took here; what the masks took that were made
                here

The same numbers, with all others, are in /metrics.
"""

from typing import Any

from cache import TieredStore
from engine import ARTIFACT_VERSION, Compiler, Vocabulary

from ..version import version

_FROM_STORE = ("perfect", "partial", "none")
_COUNTED = ("hits", "misses", "rejected", "puts")


def cache_report(
    store: TieredStore, compiler: Compiler, *, wire: str, vocabulary: Vocabulary
) -> dict[str, Any]:
    """The answer as JSON. ``wire``: the format's name."""
    stats = compiler.stats()
    return {
        "object": "cache",
        "version": version(),
        "format": wire,
        "vocabulary": {"fingerprint": vocabulary.fingerprint, "tokens": vocabulary.size},
        "artifact_version": ARTIFACT_VERSION,
        "tiers": [{"name": name, **numbers} for name, numbers in store.tiers()],
        "compiles": {
            "made": stats["compiles"],
            "known": stats["grammar_hits"],
            "from_store": {how: stats.get(f"store_{how}", 0) for how in _FROM_STORE},
        },
        "rules": {what: stats.get(f"store_{what}", 0) for what in _COUNTED},
        "patterns": {what: stats.get(f"store_pattern_{what}", 0) for what in _COUNTED},
        "audits": {
            "masks_compared": stats.get("store_audit_compared", 0),
            "masks_differing": stats.get("store_audit_divergence", 0),
            "patterns_compared": stats.get("store_pattern_audits", 0),
            "patterns_differing": stats.get("store_pattern_audit_divergence", 0),
        },
        "time": {
            "saved_ms": _ms(stats, "store_saved_ns"),
            "read_ms": _ms(stats, "store_read_ns"),
            "load_ms": _ms(stats, "store_load_ns"),
            "made_ms": _ms(stats, "triple_made_ns"),
            "patterns_saved_ms": _ms(stats, "store_pattern_saved_ns"),
            "patterns_read_ms": _ms(stats, "store_pattern_read_ns"),
        },
    }


def _ms(stats: dict[str, int], name: str) -> float:
    return round(stats.get(name, 0) / 1e6, 3)
