"""The faults. Each is a generator that prepares, breaks and repairs, with a ``yield`` in between.

``shows`` decides from the growth of the gateway's counters whether the gateway met the fault. If
the log can still be read during the fault, it also checks that it was read.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from redis import Redis

from tests.redis_server import RedisServer, SentinelServer
from tests.waiting import until

from .proxy import CHUNK, Harm, cut_replies, delay_replies, flip_bits, talk_nonsense
from .spoiling import FALSE_KEYS, POPULAR, announce, false_names, groups, spoil
from .world import LOG, World, admin_of

Course = Callable[[World], Iterator[None]]
#: counters as far as they rose
Rise = Counter[str]

#: the user that gateways are, where a fault is about rights; and what a Sentinel calls its primary
USER, PASSWORD, NAME = "cache", "secret", "ours"


class Fault(NamedTuple):
    """``from_start``: it is there before the gateway is."""

    course: Course
    shows: Callable[[Rise], bool]
    from_start: bool = False


# -- the server goes ------------------------------------------------------------------------------


def killed(world: World) -> Iterator[None]:
    """When it comes back it is empty."""
    yield
    world.server.kill()
    yield
    world.server.start()


def paused(world: World) -> Iterator[None]:
    yield
    world.server.pause()
    yield
    world.server.resume()


def emptied(world: World) -> Iterator[None]:
    """Delete the log without disconnecting clients."""
    yield
    with admin_of(world.server) as admin:
        admin.flushall()
    world.publish(world.fresh)
    yield


def failover(world: World) -> Iterator[None]:
    """Kill the primary, and leave the failover to the Sentinel."""
    replica = world.other_server()
    replicate(replica, world.server)
    sentinel = SentinelServer(NAME, world.server)
    world.others.callback(sentinel.close)
    sentinel.start()
    until(lambda: primary_by(sentinel)["num-slaves"])
    world.url = f"redis+sentinel://127.0.0.1:{sentinel.port}/{NAME}"
    yield
    world.server.kill()
    yield
    until(lambda: primary_by(sentinel)["port"] == replica.port)
    world.server = replica


def demoted(world: World) -> Iterator[None]:
    """The address goes to another primary; who is still connected finds a replica there."""
    yield
    old, world.server = world.server, world.other_server()
    replicate(world.server, old)
    promote(world.server)
    world.proxy.target = world.server.port
    replicate(old, world.server)
    yield


def replicate(replica: RedisServer, primary: RedisServer) -> None:
    with admin_of(primary) as admin:
        admin.config_set("repl-diskless-sync-delay", "0")
    with admin_of(replica) as admin:
        admin.replicaof("127.0.0.1", primary.port)
        until(lambda: admin.info("replication")["master_link_status"] == "up")


def promote(replica: RedisServer) -> None:
    with admin_of(replica) as admin:
        admin.replicaof("NO", "ONE")


def primary_by(sentinel: SentinelServer) -> dict[str, int]:
    with admin_of(sentinel) as admin:
        (found,) = admin.sentinel_masters().values()  # type: ignore[union-attr]
        return dict(found)


# -- the server refuses ---------------------------------------------------------------------------


def full(world: World) -> Iterator[None]:
    yield
    world.publish(world.fresh)
    with admin_of(world.server) as admin:
        admin.config_set("maxmemory", "1")
        yield
        admin.config_set("maxmemory", "0")


def read_only(world: World) -> Iterator[None]:
    """The server becomes a replica of one that others write to."""
    yield
    server, world.server = world.server, world.other_server()
    replicate(server, world.server)
    world.publish(world.fresh)
    yield
    promote(server)
    world.server = server


def password_changed(world: World) -> Iterator[None]:
    with admin_of(world.server) as admin:
        be_user(world, admin)
        yield
        admin.execute_command(f"ACL SETUSER {USER} resetpass >another")
        for client in admin.client_list():
            if client["user"] == USER:
                admin.client_kill_filter(_id=client["id"])
        yield
        admin.execute_command(f"ACL SETUSER {USER} resetpass >{PASSWORD}")


def rights_taken(world: World) -> Iterator[None]:
    """The user may still ask whether the server lives."""
    with admin_of(world.server) as admin:
        be_user(world, admin)
        yield
        admin.execute_command(f"ACL SETUSER {USER} -@all +ping")
        yield
        admin.execute_command(f"ACL SETUSER {USER} +@all")


def be_user(world: World, admin: Redis) -> None:
    admin.execute_command(f"ACL SETUSER {USER} on >{PASSWORD} ~* +@all")
    world.url = world.url.replace("//", f"//{USER}:{PASSWORD}@")


# -- the network ----------------------------------------------------------------------------------


def harmed(harm_of: Callable[[World], Harm], chunk: int = CHUNK) -> Course:
    """The proxy does harm, and then no more."""

    def course(world: World) -> Iterator[None]:
        yield
        world.proxy.chunk = chunk
        world.proxy.harm = harm_of(world)
        world.publish(world.fresh)
        yield
        world.proxy.harm, world.proxy.chunk = None, CHUNK
        assert world.proxy.harmed, "no harm was done"

    return course


# -- what lies in it ------------------------------------------------------------------------------


def spoiled(world: World) -> Iterator[None]:
    """Others announce entries that are not what they were."""
    yield
    with admin_of(world.server) as admin:
        spoil(admin, world.fresh)
        announce(admin, [entry.key for entry in world.fresh])
    yield


def lied_to(world: World) -> Iterator[None]:
    """Popular names and announcements are false, and at last there is a message of another shape,
    after which the gateway asks for popular names again.
    """
    yield
    with admin_of(world.server) as admin:
        for group in groups(world.fresh):
            admin.zadd(POPULAR + group, dict.fromkeys(false_names(world.chance), float("inf")))
            keys = [group + b"/" + name for name in false_names(world.chance)]
            announce(admin, [*keys, *false_names(world.chance)])
        admin.xadd(LOG, {b"x": b"y"})
    yield


def mistyped(world: World) -> Iterator[None]:
    """Log and popular names are of another type."""
    yield
    with admin_of(world.server) as admin:
        names = [LOG, *(POPULAR + group for group in groups(world.fresh))]
        for name in names:
            admin.set(name, b"x")
        yield
        admin.delete(*names)


# -- the table ------------------------------------------------------------------------------------


def fails(rise: Rise) -> bool:
    return rise["failures"] > 0


def fails_often(rise: Rise) -> bool:
    return rise["failures"] >= 3


def is_read(rise: Rise) -> bool:
    return rise["read"] > 0


def is_refused(rise: Rise) -> bool:
    return is_read(rise) and rise["refused"] > 0


def is_not_believed(rise: Rise) -> bool:
    """A value of another type counts as missing."""
    return all(rise[name] for name in ("invalid", "missing", "shared_masks_refused"))


def is_in_vain(rise: Rise) -> bool:
    return fails(rise) and rise["missing"] > FALSE_KEYS / 100 and rise["shared_masks_skipped"] > 0


FAULTS = {
    "absent at start": Fault(killed, fails, from_start=True),
    "killed": Fault(killed, fails),
    "paused": Fault(paused, fails),
    "emptied": Fault(emptied, is_read),
    "failover by a Sentinel": Fault(failover, fails),
    "demoted": Fault(demoted, lambda rise: rise["written"] > 0),
    "full": Fault(full, is_refused),
    "read-only": Fault(read_only, is_refused),
    "changed password": Fault(password_changed, fails),
    "rights taken": Fault(rights_taken, fails),
    "replies cut off": Fault(harmed(lambda world: cut_replies(world.chance)), fails),
    "late replies": Fault(harmed(lambda world: delay_replies(0.2)), is_read),
    "dripping replies": Fault(harmed(lambda world: delay_replies(0.05), chunk=1), fails),
    "nonsense for replies": Fault(harmed(lambda world: talk_nonsense()), fails_often),
    "bits flipped on the way": Fault(harmed(lambda world: flip_bits(world.chance)), fails),
    "spoiled values": Fault(spoiled, is_not_believed),
    "false names": Fault(lied_to, is_in_vain),
    "names of another type": Fault(mistyped, fails),
}
