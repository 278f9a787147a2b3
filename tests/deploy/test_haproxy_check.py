"""deploy/haproxy/check with the programs of each image, against a HAProxy that answers or not."""

import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.program

CHECK = Path(__file__).parents[2] / "deploy" / "haproxy" / "check"
COMMON = ("timeout", "rm", "wc")
WAYS = [way for way in ("wget", "curl", "bash") if shutil.which(way)]


class Answering:
    """A port that answers each path with a status; without one, it closes the connection, or with
    ``hangs`` never answers.
    """

    def __init__(self) -> None:
        self.statuses: dict[str, int] = {"/live": 200, "/health": 200}
        self.hangs = False
        self._server = socket.create_server(("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self._server.getsockname()[1]}"
        self._open: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                made, _ = self._server.accept()
            except OSError:
                return
            self._open.append(made)
            path = made.recv(4096).decode().split(" ")[1]
            if status := self.statuses.get(path):
                made.sendall(b"HTTP/1.1 %d x\r\ncontent-length: 0\r\n\r\n" % status)
            if not self.hangs:
                made.close()

    def close(self) -> None:
        self._server.close()
        for each in self._open:
            each.close()


@pytest.fixture
def proxy() -> Iterator[Answering]:
    made = Answering()
    yield made
    made.close()


class Container:
    """Runs the check with some programs; ending all processes is only noted."""

    def __init__(self, folder: Path, place: str, *programs: str) -> None:
        text = CHECK.read_text()
        for shipped, here in (
            ("/tmp/silent", str(folder / "silent")),
            ("/tmp/answered", str(folder / "answered")),
            ("127.0.0.1:8405", place),
            ("kill -9 -1", "echo killed"),
        ):
            assert text.count(shipped) == 1, shipped
            text = text.replace(shipped, here)
        self._script, self._path = folder / "check", folder / "bin"
        self._script.write_text(text)
        self._path.mkdir()
        for name in programs:
            (self._path / name).symlink_to(shutil.which(name) or "/nowhere")

    def check(self) -> tuple[int, str, str]:
        done = subprocess.run(
            ["/bin/sh", str(self._script)],
            env={"PATH": str(self._path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_a_frozen_proxy_is_ended_after_three_checks(tmp_path: Path, proxy: Answering, way: str):
    """Also by bash alone, as in Debian's image. An answer in between begins again."""
    container = Container(tmp_path, proxy.place, *COMMON, way)
    assert container.check() == (0, "", "")
    for _ in range(2):
        proxy.statuses = {}
        assert [container.check()[1] for _ in range(2)] == ["", ""]
        proxy.statuses = {"/live": 200, "/health": 503}
        status, killed, _ = container.check()
        assert (status != 0, killed) == (True, "")
    proxy.statuses = {}
    assert [container.check()[1] for _ in range(2)] == ["", ""]
    proxy.hangs = True
    assert container.check()[1] == "killed\n"


@pytest.mark.parametrize("missing", [*COMMON[:1], "every way"])
def test_a_check_without_its_programs_says_so_and_ends_nothing(
    tmp_path: Path, proxy: Answering, missing: str
):
    """REGRESSION: an image without wget was restarted every three seconds."""
    ways = () if missing == "every way" else WAYS
    programs = [name for name in (*COMMON, *ways) if name != missing]
    container = Container(tmp_path, proxy.place, *programs)
    for _ in range(5):
        status, killed, said = container.check()
        assert (status, killed) == (1, "")
        assert "the image needs timeout, and wget, curl or bash" in said


@pytest.mark.parametrize("way", WAYS)
def test_a_way_that_never_worked_ends_nothing(tmp_path: Path, proxy: Answering, way: str):
    """A program that fails for a reason of its own, and a proxy that has not begun."""
    container = Container(tmp_path, proxy.place, *COMMON)
    program = tmp_path / "bin" / way
    program.write_text("#!/bin/sh\nexit 127\n")
    program.chmod(0o755)
    for _ in range(5):
        assert container.check() == (1, "", f"HAProxy has not answered {way} yet\n")
