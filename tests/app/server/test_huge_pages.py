"""Memory moves into huge pages where nearly all of it is resident, and keeps what it holds."""

import ctypes
import mmap
import random
from ctypes import c_void_p
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.server import huge_pages
from app.server.huge_pages import HUGE_BYTES, LEAST_PAGES, use_huge_pages

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


def mapping(line: str) -> str:
    for place in ("0.5", "1.5", "2.5", "0", "1", "2", "3"):
        line = line.replace(f"{{{place}}}", f"{int((8 + float(place)) * HUGE_BYTES):x}")
    return line


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """A system whose ranges have these numbers of ``resident`` pages, by default all; ``moved``:
    the ranges that moved.
    """
    made = SimpleNamespace(moved=[], resident={}, refuses=False, maps=tmp_path / "maps")

    def mincore(place: c_void_p, size: Any, pages: Any) -> int:
        number = made.resident.get((place.value or 0) // HUGE_BYTES - 8, len(pages))
        for at in range(len(pages)):
            pages[at] = at < number
        return 0

    def madvise(place: c_void_p, size: Any, advice: int) -> int:
        made.moved.append((place.value or 0) // HUGE_BYTES - 8)
        return -1 if made.refuses else 0

    monkeypatch.setattr(huge_pages, "_MAPPINGS", made.maps)
    libc = SimpleNamespace(mincore=mincore, madvise=madvise)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: libc)
    return made


@pytest.mark.parametrize(("line", "moved"), MAPPINGS.items(), ids=MAPPINGS.keys())
def test_whole_huge_pages_of_heaps_move(system: SimpleNamespace, line: str, moved: list[int]):
    system.maps.write_text(mapping(line))
    assert use_huge_pages() == len(moved)
    assert system.moved == moved


def test_a_range_with_many_free_pages_stays(system: SimpleNamespace):
    system.maps.write_text(mapping("{0}-{3} rw-p 00000000 00:00 0 \n"))
    system.resident = {0: LEAST_PAGES - 1, 1: LEAST_PAGES, 2: 0}
    assert use_huge_pages() == 1
    assert system.moved == [1]


def test_a_system_that_refuses_or_has_no_mappings_changes_nothing(system: SimpleNamespace):
    assert use_huge_pages() == 0
    system.maps.write_text(mapping("{0}-{1} rw-p 00000000 00:00 0 \n"))
    system.refuses = True
    assert use_huge_pages() == 0


def test_memory_keeps_what_it_holds():
    data = random.Random(1).randbytes(HUGE_BYTES)
    with mmap.mmap(-1, 4 * HUGE_BYTES, flags=PRIVATE) as memory:
        for _ in range(4):
            memory.write(data)
        use_huge_pages()
        assert memory[:] == data * 4
