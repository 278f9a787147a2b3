"""What can be set from outside: environment variables that start with SWITCHYARD_.

Representation   one frozen model; every field is one variable, and the field's description is its
                 documentation.
Invariants       I1 a value that means nothing is refused at start, by the variable's name.
                 I2 ``public()`` holds no secret: keys are counted, passwords in URLs are masked.
Not here         what the values lead to (composition).
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
#: variables with our prefix that others read: the SGLang plug-in, Compose, the project's tests,
#: and links to a Kubernetes service whose name begins with "switchyard"
_READ_BY_OTHERS = re.compile(
    r"SGLANG|SGLANG_\w+|PUBLISH|MODELS|MASKBENCH|JSTS|BFCL"
    r"|(\w+_)?SERVICE_HOST|(\w+_)?SERVICE_PORT(_\w+)?|(\w+_)?PORT_\d+_(TCP|UDP)(_\w+)?"
)

#: workers that live in the gateway's process
IN_PROCESS = ("noise", "transformers")

MEBIBYTE = 1 << 20

#: what ``strict: true`` takes: OpenAI's subset, or whatever the engine enforces
StrictProfile = Literal["openai", "extended"]


class SettingError(ValueError):
    """A setting that cannot be used; the message begins with the variable's name."""

    def __init__(self, variable: str, reason: object) -> None:
        super().__init__(f"{PREFIX}{variable}: {reason}")


class Settings(BaseSettings):
    """All settings; docs/running.md shows them as a table, which a test compares with this one."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: int = Field(default=8000, ge=0, le=65535, description="port to listen on; 0: a free one")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="least level logged"
    )

    model: str | None = Field(
        default=None, description="folder or name of the model; none: the noise worker"
    )
    model_name: str = Field(
        default="", description="id that clients use; default: the last part of MODEL, or `noise`"
    )
    tokenizer: str | None = Field(
        default=None, description="folder or name of the tokenizer; default MODEL"
    )
    format: str = Field(
        default="auto", description="the model family's call syntax; `auto` reads the chat template"
    )
    reasoning: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="whether an answer may begin with reasoning; `auto`: not under noise",
    )
    thinking_token_budget: int | None = Field(
        default=None,
        ge=0,
        description="most tokens of reasoning in the answer to a request that sets no "
        "`thinking_token_budget` of its own; none: no bound",
    )
    include_schema_in_prompt: bool = Field(
        default=True,
        description="whether the prompt tells the model the schema of `response_format`; "
        "a request's own `include_schema_in_prompt` comes first",
    )
    workers: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="SGLang URLs, separated by commas, or `noise`, or `transformers`"
    )
    worker_api_key: SecretStr | None = Field(
        default=None, description="key that the SGLang servers ask for"
    )
    grammar_backend: Literal["switchyard", "xgrammar", "llguidance"] = Field(
        default="switchyard",
        description="what the SGLang servers constrain with; one that runs another is not ready",
    )
    worker_health_seconds: float = Field(
        default=5.0, gt=0, description="seconds between two health checks of the workers"
    )
    worker_first_token_seconds: float = Field(
        default=120.0,
        gt=0,
        description="seconds until an SGLang server's first token, its queue included; then "
        "another server is tried",
    )
    worker_token_seconds: float = Field(
        default=60.0,
        gt=0,
        description="seconds between two tokens of an SGLang server; then the answer ends with an "
        "error",
    )
    noise_seed: int | None = Field(
        default=None, description="makes the noise worker's unseeded answers repeatable"
    )

    api_keys: Annotated[tuple[SecretStr, ...], NoDecode] = Field(
        default=(), description="keys of clients, separated by commas; none: no key is asked for"
    )
    allow_anonymous: bool = Field(
        default=False,
        description="`true`: run a real model without API_KEYS on an address that other hosts "
        "can reach",
    )
    admin_keys: Annotated[tuple[SecretStr, ...], NoDecode] = Field(
        default=(),
        description="keys of operators, separated by commas; none: what is theirs alone is closed",
    )
    max_body_bytes: int = Field(
        default=4 * MEBIBYTE, ge=1024, description="largest request body; beyond it: 413"
    )
    max_json_values: int = Field(
        default=100_000,
        ge=1,
        description="most values in a request body: strings, numbers, objects, arrays, ...",
    )
    max_header_bytes: int = Field(
        default=32_768, ge=1024, description="largest request line with its headers; beyond it: 431"
    )
    max_connections: int = Field(
        default=2048, ge=1, description="open connections of clients; beyond it: 503"
    )
    header_seconds: float = Field(
        default=10.0, gt=0, description="seconds in which a request's headers must arrive"
    )
    body_seconds: float = Field(
        default=60.0, gt=0, description="seconds in which a request's body must arrive"
    )
    max_choices: int = Field(default=8, ge=1, le=128, description="largest `n` of a request")
    max_tools: int = Field(default=1024, ge=1, description="most tools of a request")
    compile_threads: int = Field(
        default=2,
        ge=1,
        le=64,
        description="schemas that are compiled at once; one client has one thread less, or the "
        "only one",
    )
    compile_queue: int = Field(
        default=512, ge=1, description="compiles that one client may have waiting; beyond it: 429"
    )
    max_completion_tokens: int = Field(
        default=32_768, ge=1, description="largest output limit that a request may ask for"
    )
    default_completion_tokens: int = Field(
        default=4096, ge=1, description="output limit of a request that names none"
    )
    stream_comment_seconds: float = Field(
        default=10.0,
        ge=0,
        description="seconds without output after which a stream gets a comment line, so that "
        "proxies keep it open; a response without a first token begins then; 0: never",
    )
    request_timeout: float = Field(
        default=600.0, gt=0, description="seconds that one answer may take"
    )
    shutdown_seconds: float = Field(
        default=30.0, ge=0, description="seconds that running answers get on SIGTERM"
    )
    strict_profile: StrictProfile = Field(
        default="extended",
        description="what `strict: true` takes: `openai`'s subset, or, `extended`, whatever the "
        "engine enforces",
    )

    redis_url: SecretStr | None = Field(
        default=None,
        description="where replicas share what they compiled, see [cache.md](cache.md); none: "
        "each replica compiles for itself",
    )
    cache_key_file: Path | None = Field(
        default=None, description="file with CACHE_KEY, for example a mounted secret"
    )
    cache_key: SecretStr | None = Field(
        default=None,
        validate_default=True,
        description="key of the MAC over what is shared, 16 bytes or more",
    )
    cache_trust: Literal["key", "network"] = Field(
        default="key",
        description="`network`: use Redis without CACHE_KEY, where only accidents are expected",
    )
    compiler_memory_bytes: int = Field(
        default=832 * MEBIBYTE,
        ge=1,
        description="what compiled grammars, and what they share, may take; the process takes up "
        "to 1.3 times as much",
    )
    cache_ttl_seconds: int = Field(
        default=7 * 86_400, ge=1, description="life of an entry in Redis that no replica uses"
    )
    cache_prefetch_seconds: float = Field(
        default=1.0,
        ge=0,
        description="seconds in which the most popular entries are loaded at start, in the "
        "background; 0: none are",
    )
    cache_loads_per_second: int = Field(
        default=500,
        ge=0,
        description="entries announced by other replicas that are loaded, a second; 0: none are",
    )

    @field_validator("workers", "api_keys", "admin_keys", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        """Commas separate; empty parts are nothing."""
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
        """Compose files spell "not set" as an empty string."""
        return None if value == "" else value

    @field_validator("allow_anonymous", "include_schema_in_prompt", mode="before")
    @classmethod
    def _empty_is_default(cls, value: Any, info: ValidationInfo) -> Any:
        """As above."""
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
        """From here on the key is where it would be if it had been given itself."""
        given = None if value is None else value.get_secret_value()
        found = key_of(given, info.data.get("cache_key_file"))
        return None if found is None else SecretStr(found)

    @field_validator("grammar_backend", mode="before")
    @classmethod
    def _empty_is_ours(cls, value: Any) -> Any:
        """As above."""
        return "switchyard" if value == "" else value

    @field_validator("workers")
    @classmethod
    def _known_workers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for worker in value:
            if worker in IN_PROCESS and len(value) > 1:
                raise ValueError(f"{worker!r} runs in this process and stands alone")
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
                f"GRAMMAR_BACKEND={self.grammar_backend} can't enforce THINKING_TOKEN_BUDGET"
            )
        if self.default_completion_tokens > self.max_completion_tokens:
            raise ValueError("DEFAULT_COMPLETION_TOKENS is larger than MAX_COMPLETION_TOKENS")
        if set(self.admin_keys) & set(self.api_keys):
            raise ValueError(
                "a key stands in API_KEYS and in ADMIN_KEYS: clients would be operators"
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
        """Whether answers may begin with reasoning: noise has no thoughts, only long ones."""
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
        """Every setting as it may be printed."""
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
    """Whether only this machine reaches the address; names other than localhost do not count."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def unknown_variables(names: Iterable[str]) -> list[str]:
    """One sentence for each variable with our prefix that nothing reads."""
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
    """The URL with what stands before the @ masked, and without its query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    netloc = f"***@{host}" if "@" in parts.netloc else host
    return urlunsplit((parts.scheme, netloc, parts.path, "", ""))
