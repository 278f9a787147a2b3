"""The faults: each a course that breaks something, waits, and mends it again.

Representation   a course is a generator of up to four parts, between them ``yield``: it prepares,
                 it breaks, it mends, and when the cache is used again it looks back.
                 ``shows`` tells by how the store's counters rose whether the fault was met at all.
"""

import time
from collections import Counter
from collections.abc import Callable, Generator
from typing import NamedTuple

from redis import Redis

from tests.redis_server import PATIENCE_SECONDS, RedisServer, SentinelServer

from .proxy import Harm, cut_replies, delay_replies, flip_bits
from .world import NAME, PASSWORD, USER, World, admin_of

Course = Callable[[World], Generator[None, None, None]]
#: counters as far as they rose
Rise = Counter[str]


class Fault(NamedTuple):
    """``from_start``: it is there before the gateway is. ``url_of``: where that finds its Redis."""

    course: Course
    shows: Callable[[Rise], bool]
    from_start: bool = False
    url_of: Callable[[World], str] = lambda world: world.url


# -- the server goes ------------------------------------------------------------------------------


def killed(world: World) -> Generator[None, None, None]:
    yield
    world.server.kill()
    yield
    world.server.start()
    world.fill(world.server)


def paused(world: World) -> Generator[None, None, None]:
    yield
    world.server.pause()
    yield
    world.server.resume()


def restarted_empty(world: World) -> Generator[None, None, None]:
    yield
    world.server.kill()
    world.server.start()
    assert size_of(world.server) < len(world.stock)  # whatever was written since
    yield
    until(lambda: size_of(world.server))  # the gateway fills it again
    world.fill(world.server)


def failover(world: World) -> Generator[None, None, None]:
    """The primary dies; its replica gets the address, which is the proxy's."""
    replica = replica_of(world.server, world)
    yield
    world.server.kill()
    yield
    promote(replica)
    world.proxy.target = replica.port


def failover_by_sentinel(world: World) -> Generator[None, None, None]:
    """Nobody does anything but the Sentinel."""
    replica = replica_of(world.server, world)
    world.sentinel = SentinelServer(NAME, world.server)
    world.others.callback(world.sentinel.close)
    world.sentinel.start()
    until(lambda: sentinel_knows("num-slaves", world))
    yield
    world.server.kill()
    yield
    until(lambda: sentinel_knows("port", world) == replica.port)


def sentinel_knows(what: str, world: World) -> int:
    assert world.sentinel is not None
    with admin_of(world.sentinel) as admin:
        return int(admin.sentinel_masters()[NAME][what])


def demoted(world: World) -> Generator[None, None, None]:
    """The address goes to another primary; who is still connected finds a replica there."""
    primary = replica_of(world.server, world)
    yield
    promote(primary)
    world.proxy.target = primary.port
    replicate(world.server, primary)
    found = size_of(primary)
    yield
    yield
    assert size_of(primary) > found, "nobody found the new primary"


def replica_of(primary: RedisServer, world: World) -> RedisServer:
    replica = world.other_server()
    replicate(replica, primary)
    return replica


def size_of(server: RedisServer) -> int:
    with admin_of(server) as admin:
        return int(admin.dbsize())


def replicate(replica: RedisServer, primary: RedisServer) -> None:
    with admin_of(primary) as admin:
        admin.config_set("repl-diskless-sync-delay", "0")
    with admin_of(replica) as admin:
        admin.replicaof("127.0.0.1", primary.port)
        until(lambda: admin.info("replication")["master_link_status"] == "up")


def until(happened: Callable[[], object]) -> None:
    end = time.monotonic() + 2 * PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


def promote(replica: RedisServer) -> None:
    with admin_of(replica) as admin:
        admin.replicaof("NO", "ONE")


# -- the server refuses ---------------------------------------------------------------------------


def full(world: World) -> Generator[None, None, None]:
    with admin_of(world.server) as admin:
        admin.config_set("maxmemory-policy", "noeviction")
        yield
        admin.config_set("maxmemory", "1")
        yield
        admin.config_set("maxmemory", "0")


def read_only(world: World) -> Generator[None, None, None]:
    primary = world.other_server()
    world.fill(primary)
    yield
    replicate(world.server, primary)
    yield
    promote(world.server)


def password_wrong(world: World) -> Generator[None, None, None]:
    with admin_of(world.server) as admin:
        yield
        set_password(admin, "another")
        yield
        set_password(admin, PASSWORD)


def password_changed(world: World) -> Generator[None, None, None]:
    with admin_of(world.server) as admin:
        set_password(admin, PASSWORD)
        yield
        set_password(admin, "another")
        for client in admin.client_list():
            if client["user"] == USER:
                admin.client_kill_filter(_id=client["id"])
        yield
        set_password(admin, PASSWORD)


def set_password(admin: Redis, password: str) -> None:
    commands = ["+@all"]
    admin.acl_setuser(
        USER, enabled=True, reset=True, passwords=f"+{password}", keys="*", commands=commands
    )


def rights_taken(world: World) -> Generator[None, None, None]:
    """It may still ask whether the server lives."""
    with admin_of(world.server) as admin:
        yield
        admin.execute_command("ACL SETUSER default -@all +ping +acl")
        yield
        admin.execute_command("ACL SETUSER default +@all")


# -- the network ----------------------------------------------------------------------------------


def harmed(harm_of: Callable[[World], Harm]) -> Course:
    """The proxy does harm, and then no more."""

    def course(world: World) -> Generator[None, None, None]:
        yield
        world.proxy.harm = harm_of(world)
        yield
        world.proxy.harm = None
        assert world.proxy.harmed, "no harm was done"

    return course


# -- what lies in it ------------------------------------------------------------------------------


def damaged(spoil: Callable[[Redis, list[bytes]], None]) -> Course:
    """The entries are no longer what they were; what is written from then on is."""

    def course(world: World) -> Generator[None, None, None]:
        yield
        with admin_of(world.server) as admin:
            spoil(admin, sorted(admin.scan_iter("*:masks/*")))
        yield
        world.fill(world.server)

    return course


def flip(admin: Redis, keys: list[bytes]) -> None:
    """One bit of each value, in turn in its header, its MAC and its body."""
    for number, key in enumerate(keys):
        value = bytearray(_read(admin, key))
        value[number * 7 % len(value)] ^= 1 << number % 8
        admin.set(key, bytes(value))


def swap(admin: Redis, keys: list[bytes]) -> None:
    """Each value lies at another key, wherever there is one at one of the same length."""
    values = {key: _read(admin, key) for key in keys}
    ordered = sorted(keys, key=lambda key: (len(values[key]), key))
    for key, other in zip(ordered, ordered[1:] + ordered[:1], strict=True):
        admin.set(key, values[other])


def mistype(admin: Redis, keys: list[bytes]) -> None:
    """Nothing is a string any more, and the map of keys is a list."""
    for key in [*keys, *admin.scan_iter("*:map")]:
        # at once: gateways go on writing
        admin.pipeline(transaction=True).delete(key).rpush(key, b"x").execute()


def _read(admin: Redis, key: bytes) -> bytes:
    value = admin.get(key)
    assert isinstance(value, bytes)
    return value


# -- the table ------------------------------------------------------------------------------------


def left_alone(rise: Rise) -> bool:
    return rise["failures"] > 0 and rise["opened"] > 0 and rise["skipped"] > 0


def refused_writes(rise: Rise) -> bool:
    return rise["write_failures"] > 0 and rise["hits"] > 0 and not rise["opened"]


def not_believed(rise: Rise) -> bool:
    return rise["invalid"] > 0 and not rise["opened"]


def user_url(world: World) -> str:
    return world.user_url


FAULTS = {
    "absent at start": Fault(killed, left_alone, from_start=True),
    "killed": Fault(killed, left_alone),
    "paused": Fault(paused, left_alone),
    "restarted empty": Fault(restarted_empty, lambda rise: rise["absent"] > 0),
    "failover": Fault(failover, left_alone),
    "failover by a Sentinel": Fault(
        failover_by_sentinel, left_alone, url_of=lambda world: world.sentinel_url
    ),
    "demoted": Fault(demoted, lambda rise: rise["writes"] > 0),
    "full": Fault(full, refused_writes),
    "read-only": Fault(read_only, refused_writes),
    "wrong password": Fault(password_wrong, left_alone, from_start=True, url_of=user_url),
    "changed password": Fault(password_changed, left_alone, url_of=user_url),
    "rights taken": Fault(rights_taken, left_alone),
    "cut mid-reply": Fault(harmed(lambda world: cut_replies(world.chance)), left_alone),
    "late": Fault(harmed(lambda world: delay_replies(1.0)), left_alone),
    "bits flipped on the way": Fault(
        harmed(lambda world: flip_bits(world.chance)), lambda rise: rise["misses"] > 0
    ),
    "bits flipped at rest": Fault(damaged(flip), not_believed),
    "values swapped": Fault(damaged(swap), not_believed),
    "values of another type": Fault(damaged(mistype), not_believed),
}
