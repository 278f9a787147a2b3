"""Between a namespace in Redis and a file: export and import.

Invariants  I1 what is exported was sealed for its key; the rest is left out and counted.
            I2 nothing is written before all of the file was checked. Imported entries are published
               as replicas publish: sealed with this side's secret, with a time to live, announced.
Cost        memory for ``AT_ONCE`` entries. An import writes them one batch after the other.
Not here    the file (dump), the walk through Redis (namespace).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from . import dump
from .clients import StoreUnusable
from .entries import AT_ONCE, Entry, batches
from .redis_log import RedisLog
from .seal import Seal


@dataclass(slots=True)
class Transferred:
    """``left_out``: what was not sealed by us for its key."""

    entries: int = 0
    bytes: int = 0
    left_out: int = 0


def export_namespace(store: RedisLog, file: BinaryIO, *, seconds: float) -> Transferred:
    """Writes all entries to a file. Raises StoreUnusable, also beyond ``seconds``, and OSError."""
    done = Transferred()
    namespace = store.namespace()

    def entries() -> Iterator[Entry]:
        for keys in batches(namespace.keys(seconds), AT_ONCE):
            found, left_out = namespace.read(keys)
            done.entries += len(found)
            done.bytes += sum(len(entry.value) for entry in found)
            done.left_out += left_out
            yield from found

    dump.write(file, entries(), namespace.seal)
    return done


def import_namespace(
    store: RedisLog, file: BinaryIO, *, file_key: bytes | None = None
) -> Transferred:
    """Puts all entries of a file.

    Args:
        file: can be read twice.
        file_key: the secret that it was exported with, where that is not the store's own.

    Raises:
        DumpRefused: nothing was written, unless the file changed meanwhile.
        StoreUnusable: a part may have been written; doing it again does no harm.
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


def _put(store: RedisLog, batch: list[Entry]) -> None:
    """As every replica publishes. Raises StoreUnusable unless each entry was taken."""
    taken = store.publish([(entry.key, entry.value) for entry in batch])
    if taken < len(batch):
        raise StoreUnusable(f"Redis took only {taken:,} of {len(batch):,} entries")
