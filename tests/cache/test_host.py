"""HostStore: bounded, sealed, shared by processes; whatever becomes of the file costs misses only.

What every store does is in test_face.py.
"""

import multiprocessing
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from cache import HostBounds, HostStore
from cache.host import LEAST_BYTES
from tests.cache.stores import SECRET, WRITES, until
from tests.redis_server import PATIENCE_SECONDS

#: generous waits, so that a busy machine fails no test
BOUNDS = HostBounds(
    read_seconds=PATIENCE_SECONDS,
    busy_seconds=PATIENCE_SECONDS,
    write_seconds=PATIENCE_SECONDS,
    writes=WRITES,
)

MakeStore = Callable[..., HostStore]
spawning = multiprocessing.get_context("spawn")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.db"


@pytest.fixture
def make(path: Path) -> Iterator[MakeStore]:
    """Makes stores of one file; closes them."""
    made: list[HostStore] = []

    def make_store(where: Path = path, **options: object) -> HostStore:
        chosen = {"key": SECRET, "max_bytes": LEAST_BYTES, "bounds": BOUNDS, **options}
        made.append(HostStore(str(where), **chosen))  # type: ignore[arg-type]
        return made[-1]

    yield make_store
    for store in made:
        store.close()


def stored(store: HostStore, *pairs: tuple[bytes, bytes]) -> HostStore:
    store.put_many(pairs)
    assert store.flush(PATIENCE_SECONDS)
    return store


def sql(path: Path, statement: str, *arguments: object) -> list[tuple[object, ...]]:
    """The hand of somebody else who can write the file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        return db.execute(statement, arguments).fetchall()


# -- what is sealed --------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [0, 4, 5, 9, 10, 42, -1])
def test_a_tampered_value_is_a_miss_and_is_counted(make: MakeStore, path: Path, place: int) -> None:
    store = stored(make(), (b"a", b"the value"), (b"b", b"untouched"))
    ((sealed,),) = sql(path, "SELECT value FROM entries JOIN bodies ON id=body WHERE key=?", b"a")
    assert isinstance(sealed, bytes)
    spoilt = bytearray(sealed)
    spoilt[place] ^= 1
    sql(path, "UPDATE bodies SET value=? WHERE value=?", bytes(spoilt), sealed)
    assert store.get_many([b"a", b"b"]) == [None, b"untouched"]
    assert (store.stats()["invalid"], store.stats()["open"]) == (1, 0)
    assert stored(store, (b"a", b"again")).get_many([b"a"]) == [b"again"]


@pytest.mark.parametrize("value", [1, 1.5, "text", b"", b"short"])
def test_a_value_of_another_kind_is_a_miss(make: MakeStore, path: Path, value: object) -> None:
    store = stored(make(), (b"a", b"1"))
    sql(path, "UPDATE bodies SET value=?", value)
    assert store.get_many([b"a"]) == [None]
    assert (store.stats()["invalid"], store.stats()["open"]) == (1, 0)


def test_a_value_moved_to_another_key_is_a_miss(make: MakeStore, path: Path) -> None:
    store = stored(make(), (b"a", b"1"), (b"b", b"2"))
    sql(path, "UPDATE entries SET body=(SELECT body FROM entries WHERE key=?)", b"a")
    assert store.get_many([b"a", b"b"]) == [b"1", None]


def test_a_wrong_key_reads_nothing(make: MakeStore) -> None:
    stored(make(), (b"a", b"1"))
    for key in (b"another secret, as long", None):
        stranger = make(key=key)
        assert stranger.get_many([b"a"]) == [None]
        assert stranger.stats()["invalid"] == 1


def test_without_a_key_accidents_are_noticed(make: MakeStore, path: Path) -> None:
    store = stored(make(key=None), (b"a", b"1"))
    assert make(key=None).get_many([b"a"]) == [b"1"]
    sql(path, "UPDATE bodies SET value=substr(value, 1, length(value)-1)||x'00'")
    assert store.get_many([b"a"]) == [None]


# -- bounds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [({"key": b"too short"}, "at least 16 bytes"), ({"max_bytes": LEAST_BYTES - 1}, "16,777,215")],
    ids=["short key", "too few bytes"],
)
def test_what_can_never_work_is_refused_when_the_store_is_made(
    make: MakeStore, path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(**options)
    make()
    assert not path.exists(), "nothing is opened before the first call"


def test_values_and_keys_at_the_bound_are_kept_and_one_byte_past_it_are_not(
    make: MakeStore,
) -> None:
    store = make(bounds=replace(BOUNDS, value_bytes=100, key_bytes=8))
    stored(store, (b"a", bytes(100)), (b"b", bytes(101)), (b"k" * 8, b"1"), (b"k" * 9, b"2"))
    assert store.get_many([b"a", b"b", b"k" * 8, b"k" * 9]) == [bytes(100), None, b"1", None]
    assert (store.stats()["oversized"], store.stats()["writes"]) == (2, 2)


@pytest.mark.parametrize("size", [300, 20_000, 1 << 20])
def test_the_file_never_passes_its_bound_and_the_least_recently_used_go(
    make: MakeStore, path: Path, size: int
) -> None:
    store = stored(make(), (b"first", b"1"), (b"used", b"2"))
    count = 3 * LEAST_BYTES // size
    for start in range(0, count, max(1, count // 20)):
        keys = range(start, start + max(1, count // 20))
        stored(store, *[(b"%d" % number, os.urandom(size)) for number in keys])
        assert store.get_many([b"used"]) == [b"2"]
        taken = sum(each.stat().st_size for each in path.parent.glob("cache.db*"))
        assert taken <= LEAST_BYTES + (1 << 20)
    assert store.get_many([b"first", b"%d" % keys[-1]])[0] is None
    assert store.get_many([b"%d" % keys[-1]]) != [None]
    stats = store.stats()
    assert (stats["write_failures"], stats["open"]) == (0, 0)
    assert stats["evictions"] > count // 3
    assert stats["bytes"] > LEAST_BYTES // 2, "what is kept is worth the space"


def _read_and_stop(path: str, ready: object) -> None:
    """Ends in the middle of a reading, for good."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN")
    db.execute("SELECT count(*) FROM entries").fetchall()
    ready.set()  # type: ignore[attr-defined]
    time.sleep(600)


def test_a_reader_that_stops_does_not_make_the_log_grow_for_ever(
    make: MakeStore, path: Path
) -> None:
    """It pins what the log holds; then writes are given up, and go on when it is gone."""
    store = stored(make(bounds=replace(BOUNDS, write_seconds=0.1)), (b"a", b"1"))
    ready = spawning.Event()
    child = spawning.Process(target=_read_and_stop, args=(str(path), ready))
    with killed(child):
        assert ready.wait(PATIENCE_SECONDS)
        for number in range(30):
            stored(store, (b"%d" % number, os.urandom(1 << 20)))
        assert store.stats()["write_failures"] > 0
        assert store.stats()["open"] == 0
        assert Path(f"{path}-wal").stat().st_size < LEAST_BYTES // 8 + (3 << 20)
        assert store.get_many([b"a"]) == [b"1"]
    assert stored(store, (b"after", b"2")).get_many([b"after"]) == [b"2"]


# -- processes -------------------------------------------------------------------------------------


@contextmanager
def killed(child: BaseProcess) -> Iterator[None]:
    """A child for the length of a with block, which ends it without warning (SIGKILL)."""
    child.start()
    try:
        yield
    finally:
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join(PATIENCE_SECONDS)


def value_of(number: int) -> bytes:
    """What everybody puts under b"%d" % number: some hundred bytes to some 60 KB."""
    return random.Random(number).randbytes(300 + 2_000 * (number % 30))


def _work(path: str, seed: int, failures: object) -> None:
    store = HostStore(path, key=SECRET, max_bytes=LEAST_BYTES, bounds=BOUNDS)
    chance = random.Random(seed)
    for _ in range(150):
        numbers = chance.sample(range(500), 5)
        for number, value in zip(
            numbers, store.get_many([b"%d" % each for each in numbers]), strict=True
        ):
            if value is None:
                store.put_many([(b"%d" % number, value_of(number))])
            elif value != value_of(number):
                failures.put(number)  # type: ignore[attr-defined]
    store.flush(PATIENCE_SECONDS)
    if store.stats()["failures"] or store.stats()["invalid"]:
        failures.put(store.stats())  # type: ignore[attr-defined]
    store.close()


def test_processes_share_one_file_from_its_first_moment(make: MakeStore, path: Path) -> None:
    failures = spawning.SimpleQueue()
    children = [spawning.Process(target=_work, args=(str(path), n, failures)) for n in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join(6 * PATIENCE_SECONDS)
        assert child.exitcode == 0
    assert failures.empty()
    held = make().get_many([b"%d" % number for number in range(500)])
    assert sum(value is not None for value in held) > 100


def _write_for_ever(path: str, seed: int) -> None:
    store = HostStore(path, key=SECRET, max_bytes=LEAST_BYTES, bounds=BOUNDS)
    chance = random.Random(seed)
    while True:
        numbers = chance.sample(range(500), 20)
        store.put_many([(b"%d" % number, value_of(number)) for number in numbers])
        store.flush(PATIENCE_SECONDS)


def test_killed_in_the_middle_of_writing_nothing_is_wrong_or_lost_for_long(
    make: MakeStore, path: Path
) -> None:
    keys = [b"%d" % number for number in range(500)]
    for round_ in range(8):
        children = [
            spawning.Process(target=_write_for_ever, args=(str(path), seed)) for seed in (1, 2)
        ]
        watcher = make()
        with killed(children[0]), killed(children[1]):
            before = _log_time(path)
            until(lambda before=before: _log_time(path) != before)  # type: ignore[misc]
            time.sleep(random.Random(round_).random() / 4)
        for number, value in enumerate(watcher.get_many(keys)):
            assert value in (None, value_of(number))
        fresh = make()
        assert stored(fresh, (b"0", value_of(0))).get_many([b"0"]) == [value_of(0)]
        assert fresh.stats()["failures"] == fresh.stats()["invalid"] == 0
        watcher.close()
        fresh.close()
    assert sql(path, "PRAGMA integrity_check") == [("ok",)]


def _log_time(path: Path) -> int:
    log = Path(f"{path}-wal")
    return log.stat().st_mtime_ns if log.exists() else 0


def _claim_and_hang(path: str, granted: object) -> None:
    store = HostStore(path, key=SECRET, max_bytes=LEAST_BYTES, bounds=BOUNDS)
    granted.put(store.claim([b"a"], 2))  # type: ignore[attr-defined]
    time.sleep(600)


def test_the_lease_of_a_killed_process_runs_out(make: MakeStore, path: Path) -> None:
    granted = spawning.Queue()
    with killed(spawning.Process(target=_claim_and_hang, args=(str(path), granted))):
        assert granted.get(timeout=2 * PATIENCE_SECONDS) == [True]
    store = make()
    until(lambda: store.claim([b"a"], 2) == [True])


def test_a_lease_of_other_times_denies_nothing(make: MakeStore, path: Path) -> None:
    store = stored(make(), (b"a", b"1"))
    for end in (time.time() - 1, time.time() + 10**6):
        sql(path, "INSERT INTO leases VALUES (?, ?, ?)", b"a", b"somebody", end)
        assert store.claim([b"a"], 5) == [True]
        sql(path, "DELETE FROM leases")


def test_a_claim_does_not_wait_for_a_slow_writer(make: MakeStore, path: Path) -> None:
    store = stored(make(bounds=replace(BOUNDS, busy_seconds=0.01)), (b"a", b"1"))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        assert store.claim([b"a"], 5) == [True]
        assert store.get_many([b"a"]) == [b"1"], "nor does a reading"
    assert (store.stats()["late"], store.stats()["open"]) == (1, 0)


def test_after_a_fork_parent_and_child_go_on(make: MakeStore) -> None:
    store = stored(make(), (b"a", b"1"))
    assert store.get_many([b"a"]) == [b"1"]
    inherited = store._reader._rows
    child = os.fork()
    if not child:
        works = store.get_many([b"a"]) == [b"1"] and store.stats()["failures"] == 0
        os._exit(0 if works and store._reader._rows is not inherited else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert stored(store, (b"b", b"2")).get_many([b"a", b"b"]) == [b"1", b"2"]
    assert store.stats()["failures"] == 0
