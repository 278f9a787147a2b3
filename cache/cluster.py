"""A Redis Cluster as one client: commands of one key each, and pipelines of such commands.

One node tells which has which slot (cluster_layout); what is sent goes to the nodes in one pipeline
for each. redis-py's ``RedisCluster`` bounds neither the bytes nor the seconds of what a node
answers; its pipelines repeat what failed command by command, look for the new layout and sleep
meanwhile, all of it in the thread that asked: here a command that another node would have answered
has simply failed.

Invariants  I1 who comes first reads the layout, within his deadline; it is read again only by
               threads without one: in the background.
            I2 after a connection that failed, or a node that did not have a slot, it is read again
               before the next ``ping`` is answered.
            I3 a reading of it asks the nodes that were named and ``MOST_ASKED`` more, in turn, each
               within the bounds of its connection.
Cost        a pipeline: one round trip for each node that has one of its keys, in turn.
Threads     any.
"""

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any, Final

from redis import Redis
from redis.exceptions import (
    AskError,
    ClusterDownError,
    ClusterError,
    ConnectionError,
    MovedError,
    TimeoutError,
)

from . import deadline
from .cluster_layout import ClusterLayout, Host

#: nodes that are asked for the layout beside those that were named
MOST_ASKED: Final = 16
#: what says that the layout changed, or that a node is gone; redis-py 5 leaves it at the words
_ELSEWHERE = (AskError, ClusterDownError, ClusterError, ConnectionError, MovedError, TimeoutError)
_WORDS = ("MOVED ", "ASK ", "CLUSTERDOWN ")


class ClusterClient:
    """See the file's header.

    Args:
        hosts: some nodes, from which the others are found.
        client_of: a client of one node, which connects on first use.
        asker_of: the same, to ask it for the layout once.
    """

    def __init__(
        self,
        hosts: Sequence[Host],
        client_of: Callable[[Host], Redis],
        asker_of: Callable[[Host], Redis],
    ) -> None:
        self._hosts = tuple(hosts)
        self._client_of = client_of
        self._asker_of = asker_of
        self._layout: ClusterLayout | None = None
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
        for host in self._known_layout().primaries:
            try:
                self.client_at(host).ping()
            except Exception:
                self.note_change()
                raise
        return True

    def primaries(self) -> list[Redis]:
        """Clients of all nodes that have keys."""
        return [self.client_at(host) for host in self._known_layout().primaries]

    def client_for(self, key: bytes) -> Redis:
        """Of the node that has the key."""
        host = self._known_layout().host_of(key)
        if host is None:
            self.note_change()
            raise ConnectionError("no node has this slot")
        return self.client_at(host)

    def client_at(self, host: Host) -> Redis:
        with self._lock:
            if host not in self._clients:
                self._clients[host] = self._client_of(host)
            return self._clients[host]

    def note_change(self) -> None:
        """Something was not where the layout says."""
        self._is_old = True

    def _known_layout(self) -> ClusterLayout:
        layout = self._layout
        if layout is None or (self._is_old and not deadline.is_set()):
            return self._read_layout()
        return layout

    def _read_layout(self) -> ClusterLayout:
        """From the first node that has one, of those that were named and of those known last."""
        known = () if self._layout is None else self._layout.primaries[:MOST_ASKED]
        layout = self._ask_for_layout(dict.fromkeys([*self._hosts, *known]))
        with self._lock:
            gone = [self._clients.pop(host) for host in set(self._clients) - {*layout.primaries}]
            self._layout, self._is_old = layout, False
        _close(gone)
        return layout

    def _ask_for_layout(self, hosts: Iterable[Host]) -> ClusterLayout:
        failed = "none was named"
        for host in hosts:
            client = self._asker_of(host)
            try:
                return ClusterLayout(client.execute_command("CLUSTER SLOTS"), host)
            except Exception as error:
                failed = type(error).__name__
            finally:
                client.close()
        raise ConnectionError(f"no node told the layout of the cluster ({failed})")

    def close(self) -> None:
        """Let go of all connections; they are made again if something is asked."""
        with self._lock:
            open_ones = list(self._clients.values())
        _close(open_ones)


def _is_elsewhere(reply: Any) -> bool:
    if not isinstance(reply, Exception):
        return False
    return isinstance(reply, _ELSEWHERE) or str(reply).startswith(_WORDS)


def _close(clients: Sequence[Redis]) -> None:
    for client in clients:
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
