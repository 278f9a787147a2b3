"""Memory moves into huge pages where nearly all pages are this process's, and keeps its content."""

import ctypes
import mmap
import random
from ctypes import c_size_t, c_void_p
from pathlib import Path

import pytest

from app.server import huge_pages
from app.server.huge_pages import HUGE_BYTES, LEAST_PAGES, use_huge_pages

PAGES = HUGE_BYTES // mmap.PAGESIZE
#: where the mappings begin, in huge pages
FIRST = 8
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
#: a line of /proc/self/maps at an offset in huge pages, and the huge pages in it
MAPPINGS = {
    "{0}-{3} rw-p 00000000 00:00 0 \n": [0, 1, 2],
    "{0}-{2} rw-p 00000000 00:00 0                          [heap]\n": [0, 1],
    # parts at both ends
    "{0.5}-{2.5} rw-p 00000000 00:00 0 \n": [1],
    "{0.5}-{1.5} rw-p 00000000 00:00 0 \n": [],
    # not writable, of a file, of the system
    "{0}-{1} r--p 00000000 00:00 0 \n": [],
    "{0}-{1} r-xp 00000000 fe:00 7 /usr/lib/a b.so\n": [],
    "{0}-{1} rw-p 00000000 fe:00 7 /usr/lib/a b.so\n": [],
    "{0}-{1} rw-p 00000000 00:00 0                          [stack]\n": [],
    "{0}-{1} rw-p 00000000 00:00 0 \n{2}-{3} rw-p 00000000 00:00 0 \n": [0, 2],
}


def mapping(lines: str) -> str:
    for place in ("0.5", "1.5", "2.5", "0", "1", "2", "3"):
        lines = lines.replace(f"{{{place}}}", f"{int((FIRST + float(place)) * HUGE_BYTES):x}")
    return lines


class System:
    """A system that moves ranges; ``moved``: those that moved. ``flags``: of a range's pages, the
    number of pages of each kind.
    """

    #: of a page that is resident and no other process has, that is shared, that is not resident
    OWN, SHARED, ABSENT = 1 << 63 | 1 << 56, 1 << 63, 0

    def __init__(self, folder: Path) -> None:
        self.moved: list[int] = []
        self.refuses = False
        self.flags: dict[int, dict[int, int]] = {}
        self.maps, self.pagemap = folder / "maps", folder / "pagemap"
        self.enabled = folder / "enabled"

    def write(self, lines: str) -> None:
        """Write the mappings and their pages."""
        self.maps.write_text(mapping(lines))
        ranges = [self.flags.get(number, {self.OWN: PAGES}) for number in range(4)]
        entries = [flag for each in ranges for flag, count in each.items() for _ in range(count)]
        before = bytes(FIRST * PAGES * 8)
        self.pagemap.write_bytes(before + b"".join(flag.to_bytes(8, "little") for flag in entries))

    def madvise(self, place: c_void_p, size: c_size_t, advice: int) -> int:
        assert size.value == HUGE_BYTES
        self.moved.append((place.value or 0) // HUGE_BYTES - FIRST)
        return -1 if self.refuses else 0


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> System:
    made = System(tmp_path)
    monkeypatch.setattr(huge_pages, "_MAPPINGS", made.maps)
    monkeypatch.setattr(huge_pages, "_PAGEMAP", made.pagemap)
    monkeypatch.setattr(huge_pages, "_ENABLED", made.enabled)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: made)
    return made


@pytest.mark.parametrize(("lines", "moved"), MAPPINGS.items(), ids=MAPPINGS.keys())
def test_whole_huge_pages_of_heaps_move(system: System, lines: str, moved: list[int]):
    system.write(lines)
    assert use_huge_pages() == len(moved)
    assert system.moved == moved


@pytest.mark.parametrize("other", [System.SHARED, System.ABSENT], ids=["shared", "absent"])
def test_a_range_with_many_pages_that_would_take_memory_stays(system: System, other: int):
    least = {System.OWN: LEAST_PAGES, other: PAGES - LEAST_PAGES}
    less = {System.OWN: LEAST_PAGES - 1, other: PAGES - LEAST_PAGES + 1}
    system.flags = {0: less, 1: least, 2: {other: PAGES}}
    system.write("{0}-{3} rw-p 00000000 00:00 0 \n")
    assert use_huge_pages() == 1
    assert system.moved == [1]


def test_a_system_that_refuses_or_shows_no_mappings_changes_nothing(system: System):
    assert use_huge_pages() == 0
    system.refuses = True
    system.write("{0}-{1} rw-p 00000000 00:00 0 \n")
    assert use_huge_pages() == 0
    assert system.moved == [0]


@pytest.mark.parametrize(
    ("setting", "moved"),
    [
        ("always madvise [never]\n", []),
        ("always [madvise] never\n", [0]),
        ("[always] madvise never\n", [0]),
    ],
)
def test_the_system_decides_whether_there_are_huge_pages(
    system: System, setting: str, moved: list[int]
):
    """REGRESSION: the call itself does not heed the setting."""
    system.enabled.write_text(setting)
    system.write("{0}-{1} rw-p 00000000 00:00 0 \n")
    assert use_huge_pages() == len(moved)
    assert system.moved == moved


def test_memory_keeps_what_it_holds():
    data = random.Random(1).randbytes(HUGE_BYTES)
    with mmap.mmap(-1, 4 * HUGE_BYTES, flags=PRIVATE) as memory:
        for _ in range(4):
            memory.write(data)
        use_huge_pages()
        assert memory[:] == data * 4
