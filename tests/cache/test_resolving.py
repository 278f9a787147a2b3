"""Names are resolved in bounded time; certificates are still those of names (test_topologies)."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cache import RedisBounds
from cache.resolving import addresses_of
from tests.cache.stores import PATIENCE_SECONDS, MakeStore


@pytest.fixture
def hung(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A name server that is gone: the resolver answers when the event is set."""
    answers = threading.Event()
    usual = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        if host == "redis.invalid":
            answers.wait(PATIENCE_SECONDS)
        return usual(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield answers
    answers.set()


def test_names_and_addresses() -> None:
    assert "127.0.0.1" in addresses_of("localhost", 6379, PATIENCE_SECONDS)
    assert addresses_of("::1", 6379, 0.0) == ["::1"]
    assert addresses_of("10.0.0.1", 6379, 0.0) == ["10.0.0.1"]


def test_a_name_that_nobody_has_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError):
        addresses_of("nobody.invalid", 6379, PATIENCE_SECONDS)


def test_who_waits_for_a_hung_resolver_goes_on_without(hung: threading.Event) -> None:
    with pytest.raises(TimeoutError):
        addresses_of("redis.invalid", 6379, 0.01)
    assert not hung.is_set()


def test_a_reading_does_not_wait_for_a_hung_resolver(
    make: MakeStore, hung: threading.Event
) -> None:
    store = make(url="redis://redis.invalid:6379", bounds=RedisBounds())
    assert store.get_many([b"a"]) == [None]
    assert not hung.is_set()
    assert store.stats()["failures"] == store.stats()["open"] == 1
