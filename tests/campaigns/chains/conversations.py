"""Conversations by ``previous_response_id``, judged by a client that keeps them itself.

Each turn goes to any replica. The right answer is that of the same conversation sent whole, with
the same seed. A conversation may be lost only after a kill of Redis, and only by an error that says
so; then it begins again.
"""

import random
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import openai

from tests.app.gateway import Gateway
from tests.redis_server import RedisServer


def replica(redis: RedisServer, **more: Any) -> Gateway:
    """Return a gateway that stores responses in this Redis."""
    return Gateway(
        redis_url=redis.url, cache_trust="network", format="hermes", reasoning="on", **more
    )


def client_of(gateway: Gateway) -> openai.OpenAI:
    """Return the official client of a gateway, without retries."""
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="k", max_retries=0)


def create(client: openai.OpenAI, **more: Any) -> Any:
    """Return a short response."""
    return client.responses.create(model="noise", max_output_tokens=12, **more)


@dataclass
class Watch:
    """The kills of Redis so far, and what all conversations met. Threads: any."""

    kills: int = 0
    turns: int = 0
    lost: int = 0
    unavailable: int = 0
    unstored: int = 0
    wrong: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def count(self, name: str) -> int:
        """Count a turn by its outcome, and return the new count."""
        with self.lock:
            value: int = getattr(self, name) + 1
            setattr(self, name, value)
            return value

    def complain(self, text: str) -> None:
        """Record what must not happen."""
        with self.lock:
            self.wrong.append(text)


@dataclass
class Conversation:
    """A chain whose turns go to any replica. ``items``: what it must consist of."""

    replicas: list[openai.OpenAI]
    draw: random.Random
    watch: Watch = field(default_factory=Watch)
    items: list[Any] = field(default_factory=list)
    last: str | None = None
    lost: int = 0
    #: kills when the chain began
    kills: int = 0

    def turn(self) -> None:
        """Continue the chain, or begin a new one if it is lost."""
        text, seed = f"say {self.draw.random()}", {"seed": self.draw.randrange(1 << 30)}
        made = self._made(text, seed)
        if made is None:
            return
        self.items.append({"role": "user", "content": text})
        expected = create(
            self.draw.choice(self.replicas), input=self.items, extra_body=seed, store=False
        )
        if (made.usage, made.output_text) != (expected.usage, expected.output_text):
            self.watch.complain(f"turn {len(self.items)} of {made.id}: another answer")
        self.items += [item.to_dict() for item in made.output]
        self.last = made.id
        self.watch.count("turns")
        if not made.store:
            # the response says so, and the client begins a new chain
            self.watch.count("unstored")
            self._begin()

    def _made(self, text: str, seed: dict[str, int]) -> Any:
        """Return the response of a turn; None: Redis is down, and the chain waits."""
        while True:
            if self.last is None:
                self.kills = self.watch.kills
            try:
                return create(
                    self.draw.choice(self.replicas),
                    input=text,
                    previous_response_id=self.last,
                    extra_body=seed,
                )
            except openai.APIStatusError as error:
                if error.code == "state_unavailable" and error.status_code == 503:
                    self.watch.count("unavailable")
                    return None
                if error.code != "previous_response_not_found" or self.last is None:
                    self.watch.complain(f"{error.status_code} {error.code}: {error.message}")
                    return None
                if self.watch.kills == self.kills:
                    self.watch.complain(f"{self.last} was lost without a kill")
                self.lost += 1
                self.watch.count("lost")
                self._begin()

    def _begin(self) -> None:
        self.last, self.items = None, []
