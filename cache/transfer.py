"""Export of a namespace in Redis to a file, and import.

Invariants  I1 an export contains the entries with a valid seal, and counts the others.
            I2 an import verifies the whole file before it writes. It publishes entries as replicas
               do: sealed with the secret of this site, with a time to live, announced.
Cost        memory for ``AT_ONCE`` entries. An import writes one batch after the other.
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
    """Counters of a transfer. ``left_out``: entries without a valid seal."""

    entries: int = 0
    bytes: int = 0
    left_out: int = 0


def export_namespace(store: RedisLog, file: BinaryIO, *, seconds: float) -> Transferred:
    """Write all entries to a file. Raises OSError, and StoreUnusable, also beyond ``seconds``."""
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
    """Import all entries of a file.

    Args:
        file: a seekable file, which is read twice.
        file_key: the secret of the exporting site, if it differs from the store's.

    Raises:
        DumpRefused: nothing was written, unless the file changed meanwhile.
        StoreUnusable: a part may have been written; the import can be repeated.
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
    """Publish entries. Raises StoreUnusable unless Redis accepts all of them."""
    taken = store.publish([(entry.key, entry.value) for entry in batch])
    if taken < len(batch):
        raise StoreUnusable(f"Redis accepted only {taken:,} of {len(batch):,} entries")
