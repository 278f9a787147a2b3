"""Sessions of processes, as Linux's /proc shows them: who is in one, and what memory it holds.

Representation   a session is known by its leader's id, and everything that is spawned below the
                 leader belongs to it. A zombie is no longer a process here: it holds nothing.
"""

import contextlib
import os
import signal
from pathlib import Path

PROC = Path("/proc")
SHARED_MEMORY = Path("/dev/shm")


def of_session(session: int) -> dict[int, str]:
    """The living members: their ids and titles."""
    numbers = (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())
    return {process: _title(process) for process in numbers if _session(process) == session}


def anonymous_bytes(process: int) -> int:
    """Resident memory that no file backs; 0 when the process is gone."""
    lines = _read(process, "status").splitlines()
    found = (line.split()[1] for line in lines if line.startswith("RssAnon:"))
    return int(next(found, 0)) * 1024


def shared_memory(process: int) -> set[Path]:
    """The memory it shares under a name, by the files that stand for it."""
    fields = (line.split(maxsplit=5) for line in _read(process, "maps").splitlines())
    paths = {Path(parts[5]) for parts in fields if len(parts) == 6}
    return {path for path in paths if path.parent == SHARED_MEMORY}


def kill(process: int) -> None:
    """SIGKILL, unless it is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _session(process: int) -> int | None:
    """Of a process that lives. /proc says "pid (name) state parent group session ...", and the
    name may hold anything.
    """
    fields = _read(process, "stat").rpartition(")")[2].split()
    return int(fields[3]) if fields and fields[0] not in "ZX" else None


def _title(process: int) -> str:
    return _read(process, "cmdline").replace("\0", " ").strip()


def _read(process: int, name: str) -> str:
    try:
        return (PROC / str(process) / name).read_text(errors="replace")
    except OSError:  # it ended meanwhile
        return ""
