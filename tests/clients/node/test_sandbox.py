"""The sandbox of agents: what a command inside can reach, and what not."""

import os
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from . import sandbox

REASON = sandbox.missing() or (sandbox.UNBOXED if os.environ.get(sandbox.UNBOXED) else "")
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "a sandbox")
FETCH = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=5).status)"


@pytest.fixture
def ports() -> Iterator[tuple[int, int]]:
    """Of two servers of this machine."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield servers[0].server_port, servers[1].server_port
    for server in servers:
        server.shutdown()
        server.server_close()


def test_one_port_and_two_folders_are_all_that_is_inside(
    ports: tuple[int, int], tmp_path: Path
) -> None:
    here, other = (f"http://127.0.0.1:{port}/" for port in ports)
    outside = tmp_path / "outside"
    script = (
        f"python3 -c '{FETCH}' {here}; python3 -c '{FETCH}' {other} || echo no other; "
        f"touch {outside} /etc/inside || echo no root; touch $HOME/in ./in && echo home; "
        "ls -A /run | wc -l; ls /proc | grep -c ^[0-9]"
    )
    done = sandbox.run(["sh", "-c", script], tmp_path, ports[0], [], 60)
    *printed, processes = done.stdout.split("\n")[:-1]
    assert printed == ["200", "no other", "no root", "home", "0"], done.stderr
    assert int(processes) < 10
    assert not outside.exists()
    assert {path.parent.name for path in tmp_path.glob("*/in")} == {"home", "work"}
