"""Servers to compare: the real SGLang with one grammar backend each, and our meter inside.

    with Fleet(model) as fleet:
        with fleet.running("switchyard", "xgrammar") as servers:
            ...

Representation   the meter reaches a server through PYTHONPATH: a temporary folder holds a link to
                 it and the entry point by which SGLang finds it, so nothing is installed.
Invariants       I1 at most two servers at once (1.4 GB each). I2 no server outlives ``close``.
                 I3 an idle server sleeps, so it takes no time from the other one.
Cost             17-60 s per start, on two cores.
"""

import os
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.sglang.environment import ROOT, ensure_python
from tests.sglang.platforms import CPU, Platform
from tests.sglang.server import SGLangServer

MOST = 2
#: SGLang's group of entry points, and the packages of this project that run in a server
PLUGINS, PACKAGES = "sglang.srt.plugins", ("adapters", "cache", "engine")
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
    """See the file's header.

    Args:
        metered: run our meter in the servers.
        python: the servers' interpreter, which gets links to this project and the meter. None: the
            one of the tests, where the project is installed.
        platform, arguments, environment: the servers'.
    """

    def __init__(
        self,
        model: Path,
        *,
        metered: bool = True,
        python: Path | None = None,
        platform: Platform = CPU,
        arguments: Sequence[str] = ARGUMENTS,
        **environment: str,
    ) -> None:
        self.python, self.model = python or ensure_python(), model
        self._metered, self._environment = metered, environment
        self._platform, self._arguments = platform, arguments
        self._folder = tempfile.TemporaryDirectory(prefix="meter-")
        if metered:
            _link_meter(Path(self._folder.name))
        if python is not None:
            link_project(Path(self._folder.name))

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    @contextmanager
    def running(self, *backends: str) -> Iterator[dict[str, SGLangServer]]:
        """Yield one or two healthy servers by their backends.

        Raises:
            RuntimeError: one does not start or lacks our meter; the message contains its log.
        """
        assert len(backends) <= MOST
        with ExitStack() as stack:
            servers = {name: stack.enter_context(self._server(name)) for name in backends}
            for server in servers.values():
                if self._metered and "meter" not in state(server):
                    raise RuntimeError(f"no meter in the server\n{server.log(60)}")
            yield servers

    def _server(self, backend: str) -> SGLangServer:
        places = [self._platform.environment.get("PYTHONPATH"), self._folder.name]
        path = os.pathsep.join(place for place in places if place)
        arguments = (self.python, self.model, backend, *self._arguments)
        environment = {"PYTHONPATH": path, **self._environment}
        return SGLangServer(*arguments, environment=environment, platform=self._platform)


def state(server: SGLangServer) -> dict[str, Any]:
    """Return the state of its scheduler. Reading resets the meter."""
    found: dict[str, Any] = server.get_json("/server_info")["internal_states"][0]
    return found


def meter(server: SGLangServer) -> dict[str, Any]:
    """Return the times of its backend's calls since the last reading; see meter/tally.py."""
    found: dict[str, Any] = state(server)["meter"]
    return found


def turns(names: Sequence[str], rounds: int) -> Iterator[tuple[int, str]]:
    """Yield the backends in turns, in alternating order."""
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            yield number, name


def made_model(vocabulary: int, padding: int) -> Path:
    """Return the folder of a tiny random model, which is created once."""
    folder = MODELS / f"{vocabulary}+{padding}"
    if not (folder / "model.safetensors").is_file():
        command = [str(ensure_python()), "-m", "tests.sglang.tiny_model", str(folder)]
        options = ["--vocabulary", str(vocabulary), "--padding", str(padding)]
        subprocess.run([*command, *options], cwd=ROOT, check=True, capture_output=True)
    return folder


def link_project(folder: Path) -> None:
    """Make ``folder`` contain this project as if it were installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    points = project["entry-points"][PLUGINS]
    for name in PACKAGES:
        (folder / name).symlink_to(ROOT / name, target_is_directory=True)
    _describe(folder, project["name"], project["version"], points)


def _link_meter(folder: Path) -> None:
    (folder / "switchyard_meter").symlink_to(METER, target_is_directory=True)
    _describe(folder, "switchyard_meter", "1.0", {"switchyard_meter": "switchyard_meter:register"})


def _describe(folder: Path, name: str, version: str, points: Mapping[str, str]) -> None:
    """Write a distribution's metadata: its name and its plug-ins of SGLang."""
    told = folder / f"{name}-{version}.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = "".join(f"{point} = {target}\n" for point, target in points.items())
    (told / "entry_points.txt").write_text(f"[{PLUGINS}]\n{lines}")
