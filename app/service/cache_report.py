"""The use case of GET /v1/cache: what replicas shared with this gateway.

    following    whether the gateway follows the log in Redis now; null: no Redis is configured
    log          the counters of the log's client
    compiles     grammars compiled, and found compiled
    artifacts    by kind: entries loaded, refused, missing, skipped, published and dropped
    time         in milliseconds: what other replicas spent on the loaded entries, what reading and
                 loading them took here, and what masks computed here took

/metrics exports the same numbers, and all others.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from cache import RedisLog
from engine import ARTIFACT_VERSION, Compiler, Vocabulary

from ..version import version

_COUNTED = ("loaded", "refused", "missing", "skipped", "published", "dropped")


class VocabularyReport(TypedDict):
    fingerprint: str
    tokens: int


class CompileCounts(TypedDict):
    made: int
    known: int


class CacheTimes(TypedDict):
    saved_ms: float
    read_ms: float
    load_ms: float
    made_ms: float


class CacheReport(TypedDict):
    """The use of the cache that replicas share."""

    object: Literal["cache"]
    model: str
    version: str
    format: str
    vocabulary: VocabularyReport
    artifact_version: int
    following: Annotated[bool | None, Field(description="null: no Redis.")]
    log: dict[str, int] | None
    compiles: CompileCounts
    artifacts: dict[str, dict[str, int]]
    time: CacheTimes


def cache_report(
    store: RedisLog | None, compiler: Compiler, *, model: str, wire: str, vocabulary: Vocabulary
) -> CacheReport:
    """Return the answer. ``wire``: the format's name."""
    stats = compiler.stats()
    following = stats.get("shared_following")
    return {
        "object": "cache",
        "model": model,
        "version": version(),
        "format": wire,
        "vocabulary": {"fingerprint": vocabulary.fingerprint, "tokens": vocabulary.size},
        "artifact_version": ARTIFACT_VERSION,
        "following": None if following is None else bool(following),
        "log": None if store is None else store.stats(),
        "compiles": {"made": stats["compiles"], "known": stats["grammar_hits"]},
        "artifacts": {"masks": {name: shared_count(stats, name) for name in _COUNTED}},
        "time": {
            "saved_ms": _ms(stats, "shared_masks_saved_ns"),
            "read_ms": _ms(stats, "shared_read_ns"),
            "load_ms": _ms(stats, "shared_load_ns"),
            "made_ms": _ms(stats, "token_mask_made_ns"),
        },
    }


def shared_count(stats: Mapping[str, int], counter: str) -> int:
    """Return a counter of shared artifacts in the compiler's ``stats()``."""
    return stats.get(f"shared_masks_{counter}", 0)


def _ms(stats: dict[str, int], name: str) -> float:
    return round(stats.get(name, 0) / 1e6, 3)
