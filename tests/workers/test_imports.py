"""Naming a worker loads what it needs, and nothing else does."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "httptools", "numpy", "engine")


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("import adapters.workers", ()),
        ("from adapters.workers import Generation, WorkerError", ()),
        ("import adapters.workers.noise_vocabulary", ()),
        ("from adapters.workers import SGLangWorker", ("httptools", "engine")),
        ("from adapters.workers import NoiseWorker", ("engine",)),
    ],
)
def test_nothing_heavy_is_loaded(statement: str, allowed: tuple[str, ...]) -> None:
    code = f"import sys; {statement}; print(*(m for m in {HEAVY} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= set(allowed)


def test_unknown_names_are_attribute_errors() -> None:
    import adapters.workers

    with pytest.raises(AttributeError, match="NoSuchWorker"):
        _ = adapters.workers.NoSuchWorker


@pytest.mark.parametrize(
    ("worker", "missing", "extra"),
    [("TransformersWorker", "torch", "embedded"), ("SGLangWorker", "httptools", "gateway")],
)
def test_a_missing_extra_is_named(worker: str, missing: str, extra: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from adapters.workers import {worker}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"{worker} needs {missing}: pip install 'switchyard[{extra}]'" in done.stderr
