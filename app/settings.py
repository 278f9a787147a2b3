"""Settings of the gateway, read from environment variables with the prefix SWITCHYARD_.

Representation   one frozen model; each field is one variable, and the field's description is its
                 documentation.
Invariants       I1 an invalid value aborts startup with an error that names the variable.
                 I2 ``public()`` holds no secret: keys are counted, passwords in URLs are masked.
Not here         using the values (composition).
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from adapters.formats import FORMATS
from cache import RedisAddress, key_of

PREFIX = "SWITCHYARD_"
#: variables with the prefix for other readers: the SGLang plug-in, Compose, the project's tests,
#: and the links of a Kubernetes service whose name begins with "switchyard"
_READ_BY_OTHERS = re.compile(
    r"SGLANG|SGLANG_\w+|PUBLISH|MODELS|MASKBENCH|JSTS|BFCL"
    r"|(\w+_)?SERVICE_HOST|(\w+_)?SERVICE_PORT(_\w+)?|(\w+_)?PORT_\d+_(TCP|UDP)(_\w+)?"
)

#: workers that run in the gateway's process
IN_PROCESS = ("noise", "transformers")

MEBIBYTE = 1 << 20

#: schemas accepted with ``strict: true``: OpenAI's subset, or all that the engine enforces
StrictProfile = Literal["openai", "extended"]


class SettingError(ValueError):
    """A setting that cannot be used; the message begins with the variable's name."""

    def __init__(self, variable: str, reason: object) -> None:
        super().__init__(f"{PREFIX}{variable}: {reason}")


class Settings(BaseSettings):
    """All settings; docs/running.md shows them as a table, which a test compares with this one."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: int = Field(
        default=8000, ge=0, le=65535, description="port to listen on; 0: any free port"
    )
    processes: int = Field(
        default=1,
        ge=1,
        le=256,
        description="gateway processes that share the port; limits and budgets apply to each, see "
        "[operations.md](operations.md)",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="lowest level that is logged"
    )

    model: str | None = Field(
        default=None, description="folder or name of the model; if unset, the noise worker runs"
    )
    model_name: str = Field(
        default="", description="model id for clients; default: the last part of MODEL, or `noise`"
    )
    tokenizer: str | None = Field(
        default=None, description="folder or name of the tokenizer; default: MODEL"
    )
    format: str = Field(
        default="auto", description="the model family's call syntax; `auto` reads the chat template"
    )
    reasoning: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="whether answers may begin with reasoning; `auto`: not with the noise worker",
    )
    thinking_token_budget: int | None = Field(
        default=None,
        ge=0,
        description="maximum reasoning tokens of an answer whose request sets no "
        "`thinking_token_budget`; if unset, no limit",
    )
    include_schema_in_prompt: bool = Field(
        default=True,
        description="whether the prompt shows the model the schema of `response_format`; "
        "`include_schema_in_prompt` in a request overrides it",
    )
    workers: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="SGLang URLs, separated by commas, or `noise`, or `transformers`"
    )
    worker_api_key: SecretStr | None = Field(
        default=None, description="API key of the SGLang servers"
    )
    grammar_backend: Literal["switchyard", "xgrammar", "llguidance"] = Field(
        default="switchyard",
        description="grammar backend of the SGLang servers; a server with another one is not ready",
    )
    worker_health_seconds: float = Field(
        default=5.0, gt=0, description="seconds between health checks of a worker"
    )
    worker_first_token_seconds: float = Field(
        default=120.0,
        gt=0,
        description="seconds to wait for an SGLang server's first token, including its queue, "
        "before trying another server",
    )
    worker_token_seconds: float = Field(
        default=60.0,
        gt=0,
        description="seconds to wait for each further token of an SGLang server before the answer "
        "ends with an error",
    )
    noise_seed: int | None = Field(
        default=None, description="seed of the noise worker for requests without a seed"
    )

    api_keys: Annotated[tuple[SecretStr, ...], NoDecode] = Field(
        default=(), description="keys of clients, separated by commas; if unset, no key is required"
    )
    allow_anonymous: bool = Field(
        default=False,
        description="`true` allows a real model without API_KEYS on an address that other hosts "
        "can reach",
    )
    admin_keys: Annotated[tuple[SecretStr, ...], NoDecode] = Field(
        default=(),
        description="keys of operators, separated by commas; if unset, admin endpoints return 403",
    )
    max_body_bytes: int = Field(
        default=4 * MEBIBYTE,
        ge=1024,
        description="maximum bytes of a request body; larger bodies get 413",
    )
    max_json_values: int = Field(
        default=100_000,
        ge=1,
        description="maximum number of JSON values (strings, numbers, ...) in a request body",
    )
    max_header_bytes: int = Field(
        default=32_768,
        ge=1024,
        description="maximum size of the request line and headers; larger ones get 431",
    )
    max_connections: int = Field(
        default=2048, ge=1, description="maximum open client connections; further ones get 503"
    )
    header_seconds: float = Field(
        default=10.0, gt=0, description="seconds within which a request's headers must arrive"
    )
    body_seconds: float = Field(
        default=60.0, gt=0, description="seconds within which a request's body must arrive"
    )
    max_choices: int = Field(default=8, ge=1, le=128, description="maximum `n` of a request")
    max_tools: int = Field(default=1024, ge=1, description="maximum number of tools in a request")
    compile_threads: int = Field(
        default=2,
        ge=1,
        le=64,
        description="threads that compile schemas; one client may use all but one of them (at "
        "least one)",
    )
    compile_queue: int = Field(
        default=512,
        ge=1,
        description="maximum compiles that one client may have waiting; further ones get 429",
    )
    max_completion_tokens: int = Field(
        default=32_768, ge=1, description="maximum output limit that a request may set"
    )
    default_completion_tokens: int = Field(
        default=4096, ge=1, description="output limit of a request that sets none"
    )
    stream_comment_seconds: float = Field(
        default=10.0,
        ge=0,
        description="seconds without output after which the gateway sends a comment line, so that "
        "proxies keep the stream open; this also starts a response that has no token yet; "
        "0 disables",
    )
    request_timeout: float = Field(
        default=600.0, gt=0, description="maximum duration of an answer in seconds"
    )
    shutdown_seconds: float = Field(
        default=30.0, ge=0, description="grace period of running answers after SIGTERM, in seconds"
    )
    strict_profile: StrictProfile = Field(
        default="extended",
        description="schemas accepted with `strict: true`: OpenAI's subset (`openai`) or all that "
        "the engine enforces (`extended`)",
    )

    redis_url: SecretStr | None = Field(
        default=None,
        description="Redis of the shared cache, see [cache.md](cache.md); if unset, replicas share "
        "nothing",
    )
    cache_key_file: Path | None = Field(
        default=None, description="file that contains CACHE_KEY, for example a mounted secret"
    )
    cache_key: SecretStr | None = Field(
        default=None,
        validate_default=True,
        description="key of the MAC over cache entries, at least 16 bytes",
    )
    cache_trust: Literal["key", "network"] = Field(
        default="key",
        description="`network` uses Redis without CACHE_KEY; trusts every client of that Redis",
    )
    compiler_memory_bytes: int = Field(
        default=832 * MEBIBYTE,
        ge=1,
        description="memory budget of compiled grammars and their masks; the process may use up to "
        "1.3 times as much",
    )
    cache_ttl_seconds: int = Field(
        default=7 * 86_400, ge=1, description="time to live of unused entries in Redis"
    )
    cache_prefetch_seconds: float = Field(
        default=1.0,
        ge=0,
        description="maximum seconds of loading the most popular entries at startup, in the "
        "background; 0 disables",
    )
    cache_loads_per_second: int = Field(
        default=500,
        ge=0,
        description="maximum entries per second that are loaded because other replicas announced "
        "them; 0 disables",
    )

    @field_validator("workers", "api_keys", "admin_keys", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        """Split at commas and drop empty parts."""
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator(
        "model",
        "tokenizer",
        "redis_url",
        "cache_key_file",
        "cache_key",
        "noise_seed",
        "thinking_token_budget",
        "worker_api_key",
        mode="before",
    )
    @classmethod
    def _empty_is_none(cls, value: Any) -> Any:
        """Treat an empty string as unset, which is how Compose files pass unset variables."""
        return None if value == "" else value

    @field_validator("allow_anonymous", "include_schema_in_prompt", mode="before")
    @classmethod
    def _empty_is_default(cls, value: Any, info: ValidationInfo) -> Any:
        """Treat an empty string as the default, for the same reason."""
        return cls.model_fields[info.field_name or ""].default if value == "" else value

    @field_validator("format")
    @classmethod
    def _known_format(cls, value: str) -> str:
        if value != "auto" and value not in FORMATS:
            raise ValueError(f"must be auto, {', '.join(FORMATS)}; got {value!r}")
        return value

    @field_validator("redis_url")
    @classmethod
    def _known_redis(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            RedisAddress.of(value.get_secret_value())
        return value

    @field_validator("cache_key")
    @classmethod
    def _key_or_file(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """Replace CACHE_KEY by the key from CACHE_KEY_FILE, if that is set."""
        given = None if value is None else value.get_secret_value()
        found = key_of(given, info.data.get("cache_key_file"))
        return None if found is None else SecretStr(found)

    @field_validator("grammar_backend", mode="before")
    @classmethod
    def _empty_is_ours(cls, value: Any) -> Any:
        """Treat an empty string as the default, for the same reason."""
        return "switchyard" if value == "" else value

    @field_validator("workers")
    @classmethod
    def _known_workers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for worker in value:
            if worker in IN_PROCESS and len(value) > 1:
                raise ValueError(f"{worker!r} runs in this process and cannot be combined")
            if worker not in IN_PROCESS and urlsplit(worker).scheme not in ("http", "https"):
                raise ValueError(
                    f"{worker!r} is neither an http(s) URL nor one of {', '.join(IN_PROCESS)}"
                )
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        kind = self.worker_kind
        if kind == "transformers" and self.model is None:
            raise ValueError("WORKERS=transformers needs MODEL")
        if kind == "sglang" and self.tokenizer_source is None:
            raise ValueError("SGLang workers need TOKENIZER (or MODEL): the model's own vocabulary")
        if self.thinking_token_budget is not None and self.grammar_backend != "switchyard":
            raise ValueError(
                f"GRAMMAR_BACKEND={self.grammar_backend} cannot enforce THINKING_TOKEN_BUDGET"
            )
        if self.default_completion_tokens > self.max_completion_tokens:
            raise ValueError("DEFAULT_COMPLETION_TOKENS is larger than MAX_COMPLETION_TOKENS")
        if set(self.admin_keys) & set(self.api_keys):
            raise ValueError(
                "API_KEYS and ADMIN_KEYS share a key, which would give a client admin access"
            )
        if self.is_open and self.worker_kind != "noise" and not self.allow_anonymous:
            raise ValueError(
                f"SWITCHYARD_API_KEYS is empty and SWITCHYARD_HOST={self.host} can be reached from "
                "other hosts: set API_KEYS, or SWITCHYARD_ALLOW_ANONYMOUS=true to run without keys"
            )
        return self

    @property
    def is_open(self) -> bool:
        """Whether other hosts may be able to reach the gateway, and no key is asked for."""
        return not self.api_keys and not is_loopback(self.host)

    @property
    def worker_kind(self) -> Literal["noise", "transformers", "sglang"]:
        if not self.workers:
            return "noise" if self.model is None else "transformers"
        if self.workers[0] == "noise":
            return "noise"
        return "transformers" if self.workers[0] == "transformers" else "sglang"

    @property
    def reasons(self) -> bool:
        """Whether answers may begin with reasoning; by default, not those of the noise worker."""
        return self.reasoning == "on" or (self.reasoning == "auto" and self.worker_kind != "noise")

    @property
    def tokenizer_source(self) -> str | None:
        return self.tokenizer or self.model

    @property
    def served_model(self) -> str:
        """The id that clients use."""
        if self.model_name:
            return self.model_name
        source = self.model or (self.tokenizer if self.worker_kind == "sglang" else None)
        return "noise" if source is None else Path(source).name or source

    def public(self) -> dict[str, Any]:
        """Return all settings for printing, without secrets."""
        shown = self.model_dump(
            mode="json",
            exclude={"admin_keys", "api_keys", "cache_key", "redis_url", "worker_api_key"},
        )
        shown["workers"] = [without_password(worker) for worker in self.workers]
        shown["api_keys"] = f"{len(self.api_keys)} set"
        shown["admin_keys"] = f"{len(self.admin_keys)} set"
        for name in ("cache_key", "worker_api_key"):
            shown[name] = "not set" if getattr(self, name) is None else "set"
        url = self.redis_url
        shown["redis_url"] = url and RedisAddress.of(url.get_secret_value()).shown()
        return shown


def is_loopback(host: str) -> bool:
    """Return whether the address is a loopback address; the only known name is localhost."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def unknown_variables(names: Iterable[str]) -> list[str]:
    """Return one sentence for each unknown variable with the prefix SWITCHYARD_."""
    known = [f"{PREFIX}{name.upper()}" for name in Settings.model_fields]
    found = []
    for name in sorted(names):
        upper = name.upper()
        if not upper.startswith(PREFIX) or upper in known:
            continue
        if not _READ_BY_OTHERS.fullmatch(upper.removeprefix(PREFIX)):
            near = get_close_matches(upper, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            found.append(f"{name}: no such setting{hint}")
    return found


def without_password(url: str) -> str:
    """Return the URL with user and password masked, and without its query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    netloc = f"***@{host}" if "@" in parts.netloc else host
    return urlunsplit((parts.scheme, netloc, parts.path, "", ""))
