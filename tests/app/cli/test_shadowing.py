"""A package that shadows one of ours aborts startup with one sentence that names it."""

import subprocess
import sys
from pathlib import Path

import pytest

from .command import PATIENCE, ROOT, SCRIPT, environment

pytestmark = pytest.mark.program

PLUGIN = "from adapters.sglang_plugin import register; register()"


def run(fake: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Python with ``fake`` before this project on its path."""
    return subprocess.run(
        [sys.executable, *arguments],
        env={**environment(), "PYTHONPATH": f"{fake}:{ROOT}"},
        cwd=fake,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def shadow(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    (folder / name / "__init__.py").touch()
    return folder


@pytest.mark.parametrize("name", ["adapters", "cache", "engine"])
@pytest.mark.parametrize(
    "arguments", [("-m", "app"), ("-c", SCRIPT, "version")], ids=["module", "command"]
)
def test_the_gateway_does_not_start(tmp_path: Path, name: str, arguments: tuple[str, ...]):
    done = run(shadow(tmp_path, name), *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("switchyard: another installed package")
    assert f"package {name!r}" in line


@pytest.mark.parametrize("name", ["cache", "engine"])
def test_the_plugin_does_not_register(tmp_path: Path, name: str):
    done = run(shadow(tmp_path, name), "-c", PLUGIN)
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert "ShadowedPackage: another installed package" in line
    assert f"package {name!r}" in line
    assert str(tmp_path / name) in line


def test_without_another_package_the_command_runs(tmp_path: Path):
    done = run(tmp_path, "-c", SCRIPT, "version")
    assert (done.returncode, done.stderr) == (0, "")
