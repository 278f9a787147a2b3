"""deploy/sglang/serve, which starts the worker: with a ``python3`` that prints its arguments."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.program

SERVE = Path(__file__).parents[2] / "deploy" / "sglang" / "serve"
USUAL = ["-m", "sglang.launch_server", "--model-path"]
SERVER = ["--host", "0.0.0.0", "--port", "30000", "--grammar-backend"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder, and a ``python3`` in ``bin``."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    (tmp_path / "empty").mkdir()
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "python3"
    program.write_text('#!/bin/sh\nfor each in "$@"; do echo "$each"; done\n')
    program.chmod(0o755)
    return tmp_path


def serve(folder: Path, *arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    chosen = {f"SWITCHYARD_{name.upper()}": value for name, value in settings.items()}
    return subprocess.run(
        ["sh", str(SERVE), *arguments],
        env={"PATH": path, **chosen},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "settings", "expected"),
    [
        ([], {}, ["switchyard"]),
        ([], {"grammar_backend": "xgrammar"}, ["xgrammar"]),
        (["--tp-size", "2", "a b"], {}, ["switchyard", "--tp-size", "2", "a b"]),
        (
            ["--tp-size", "2"],
            {"worker_api_key": "k"},
            ["switchyard", "--api-key", "k", "--tp-size", "2"],
        ),
    ],
)
@pytest.mark.parametrize("model", ["Qwen/Qwen3-8B", "model"])
def test_arguments_reach_the_server(folder, model, arguments, settings, expected):
    place = str(folder / model) if model == "model" else model
    done = serve(folder, *arguments, model=place, **settings)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [*USUAL, place, *SERVER, *expected]


@pytest.mark.parametrize(
    ("model", "reason"),
    [("", "not set"), ("/nowhere", "no folder /nowhere"), ("empty", "config.json is missing")],
)
def test_a_model_that_cannot_be_served_is_one_line(folder, model, reason):
    """REGRESSION: a missing folder was a traceback at every restart."""
    done = serve(folder, model=str(folder / model) if model == "empty" else model)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("serve: SWITCHYARD_MODEL: ") and reason in done.stderr
    assert done.stderr.count("\n") == 1
