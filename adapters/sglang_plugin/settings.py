"""The settings of a worker, from its environment; those of the cache equal the gateway's."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from cache import RedisAddress, key_of

PREFIX = "SWITCHYARD_"
#: prefixes of the plug-in's settings; other SWITCHYARD_ variables may be a gateway's
_OURS = (f"{PREFIX}SGLANG_", f"{PREFIX}CACHE_")
_KNOWN = frozenset(
    PREFIX + name
    for name in (
        "CACHE_KEY",
        "CACHE_KEY_FILE",
        "CACHE_TRUST",
        "CACHE_TTL_SECONDS",
        "CACHE_PREFETCH_SECONDS",
        "CACHE_LOADS_PER_SECOND",
        "CACHE_NAMESPACE",
        "CACHE_NAMESPACES",
        "SGLANG_COMPILE_THREADS",
        "SGLANG_PREFILL_US_PER_TOKEN",
        "SGLANG_PREFILL_MOST_MS",
        "SGLANG_MASKS_AHEAD",
        "SGLANG_DRAFTS",
        "SGLANG_UNTESTED",
        # read by the tests of this plug-in
        "SGLANG_VENV",
        "SGLANG_PYTHON",
    )
)


class BadSetting(ValueError):
    """A variable has an invalid value; the message names the variable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings with their defaults."""

    redis_url: str | None = None
    cache_key: bytes | None = None
    cache_trust: Literal["key", "network"] = "key"
    cache_ttl_seconds: int = 7 * 24 * 3600
    cache_prefetch_seconds: float = 1.0
    cache_loads_per_second: int = 500
    #: whether each API key of the gateways has caches of its own, and how many of them are kept
    cache_namespace: Literal["shared", "key"] = "shared"
    cache_namespaces: int = 16
    #: approximate limit of the compiler's caches: grammars and their shared parts
    compiler_memory_bytes: int = 832 << 20
    #: compile threads in the scheduler's process
    compile_threads: int = 2
    #: microseconds of masks computed ahead per token of the prompt, and the limit in milliseconds
    prefill_us_per_token: float = 20.0
    prefill_most_ms: float = 50.0
    #: whether a thread computes masks between steps. On two processors without a device the thread
    #: costs the scheduler about 20 us per token; not measured on a GPU
    masks_ahead: bool = False
    #: whether forced text becomes drafts if the server uses n-gram speculation
    drafts: bool = True


def load(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of the plug-in.

    Raises:
        BadSetting: an invalid value, or an unknown variable with one of its prefixes.
    """
    for name in sorted(environment):
        if name.startswith(_OURS) and name not in _KNOWN:
            raise BadSetting(f"{name}: no such setting")
    key = _key(environment)
    trust = environment.get(f"{PREFIX}CACHE_TRUST") or "key"
    if trust not in ("key", "network"):
        raise BadSetting(f"{PREFIX}CACHE_TRUST must be key or network, got {trust!r}")
    namespace = environment.get(f"{PREFIX}CACHE_NAMESPACE") or "shared"
    if namespace not in ("shared", "key"):
        raise BadSetting(f"{PREFIX}CACHE_NAMESPACE must be shared or key, got {namespace!r}")
    default = Settings()
    return Settings(
        redis_url=_redis(environment),
        cache_key=key,
        cache_trust=cast(Literal["key", "network"], trust),
        cache_ttl_seconds=_count(environment, "CACHE_TTL_SECONDS", default.cache_ttl_seconds),
        cache_prefetch_seconds=_number(
            environment, "CACHE_PREFETCH_SECONDS", default.cache_prefetch_seconds
        ),
        cache_loads_per_second=_count(
            environment, "CACHE_LOADS_PER_SECOND", default.cache_loads_per_second, least=0
        ),
        cache_namespace=cast(Literal["shared", "key"], namespace),
        cache_namespaces=_count(environment, "CACHE_NAMESPACES", default.cache_namespaces),
        compiler_memory_bytes=_count(
            environment, "COMPILER_MEMORY_BYTES", default.compiler_memory_bytes
        ),
        compile_threads=_count(environment, "SGLANG_COMPILE_THREADS", default.compile_threads),
        prefill_us_per_token=_number(
            environment, "SGLANG_PREFILL_US_PER_TOKEN", default.prefill_us_per_token
        ),
        prefill_most_ms=_number(environment, "SGLANG_PREFILL_MOST_MS", default.prefill_most_ms),
        masks_ahead=_switch(environment, "SGLANG_MASKS_AHEAD", default.masks_ahead),
        drafts=_switch(environment, "SGLANG_DRAFTS", default.drafts),
    )


def _redis(environment: Mapping[str, str]) -> str | None:
    url = environment.get(f"{PREFIX}REDIS_URL") or None
    try:
        if url is not None:
            RedisAddress.of(url)
    except ValueError as error:
        raise BadSetting(f"{PREFIX}REDIS_URL: {error}") from None
    return url


def _key(environment: Mapping[str, str]) -> bytes | None:
    key = environment.get(f"{PREFIX}CACHE_KEY") or None
    file = environment.get(f"{PREFIX}CACHE_KEY_FILE") or None
    try:
        found = key_of(key, None if file is None else Path(file))
    except ValueError as error:
        name = "CACHE_KEY" if file is None else "CACHE_KEY_FILE"
        raise BadSetting(f"{PREFIX}{name}: {error}") from None
    return None if found is None else found.encode()


def _count(environment: Mapping[str, str], name: str, default: int, *, least: int = 1) -> int:
    text = environment.get(PREFIX + name)
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise BadSetting(f"{PREFIX}{name} must be an integer >= {least}, got {text!r}")
    return int(text)


def _switch(environment: Mapping[str, str], name: str, default: bool) -> bool:
    text = environment.get(PREFIX + name)
    if not text:
        return default
    if text not in ("0", "1"):
        raise BadSetting(f"{PREFIX}{name} must be 0 or 1, got {text!r}")
    return text == "1"


def _number(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(PREFIX + name)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise BadSetting(f"{PREFIX}{name} must be a number >= 0, got {text!r}")
    return value
