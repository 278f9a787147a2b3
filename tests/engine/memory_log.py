"""A log of artifacts in this process's memory: replicas share one ``Redis`` of their own."""

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import engine

#: a busy machine fails no test
PATIENCE_SECONDS = 30.0


class Redis:
    """The shared state of replicas: values by key, their popularity, and announcements."""

    def __init__(self) -> None:
        self.kept: dict[bytes, bytes] = {}
        self.uses: Counter[bytes] = Counter()
        self.announced: list[tuple[object, bytes]] = []
        self.changed = threading.Condition()


class MemoryLog:
    """One replica's view; satisfies ``engine.ArtifactLog``."""

    def __init__(self, redis: Redis | None = None) -> None:
        self.redis = redis or Redis()
        self.at = 0

    @property
    def kept(self) -> dict[bytes, bytes]:
        return self.redis.kept

    @kept.setter
    def kept(self, entries: dict[bytes, bytes]) -> None:
        self.redis.kept = entries
        self.redis.uses = Counter(dict.fromkeys(entries, 1))

    def position(self) -> None:
        with self.redis.changed:
            self.at = len(self.redis.announced)

    def follow(self, seconds: float) -> list[bytes]:
        with self.redis.changed:
            self.redis.changed.wait_for(lambda: self.at < len(self.redis.announced), seconds)
            new, self.at = self.redis.announced[self.at :], len(self.redis.announced)
        return [key for by, key in new if by is not self]

    def hottest(self, prefix: bytes, most: int) -> list[bytes]:
        with self.redis.changed:
            found = [key for key, _ in self.redis.uses.most_common() if key.startswith(prefix)]
        return found[:most]

    def read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.redis.kept.get(key) for key in keys]

    def publish(self, entries: Sequence[tuple[bytes, bytes]]) -> int:
        with self.redis.changed:
            for key, value in entries:
                self.redis.kept[key] = value
                self.redis.uses[key] += 1
                self.redis.announced.append((self, key))
            self.redis.changed.notify_all()
        return len(entries)

    def used(self, keys: Sequence[bytes]) -> None:
        with self.redis.changed:
            self.redis.uses.update(key for key in keys if key in self.redis.kept)

    def stats(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        pass


class OffTheRequestPath:
    """A log that fails the test when a thread that serves requests calls it."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log
        self.serving: set[int] = set()
        self.violations: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if threading.get_ident() in self.serving:
            self.violations.append(name)
            raise AssertionError(f"a request called {name}")
        return getattr(self._log, name)


def loaded(redis: Redis, vocabulary: engine.Vocabulary, **options: Any) -> engine.Compiler:
    """A compiler that has loaded what the log has, and does not follow it."""
    compiler = engine.Compiler(vocabulary, store=MemoryLog(redis), **options)
    compiler.load_hottest(PATIENCE_SECONDS)
    return compiler
