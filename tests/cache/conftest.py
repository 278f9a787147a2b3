"""Logs in a real Redis, and another client's connection to it."""

import uuid
from collections.abc import Iterator

import pytest
from redis import Redis

from cache import RedisLog
from tests.cache.stores import MakeLog, new_log


@pytest.fixture
def make(redis_url: str) -> Iterator[MakeLog]:
    """Makes logs of one fresh namespace, unless one is named; closes them."""
    fresh = uuid.uuid4().hex
    made: list[RedisLog] = []

    def make_log(url: str = redis_url, *, namespace: str = fresh, **options: object) -> RedisLog:
        made.append(new_log(url, namespace, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make_log
    for log in made:
        log.close()


@pytest.fixture
def raw(redis_url: str) -> Iterator[Redis]:
    """A connection of another client that can write to the same Redis."""
    with Redis.from_url(redis_url) as client:
        yield client
