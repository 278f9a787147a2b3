"""Servers to compare: the real SGLang with one grammar backend each, and our meter inside.

    with Fleet(model) as fleet:
        with fleet.running("switchyard", "xgrammar") as servers:
            ...

Representation   the meter reaches a server through PYTHONPATH: a temporary folder holds a link to
                 it and the entry point by which SGLang finds it, so nothing is installed.
Invariants       I1 no more than two servers at once (1.4 GB each). I2 nothing outlives ``close``.
                 I3 a server that waits sleeps: it takes nothing of the one whose turn it is.
Cost             17-60 s for a start, on two cores.
"""

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.sglang.environment import ROOT, ensure_python
from tests.sglang.server import SHIMS, SGLangServer

OURS, PEERS, FREE = "switchyard", ("xgrammar", "llguidance"), "free"
BACKENDS = (OURS, *PEERS, FREE)
MOST = 2
METER = Path(__file__).with_name("meter")
MODELS = ROOT / ".data" / "sglang-bench"
#: a random model would fill its tokens with white space; others sleep while one works
ARGUMENTS = (
    "--constrained-json-disable-any-whitespace",
    "--sleep-on-idle",
    *("--max-running-requests", "64"),
    *("--max-total-tokens", "65536"),
    *("--random-seed", "1"),
)


class Fleet:
    """See the file's header. ``metered``: with our meter inside. ``environment``: the servers'."""

    def __init__(self, model: Path, *, metered: bool = True, **environment: str) -> None:
        self.python, self.model = ensure_python(), model
        self._metered, self._environment = metered, environment
        self._folder = tempfile.TemporaryDirectory(prefix="meter-")
        _link_meter(Path(self._folder.name))

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._folder.cleanup()

    @contextmanager
    def running(self, *backends: str) -> Iterator[dict[str, SGLangServer]]:
        """Healthy servers by their backends, one or two.

        Raises:
            RuntimeError: one does not start, or has not our meter; shows its log.
        """
        assert len(backends) <= MOST
        with ExitStack() as stack:
            servers = {name: stack.enter_context(self._server(name)) for name in backends}
            for server in servers.values():
                if self._metered and "meter" not in state(server):
                    raise RuntimeError(f"no meter in the server\n{server.log(60)}")
            yield servers

    def _server(self, backend: str) -> SGLangServer:
        path = f"{SHIMS}:{self._folder.name}" if self._metered else str(SHIMS)
        arguments = (self.python, self.model, backend, *ARGUMENTS)
        return SGLangServer(*arguments, environment={"PYTHONPATH": path, **self._environment})


def state(server: SGLangServer) -> dict[str, Any]:
    """What its scheduler says of itself. With a meter inside, reading begins it anew."""
    found: dict[str, Any] = server.get_json("/server_info")["internal_states"][0]
    return found


def meter(server: SGLangServer) -> dict[str, Any]:
    """What its backend's calls took since the last reading: see meter/tally.py."""
    found: dict[str, Any] = state(server)["meter"]
    return found


def turns(names: Sequence[str], rounds: int) -> Iterator[tuple[int, str]]:
    """Who is next; each round in the other order than the last."""
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            yield number, name


def made_model(vocabulary: int, padding: int) -> Path:
    """The folder of a tiny random model; made where it is not there yet, and kept."""
    folder = MODELS / f"{vocabulary}+{padding}"
    if not (folder / "model.safetensors").is_file():
        command = [str(ensure_python()), "-m", "tests.sglang.tiny_model", str(folder)]
        options = ["--vocabulary", str(vocabulary), "--padding", str(padding)]
        subprocess.run([*command, *options], cwd=ROOT, check=True, capture_output=True)
    return folder


def _link_meter(folder: Path) -> None:
    (folder / "switchyard_meter").symlink_to(METER, target_is_directory=True)
    told = folder / "switchyard_meter-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: switchyard-meter\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text(
        "[sglang.srt.plugins]\nswitchyard_meter = switchyard_meter:register\n"
    )
