"""A layout means what a node said, or it is none; a node that means harm is asked within bounds."""

import socket
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from redis.exceptions import ConnectionError, InvalidResponse

from cache import RedisAddress, cluster_layout
from cache.cluster_layout import MOST_PRIMARIES, MOST_RANGES, ClusterLayout
from cache.connecting import ConnectionBounds, client_of
from tests.cache.hostile_server import hostile_server
from tests.cache.test_redis_store_hostile import ANSWERS, drip, flood, send

ASKED = ("asked", 7000)
NODE = [b"10.0.0.1", 7001, b"a name", []]
#: two keys and their slots
FOO, BAR = (b"foo", 12_182), (b"bar", 5_061)
BOUNDS = ConnectionBounds(
    reply_bytes=1_000, reply_seconds=0.3, socket_seconds=0.3, connect_seconds=0.3
)
#: so that only bytes can end a reading
PATIENT = replace(BOUNDS, reply_seconds=60, socket_seconds=60)


def test_each_key_has_the_node_of_its_slot() -> None:
    layout = ClusterLayout(
        [[12_182, 16_383, [b"::1", 1], NODE], [0, 5_061, NODE], [12_181, 12_181, [b"", 65_535]]],
        ASKED,
    )
    assert layout.host_of(FOO[0]) == layout.host_of(b"x{foo}y") == ("::1", 1)
    assert layout.host_of(BAR[0]) == ("10.0.0.1", 7001)
    assert set(layout.primaries) == {("::1", 1), ("10.0.0.1", 7001), ("asked", 65_535)}
    assert ClusterLayout([[0, 5_060, NODE], [5_062, 9_000, NODE]], ASKED).host_of(b"bar") is None
    assert ClusterLayout([[12_183, 12_184, NODE]], ASKED).host_of(b"foo") is None


@pytest.mark.parametrize("host", [None, b""], ids=["null", "empty"])
def test_a_node_without_a_host_is_the_one_that_was_asked(host: bytes | None) -> None:
    assert ClusterLayout([[0, 16_383, [host, 7001]]], ASKED).primaries == (("asked", 7001),)


def test_each_slot_may_be_a_range_of_its_own() -> None:
    assert ClusterLayout([[n, n, NODE] for n in range(MOST_RANGES)], ASKED).host_of(b"foo")


REFUSED: dict[str, Any] = {
    "an error": ValueError("no"),
    "nothing": None,
    "bytes": b"0",
    "no ranges": [],
    "too many ranges": [[0, 0, NODE]] * (MOST_RANGES + 1),
    "too many primaries": [[n, n, [b"%d" % n, 1]] for n in range(MOST_PRIMARIES + 1)],
    "no range": [7],
    "a range without a node": [[0, 1]],
    "a slot before the first": [[-1, 1, NODE]],
    "a slot after the last": [[0, 16_384, NODE]],
    "a range that ends before it begins": [[2, 1, NODE]],
    "a slot that is text": [[b"0", 1, NODE]],
    "an overlap": [[0, 5, NODE], [5, 6, NODE]],
    "the same range twice": [[0, 5, NODE], [0, 5, NODE]],
    "a node that is text": [[0, 1, b"10.0.0.1:7001"]],
    "a node without a port": [[0, 1, [b"10.0.0.1"]]],
    "port 0": [[0, 1, [b"10.0.0.1", 0]]],
    "port 65536": [[0, 1, [b"10.0.0.1", 65_536]]],
    "a port that is text": [[0, 1, [b"10.0.0.1", b"7001"]]],
    "a host that is a number": [[0, 1, [1, 7001]]],
    "a host that is not known": [[0, 1, [b"?", 7001]]],
    "a host with a line end": [[0, 1, [b"a\n", 7001]]],
    "a host of 256 bytes": [[0, 1, [b"a" * 256, 7001]]],
}


@pytest.mark.parametrize("reply", REFUSED.values(), ids=REFUSED)
def test_what_is_no_layout_is_refused(reply: Any) -> None:
    with pytest.raises(InvalidResponse):
        ClusterLayout(reply, ASKED)


# -- nodes that mean harm --------------------------------------------------------------------------


def cluster_at(url: str, bounds: ConnectionBounds) -> Any:
    return client_of(RedisAddress.of(url.replace("redis://", "redis+cluster://")), bounds)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_no_answer_to_the_question_for_the_layout_holds_who_asks(
    answer: Callable[[socket.socket], None],
) -> None:
    with hostile_server(answer, polite=False) as server:
        with pytest.raises(ConnectionError, match="no node told the layout"):
            cluster_at(server.url, BOUNDS).ping()
        assert server.connections == 1


def test_a_layout_beyond_all_bounds_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all the time it wants: the bytes alone end it, and memory holds no more than these."""
    monkeypatch.setattr(cluster_layout, "MOST_BYTES", 1 << 20)
    for start, block in ((b"$500000000\r\n", bytes(1 << 16)), (b"+", b"x" * (1 << 16))):
        with hostile_server(flood(start, block), polite=False) as server:
            tracemalloc.start()
            try:
                with pytest.raises(ConnectionError, match="no node told"):
                    cluster_at(server.url, PATIENT).ping()
                assert tracemalloc.get_traced_memory()[1] < 16 << 20
            finally:
                tracemalloc.stop()


def test_after_a_node_that_drips_the_next_one_is_asked() -> None:
    told = b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:7001\r\n"
    with (
        hostile_server(drip, polite=False) as first,
        hostile_server(send(told), polite=False) as second,
    ):
        hosts = first.url.removesuffix("/0") + "," + second.url[len("redis://") :]
        (node,) = cluster_at(hosts, BOUNDS).primaries()
        assert node.connection_pool.connection_kwargs["port"] == 7001
        assert first.connections == second.connections == 1
