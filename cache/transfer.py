"""Between a namespace in Redis and a file: export and import.

Invariants  I1 what is exported was sealed for its key; the rest is left out and counted.
            I2 nothing is written before all of the file was checked, and what is written goes the
               way of all that is put: sealed with this side's secret, with its time to live, its
               bit in the map and its name among those that are used.
Cost        memory for ``AT_ONCE`` entries. An import writes them one batch after the other.
Not here    the file (dump), the walk through Redis (namespace).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from . import dump
from .entries import Entry, batches
from .redis_store import RedisStore
from .replies import RedisUnusable
from .seal import Seal

#: seconds that one batch of an import may take to be written
BATCH_SECONDS: Final = 30.0


@dataclass(slots=True)
class Transferred:
    """``left_out``: what was not sealed by us for its key."""

    entries: int = 0
    bytes: int = 0
    left_out: int = 0


def export_namespace(store: RedisStore, file: BinaryIO, *, seconds: float) -> Transferred:
    """Writes all entries to a file. Raises RedisUnusable, also beyond ``seconds``, and OSError."""
    done = Transferred()
    namespace = store.namespace()

    def entries() -> Iterator[Entry]:
        for keys in batches(namespace.keys(seconds), dump.AT_ONCE):
            found, left_out = namespace.read(keys)
            done.entries += len(found)
            done.bytes += sum(len(entry.value) for entry in found)
            done.left_out += left_out
            yield from found

    dump.write(file, entries(), namespace.seal)
    return done


def import_namespace(
    store: RedisStore, file: BinaryIO, *, file_key: bytes | None = None
) -> Transferred:
    """Puts all entries of a file.

    Args:
        file: can be read twice.
        file_key: the secret that it was exported with, where that is not the store's own.

    Raises:
        DumpRefused: nothing was written, unless the file changed meanwhile.
        RedisUnusable: a part may have been written; doing it again does no harm.
    """
    namespace = store.namespace()
    seal = namespace.seal if file_key is None else Seal(file_key)
    start = file.tell()
    marks = dump.check(file, seal)
    namespace.check()
    file.seek(start)
    done = Transferred()
    for batch in dump.read(file, seal, marks):
        _put(store, batch)
        namespace.note_uses(batch)
        done.entries += len(batch)
        done.bytes += sum(len(entry.value) for entry in batch)
    return done


def _put(store: RedisStore, batch: list[Entry]) -> None:
    """As all that is put. Raises RedisUnusable unless each was taken."""
    pairs = {entry.key: entry.value for entry in batch}
    before = store.stats()["writes"]
    store.put_many(list(pairs.items()))
    in_time = store.flush(BATCH_SECONDS)
    taken = store.stats()["writes"] - before
    if not in_time or taken < len(pairs):
        raise RedisUnusable(f"Redis took only {taken:,} of {len(pairs):,} entries")
