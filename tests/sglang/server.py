"""One real SGLang server on this machine, with the model and grammar backend asked for.

    with SGLangServer(python, model, "xgrammar") as server:
        server.post_json("/generate", {...})

Representation   a guard (guard.py) leads a session; the launcher, and whatever it spawns, are its
                 members. Log, sockets and temporary files lie in a folder of the server's own.
Invariants       I1 nothing outlives ``stop``, nor this process, however it ends: the guard sees to
                 that. I2 only processes of the server's own session are ever killed. I3 the server
                 finds this project by its installation alone: the repository is on no path.
Cost             17-29 s to start on two cores; 1.4 GB of memory.
Threads          one thread starts and stops; requests may come from several.
Not here         who shares a server (servers.py), what it is installed in (environment.py), what
                 it is started with (platforms.py).
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import httpx

from tests.redis_server import free_port

from . import processes
from .environment import ROOT
from .platforms import CPU, Platform, environment_of

#: seconds until /health; the first NGRAM start also compiles, and the machine may be busy
START_SECONDS = 300.0
STOP_SECONDS = 30.0
REQUEST_SECONDS = 120.0
#: of the log that an error shows
TAIL_LINES = 40
GUARD = "tests.sglang.guard"


class SGLangServer:
    """``environment``: variables beside those every server gets; ``arguments`` win over ours."""

    def __init__(
        self,
        python: Path,
        model: Path,
        grammar_backend: str,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        platform: Platform = CPU,
    ) -> None:
        self.python, self.model, self.grammar_backend = python, model, grammar_backend
        self.port = free_port()
        self._arguments = arguments
        self._platform, self._own_environment = platform, dict(environment or {})
        self._guard: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._log = ""

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def alive(self) -> bool:
        return self._guard is not None and self._guard.poll() is None

    def __enter__(self) -> "SGLangServer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, patience: float = START_SECONDS) -> None:
        """Start and wait until it is healthy.

        Raises:
            RuntimeError: it ended, or wasn't healthy within ``patience`` seconds; shows its log.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="sglang-", ignore_cleanup_errors=True)
        try:
            self._guard = self._started(Path(self._folder.name))
            self._wait(time.monotonic() + patience)
        except BaseException:  # an interrupt too leaves nothing behind
            self.stop()
            raise

    def stop(self) -> None:
        """End every process of the server. Its log can still be read.

        Raises:
            RuntimeError: a process is still there after all.
        """
        if self._guard is not None:
            _end(self._guard)
            self._guard = None
        if self._folder is not None:
            self._log = self.log()
            self._folder.cleanup()
            self._folder = None

    def get_json(self, path: str) -> Any:
        """Return the answer to a GET; raise for an error status, with the answer's text."""
        return self._answer("GET", path)

    def post_json(self, path: str, body: Any) -> Any:
        """Return the answer to a POST; raise for an error status, with the answer's text."""
        return self._answer("POST", path, json=body)

    def generate(self, prompt: str | list[int], **parameters: Any) -> Any:
        """SGLang's own /generate; ``parameters`` are its sampling_params, greedy unless told."""
        place = "text" if isinstance(prompt, str) else "input_ids"
        body = {place: prompt, "sampling_params": {"temperature": 0, **parameters}}
        return self.post_json("/generate", body)

    def processes(self) -> dict[int, str]:
        """The living processes by id, with their titles ("sglang::scheduler", ...)."""
        return processes.of_session(self._guard.pid) if self._guard else {}

    def resident_bytes(self, title: str = "") -> int:
        """Memory of its own that all processes hold, or those with ``title`` in their titles.

        Anonymous pages only: a leak shows there, and shared files don't.
        """
        found = self.processes().items()
        return sum(processes.anonymous_bytes(process) for process, name in found if title in name)

    def log(self, lines: int | None = None) -> str:
        """Return the server's log or its last lines; after a stop, until the next start."""
        if self._folder is not None:
            path = Path(self._folder.name) / "server.log"
            text = path.read_text(errors="replace") if path.is_file() else ""
        else:
            text = self._log
        return text if lines is None else "\n".join(text.splitlines()[-lines:])

    def _started(self, folder: Path) -> subprocess.Popen[bytes]:
        with (folder / "server.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", GUARD, str(folder), *self._command()],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment(folder),
                cwd=ROOT,
                start_new_session=True,
            )

    def _command(self) -> list[str]:
        options = {
            **self._platform.options,
            "--model-path": str(self.model),
            "--port": str(self.port),
            "--grammar-backend": self.grammar_backend,
        }
        start = [str(self.python), "-m", "sglang.launch_server"]
        return [*start, *chain.from_iterable(options.items()), *self._arguments]

    def _environment(self, folder: Path) -> dict[str, str]:
        common = environment_of(self.python, self._platform)
        return {**common, "TMPDIR": str(folder), **self._own_environment}

    def _wait(self, until: float) -> None:
        while not self._healthy():
            if not self.alive:
                raise RuntimeError(f"the server ended while it started\n{self._tail()}")
            if time.monotonic() > until:
                raise RuntimeError(f"the server was not healthy in time\n{self._tail()}")
            time.sleep(0.2)

    def _healthy(self) -> bool:
        try:
            return self._send("GET", "/health").status_code == 200
        except httpx.TransportError:
            return False

    def _answer(self, method: str, path: str, **options: Any) -> Any:
        try:
            answer = self._send(method, path, **options)
        except httpx.TransportError as error:
            raise RuntimeError(f"{method} {path}: {error!r}\n{self._tail()}") from error
        if answer.is_error:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json()

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        with httpx.Client(trust_env=False, timeout=REQUEST_SECONDS) as client:
            return client.request(method, f"{self.base_url}{path}", **options)

    def _tail(self) -> str:
        return f"--- the end of its log ---\n{self.log(TAIL_LINES)}"


def _end(guard: subprocess.Popen[bytes]) -> None:
    """Let the guard end its session."""
    if guard.stdin is not None:
        guard.stdin.close()
    try:
        guard.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        left = processes.of_session(guard.pid)
        for process in left:
            processes.kill(process)
        guard.wait()
        raise RuntimeError(f"these processes had to be ended from outside: {left}") from None
