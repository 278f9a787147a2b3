"""``switchyard serve`` as a process of its own, for tests of what the server itself does."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.app.cli.command import PATIENCE, arguments, environment
from tests.redis_server import free_port


@contextmanager
def serving(**settings: Any) -> Iterator[str]:
    """A gateway with these settings; yields its host and port once it listens."""
    port = free_port()
    process = subprocess.Popen(
        arguments("serve"),
        env=environment(port=port, **settings),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + PATIENCE
        while not _listens(port):
            assert process.poll() is None, f"the gateway ended with {process.returncode}"
            assert time.monotonic() < until, "the gateway does not listen"
            time.sleep(0.05)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
