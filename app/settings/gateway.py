"""Settings of the gateway, whichever models it serves: environment variables.

Representation   one frozen model; each field is one variable with the prefix SWITCHYARD_, and the
                 text below it its documentation. An empty variable counts as unset, which is
                 how Compose files pass unset variables.
Invariants       I1 an invalid value aborts startup with an error that names the variable.
                 I2 ``public()`` holds no secret: keys are counted, passwords in URLs are masked.
Not here         settings of a model (model); using the values (composition).
"""

import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from cache import RedisAddress, key_of, may_use_redis

from .error import PREFIX

MEBIBYTE = 1 << 20
MAX_JSON_VALUES = 100_000
#: as many as Anthropic's API takes
MAX_IMAGES = 100
#: pixels above which Pillow warns of a decompression bomb
PILLOW_PIXELS = 89_478_485
#: a host name, maybe with `*.` in front, maybe with a port; no address, in none of its spellings
IMAGE_HOST = re.compile(r"(\*\.)?([a-z0-9_-]+\.)*[a-z][a-z0-9-]*(:[1-9][0-9]{0,4})?")
#: a URL without user, password and query
ENDPOINT = re.compile(
    r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._/-]*)?"
)
#: a host name or an address, without a port
HOST_NAME = re.compile(r"[a-z0-9._-]+|[0-9a-f:]+")
#: an origin as browsers send it: in lower case, without a path
ORIGIN = re.compile(r"https?://(?:[a-z0-9._-]+|\[[0-9a-f:]+\])(?::[0-9]{1,5})?")


class GatewaySettings(BaseSettings):
    """See the file's header; docs/running.md shows the fields, and a test compares both."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="ignore", allow_inf_nan=False
    )

    config_file: Path | None = None
    """file that describes the models, see [Several models](#several-models); if unset, the
    variables of the next table describe one"""
    host: str = "127.0.0.1"
    """address to listen on"""
    port: int = Field(8000, ge=0, le=65535)
    """port to listen on; 0: any free port"""
    processes: int = Field(1, ge=1, le=256)
    """gateway processes that share the port; limits and budgets apply to each, see
    [operations.md](operations.md)"""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """lowest level that is logged"""
    otlp_endpoint: str | None = None
    """URL of an OpenTelemetry collector (OTLP over HTTP) that receives traces, such as
    `http://collector:4318`, see [operations.md](operations.md#traces); if unset, none"""
    trace_share: float = Field(1.0, ge=0, le=1)
    """share of the requests without `traceparent` that are traced, from 0 to 1; the clients'
    `traceparent` decides about the others"""

    api_keys: Annotated[tuple[SecretStr, ...], NoDecode] = ()
    """keys of clients, separated by commas; if unset, no key is required"""
    allow_anonymous: bool = False
    """`true` allows a real model without keys of clients on an address that other hosts can
    reach"""
    admin_keys: Annotated[tuple[SecretStr, ...], NoDecode] = ()
    """keys of operators, separated by commas; if unset, admin endpoints return 403"""
    keys_file: Path | None = None
    """file of further keys of clients with names and limits, see [Keys and
    limits](#keys-and-limits); read again when it changes"""
    keys_redis: bool = False
    """`true` reads further keys of clients from Redis, too"""
    access_redis_url: SecretStr | None = None
    """Redis of keys and of counts for limits; default: REDIS_URL"""
    limits_on_redis_failure: Literal["open", "closed"] = "open"
    """while Redis fails, each gateway counts limits for itself (`open`), or keys with limits get
    503 (`closed`)"""
    jwks_file: Path | None = None
    """file of public keys (JWKS) that verify JSON Web Tokens of clients, see
    [operations.md](operations.md#tokens-of-an-identity-provider); read again when it changes; if
    unset, tokens are refused"""
    jwt_issuer: str | None = Field(None, validate_default=True)
    """required `iss` of tokens; JWKS_FILE needs it"""
    jwt_audience: str | None = Field(None, validate_default=True)
    """required `aud` of tokens, or one of several; JWKS_FILE needs it"""
    jwt_leeway_seconds: float = Field(30.0, ge=0, le=300)
    """seconds by which the clock of the issuer may differ, for `exp`, `nbf` and `iat`"""
    jwt_required_scope: str | None = None
    """scope that tokens must have (`scope` or `scp`), else they get 403; if unset, none"""
    jwt_admin_scope: str | None = None
    """scope of tokens that may use admin endpoints; if unset, none may"""
    jwt_models_claim: str | None = None
    """claim that lists the model ids which a token may use; tokens without it may use none; if
    unset, all tokens may use all models"""
    max_running: int = Field(256, ge=1)
    """maximum answers that run at once in this process; each choice of `n` counts"""
    max_queued: int = Field(256, ge=0)
    """maximum requests that wait to run; further ones get 503, or 429 if their own key is at its
    limit"""
    queue_seconds: float = Field(10.0, gt=0)
    """maximum seconds that a request waits to run"""
    max_background: int = Field(64, ge=0)
    """maximum responses in the background that run at once in this process; further ones get 429"""
    max_background_of_client: int = Field(16, ge=0)
    """maximum of them that one client may have at once; further ones get 429"""
    max_websockets: int = Field(256, ge=0)
    """maximum open WebSockets of this process; further ones get 503"""
    cors_origins: Annotated[tuple[str, ...], NoDecode] = ()
    """origins whose web pages may call the gateway from a browser, separated by commas, such as
    `https://chat.example.org`; `*` allows all; if unset, none"""
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """names that requests may have as `Host` while no keys are required, separated by commas, such
    as `gateway.example.org`; `*` allows all; if unset, loopback names and HOST on a loopback
    address, all on others"""
    trusted_proxies: Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode] = ()
    """addresses and networks of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are
    believed, separated by commas, such as `10.0.0.5,172.16.0.0/12`; if unset, none"""
    tls_certificate: Path | None = None
    """file of the certificate and its chain (PEM), with which the gateway itself speaks TLS; if
    unset, a proxy in front does"""
    tls_key: Path | None = None
    """file of the certificate's key; if unset, it is in the same file"""
    tls_client_ca: Path | None = None
    """file of CA certificates; clients without a certificate of theirs are refused"""
    docs: bool = True
    """`false` turns off `/docs` and `/openapi.json`, which need no key"""
    ui: bool = True
    """`false` turns off `/ui`, see [ui.md](ui.md); the page needs no key, its requests do"""
    max_body_bytes: int = Field(4 * MEBIBYTE, ge=1024)
    """maximum bytes of a request body after decompression, without the data of images; larger
    bodies get 413"""
    max_image_body_bytes: int = Field(32 * MEBIBYTE, ge=1024)
    """maximum bytes of a request body with the data of its images and files; MAX_BODY_BYTES, if
    that is larger"""
    max_arriving_bytes: int = Field(256 * MEBIBYTE, ge=1024)
    """maximum bytes of all request bodies that are arriving; beyond it, the newest body of the
    client with the most bytes gets 503; messages of WebSockets that are arriving have the same
    bound of their own"""
    max_image_bytes: int = Field(20 * MEBIBYTE, ge=1024)
    """maximum bytes of an image's file, see [Images](#images)"""
    max_image_pixels: int = Field(50_000_000, ge=1, le=PILLOW_PIXELS)
    """maximum width times height of an image; reading one takes up to 8 bytes of memory a pixel"""
    images_memory_bytes: int = Field(2048 * MEBIBYTE, ge=1024)
    """maximum bytes of the images of all requests until their answers have ended, in each process;
    one client may have half of them; further requests with images get 503"""
    image_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """hosts from which images are fetched, separated by commas, such as
    `images.example.org,*.cdn.example.net`; if unset, images must be data URLs, see
    [Images](#images)"""
    image_fetch_seconds: float = Field(10.0, gt=0)
    """seconds within which all images of a request must have been fetched"""
    max_json_values: int = Field(MAX_JSON_VALUES, ge=1)
    """maximum number of JSON values (strings, numbers, ...) in a request body"""
    max_images: int = Field(MAX_IMAGES, ge=1)
    """maximum number of images that a model sees in one request; of more, it sees the newest, and
    a message of the user that alone has more gets 400"""
    unknown_fields: Literal["refuse", "ignore"] = "refuse"
    """fields of requests that the gateway does not know get 400 (`refuse`), or have no effect and
    are named in the answer (`ignore`), see [api.md](api.md#unknown-fields)"""
    max_header_bytes: int = Field(32_768, ge=1024)
    """maximum size of the request line and headers; larger ones get 431"""
    max_connections: int = Field(2048, ge=1)
    """maximum open client connections; for a further one, the longest idle or slow one of the
    address with the most is closed; if all are busy, it gets 503"""
    header_seconds: float = Field(10.0, gt=0)
    """seconds within which a request's headers must arrive"""
    body_seconds: float = Field(60.0, gt=0)
    """seconds within which a request's body must arrive"""
    compile_threads: int = Field(2, ge=1, le=64)
    """threads that compile schemas; one client may use all but one of them (at least one)"""
    compile_queue: int = Field(512, ge=1)
    """maximum compiles that one client may have waiting; further ones get 429"""
    stream_comment_seconds: float = Field(10.0, ge=0)
    """seconds without output after which the gateway sends a comment line, so that proxies keep the
    stream open; this also starts a response that has no token yet; 0 disables"""
    shutdown_seconds: float = Field(30.0, ge=0)
    """grace period of running answers after SIGTERM, in seconds"""

    drain_seconds: float = Field(0.0, ge=0)
    """minimum seconds after SIGTERM in which the gateway still accepts requests, while
    `/health/ready` returns 404, so that load balancers stop sending; it then waits for running
    answers; 0: connections are refused at once"""

    redis_url: SecretStr | None = None
    """Redis of the shared cache, see [cache.md](cache.md); if unset, replicas share nothing"""
    cache_key_file: Path | None = None
    """file that contains CACHE_KEY, for example a mounted secret"""
    cache_key: SecretStr | None = Field(None, validate_default=True)
    """key of the MAC over cache entries, at least 16 bytes"""
    cache_trust: Literal["key", "network"] = "key"
    """`network` uses Redis without CACHE_KEY; trusts every client of that Redis"""
    compiler_memory_bytes: int = Field(832 * MEBIBYTE, ge=1)
    """memory budget of compiled grammars and their masks, divided equally among the vocabularies of
    the models; the process may use up to 1.3 times as much"""
    cache_ttl_seconds: int = Field(7 * 86_400, ge=1)
    """time to live of unused entries in Redis"""
    cache_prefetch_seconds: float = Field(1.0, ge=0)
    """maximum seconds of loading the most popular entries at startup, in the background; 0
    disables"""
    cache_loads_per_second: int = Field(500, ge=0)
    """maximum entries per second that are loaded because other replicas announced them; 0
    disables"""

    cache_namespace: Literal["shared", "key"] = "shared"
    """whether all clients share compiled grammars and masks, or each API key has its own (`key`),
    see [Namespaces](cache.md#namespaces); workers need the same setting"""
    cache_namespaces: int = Field(16, ge=1, le=1024)
    """API keys at once that have caches of their own; they divide COMPILER_MEMORY_BYTES, and the
    least recently used ones are dropped"""

    responses_ttl_seconds: int = Field(7 * 86_400, ge=1)
    """time to live of a stored response after its last use"""
    responses_max_bytes: int = Field(16 * MEBIBYTE, ge=1024)
    """maximum bytes of a stored response, and of all earlier responses that a request continues; a
    larger response is not stored"""
    responses_memory_bytes: int = Field(64 * MEBIBYTE, ge=1024)
    """memory of stored responses without Redis; when it is full, the client with the most bytes
    loses its least recently used ones"""
    responses_redis_bytes: int = Field(128 * MEBIBYTE, ge=1024)
    """memory of stored responses in Redis, of all gateways together; when it is full, the client
    with the most bytes loses its least recently used ones. Redis' `maxmemory` must exceed it, see
    [cache.md](cache.md#cost)"""

    @field_validator(
        *("api_keys", "admin_keys", "cors_origins", "allowed_hosts", "image_hosts"), mode="before"
    )
    @classmethod
    def _split(cls, value: Any) -> Any:
        """Split at commas and drop empty parts."""
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("cors_origins")
    @classmethod
    def _known_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for origin in value:
            if origin != "*" and not ORIGIN.fullmatch(origin):
                raise ValueError(
                    f"must be origins such as https://chat.example.org, or *; got {origin!r}"
                )
        return value

    @field_validator("allowed_hosts")
    @classmethod
    def _known_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        names = tuple(name.lower().strip("[]") for name in value)
        for name in names:
            if name != "*" and not HOST_NAME.fullmatch(name):
                raise ValueError(
                    f"must be names without a port, such as gateway.example.org, or *; got {name!r}"
                )
        return names

    @field_validator("image_hosts")
    @classmethod
    def _known_image_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        names = tuple(name.lower() for name in value)
        for name in names:
            if not IMAGE_HOST.fullmatch(name):
                raise ValueError(
                    "must be names such as images.example.org, *.example.org or "
                    f"images.example.org:8443, not addresses or URLs; got {name!r}"
                )
        return names

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _known_networks(cls, value: Any) -> Any:
        parts = value.split(",") if isinstance(value, str) else value
        named = (part.strip() if isinstance(part, str) else part for part in parts)
        try:
            return tuple(ip_network(part, strict=False) for part in named if part)
        except ValueError as error:
            raise ValueError(f"must be addresses or networks: {error}") from None

    @field_validator("otlp_endpoint")
    @classmethod
    def _known_endpoint(cls, value: str | None) -> str | None:
        if value is not None and not ENDPOINT.fullmatch(value):
            raise ValueError("must be a URL such as http://collector:4318, without a password")
        return value

    @field_validator("jwt_issuer", "jwt_audience")
    @classmethod
    def _set_with_jwks(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None and info.data.get("jwks_file") is not None:
            raise ValueError("must be set, because JWKS_FILE is")
        return value

    @field_validator("jwt_required_scope", "jwt_admin_scope", "jwt_models_claim")
    @classmethod
    def _one_word(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and len(value.split()) != 1:
            raise ValueError("must be one word")
        if value is not None and info.data.get("jwks_file") is None:
            raise ValueError("needs JWKS_FILE, which is not set")
        return value

    @field_validator("redis_url", "access_redis_url")
    @classmethod
    def _known_redis(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            RedisAddress.of(value.get_secret_value())
        return value

    @field_validator("cache_key")
    @classmethod
    def _key_or_file(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """Replace CACHE_KEY by the key from CACHE_KEY_FILE, if that is set."""
        variable = None if value is None else value.get_secret_value()
        key = key_of(variable, info.data.get("cache_key_file"))
        return None if key is None else SecretStr(key)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if set(self.admin_keys) & set(self.api_keys):
            raise ValueError(
                "API_KEYS and ADMIN_KEYS share a key, which would give a client admin access"
            )
        if self.max_arriving_bytes < self.largest_body_bytes:
            raise ValueError(
                "MAX_ARRIVING_BYTES must be at least MAX_BODY_BYTES and MAX_IMAGE_BODY_BYTES, "
                f"{self.largest_body_bytes:,}; got {self.max_arriving_bytes:,}"
            )
        if self.images_memory_bytes < 2 * self.max_image_body_bytes:
            raise ValueError(
                "IMAGES_MEMORY_BYTES must be at least twice MAX_IMAGE_BODY_BYTES, "
                f"{2 * self.max_image_body_bytes:,}; got {self.images_memory_bytes:,}"
            )
        if self.cache_namespace == "key" and not self.keys_required:
            raise ValueError(
                "CACHE_NAMESPACE=key needs keys of clients: set API_KEYS, KEYS_FILE, KEYS_REDIS or "
                "JWKS_FILE"
            )
        if self.tls_certificate is None and (self.tls_key or self.tls_client_ca):
            raise ValueError("TLS_KEY and TLS_CLIENT_CA need TLS_CERTIFICATE")
        if (self.keys_redis or self.access_redis_url is not None) and self.access_redis is None:
            raise ValueError(
                "KEYS_REDIS and ACCESS_REDIS_URL need a Redis that may be used: set REDIS_URL or "
                "ACCESS_REDIS_URL, and CACHE_KEY or CACHE_TRUST=network"
            )
        return self

    @property
    def largest_body_bytes(self) -> int:
        """Bytes of the largest body."""
        return max(self.max_body_bytes, self.max_image_body_bytes)

    @property
    def keys_required(self) -> bool:
        """Whether clients need a key or a token."""
        return bool(self.api_keys or self.keys_file or self.keys_redis or self.jwks_file)

    @property
    def secret(self) -> bytes | None:
        """The key of MACs over values in Redis."""
        return None if self.cache_key is None else self.cache_key.get_secret_value().encode()

    @property
    def access_redis(self) -> SecretStr | None:
        """The URL of the Redis of keys and limits; None also if Redis is not trusted."""
        may_use = may_use_redis(self.secret, self.cache_trust)
        return self.access_redis_url or self.redis_url if may_use else None

    @property
    def is_open(self) -> bool:
        """Whether other hosts may be able to reach the gateway, and no key is asked for."""
        return not self.keys_required and not is_loopback(self.host)

    def public(self) -> dict[str, Any]:
        """Return all settings for printing, without secrets."""
        shown = self.model_dump(
            mode="json",
            exclude={"access_redis_url", "admin_keys", "api_keys", "cache_key", "redis_url"},
        )
        shown["api_keys"] = f"{len(self.api_keys)} set"
        shown["admin_keys"] = f"{len(self.admin_keys)} set"
        shown["cache_key"] = "not set" if self.cache_key is None else "set"
        for name in ("redis_url", "access_redis_url"):
            url: SecretStr | None = getattr(self, name)
            shown[name] = url and RedisAddress.of(url.get_secret_value()).shown()
        return shown


def is_loopback(host: str) -> bool:
    """Return whether the address is a loopback address; the only known name is localhost."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
