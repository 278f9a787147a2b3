"""Processes of the benchmark: they start, listen on a port, and end with their context."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO

#: seconds until a process listens; LiteLLM's proxy takes 20
START_S = 90.0


@dataclass
class Process:
    """A command that listens on ``port``. ``settings``: environment variables."""

    name: str
    command: list[str]
    port: int
    settings: Mapping[str, str] = field(default_factory=dict)
    pid: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cpu_seconds(self) -> float:
        """Return the CPU time that the process and its children have used."""
        return sum(map(_cpu_seconds, [self.pid, *children(self.pid)]))


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(number) for number in file.read().split()]


def _cpu_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(process: Process) -> Iterator[None]:
    """Start a process, wait until it listens, and end it with the context.

    Raises:
        RuntimeError: it ended, or does not listen within START_S.
    """
    # a file, because nothing reads a pipe while the process runs
    with TemporaryFile() as errors:
        made = subprocess.Popen(
            process.command,
            env={**os.environ, **process.settings},
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        process.pid = made.pid
        try:
            _wait(made, process, errors)
            yield
        finally:
            made.terminate()
            try:
                made.wait(15)
            except subprocess.TimeoutExpired:
                made.kill()
                made.wait()


def _wait(made: "subprocess.Popen[bytes]", process: Process, errors: IO[bytes]) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if made.poll() is not None:
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise RuntimeError(f"{process.name} ended with {made.returncode}: {said}")
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", process.port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"{process.name} does not listen within {START_S:g} s")
