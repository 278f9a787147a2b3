"""The kit without a GPU: what it collects, and how its parts are run and reported."""

import json
import re
import sys
from pathlib import Path

import pytest

from bench.gpu.__main__ import LACKING, arguments
from bench.gpu.device_kernel import carried_kernel
from bench.gpu.kit import collect
from bench.gpu.kit.parts import FULL, MAX_MINUTES, TINY, Part
from bench.gpu.kit.run import KitReport, run_part

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^ *\"?([A-Za-z0-9_.-]+)(?:\[\w+\])?==([\w.]+)", re.MULTILINE)
#: a part's first lines: they report what was measured so far
REPORTS = """
import json, pathlib, sys, time
folder = pathlib.Path(sys.argv[-1])
(folder / "probe.json").write_text(json.dumps({"lacks": ["sglang: not installed"]}))
(folder / "decode.json").write_text("[1]")
(folder / "report.md").write_text("# Head\\ntwo batches")
"""


def pins(*files: str) -> dict[str, str]:
    """Return the pinned versions by normal name."""
    found = {}
    for file in files:
        for name, version in PIN.findall((ROOT / file).read_text()):
            found[re.sub(r"[-_.]+", "-", name).lower()] = version
    return found


# -- what is collected -----------------------------------------------------------------------------
def test_wheels_have_the_versions_of_the_project() -> None:
    own = pins("bench/gpu/kit/wheels.txt")
    elsewhere = pins("deploy/requirements/gateway.txt", "pyproject.toml")
    assert {name: own[name] for name in own if name in elsewhere} == {
        name: elsewhere[name] for name in own if name in elsewhere
    }
    assert own["xgrammar"] == "0.2.8" and own["llguidance"] == "1.9.1"
    assert not own.keys() & {"torch", "triton", "transformers", "tokenizers", "numpy"}


def test_sources_are_those_that_git_knows() -> None:
    found = set(collect.sources())
    assert {"bench/gpu/run-kit", "engine/grammar/ir.pyx", "setup.py"} <= found
    assert not [name for name in found if name.startswith((".data/", ".venv/", "build/"))]


def test_a_kit_that_is_too_large_names_its_largest_files(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "large.whl").write_bytes(bytes(900))
    (tmp_path / "run-kit").write_bytes(bytes(100))
    assert collect.write_manifest(tmp_path, "3.12", most=1000) == 1000
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["bytes"] == 1000 and manifest["files"]["run-kit"]["bytes"] == 100
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(collect.KitError, match=r"at most 999 bytes, got 1,000:\n +900 wheels/la"):
        collect.write_manifest(tmp_path, "3.12", most=999)


def test_sglangs_kernel_loads_without_sglang(tmp_path: Path) -> None:
    """Its file gets the one function that it imports, and other modules see no stand-in."""
    file = tmp_path / "bitmask_ops.py"
    file.write_text(
        "from sglang.srt.utils import get_device_core_count\n"
        "def apply_token_bitmask_inplace_triton(logits, mask): return get_device_core_count\n"
    )
    before = set(sys.modules)
    count = carried_kernel(file)(None, None)
    assert count.__name__ == "_multiprocessors"
    assert {name for name in set(sys.modules) - before if name.startswith("sglang")} == set()


def test_a_folder_that_is_no_kit_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    with pytest.raises(collect.KitError, match="is no kit: not replaced"):
        collect.collect(tmp_path, "3.12")
    assert (tmp_path / "kept").exists()


# -- how it runs -----------------------------------------------------------------------------------
@pytest.mark.parametrize("part", [*FULL, *TINY], ids=lambda part: " ".join(part.arguments[:3]))
def test_arguments_of_the_parts_are_known(part: Part) -> None:
    assert arguments([*part.arguments, "--device", "cpu", "--out", "x"]).parts


def test_the_parts_and_a_build_fit_into_the_time() -> None:
    build = 60
    assert sum(part.seconds for part in FULL) + build <= 60 * MAX_MINUTES


@pytest.mark.parametrize(
    ("ending", "limit", "may_lack", "result", "is_good"),
    [
        ("", 60, False, "ok", True),
        ("time.sleep(600)", 1.0, False, "ended at its limit of 1 s", False),
        ("sys.exit(1)", 60, False, "0 findings", False),
        ("sys.exit(9)", 60, False, "left with 9", False),
        (f"sys.exit({LACKING})", 60, False, "lacks sglang: not installed", False),
        (f"sys.exit({LACKING})", 60, True, "not run, this machine lacks sglang: not ins", True),
    ],
)
def test_a_part_fails_alone_and_keeps_its_results(
    ending: str, limit: float, may_lack: bool, result: str, is_good: bool, tmp_path: Path
) -> None:
    part, report = Part("decode", (), limit, may_lack), KitReport(tmp_path, ["a fact"])
    for done in run_part(part, [sys.executable, "-c", REPORTS + ending], limit):
        report.add(done)
    assert done.result.startswith(result) and done.is_good is is_good
    assert json.loads((tmp_path / "decode.json").read_text())["decode"] == [1]
    (told,) = json.loads((tmp_path / "kit.json").read_text())["parts"]
    assert told["result"] == done.result
    text = (tmp_path / "report.md").read_text()
    assert "- a fact" in text and done.result in text and "### Head\ntwo batches" in text
