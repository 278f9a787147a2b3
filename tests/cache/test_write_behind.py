"""WriteBehind by itself: what its thread hands over, and in which order."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event

from cache import WriteBounds
from cache.write_behind import Pair, WriteBehind
from tests.redis_server import PATIENCE_SECONDS

Told = list[tuple[str, object]]
BOUNDS = WriteBounds(close_seconds=PATIENCE_SECONDS, pause_seconds=3_600)


@contextmanager
def queue(
    told: Told, *, batch_items: int = 64, on_write: Callable[[WriteBehind], None] | None = None
) -> Iterator[WriteBehind]:
    """One that writes down what it hands over, once the block has put all that it puts."""
    filled = Event()

    def write(pairs: list[Pair]) -> None:
        assert filled.wait(PATIENCE_SECONDS)
        told.append(("write", pairs))
        if on_write is not None:
            on_write(made)

    def release(keys: list[bytes]) -> None:
        told.append(("release", keys))

    made = WriteBehind(write, release, lambda: None, BOUNDS, batch_items=batch_items)
    made.put([(b"first", b"0")])  # the thread waits with it
    while made.stats()["queued"]:
        assert not filled.wait(0.001)
    yield made
    filled.set()
    assert on_write is not None or made.flush(PATIENCE_SECONDS)
    made.close()
    del told[0]


def test_entries_are_handed_over_before_the_leases_of_a_batch() -> None:
    told: Told = []
    with queue(told) as made:
        made.put([(b"a", b"1")])
        made.release([b"a", b"b"])
        made.put([(b"c", None), (b"lease/d", b"a value, whatever its key")])
    assert told == [
        ("write", [(b"a", b"1"), (b"c", None), (b"lease/d", b"a value, whatever its key")]),
        ("release", [b"a", b"b"]),
    ]


def test_a_batch_of_nothing_but_leases_writes_nothing() -> None:
    told: Told = []
    with queue(told, batch_items=1) as made:
        made.release([b"a"])
        made.put([(b"b", b"1")])
    assert told == [("release", [b"a"]), ("write", [(b"b", b"1")])]


def test_leases_run_out_by_themselves_when_writing_opened_the_breaker() -> None:
    told: Told = []

    def fail(made: WriteBehind) -> None:
        if len(told) == 2:
            made.breaker.failed()

    with queue(told, on_write=fail) as made:
        made.put([(b"a", b"1")])
        made.release([b"a"])
    assert told == [("write", [(b"a", b"1")])]
