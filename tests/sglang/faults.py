"""Faults of real servers, made by the kernel, and waiting for what follows."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .server import SGLangServer

#: seconds to wait for a state, on a busy machine
PATIENCE_S = 120.0


@contextmanager
def stopped(worker: SGLangServer) -> Iterator[None]:
    """Stop all processes of the server, which then accepts connections and never answers."""
    members = [*worker.processes()]
    for member in members:
        os.kill(member, signal.SIGSTOP)
    try:
        yield
    finally:
        for member in members:
            os.kill(member, signal.SIGCONT)


def kill(worker: SGLangServer) -> None:
    for member in worker.processes():
        os.kill(member, signal.SIGKILL)


async def wait_for(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < end, f"not so within {PATIENCE_S} s"
        await asyncio.sleep(0.2)
