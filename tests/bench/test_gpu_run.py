"""The whole kit with tiny shapes on a CPU: every part runs, and finds nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the parts run a model")
pytest.importorskip("xgrammar", reason="the parts measure the peers")

ROOT = Path(__file__).parents[2]
#: seconds on a busy machine; the parts have limits of their own
PATIENCE = 540


def test_the_kit_runs_on_a_cpu_with_tiny_shapes(tmp_path: Path) -> None:
    if not (ROOT / ".data" / "bfcl_eval" / "data").is_dir():
        pytest.skip("`make data` downloads BFCL's tool sets")
    out = tmp_path / "out"
    done = subprocess.run(
        [str(ROOT / "bench" / "gpu" / "run-kit"), "--device", "cpu", "--tiny", "--out", str(out)],
        env={**os.environ, "PYTHON": sys.executable}, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    told = {
        each["part"]: each["result"] for each in json.loads((out / "kit.json").read_text())["parts"]
    }
    assert {name: told.get(name) for name in ("kernel", "decode", "gateway")} == dict.fromkeys(
        ("kernel", "decode", "gateway"), "ok"
    ), (done.stdout + done.stderr)[-6000:]
    assert told["sglang"] == "ok" or told["sglang"].startswith("not run, this machine lacks")
    assert done.returncode == 0

    kernel = json.loads((out / "kernel.json").read_text())["kernel"]
    assert all(record["equal"] for width in kernel for record in width["records"])
    decode = json.loads((out / "decode.json").read_text())["decode"]
    assert [record["batch"] for record in decode] == [1, 4]
    for record in decode:
        assert list(record["backends"]) == ["no grammar", "switchyard", "xgrammar", "llguidance"]
        assert record["backends"]["switchyard"]["checked"] > 0
    gateway = json.loads((out / "gateway.json").read_text())["gateway"]
    assert all(load["calls"] and load["first_ms"] and not load["wrong"] for load in gateway)
    report = (out / "report.md").read_text()
    assert report.startswith("# Kit") and "## decode" in report and "Findings: none" in report
