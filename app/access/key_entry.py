"""An entry of a key in a file or in Redis: one JSON object.

    {"name": "team-a", "sha256": "<64 hex digits>", "expires": "2027-01-01T00:00:00Z",
     "models": ["m"], "max_running": 8, "requests_per_minute": 60, "tokens_per_minute": 100000,
     "priority": "high"}

Only ``name`` and ``sha256`` are required. The entry holds the SHA-256 of the key, not the key. A
slow, salted hash protects passwords, which people choose; ``new_key`` draws 256 random bits, too
many to try, so plain SHA-256 is enough, and it allows a look-up by digest.
"""

import secrets
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from .client import Client, Priority

#: characters of a name: it appears in logs, in commands and as a key of Redis
NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
#: of the limits, so that sums stay exact in Redis' floating-point numbers
MAX_LIMIT: Final = 1_000_000_000
#: bytes of an entry, one of thousands of models included
MAX_BYTES: Final = 64 << 10
#: characters of a place in messages: an unknown field may have any name
_SHOWN: Final = 100
#: hex digits of a digest that identify a client: 128 bits
_ID_DIGITS: Final = 32


class KeyEntry(BaseModel):
    """See the file's header."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str = Field(pattern=NAME)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    expires: AwareDatetime | None = None
    models: tuple[str, ...] | None = Field(default=None, min_length=1)
    max_running: int | None = Field(default=None, ge=1, le=MAX_LIMIT, strict=True)
    requests_per_minute: int | None = Field(default=None, ge=1, le=MAX_LIMIT, strict=True)
    tokens_per_minute: int | None = Field(default=None, ge=1, le=MAX_LIMIT, strict=True)
    priority: Priority = "normal"

    @property
    def digest(self) -> bytes:
        return bytes.fromhex(self.sha256)

    def client(self) -> Client:
        return Client(
            id=client_id(self.digest),
            name=self.name,
            priority=self.priority,
            models=None if self.models is None else frozenset(self.models),
            max_running=self.max_running,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
        )

    def has_expired(self, now: float) -> bool:
        """Whether the key has expired at a time in seconds since the epoch."""
        return self.expires is not None and self.expires.timestamp() <= now

    def as_json(self) -> str:
        """Return the entry as one line, without defaults."""
        return self.model_dump_json(exclude_defaults=True)


class EntryRefused(ValueError):
    """An entry is not usable. The message quotes no value: it may be a key."""


def parse_entry(text: str | bytes) -> KeyEntry:
    """Parse an entry. Raises EntryRefused."""
    if len(text) > MAX_BYTES:
        raise EntryRefused(f"larger than {MAX_BYTES:,} bytes, got {len(text):,}")
    try:
        return KeyEntry.model_validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ascii(".".join(map(str, problem["loc"])))[1:-1][:_SHOWN]
        raise EntryRefused(f"{place}: {problem['msg']}" if place else problem["msg"]) from None


def digest_of(key: str) -> bytes:
    """Return the SHA-256 of a key."""
    return sha256(key.encode()).digest()


def client_id(digest: bytes) -> str:
    return digest.hex()[:_ID_DIGITS]


def new_key() -> str:
    """Return a random key."""
    return f"sk-{secrets.token_urlsafe(32)}"


def parse_time(text: str) -> datetime:
    """Parse an ISO time; a time without a zone is UTC, a date is its beginning.

    Raises:
        ValueError: not an ISO time.
    """
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
