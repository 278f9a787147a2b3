"""Fixtures of tests with a real Redis; who tests other stores has a ``make`` of his own."""

import uuid
from collections.abc import Iterator

import pytest
from redis import Redis

from cache import RedisStore
from tests.cache.stores import BOUNDS, SECRET, MakeStore


@pytest.fixture
def make(redis_url: str) -> Iterator[MakeStore]:
    """Makes stores of one fresh namespace; closes them."""
    namespace = uuid.uuid4().hex
    made: list[RedisStore] = []

    def make_store(url: str = redis_url, **options: object) -> RedisStore:
        chosen = {"namespace": namespace, "key": SECRET, "bounds": BOUNDS, **options}
        made.append(RedisStore(url, **chosen))  # type: ignore[arg-type]
        return made[-1]

    yield make_store
    for store in made:
        store.close()


@pytest.fixture
def raw(redis_url: str) -> Iterator[Redis]:
    """The hand of somebody else who can write to the same Redis."""
    with Redis.from_url(redis_url) as client:
        yield client
