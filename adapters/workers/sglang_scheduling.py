"""The schedulers of a SGLang server by its own account: ranks, priorities, separated caches.

Ranks            a server with ``--dp-size`` or ``--attn-dp-size`` has that many schedulers, each
                 with a KV cache of its own; ``routed_dp_rank`` of a request names one. Up to
                 0.5.21, ``dp_size`` counts them with attention by ranks, too; since 0.5.22,
                 ``attn_dp_size`` does, and one of both is 1. ``internal_states`` is no count: with
                 attention by ranks it may have one entry for several.
Priorities       a server without ``--enable-priority-scheduling`` ignores the field, or aborts the
                 request. Larger numbers go first, or smaller ones with
                 ``--schedule-low-priority-values-first``.
Salts            keys and values under different salts are apart since 0.5.21, except in FlexKV.
                 Before, LMCache and (0.5.19) the storage of HiCache do not know salts, and the
                 experimental radix tree in C++, which only an environment variable of the server
                 shows, ends the server at a request that has one.
Invariants       for any JSON object, the functions return; none raises.
Tested with      SGLang 0.5.23: a real server; the sources of 0.5.19 to 0.5.23.
Not here         which rank gets a request (the app's pool), whether the grammar fits
                 (sglang_health).
"""

import re
from collections.abc import Mapping
from typing import Any

#: ranks of a server that requests name. The largest deployments have a few hundred
MAX_RANKS = 1024
#: the first version that keeps salts apart in all caches but FlexKV
KNOWS_SALTS = (0, 5, 21)

_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?!\d)", re.ASCII)


def ranks_of(info: Mapping[str, Any]) -> int:
    """Return the number of ranks that requests may name; 1: the server chooses.

    It also chooses where naming one could do harm: a server that grows and shrinks ends at a rank
    that it has just lost, and one that does only half of a generation (prefill, decode) fails those
    whose other half expects another rank.
    """
    sizes = [info.get(name, 1) for name in ("dp_size", "attn_dp_size")]
    if any(type(size) is not int or size < 1 for size in sizes):
        return 1
    is_elastic = info.get("elastic_ep_backend") not in (None, "none")
    is_half = info.get("disaggregation_mode") not in (None, "null")
    ranks = sizes[0] * sizes[1]
    return 1 if is_elastic or is_half or ranks > MAX_RANKS else ranks


def priority_sign_of(info: Mapping[str, Any]) -> int:
    """Return the factor from priorities of which larger ones go first to those of the server; 0: it
    knows none.
    """
    if info.get("enable_priority_scheduling") is not True:
        return 0
    return -1 if info.get("schedule_low_priority_values_first") is True else 1


def separation_trouble(info: Mapping[str, Any]) -> str | None:
    """Return why prompts with different salts might share keys and values; None: they do not."""
    said = info.get("version")
    found = _VERSION.match(said) if isinstance(said, str) else None
    version = tuple(map(int, found.groups())) if found else (0, 0, 0)
    if version < KNOWS_SALTS:
        return f"SGLang keeps the KV caches of salts apart since 0.5.21, got version {said!r:.50}"
    if info.get("enable_flexkv") not in (None, False):
        return "FlexKV does not keep the KV caches of salts apart"
    return None
