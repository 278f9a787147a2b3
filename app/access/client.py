"""The client of a request: the holder of an API key, the subject of a token, or an address."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

Priority = Literal["high", "normal", "low"]
#: the first class is served first
PRIORITIES: Final[tuple[Priority, ...]] = get_args(Priority)


@dataclass(frozen=True, slots=True)
class Client:
    """The sender of a request, and the limits that apply. None means no limit.

    ``id`` tells clients apart: the beginning of the key's digest, "jwt-" and a digest of issuer and
    subject, or an address. ``name`` is for people: the key's name, "jwt:" and the subject, or "".
    ``models`` are the model ids that the client may use, ``max_running`` its generations at once.
    """

    id: str
    name: str = ""
    priority: Priority = "normal"
    models: frozenset[str] | None = None
    max_running: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    @property
    def urgency(self) -> int:
        """The priority as a number: 1, 0 or -1. Larger ones go first."""
        return 1 - PRIORITIES.index(self.priority)

    def may_use(self, model: str) -> bool:
        return self.models is None or model in self.models
