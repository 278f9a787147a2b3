"""Redis as it is set up elsewhere: with TLS, as a cluster, behind a Sentinel. Real servers, small.

Each is there for the length of a with block.
"""

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from redis import Redis

from tests.redis_server import (
    PATIENCE_SECONDS,
    RedisServer,
    SentinelServer,
    find_binary,
    free_port,
)
from tests.waiting import until

#: what the Sentinel calls its primary
NAME = "ours"
SLOTS = 16_384


@contextmanager
def servers(*every: RedisServer) -> Iterator[None]:
    """Started, and closed at the end."""
    with ExitStack() as stack:
        for server in every:
            stack.callback(server.close)
            server.start()
        yield


# -- a cluster ------------------------------------------------------------------------------------


class Cluster(NamedTuple):
    """Three primaries, each with a third of the slots."""

    nodes: list[RedisServer]
    admins: list[Redis]

    @property
    def url(self) -> str:
        return f"redis+cluster://127.0.0.1:{self.nodes[0].port},127.0.0.1:{self.nodes[1].port}"

    def move(self, keys: Iterable[bytes], to: int) -> None:
        """The slots of these keys, which hold nothing, get another node."""
        admin = self.admins[to]
        number = admin.execute_command("CLUSTER MYID")
        admin.execute_command("CLUSTER BUMPEPOCH")  # so that all others believe it
        for slot in {admin.execute_command("CLUSTER KEYSLOT", key) for key in keys}:
            for each in (admin, *self.admins):
                each.execute_command("CLUSTER SETSLOT", slot, "NODE", number)


@contextmanager
def cluster() -> Iterator[Cluster]:
    options = ("--cluster-enabled", "yes", "--cluster-port")
    nodes = [RedisServer(*options, str(free_port())) for _ in range(3)]
    with servers(*nodes), ExitStack() as stack:
        admins = [stack.enter_context(Redis.from_url(node.url)) for node in nodes]
        third = SLOTS // 3 + 1
        for number, admin in enumerate(admins):
            first, last = number * third, min((number + 1) * third, SLOTS) - 1
            admin.execute_command("CLUSTER ADDSLOTSRANGE", first, last)
            bus = nodes[0]._options[-1]
            admin.execute_command("CLUSTER MEET", "127.0.0.1", nodes[0].port, bus)
        until(lambda: all(_is_whole(admin) for admin in admins))
        yield Cluster(nodes, admins)


def _is_whole(admin: Redis) -> bool:
    found = admin.execute_command("CLUSTER INFO")
    return found["cluster_state"] == "ok" and found["cluster_known_nodes"] == "3"


# -- a Sentinel -----------------------------------------------------------------------------------


class Watched(NamedTuple):
    """A primary, its replica, and the Sentinel that knows both."""

    primary: RedisServer
    replica: RedisServer
    sentinel: SentinelServer

    @property
    def url(self) -> str:
        """The first Sentinel of it does not exist."""
        return f"redis+sentinel://127.0.0.1:{free_port()},127.0.0.1:{self.sentinel.port}/{NAME}"


@contextmanager
def watched() -> Iterator[Watched]:
    primary = RedisServer("--repl-diskless-sync-delay", "0")
    with servers(primary):
        replica = RedisServer("--replicaof", "127.0.0.1", str(primary.port))
        sentinel = SentinelServer(NAME, primary)
        with servers(replica, sentinel), Redis.from_url(sentinel.url) as admin:
            # a Sentinel learns of replicas from the primary, every ten seconds or when it starts
            until(lambda: _knows_replica(admin))
            yield Watched(primary, replica, sentinel)


def _knows_replica(admin: Redis) -> bool:
    (state,) = admin.sentinel_masters().values()
    return bool(state["num-slaves"])


# -- TLS ------------------------------------------------------------------------------------------


def lacks_tls() -> str:
    """Why there can't be a server with TLS, or nothing."""
    if not shutil.which("openssl"):
        return "no openssl"
    tried = subprocess.run(
        [find_binary(), "--port", "0", "--tls-port", str(free_port())],
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return "this redis-server has no TLS" if b"Failed finding TLS support" in tried.stdout else ""


class Certificates(NamedTuple):
    """Files: an authority's certificate, and a server's with its key."""

    authority: Path
    certificate: Path
    key: Path


def certificates(folder: Path) -> Certificates:
    """An authority of our own, and a server at 127.0.0.1 that it vouches for."""
    made = Certificates(folder / "authority.pem", folder / "server.pem", folder / "server.key")
    own, request, names = folder / "authority.key", folder / "request", folder / "names"
    names.write_text("subjectAltName=IP:127.0.0.1\n")
    pair = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj"
    for line in (
        f"req -x509 {pair} /CN=authority -days 2 -keyout {own} -out {made.authority}",
        f"req {pair} /CN=server -keyout {made.key} -out {request}",
        f"x509 -req -in {request} -CA {made.authority} -CAkey {own} -CAcreateserial -days 2"
        f" -extfile {names} -out {made.certificate}",
    ):
        subprocess.run(["openssl", *line.split()], check=True, capture_output=True)
    return made


@contextmanager
def tls_server(made: Certificates) -> Iterator[RedisServer]:
    """It answers without TLS at another port, from which the tests watch it."""
    port = str(free_port())
    files = ("--tls-cert-file", str(made.certificate), "--tls-key-file", str(made.key))
    server = RedisServer("--tls-port", port, *files, "--tls-auth-clients", "no")
    server.tls_url = f"rediss://127.0.0.1:{port}/0"  # type: ignore[attr-defined]
    with servers(server):
        yield server
