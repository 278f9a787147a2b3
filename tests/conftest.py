"""Fixtures that more than one folder of tests uses."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.redis_server import RedisServer

pytest_plugins = ["tests.turns", "tests.durations"]
#: those have a configuration and packages of their own (`make test-clients`)
collect_ignore = ["clients"]

# Nothing in the tests depends on how fast the machine is.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis for the whole run, REDIS_URL or our own. Shared: use a namespace of your own."""
    given = os.environ.get("REDIS_URL")
    if given:
        yield given
        return
    server = RedisServer()
    server.start()
    yield server.url
    server.close()


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    """A running server for this test alone, which may kill it and start it again."""
    server = RedisServer()
    server.start()
    yield server
    server.close()
