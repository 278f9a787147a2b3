"""The file of an export: what was written comes back, and no other file is taken for one."""

import io
import struct
from collections.abc import Callable

import pytest

from cache import dump
from cache.dump import DumpRefused
from cache.entries import Entry
from cache.seal import Seal

SEAL = Seal(b"a secret of the tests")
UNSEALED = Seal(None)
ENTRIES = [
    Entry(b"order/1/aa", bytes(range(256)) * 8, 0),
    *(Entry(b"masks/5/aa/%04d" % n, b"%d" % n * n, n) for n in range(40)),
    Entry(b"masks/5/bb/empty", b"", (1 << 32) - 1),
]


def written(entries: list[Entry] = ENTRIES, seal: Seal = SEAL) -> bytes:
    file = io.BytesIO()
    dump.write(file, entries, seal)
    return file.getvalue()


def read_back(data: bytes, seal: Seal = SEAL) -> list[Entry]:
    file = io.BytesIO(data)
    marks = dump.check(file, seal)
    file.seek(0)
    return [entry for batch in dump.read(file, seal, marks) for entry in batch]


@pytest.mark.parametrize("seal", [SEAL, UNSEALED])
@pytest.mark.parametrize("count", [0, 1, dump.AT_ONCE - 1, dump.AT_ONCE, dump.AT_ONCE + 1, 42])
def test_what_was_written_comes_back(seal: Seal, count: int) -> None:
    assert read_back(written(ENTRIES[:count], seal), seal) == ENTRIES[:count]


def test_every_flipped_bit_is_found() -> None:
    data = written(ENTRIES[:3])
    for place in range(len(data)):
        for bit in (1, 0x80):
            spoilt = data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]
            with pytest.raises(DumpRefused):
                dump.check(io.BytesIO(spoilt), SEAL)


def test_every_cut_is_found_and_so_is_what_comes_behind() -> None:
    data = written(ENTRIES[:3])
    for length in range(len(data)):
        with pytest.raises(DumpRefused):
            dump.check(io.BytesIO(data[:length]), SEAL)
    with pytest.raises(DumpRefused, match=f"continues after byte {len(data):,}"):
        dump.check(io.BytesIO(data + b"x"), SEAL)


def head(key: int, value: int, uses: int = 0) -> bytes:
    return struct.pack(">III", key, value, uses)


def made(*parts: bytes, count: int = 0) -> bytes:
    """A file with any content, whole and with the right MAC."""
    kind, mac = SEAL.stream()
    data = struct.pack(">4sBB", b"SWYD", 1, kind) + b"".join(parts) + head(0, 0, count)
    mac.update(data)
    return data + mac.digest()


#: what is wrong -> the file, and what is said of it
REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "not an export"),
    "something else": (b"{}" * 100, "not an export"),
    "a sealed value": (SEAL.wrap(b"masks/5/aa/1", b"1"), "not an export"),
    "a later layout": (b"SWYD\x02" + written()[5:], "layout 2, but only 1"),
    "no secret": (written(seal=UNSEALED), "made without a cache key"),
    "another secret": (written(seal=Seal(b"another secret of 16")), "another cache key"),
    "a huge key": (made(head(513, 0)), "a key has 513 bytes; at most 512"),
    "a key of 4 GB": (made(head(0xFFFFFFFF, 0xFFFFFFFF)), "a key has 4,294,967,295 bytes"),
    "a huge value": (made(head(9, (1 << 20) + 1)), "a value has 1,048,577 bytes"),
    "a length beyond the end": (made(head(9, 1 << 20), b"masks/5/a"), "ends too early"),
    "the map of keys": (made(head(3, 1), b"mapx", count=1), "begin an entry's key"),
    "a list of used names": (made(head(10, 1), b"hot/masks/x1", count=1), "begin an entry's key"),
    "a key with too few parts": (made(head(7, 1), b"masks/51", count=1), "begin an entry's key"),
    "a key without a part": (made(head(8, 1), b"masks//a1", count=1), "begin an entry's key"),
    "another number of entries": (made(head(9, 1), b"masks/5/a1", count=2), "expected 2 entries"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_export_of_ours_is_refused_in_words(case: tuple[bytes, str]) -> None:
    data, words = case
    with pytest.raises(DumpRefused, match=words):
        dump.check(io.BytesIO(data), SEAL)


def test_more_entries_than_the_bound_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump, "MAX_ENTRIES", 42)
    assert len(read_back(written(ENTRIES))) == 42
    with pytest.raises(DumpRefused, match="more than 42 entries"):
        read_back(written([*ENTRIES, ENTRIES[0]]))


#: changes of a file after it was checked
CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "another value": lambda data: data.replace(b"\x00\x01\x02", b"\x00\x01\x03"),
    "another file": lambda data: written(ENTRIES[1:]),
    "fewer entries": lambda data: written(ENTRIES[:20]),
    "more entries": lambda data: written([*ENTRIES, *ENTRIES]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_changed_after_it_was_checked_is_not_handed_out(
    change: Callable[[bytes], bytes],
) -> None:
    data = written()
    marks = dump.check(io.BytesIO(data), SEAL)
    handed: list[Entry] = []

    def read_on() -> None:
        for batch in dump.read(io.BytesIO(change(data)), SEAL, marks):
            handed.extend(batch)

    with pytest.raises(DumpRefused):
        read_on()
    assert handed == ENTRIES[: len(handed)]
