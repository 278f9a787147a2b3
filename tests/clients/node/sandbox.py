"""A sandbox for agents, since noise writes random commands: bubblewrap, and one port.

Inside           a read-only root, an empty /tmp and /run (no daemon's socket), no capabilities, no
                 other processes. Two folders are writable: the home and the working directory. The
                 environment is PATH, HOME, and variables of the caller.
Network          a loopback of its own with one port, the gateway's. This file runs inside as a
                 script, opens the port, sends the listening socket out over an inherited socket,
                 and becomes the agent. Outside, threads copy between its connections and the
                 gateway.
"""

import os
import select
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

#: set to any text to run agents without a sandbox, in a machine that is thrown away afterwards
UNBOXED = "AGENTS_WITHOUT_SANDBOX"
#: bytes of /tmp inside
TMP_BYTES = 1 << 28
_BOX = (
    "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
    "--uid", "1000", "--gid", "1000", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
    "--size", str(TMP_BYTES), "--tmpfs", "/tmp", "--size", str(TMP_BYTES), "--tmpfs", "/run",
)  # fmt: skip


def missing() -> str:
    """Why no agent can run here, or an empty text."""
    if os.environ.get(UNBOXED):
        return ""
    if shutil.which("bwrap") is None:
        return f"no bubblewrap (bwrap); {UNBOXED}=1 runs agents without a sandbox"
    done = subprocess.run([*_BOX, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"bubblewrap fails ({done.stderr.strip()}); {UNBOXED}=1 runs agents without it"
    return ""


def run(
    command: Sequence[str],
    place: Path,
    port: int,
    seen: Sequence[Path],
    timeout: float,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run in ``place / "work"`` with the home ``place / "home"``, both writable.

    ``port``: of the gateway, the same inside. ``seen``: read-only folders, even below /tmp.
    Raises subprocess.TimeoutExpired after ``timeout`` seconds, when all its processes are killed.
    """
    work, home = place / "work", place / "home"
    for folder in (work, home):
        folder.mkdir(exist_ok=True)
    variables = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb", **environment}
    channel, inherited = socket.socketpair()
    with inherited:
        threading.Thread(target=_forward, args=(channel, port), daemon=True).start()
        if os.environ.get(UNBOXED):
            whole = list(command)
        else:
            shown = [part for path in seen for part in ("--ro-bind", str(path), str(path))]
            written = [part for path in (work, home) for part in ("--bind", str(path), str(path))]
            script = [sys.executable, "-I", __file__, str(inherited.fileno()), str(port)]
            whole = [*_BOX, *shown, *written, *script, *command]
        return subprocess.run(
            whole, cwd=work, env=variables, text=True, errors="replace", check=False,
            timeout=timeout, stdin=subprocess.DEVNULL, capture_output=True,
            pass_fds=[inherited.fileno()],
        )  # fmt: skip


def _forward(channel: socket.socket, port: int) -> None:
    """Connect each connection inside with the gateway, until the channel's other end is closed."""
    with channel:
        _, descriptors, *_ = socket.recv_fds(channel, 1, 1)
        for descriptor in descriptors:
            with socket.socket(fileno=descriptor) as listener:
                while channel not in select.select([listener, channel], [], [])[0]:
                    inside, _ = listener.accept()
                    outside = socket.create_connection(("127.0.0.1", port))
                    for ends in ((inside, outside), (outside, inside)):
                        threading.Thread(target=_copy, args=ends, daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:  # the other side is gone
        source.close()
        target.close()


if __name__ == "__main__":
    _channel, _port, *_command = sys.argv[1:]
    _address = ("127.0.0.1", int(_port))
    with socket.socket(fileno=int(_channel)) as _out, socket.create_server(_address) as _listener:
        socket.send_fds(_out, [b"1"], [_listener.fileno()])
    os.execvp(_command[0], _command)
