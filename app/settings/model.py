"""The settings of one model.

Representation   a frozen model; a field is a key of a ``[[models]]`` table, and a variable for the
                 only model of a gateway without a configuration file (error.variable_of). The
                 text below it its documentation.
Invariants       I1 ``public()`` holds no secret.
Not here         reading the values (config_file, reading).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit, urlunsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from adapters.formats import FORMATS, ArgumentOrder, LayoutName, SchemaStyle
from adapters.workers import MAX_NAME_CHARS as MAX_ADAPTER_CHARS
from adapters.workers import is_adapter_name

from ..files import read_text
from .error import Places, SettingError

#: workers that run in the gateway's process
IN_PROCESS: Final = ("noise", "transformers")
#: the scheme of workers that stand for all addresses of a DNS name. TLS is not among them: a
#: certificate names the host, not its addresses
DNS_SCHEME: Final = "dns+http"
#: characters of a name or alias: an error about a model shows as many
MAX_NAME_CHARS: Final = 200
#: adapters that a setting names
MAX_ADAPTERS: Final = 2_000
#: the largest bound of the engine
MAX_BOUND: Final = 1_000_000
#: bytes of a file with a key; a larger file is a mistake
MAX_KEY_BYTES: Final = 4096


def _as_word(value: object) -> object:
    """Return a boolean, or its name in Python, as its word in JSON."""
    word = str(value).lower()
    return word if word in ("true", "false") else value


#: schemas accepted with ``strict: true``: OpenAI's subset, or all that the engine enforces
StrictProfile = Literal["openai", "extended"]
#: whether grammars are enforced, only compared with answers, or not compiled
ConstraintMode = Literal["enforce", "shadow", "off"]
#: requests with ``strict: true`` while nothing is enforced
UnenforcedStrict = Literal["refuse", "answer"]
#: media in the current message that the model cannot see
UnseenMedia = Literal["refuse", "text"]
#: a chat template with calls in a syntax that no format has
UnknownSyntax = Literal["teach", "refuse"]
#: calls of one answer whose request does not say
ParallelCalls = Annotated[Literal["template", "true", "false"], BeforeValidator(_as_word)]
#: additional keys of objects that list others
ExtraKeys = Literal["none", "last"]
#: tokens that a tokenizer would not write where a grammar allows them
Detours = Literal["avoid", "allow"]
#: how one of several workers is picked (pool.policies)
PolicyName = Literal["round-robin", "least-load", "power-of-two", "prefix-aware"]


#: whose prompts a worker's cached keys and values serve
KvCache = Literal["shared", "key"]


def _usable_name(name: str) -> str:
    if not name or name != name.strip() or not name.isprintable() or len(name) > MAX_NAME_CHARS:
        raise ValueError(
            f"must have 1 to {MAX_NAME_CHARS} printable characters without spaces around them"
        )
    return name


Name = Annotated[str, AfterValidator(_usable_name)]


class ModelSettings(BaseModel):
    """See the file's header; docs/running.md shows the fields, and a test compares both."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    model: str | None = None
    """folder or name of the model; if unset, the noise worker runs"""
    name: Name | None = None
    """model id for clients; default: the last part of `model`, or `noise`"""
    aliases: tuple[Name, ...] = ()
    """further ids that clients may use; answers show the name"""
    adapters: Annotated[dict[Name, str], Field(max_length=MAX_ADAPTERS)] = {}
    """LoRA adapters that SGLang servers must have, by the ids that clients may use: `legal=law`;
    others are served while a server has them, see [LoRA adapters](workers.md#lora-adapters)"""
    tokenizer: str | None = None
    """folder or name of the tokenizer; default: `model`"""
    format: str = "auto"
    """the model family's call syntax; `auto` reads the chat template"""
    unknown_syntax: UnknownSyntax = "teach"
    """what `auto` does if the chat template shows calls from which no format can be made:
    prompts teach that of `plain` (`teach`), or requests with tools get 400 (`refuse`), see
    [Unknown syntaxes](formats.md#unknown-syntaxes)"""
    reasoning: Literal["auto", "on", "off"] = "auto"
    """whether answers may begin with reasoning; `auto`: not with the noise worker"""
    thinking_token_budget: int | None = Field(None, ge=0)
    """maximum reasoning tokens of an answer whose request sets no `thinking_token_budget`; if
    unset, no limit"""
    json_layout: LayoutName = "template"
    """white space of JSON that the gateway's schemas constrain: as the chat template writes past
    calls (`template`), none (`compact`), `", "` and `": "` (`spaced`), lines indented by two spaces
    (`indented`), or the model's choice (`flexible`); `json_layout` in a request overrides it"""
    include_schema_in_prompt: bool = True
    """whether the prompt shows the model the schema of `response_format`;
    `include_schema_in_prompt` in a request overrides it"""
    schema_style: SchemaStyle = "outline"
    """how prompts show schemas, except in forms that a model family was trained with: `outline`, a
    short form with each type at the place of its value, or `json_schema`"""
    parallel_tool_calls: ParallelCalls = "template"
    """whether an answer may have several calls (`true`, `false`) if its request has no
    `parallel_tool_calls`; `template`: if the chat template shows several calls of one answer"""
    extra_keys: ExtraKeys = "none"
    """additional keys of objects whose schema lists `properties` and has no keyword about other
    keys: `none`, or `last`, behind the listed ones;
    `structured_outputs.disable_additional_properties` in a request overrides it"""
    argument_order: ArgumentOrder = "any"
    """order of arguments that a format writes as elements or keyword arguments: `any`, if a tool
    has up to eight, or `schema`, that of the schema"""
    default_max_items: int | None = Field(None, ge=1, le=MAX_BOUND)
    """maximum items of arrays without `maxItems` and `contains`; if unset, no limit"""
    default_max_length: int | None = Field(None, ge=1, le=MAX_BOUND)
    """maximum characters of strings without `maxLength`, `pattern` and `format`; if unset, no
    limit"""
    workers: tuple[str, ...] = ()
    """SGLang URLs, or `noise`, or `transformers`; `dns+http://name:port` is one server for each
    address of the name"""
    prefill_workers: tuple[str, ...] = ()
    """SGLang URLs as in `workers`, of servers that run with `--disaggregation-mode prefill`; those
    in `workers` then run with `decode`"""
    prefill_policy: PolicyName = "prefix-aware"
    """which of `prefill_workers` gets a request, as `worker_policy`"""
    prefill_max_running: int | None = Field(None, ge=1)
    """maximum running generations of a worker of `prefill_workers`; if unset, no limit"""
    prefill_bootstrap_hosts: tuple[str, ...] = ()
    """`HOST=NAME` for each host of `prefill_workers`, or address behind its DNS names, that decode
    servers know by another name or address"""
    worker_api_key_file: Path | None = None
    """file that contains the API key of the SGLang servers"""
    worker_api_key: SecretStr | None = Field(None, validate_default=True)
    """API key of the SGLang servers; not allowed in a configuration file"""
    worker_tls_ca: Path | None = None
    """file of the CA certificates of https servers; if unset, those of the system"""
    worker_tls_certificate: Path | None = None
    """file of the certificate (PEM) that the gateway shows to https servers"""
    worker_tls_key: Path | None = None
    """file of that certificate's key; if unset, it is in the same file"""
    grammar_backend: Literal["switchyard", "xgrammar", "llguidance"] = "switchyard"
    """grammar backend of the SGLang servers; a server with another one is not ready"""
    worker_health_seconds: float = Field(5.0, gt=0)
    """seconds between health checks of a worker"""
    worker_first_token_seconds: float = Field(120.0, gt=0)
    """seconds to wait for an SGLang server's first token, including its queue, before trying
    another server"""
    worker_token_seconds: float = Field(60.0, gt=0)
    """seconds to wait for each further event of an SGLang server, which has one token, or eight if
    the client does not stream, before the answer ends with an error"""
    worker_connect_seconds: float = Field(2.0, gt=0)
    """seconds to wait for a connection to an SGLang server, including name resolution and TLS"""
    worker_dns_seconds: float = Field(10.0, gt=0)
    """seconds between resolutions of the `dns+http` names in `workers` and `prefill_workers`"""
    worker_policy: PolicyName = "least-load"
    """which worker gets a request: `round-robin`, `least-load`, `power-of-two` or `prefix-aware`
    (the worker of the conversation's previous turn, if it has spare capacity)"""
    worker_max_running: int | None = Field(None, ge=1)
    """maximum running generations of a worker; further ones wait for a free worker; if unset, no
    limit"""
    kv_cache: KvCache = "shared"
    """whether all clients share the cached prompts of workers, or each API key has its own (`key`),
    see [Separate KV caches](workers.md#separate-kv-caches)"""
    worker_retry_share: float = Field(0.2, ge=0, le=1)
    """maximum retries at other workers, as a share of the requests of the last ten seconds"""
    worker_retry_floor: float = Field(10.0, ge=0)
    """retries per second that are allowed in addition to `worker_retry_share`"""
    noise_seed: int | None = None
    """seed of the noise worker for requests without a seed"""
    embedded_device: str = Field("cpu", pattern=r"^(cpu|cuda(:\d+)?)$")
    """device of a model that runs in the gateway's process: `cpu`, `cuda`, or `cuda:1` for the
    second GPU"""
    embedded_dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """numbers of that model's weights; `auto`: float32 on a CPU, bfloat16 on a GPU"""
    embedded_threads: int = Field(1, ge=1, le=1024)
    """threads of torch for a model that runs in the gateway's process; more help on idle cores
    only: where others are busy, the threads of a token wait for each other"""
    max_running: int | None = Field(None, ge=1)
    """maximum answers of the model that run at once in this process; if unset, only MAX_RUNNING
    applies"""
    max_choices: int = Field(8, ge=1, le=128)
    """maximum `n` of a request"""
    max_tools: int = Field(1024, ge=1)
    """maximum number of tools in a request"""
    max_completion_tokens: int = Field(32_768, ge=1)
    """maximum output limit that a request may set"""
    default_completion_tokens: int = Field(4096, ge=1)
    """output limit of a request that sets none"""
    request_timeout: float = Field(600.0, gt=0)
    """maximum duration of an answer in seconds"""
    strict_profile: StrictProfile = "extended"
    """schemas accepted with `strict: true`: OpenAI's subset (`openai`) or all that the engine
    enforces (`extended`)"""
    constraints: ConstraintMode = "enforce"
    """what happens to the grammars of requests: `enforce`; `shadow` compares answers with them and
    counts; `off`: nothing, see [Rolling out constraints](operations.md#rolling-out-constraints)"""
    unenforced_strict: UnenforcedStrict = "refuse"
    """requests with `strict: true` or a grammar while `constraints` is `shadow` or `off`: get 400
    (`refuse`), or an answer that nothing constrains (`answer`)"""
    detours: Detours = "avoid"
    """tokens that the model's tokenizer never writes where the grammar allows them, such as a lone
    space before ` true`: not offered (`avoid`), or offered (`allow`). For models that run in the
    gateway's process; SGLang servers have
    [a setting of their own](workers.md#worker-settings)"""

    unseen_media: UnseenMedia = "refuse"
    """images, files and sounds in the current message of the user that the model cannot see: get
    400 (`refuse`), or a line of text in their place (`text`), as they have it elsewhere"""

    _places: Places = PrivateAttr(default=Places())

    @field_validator("format")
    @classmethod
    def _known_format(cls, value: str) -> str:
        if value != "auto" and value not in FORMATS:
            raise ValueError(f"must be auto, {', '.join(FORMATS)}; got {value!r}")
        return value

    @field_validator("workers")
    @classmethod
    def _known_workers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for worker in value:
            if worker in IN_PROCESS and len(value) > 1:
                raise ValueError(f"{worker!r} runs in this process and cannot be combined")
            if worker not in IN_PROCESS:
                _check_worker_url(worker)
        return value

    @field_validator("prefill_workers")
    @classmethod
    def _known_prefill_workers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for worker in value:
            _check_worker_url(worker)
        return value

    @field_validator("prefill_bootstrap_hosts")
    @classmethod
    def _pairs_of_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pair in value:
            if not all(pair.partition("=")) or pair.count("=") > 1:
                raise ValueError(f"must be HOST=NAME, got {pair!r}")
        hosts = [pair.partition("=")[0].lower() for pair in value]
        twice = next((host for host in hosts if hosts.count(host) > 1), None)
        if twice is not None:
            raise ValueError(f"names {twice!r} twice")
        return value

    @field_validator("adapters")
    @classmethod
    def _usable_adapters(cls, value: dict[str, str]) -> dict[str, str]:
        for alias, name in value.items():
            if not is_adapter_name(name):
                raise ValueError(
                    f"{alias!r}: an adapter's name must have 1 to {MAX_ADAPTER_CHARS} printable "
                    f"characters without spaces around them, and not be '*'; got {name!r:.200}"
                )
        return value

    @field_validator("worker_api_key")
    @classmethod
    def _key_or_file(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """Read the key from ``worker_api_key_file``, if that is set."""
        file = info.data.get("worker_api_key_file")
        if file is None:
            return value
        if value is not None:
            raise ValueError("`worker_api_key` and `worker_api_key_file` exclude each other")
        return SecretStr(_read_key(file))

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        kind = self.worker_kind
        if self.worker_tls_key is not None and self.worker_tls_certificate is None:
            raise ValueError("`worker_tls_key` needs `worker_tls_certificate`")
        if kind == "transformers" and self.model is None:
            raise ValueError("`workers`=transformers needs `model`")
        if kind == "sglang" and self.tokenizer_source is None:
            raise ValueError("SGLang workers need `tokenizer` (or `model`): the model's vocabulary")
        if self.prefill_workers:
            self._check_prefill_workers()
        for setting in ("prefill_bootstrap_hosts", "prefill_max_running"):
            if getattr(self, setting) and not self.prefill_workers:
                raise ValueError(f"`{setting}` needs `prefill_workers`")
        if kind != "sglang" and self.adapters:
            raise ValueError("`adapters` need SGLang servers in `workers`")
        if self.thinking_token_budget is not None and self.grammar_backend != "switchyard":
            raise ValueError(
                f"`grammar_backend`={self.grammar_backend} cannot enforce `thinking_token_budget`"
            )
        if self.default_completion_tokens > self.max_completion_tokens:
            raise ValueError(
                f"`default_completion_tokens` must be at most `max_completion_tokens`, "
                f"{self.max_completion_tokens}; got {self.default_completion_tokens}"
            )
        return self

    def _check_prefill_workers(self) -> None:
        """Raise ValueError if they do not fit the other settings."""
        if self.worker_kind != "sglang":
            raise ValueError("`prefill_workers` needs SGLang servers in `workers`, which decode")
        both = set(self.prefill_workers) & set(self.workers)
        if both:
            shown = without_password(min(both))
            raise ValueError(f"{shown!r} is in `workers` and in `prefill_workers`")
        if not self.dns_prefill_workers:
            hosts = {urlsplit(url).hostname for url in self.prefill_workers}
            unknown = [host for host in self.bootstrap_hosts if host not in hosts]
            if unknown:
                raise ValueError(
                    f"`prefill_bootstrap_hosts` has {unknown[0]!r}, which is no host of "
                    "`prefill_workers`"
                )

    @property
    def worker_kind(self) -> Literal["noise", "transformers", "sglang"]:
        match self.workers:
            case ():
                return "noise" if self.model is None else "transformers"
            case ("noise" | "transformers" as kind, *_):
                return kind
        return "sglang"

    @property
    def dns_workers(self) -> list[str]:
        """The workers that stand for all addresses of a DNS name."""
        return _of_dns(self.workers)

    @property
    def dns_prefill_workers(self) -> list[str]:
        """Those of ``prefill_workers``."""
        return _of_dns(self.prefill_workers)

    @property
    def bootstrap_hosts(self) -> dict[str, str]:
        """The names of hosts of ``prefill_workers`` for decode servers, where they differ."""
        pairs = (pair.partition("=") for pair in self.prefill_bootstrap_hosts)
        return {host.lower(): name for host, _, name in pairs}

    @property
    def reasons(self) -> bool:
        """Whether answers may begin with reasoning; by default, not those of the noise worker."""
        return self.reasoning == "on" or (self.reasoning == "auto" and self.worker_kind != "noise")

    @property
    def teaches(self) -> bool:
        """Whether prompts teach a syntax of calls where that of the chat template is unknown."""
        return self.unknown_syntax == "teach"

    @property
    def tokenizer_source(self) -> str | None:
        return self.tokenizer or self.model

    @property
    def served_model(self) -> str:
        """The id that answers show."""
        if self.name:
            return self.name
        source = self.model or (self.tokenizer if self.worker_kind == "sglang" else None)
        return "noise" if source is None else Path(source).name or source

    def at(self, places: Places) -> Self:
        """Remember where the settings stand; return the same object."""
        self._places = places
        return self

    def error(self, setting: str, reason: object) -> SettingError:
        """Return the error of a setting, which names its place."""
        return SettingError(f"{self._places.of(setting)}: {self._places.reworded(str(reason))}")

    def public(self) -> dict[str, Any]:
        """Return the settings for printing, without secrets."""
        shown = self.model_dump(mode="json", exclude={"worker_api_key"})
        shown["name"] = self.served_model
        for setting in ("workers", "prefill_workers"):
            shown[setting] = [without_password(worker) for worker in getattr(self, setting)]
        shown["worker_api_key"] = "not set" if self.worker_api_key is None else "set"
        return shown


def _of_dns(workers: Sequence[str]) -> list[str]:
    return [url for url in workers if urlsplit(url).scheme == DNS_SCHEME]


def _check_worker_url(url: str) -> None:
    """Raise ValueError for a URL that names no worker; the message has no password."""
    try:
        parts = urlsplit(url)
        shown, host = without_password(url), parts.hostname
        parts.port  # noqa: B018 raises ValueError
    except ValueError as error:
        raise ValueError(f"not a URL of a worker: {error}") from None
    if parts.scheme not in ("http", "https", DNS_SCHEME):
        raise ValueError(
            f"{shown!r} is neither an http(s) or {DNS_SCHEME} URL nor one of "
            f"{', '.join(IN_PROCESS)}"
        )
    if not host:
        raise ValueError(f"{shown!r} names no host")


def without_password(url: str) -> str:
    """Return the URL with user and password masked, and without its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.rpartition("@")[2]
    host = parts.netloc.rpartition("@")[2]
    netloc = f"***@{host}" if "@" in parts.netloc else host
    return urlunsplit((parts.scheme, netloc, parts.path, "", ""))


def _read_key(file: Path) -> str:
    """Return the key in a file. Raises ValueError, whose message does not quote it."""
    key = read_text(file, MAX_KEY_BYTES).strip()
    if not key:
        raise ValueError(f"{file} must have a key of 1 to {MAX_KEY_BYTES:,} bytes")
    return key
