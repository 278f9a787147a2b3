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
    A model's id does not include its LoRA adapters, which may know what the model does not: each
    has an id of its own, MODEL:ADAPTER, and MODEL:* stands for all of them.
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

    def may_use(self, model: str, adapter: str | None = None) -> bool:
        """Whether it may use a model by its name, or an adapter of it."""
        if self.models is None:
            return True
        if adapter is None:
            return model in self.models
        return f"{model}:{adapter}" in self.models or f"{model}:*" in self.models
