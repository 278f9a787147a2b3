"""A Redis Cluster as one client: commands of one key each, and pipelines of such commands.

redis-py knows which node has which slot (``RedisCluster``); what is sent goes to the nodes through
connections of our own, which are bounded, one pipeline for each node. redis-py's own pipelines
repeat what failed command by command, look for the new layout and sleep meanwhile, all of it in the
thread that asked: here a command that another node would have answered has simply failed.

Invariants  I1 the layout is read by threads without a deadline only: in the background.
            I2 after a connection that failed, or a node that did not have a slot, it is read again
               before the next ``ping`` is answered.
Cost        a pipeline: one round trip for each node that has one of its keys, in turn.
Threads     any.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from redis import Redis
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import (
    AskError,
    ClusterDownError,
    ClusterError,
    ConnectionError,
    MovedError,
    TimeoutError,
)

from . import deadline

Host = tuple[str, int]
#: what says that the layout changed, or that a node is gone; redis-py 5 leaves it at the words
_ELSEWHERE = (AskError, ClusterDownError, ClusterError, ConnectionError, MovedError, TimeoutError)
_WORDS = ("MOVED ", "ASK ", "CLUSTERDOWN ")


class ClusterClient:
    """See the file's header.

    Args:
        hosts: some nodes, from which the others are found.
        layout_of: asks some nodes for the layout of the cluster.
        client_of: a client of one node, which connects on first use.
    """

    def __init__(
        self,
        hosts: Sequence[Host],
        layout_of: Callable[[list[ClusterNode]], RedisCluster],
        client_of: Callable[[Host], Redis],
    ) -> None:
        self._hosts = tuple(hosts)
        self._layout_of = layout_of
        self._client_of = client_of
        self._layout: RedisCluster | None = None
        self._is_old = True
        self._clients: dict[Host, Redis] = {}
        self._lock = Lock()

    def __getattr__(self, name: str) -> Any:
        """A command whose first argument is its key."""
        if name.startswith("_"):
            raise AttributeError(name)

        def command(key: bytes, *arguments: Any, **options: Any) -> Any:
            pipeline = ClusterPipeline(self)
            getattr(pipeline, name)(key, *arguments, **options)
            (reply,) = pipeline.execute()
            if isinstance(reply, Exception):
                raise reply
            return reply

        return command

    def pipeline(self, transaction: bool = False) -> "ClusterPipeline":
        """Commands of one key each, to be sent together; there are no transactions."""
        return ClusterPipeline(self)

    def ping(self) -> bool:
        """Every primary answers. Finds them first if something was not where it had been."""
        for node in self._known_layout().get_primaries():
            try:
                self.client_at((node.host, node.port)).ping()
            except Exception:
                self.note_change()
                raise
        return True

    def primaries(self) -> list[Redis]:
        """Clients of all nodes that have keys."""
        return [
            self.client_at((node.host, node.port)) for node in self._known_layout().get_primaries()
        ]

    def client_for(self, key: bytes) -> Redis:
        """Of the node that has the key."""
        node = self._known_layout().get_node_from_key(key)
        if node is None:
            self.note_change()
            raise ConnectionError("no node has this slot")
        return self.client_at((node.host, node.port))

    def client_at(self, host: Host) -> Redis:
        with self._lock:
            if host not in self._clients:
                self._clients[host] = self._client_of(host)
            return self._clients[host]

    def note_change(self) -> None:
        """Something was not where the layout says."""
        self._is_old = True

    def _known_layout(self) -> RedisCluster:
        layout = self._layout
        if deadline.is_set() or (layout is not None and not self._is_old):
            if layout is None:
                raise ConnectionError("the cluster was not reached yet")
            return layout
        return self._read_layout()

    def _read_layout(self) -> RedisCluster:
        """Of the nodes known last, and of those that were named at first."""
        known = [] if self._layout is None else self._layout.get_primaries()
        hosts = dict.fromkeys([*((node.host, node.port) for node in known), *self._hosts])
        layout = self._layout_of([ClusterNode(host, port) for host, port in hosts])
        places = {(node.host, node.port) for node in layout.get_nodes()}
        with self._lock:
            gone = [self._clients.pop(host) for host in set(self._clients) - places]
            before, self._layout, self._is_old = self._layout, layout, False
        _close([*gone, before])
        return layout

    def close(self) -> None:
        """Let go of all connections; they are made again if something is asked."""
        with self._lock:
            open_ones = [*self._clients.values(), self._layout]
        _close(open_ones)


def _is_elsewhere(reply: Any) -> bool:
    if not isinstance(reply, Exception):
        return False
    return isinstance(reply, _ELSEWHERE) or str(reply).startswith(_WORDS)


def _close(clients: Sequence[Redis | RedisCluster | None]) -> None:
    for client in clients:
        if client is not None:
            client.close()


class ClusterPipeline:
    """Commands in the order in which they were called; ``execute`` sends them, by node."""

    def __init__(self, cluster: ClusterClient) -> None:
        self._cluster = cluster
        self._commands: list[tuple[str, bytes, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def command(key: bytes, *arguments: Any, **options: Any) -> None:
            self._commands.append((name, key, arguments, options))

        return command

    def execute(self, raise_on_error: bool = False) -> list[Any]:
        """The replies in the order of the commands; those that failed are exceptions."""
        nodes: dict[Redis, list[int]] = {}
        for number, (_, key, _, _) in enumerate(self._commands):
            nodes.setdefault(self._cluster.client_for(key), []).append(number)
        replies: list[Any] = [None] * len(self._commands)
        for client, numbers in nodes.items():
            for number, reply in zip(numbers, self._send(client, numbers), strict=True):
                replies[number] = reply
        if any(_is_elsewhere(reply) for reply in replies):
            self._cluster.note_change()
        return replies

    def _send(self, client: Redis, numbers: list[int]) -> list[Any]:
        pipeline = client.pipeline(transaction=False)
        for number in numbers:
            name, key, arguments, options = self._commands[number]
            getattr(pipeline, name)(key, *arguments, **options)
        try:
            return pipeline.execute(raise_on_error=False)
        except Exception:
            self._cluster.note_change()
            raise
