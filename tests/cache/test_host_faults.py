"""HostStore when its file is not what it should be: misses, no exception, no wrong value.

Everything here happens to real files, in processes of other users where that is what it is about.
"""

import logging
import multiprocessing
import os
import random
import resource
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from cache import HostStore
from cache.host import LEAST_BYTES
from cache.host_rows import APPLICATION, LAYOUT
from tests.cache.stores import SECRET, until
from tests.cache.test_host import BOUNDS, MakeStore, make, path, sql, stored
from tests.redis_server import PATIENCE_SECONDS

__all__ = ["make", "path"]  # fixtures

spawning = multiprocessing.get_context("spawn")
KEYS = [b"%d" % number for number in range(300)]


def value_of(key: bytes) -> bytes:
    return random.Random(key).randbytes(100 + 100 * (int(key) % 60))


def filled(store: HostStore) -> HostStore:
    return stored(store, *[(key, value_of(key)) for key in KEYS])


def tried(store: HostStore) -> HostStore:
    """Everything was put, read and claimed, in vain, and the file looked at again."""
    store.put_many([(key, value_of(key)) for key in KEYS])
    assert right(store) == 0
    assert store.hottest(b"g", 10) == []
    assert store.claim([b"a"], 1) == [True]
    knocks = store.stats()["knocks"]
    until(lambda: store.stats()["knocks"] > knocks + 2)
    assert right(store) == 0
    assert store.stats()["open"] == 1
    return store


def right(store: HostStore) -> int:
    """How many values are there; none is wrong."""
    values = store.get_many(KEYS)
    for key, value in zip(KEYS, values, strict=True):
        assert value in (None, value_of(key))
    return len(KEYS) - values.count(None)


def recovers(store: HostStore) -> None:
    """It comes to work again by itself: what is put is there."""

    def works() -> bool:
        store.put_many([(b"new", b"1")])
        return store.flush(PATIENCE_SECONDS) and store.get_many([b"new"]) == [b"1"]

    until(works)
    assert store.stats()["open"] == 0


# -- damaged ---------------------------------------------------------------------------------------


def _spoil(path: Path, chance: random.Random, places: int) -> None:
    with path.open("r+b") as file:
        size = path.stat().st_size
        for _ in range(places):
            file.seek(chance.randrange(size))
            file.write(chance.randbytes(chance.choice((1, 4, 300))))


@pytest.mark.parametrize("seed", range(25))
def test_damage_at_any_place_costs_misses(make: MakeStore, path: Path, seed: int) -> None:
    """Before a store opens the file, and while one has it open."""
    filled(make()).close()
    chance = random.Random(seed)
    _spoil(path, chance, places=chance.choice((1, 20, 300)))
    store = make()
    for _ in range(3):
        right(store)
        store.put_many([(key, value_of(key)) for key in KEYS])
        store.flush(0.5)  # in vain, once it is left alone for good
        store.hottest(b"g", 10)
        store.claim([b"a"], 1)
        _spoil(path, chance, places=5)
        until(lambda: not store.stats()["open"] or store.stats()["knocks"] > 50)


def test_a_damaged_first_page_is_met_as_damage(make: MakeStore, path: Path) -> None:
    filled(make()).close()
    with path.open("r+b") as file:
        file.seek(100)
        file.write(os.urandom(3000))
    store = make()
    assert right(store) == 0
    recovers(store)
    assert Path(f"{path}.damaged").exists()


NO_FILES: dict[str, bytes] = {
    "text": b"this is not a database, and long enough to have a header\n" * 100,
    "empty": b"",
    "half a header": b"SQLite format 3\0",
    "noise": random.Random(1).randbytes(50_000),
}


@pytest.mark.parametrize("content", NO_FILES.values(), ids=NO_FILES)
def test_what_is_no_database_is_put_aside_once(make: MakeStore, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
    store = make()
    recovers(store)
    aside = Path(f"{path}.damaged")
    assert aside.read_bytes() == content

    aside.rename(path)
    for beside in ("-wal", "-shm"):
        Path(f"{path}{beside}").unlink()
    tried(store)
    assert path.read_bytes()[:1000] == content[:1000], "the second time it is left alone"
    path.unlink()
    recovers(store)


def _make_foreign(path: Path, *statements: str) -> None:
    for statement in ("CREATE TABLE dear (to_somebody)", *statements):
        sql(path, statement)
    path.chmod(0o600)


@pytest.mark.parametrize(
    "statements",
    [
        (),
        ("PRAGMA application_id=7",),
        (f"PRAGMA application_id={APPLICATION}", f"PRAGMA user_version={LAYOUT + 1}"),
    ],
    ids=["another program's", "with its number", "of a later version"],
)
def test_the_database_of_somebody_else_is_left_alone(
    make: MakeStore, path: Path, statements: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    _make_foreign(path, *statements)
    before = path.read_bytes()
    store = tried(make())
    assert path.read_bytes() == before
    assert str(path) in caplog.text
    path.unlink()
    recovers(store)


def test_the_file_of_an_earlier_version_is_replaced(make: MakeStore, path: Path) -> None:
    _make_foreign(path, f"PRAGMA application_id={APPLICATION}")
    recovers(make())


def test_two_stores_that_meet_the_same_damage_replace_it_once(make: MakeStore, path: Path) -> None:
    path.write_bytes(b"no database" * 1000)
    path.chmod(0o600)
    stores = [make() for _ in range(4)]
    for store in stores:
        store.get_many([b"a"])
    for store in stores:
        recovers(store)
    filled(stores[0])
    assert [right(store) for store in stores] == [len(KEYS)] * 4


# -- taken away ------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("",), ("", "-wal", "-shm"), ("-wal",), ("-wal", "-shm")])
def test_a_file_that_is_deleted_under_stores_is_made_anew(
    make: MakeStore, path: Path, names: tuple[str, ...]
) -> None:
    stores = [filled(make()), make()]
    assert right(stores[1]) == len(KEYS)
    for name in names:
        Path(f"{path}{name}").unlink(missing_ok=name != "")  # SQLite may have done so
    for store in stores:
        right(store)
    for store in stores:
        recovers(store)
    if "" in names:
        filled(stores[1])
        assert right(stores[0]) == len(KEYS), "both have the same file again"


@pytest.mark.parametrize("size", [0, 1, 512, 16_384, 100_000])
def test_a_file_that_is_shortened_under_a_reader_kills_nobody(
    make: MakeStore, path: Path, size: int
) -> None:
    """Were it mapped, reading would end the process with SIGBUS."""
    writer, store = filled(make()), make()
    sql(path, "PRAGMA wal_checkpoint(TRUNCATE)")  # all is in the file
    few = KEYS[:20]  # no uses are noted yet: a write would begin the mapping anew
    assert store.get_many(few) == [value_of(key) for key in few]
    os.truncate(path, size)
    right(store)
    right(writer)
    filled(store)
    right(store)
    until(lambda: store.stats()["open"] == 0)
    recovers(store)


def test_a_folder_that_comes_later_is_told_once_and_used_then(
    make: MakeStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "later"
    store = tried(make(folder / "cache.db"))
    assert [record.getMessage() for record in caplog.records] == [
        f"the cache file {folder}/cache.db failed and is left alone for now: "
        f"the folder {folder} is not there; make it, or name another"
    ]
    folder.mkdir()
    recovers(store)


def test_a_locked_file_costs_a_wait_and_is_used_again(make: MakeStore, path: Path) -> None:
    filled(make()).close()
    store = make()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        db.execute("DELETE FROM leases")  # takes the lock and keeps it
        impatient = HostStore(str(path), key=SECRET, max_bytes=LEAST_BYTES, bounds=_impatient())
        assert impatient.get_many([b"1"]) == [None]
        assert impatient.claim([b"1"], 1) == [True]
        impatient.close()
    assert right(store) == len(KEYS)


def _impatient() -> object:
    from dataclasses import replace

    return replace(BOUNDS, read_seconds=0.1, busy_seconds=0.05, write_seconds=0.1)


# -- no room, no right -----------------------------------------------------------------------------


def _fill_with_little_room(path: str, answer: object) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    store = HostStore(path, key=SECRET, max_bytes=LEAST_BYTES, bounds=BOUNDS)
    stored(store, (b"early", b"1"))
    for _ in range(3):
        filled(store)
    right(store)
    answer.put((store.get_many([b"early"]), store.stats()))  # type: ignore[attr-defined]
    store.close()


def test_no_room_for_more_is_a_failed_write_and_reading_goes_on(
    make: MakeStore, path: Path
) -> None:
    values, stats = _elsewhere(_fill_with_little_room, str(path))
    assert values == [b"1"]
    assert stats["write_failures"] > 0
    assert stats["open"] == 0
    store = make()
    assert store.get_many([b"early"]) == [b"1"]
    assert right(filled(store)) == len(KEYS)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="mounting needs root")
def test_a_full_disk_is_a_failed_write_and_reading_goes_on(make: MakeStore, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.system(f"mount -t tmpfs -o size=1500k tmpfs {folder}"):
        pytest.skip("nothing can be mounted here")
    try:
        store = stored(make(folder / "cache.db"), (b"early", b"1"))
        for _ in range(3):
            filled(store)
        stats = store.stats()
        assert store.get_many([b"early"]) == [b"1"]
        assert (stats["write_failures"] > 0, stats["open"]) == (True, 0)
        right(store)
        store.close()
    finally:
        os.system(f"umount {folder}")


NOBODY = 65534


def _use(path: str, user: int, answer: object) -> None:
    if user != os.geteuid():
        os.setgid(user)
        os.setuid(user)
    store = HostStore(path, key=SECRET, max_bytes=LEAST_BYTES, bounds=BOUNDS)
    before = store.get_many([b"0"])
    claimed = store.claim([b"0"], 1)
    store.put_many([(b"more", b"1")])
    store.flush(1)  # in vain, while the file is left alone
    after = store.get_many([b"more"])
    store.close()
    answer.put((before, claimed, after))  # type: ignore[attr-defined]


def _elsewhere(work: Callable[..., None], *arguments: object) -> tuple[object, object]:
    """What ``work`` answers in a process of its own, which must not die."""
    answer = spawning.Queue()
    child = spawning.Process(target=work, args=(*arguments, answer))
    child.start()
    found = answer.get(timeout=3 * PATIENCE_SECONDS)
    child.join(PATIENCE_SECONDS)
    assert child.exitcode == 0
    return found


def _somebody() -> int:
    """A user whom the rights of files bind."""
    return NOBODY if os.geteuid() == 0 else os.geteuid()


@pytest.fixture
def open_folder(path: Path) -> Path:
    """A folder that another user reaches."""
    for folder in (path.parent, *path.parent.parents[:2]):
        folder.chmod(0o755)
    return path.parent


def test_a_folder_that_cannot_be_written_is_left_alone(path: Path, open_folder: Path) -> None:
    open_folder.chmod(0o555)
    found = _elsewhere(_use, str(path), _somebody())
    open_folder.chmod(0o755)
    assert found == ([None], [True], [None])


def test_a_file_that_cannot_be_written_is_read_or_missed(
    make: MakeStore, path: Path, open_folder: Path
) -> None:
    filled(make()).close()
    path.chmod(0o444)
    os.chown(path, _somebody(), -1)
    open_folder.chmod(0o555)
    (before,), (claimed,), (after,) = _elsewhere(_use, str(path), _somebody())
    open_folder.chmod(0o755)
    assert before in (None, value_of(b"0"))
    assert (claimed, after) == (True, None)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")


@needs_root
@pytest.mark.parametrize("name", ["", "-wal", "-shm"])
def test_another_users_file_is_refused(
    make: MakeStore, path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    filled(make())  # stays open, so that all three files are there
    os.chown(f"{path}{name}", NOBODY, -1)
    store = make()
    assert right(store) == 0
    assert "belongs to user 65534" in caplog.text
    os.chown(f"{path}{name}", os.geteuid(), -1)
    recovers(store)
    assert right(store) == len(KEYS)


@pytest.mark.parametrize("name", ["", "-wal", "-shm"])
def test_a_link_is_refused(make: MakeStore, path: Path, name: str) -> None:
    target = path.with_name("target")
    target.write_bytes(b"somebody's")
    filled(make()).close()
    Path(f"{path}{name}").unlink(missing_ok=True)
    Path(f"{path}{name}").symlink_to(target)
    tried(make())
    assert target.read_bytes() == b"somebody's"
    assert Path(f"{path}{name}").is_symlink()


def test_a_file_that_others_can_write_is_refused(
    make: MakeStore, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled(make()).close()
    path.chmod(0o620)
    store = make()
    assert right(store) == 0
    assert "can be written by others: mode 620" in caplog.text
    path.chmod(0o600)
    recovers(store)


def test_what_is_made_is_for_this_user_only(make: MakeStore, path: Path) -> None:
    before = os.umask(0)
    try:
        store = filled(make())
        assert {each.stat().st_mode & 0o777 for each in path.parent.glob("cache.db*")} == {0o600}
        assert len(list(path.parent.glob("cache.db*"))) == 3
        store.close()
    finally:
        os.umask(before)


def test_a_folder_or_a_pipe_in_its_place_is_refused(make: MakeStore, path: Path) -> None:
    path.mkdir()
    tried(make())
    path.rmdir()
    os.mkfifo(path)  # nobody waits for its other end
    tried(make())


def test_the_log_tells_once_and_tells_no_secret(
    make: MakeStore, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.symlink_to("/nowhere")
    with caplog.at_level(logging.DEBUG):
        store = make()
        for _ in range(20):
            store.get_many([b"a"])
        until(lambda: store.stats()["knocks"] > 3)
    assert caplog.text.count("failed and is left alone") == 1
    assert SECRET.decode() not in caplog.text
