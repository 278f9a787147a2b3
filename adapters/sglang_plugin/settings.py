"""The settings of a worker, from its environment; those of the cache equal the gateway's."""

import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from cache import RedisAddress, key_of

PREFIX = "SWITCHYARD_"
#: prefixes of the plug-in's settings; other SWITCHYARD_ variables may be a gateway's
_OURS = (f"{PREFIX}SGLANG_", f"{PREFIX}CACHE_")
#: variables without a field; the last three are read by the tests of this plug-in
_OTHERS = ("CACHE_KEY_FILE", "SGLANG_VENV", "SGLANG_PYTHON", "SGLANG_VERSION")


class BadSetting(ValueError):
    """A variable has an invalid value; the message names the variable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings with their defaults. The variable of a field is read as its type says."""

    redis_url: str | None = None
    cache_key: bytes | None = None
    cache_trust: Literal["key", "network"] = "key"
    cache_ttl_seconds: int = 7 * 24 * 3600
    cache_prefetch_seconds: float = 1.0
    cache_loads_per_second: int = field(default=500, metadata={"least": 0})
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
    #: whether masks have tokens that the tokenizer never writes before any text that may follow
    detours: Literal["avoid", "allow"] = "avoid"


def load(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of the plug-in.

    Raises:
        BadSetting: an invalid value, or an unknown variable with one of its prefixes.
    """
    by_name = {_variable(each.name): each for each in fields(Settings)}
    known = {*by_name, *(PREFIX + name for name in _OTHERS)}
    for name in sorted(environment):
        if name.startswith(_OURS) and name not in known:
            raise BadSetting(f"{name}: no such setting")
    values: dict[str, Any] = {"cache_key": _key(environment)}
    for name, each in by_name.items():
        if each.name not in values and (text := environment.get(name)):
            values[each.name] = _value(each, name, text)
    return Settings(**values)


def _variable(name: str) -> str:
    """Return the variable of a field. The gateway has those of the cache and the compiler, too."""
    is_shared = name.startswith(("redis_", "cache_", "compiler_"))
    return f"{PREFIX}{'' if is_shared else 'SGLANG_'}{name.upper()}"


def _value(setting: Field[Any], name: str, text: str) -> Any:
    if setting.name == "redis_url":
        try:
            RedisAddress.of(text)
        except ValueError as error:
            raise BadSetting(f"{name}: {error}") from None
        return text
    least = setting.metadata.get("least", 1)
    if setting.type is int:
        if text.isascii() and text.isdigit() and int(text) >= least:
            return int(text)
        raise BadSetting(f"{name} must be an integer >= {least}, got {text!r}")
    if setting.type is float:
        return _number(name, text)
    choices = ("0", "1") if setting.type is bool else get_args(setting.type)
    if text not in choices:
        raise BadSetting(f"{name} must be {' or '.join(choices)}, got {text!r}")
    return text == "1" if setting.type is bool else text


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise BadSetting(f"{name} must be a number >= 0, got {text!r}")
    return value


def _key(environment: Mapping[str, str]) -> bytes | None:
    key = environment.get(f"{PREFIX}CACHE_KEY") or None
    file = environment.get(f"{PREFIX}CACHE_KEY_FILE") or None
    try:
        found = key_of(key, None if file is None else Path(file))
    except ValueError as error:
        name = "CACHE_KEY" if file is None else "CACHE_KEY_FILE"
        raise BadSetting(f"{PREFIX}{name}: {error}") from None
    return None if found is None else found.encode()
