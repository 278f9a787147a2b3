"""The benchmark for a GPU without one: what it asks of a machine, starts and judges."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.sglang_plugin import versions
from bench.gpu import machine as interpreter
from bench.gpu.__main__ import LACKING, arguments, main, parts_of
from bench.gpu.machine import IMPORTS
from bench.gpu.needs import Asked as Wanted
from bench.gpu.needs import driver_lacks, machine_lacks, notes
from bench.gpu.options import arguments as server_arguments
from bench.gpu.options import platform, tokens_kept
from bench.gpu.report import Report
from bench.gpu.serving import Measured, whole_parts
from bench.gpu.shapes import SHAPES, width_of, write_model
from bench.gpu.tables import kernel, served
from bench.gpu.tokenizer_files import _check, describe
from bench.sglang.client import Answer, Asked
from bench.sglang.workload import SCHEMAS, schemas, tool_calls
from bench.vocabularies import load
from engine import Vocabulary

pytestmark = pytest.mark.program

GIB = 1 << 30
DEVICE = {
    "name": "NVIDIA H100", "capability": "9.0", "free_bytes": 78 * GIB, "total_bytes": 80 * GIB,
    "cuda": "13.0",
}  # fmt: skip
MACHINE: dict[str, Any] = {
    "executable": "/venv/bin/python",
    "python": "3.12.3",
    "machine": "x86_64, 16 cores",
    "packages": {"torch": "2.13.0", "sglang": "0.5.23"},
    "errors": {},
    "tools": {"nvcc": "/usr/local/cuda/bin/nvcc", "ninja": "/usr/bin/ninja"},
    "driver": "580.159",
    "device": DEVICE,
}
WANTED = Wanted("cuda", ["kernel", "steps"], ["switchyard", "xgrammar"], 20 * GIB)
KERNEL_ALONE = WANTED._replace(parts=["kernel"])
NO_MODULE = "ModuleNotFoundError: No module named"


# -- what a machine lacks --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "wanted", "lacks"),
    [
        ({}, WANTED, []),
        ({"device": None, "driver": None}, WANTED, ["CUDA device: torch sees none; no NVIDIA dr"]),
        ({"device": None}, KERNEL_ALONE, ["CUDA device: torch sees none"]),
        (
            {"device": {**DEVICE, "free_bytes": 25 * GIB}},
            WANTED,
            ["GPU memory: 25.0 GiB free, 26.0 needed"],
        ),
        ({"device": {**DEVICE, "free_bytes": 26 * GIB}}, WANTED, []),
        ({"device": {**DEVICE, "free_bytes": GIB}}, KERNEL_ALONE, []),
        ({"tools": {"nvcc": None, "ninja": None}}, WANTED, ["nvcc: not on PATH", "ninja: not on"]),
        ({"tools": {"nvcc": None, "ninja": None}}, KERNEL_ALONE, []),
        (
            {"packages": {}, "errors": dict.fromkeys(IMPORTS["cuda"], NO_MODULE)},
            WANTED,
            ["torch: not installed", "sglang: not installed", "engine:", "triton:", "sgl_kernel:"],
        ),
        (
            {"packages": {"torch": "2.11.0", "sglang": "0.5.17"}},
            WANTED,
            [],
        ),
        ({"errors": {"xgrammar": f"{NO_MODULE} 'xgrammar'"}}, WANTED, ["xgrammar: ModuleNotFound"]),
        ({"errors": {"xgrammar": NO_MODULE}}, KERNEL_ALONE, []),
        ({"errors": {"xgrammar": NO_MODULE}}, WANTED._replace(backends=["switchyard"]), []),
        ({"errors": {"flashinfer": NO_MODULE}}, WANTED, []),
        ({"errors": {"sgl_kernel": "ImportError: libcudart.so"}}, WANTED, ["sgl_kernel: ImportE"]),
        ({"errors": {"sgl_kernel": "ImportError: libcudart.so"}}, KERNEL_ALONE, []),
    ],
)
def test_each_thing_that_is_missing_is_named(
    change: dict[str, Any], wanted: Wanted, lacks: list[str]
) -> None:
    found = machine_lacks({**MACHINE, **change}, wanted)
    assert len(found) == len(lacks), found
    assert all(line.startswith(begin) for line, begin in zip(found, lacks, strict=True)), found


def test_an_sglang_without_internals_is_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    """The probe says so, not the start of the first server."""

    def check() -> None:
        raise versions.UnsupportedSGLang("SGLang 1, which lacks a piece")

    monkeypatch.setattr(importlib, "import_module", lambda name: None)
    monkeypatch.setattr(versions, "check", check)
    errors = interpreter.found("cpu", [interpreter.PLUGIN])["errors"]
    assert machine_lacks({**MACHINE, "errors": errors}, WANTED) == [
        f"{interpreter.PLUGIN}: UnsupportedSGLang: SGLang 1, which lacks a piece"
    ]


def test_an_sglang_that_was_not_tested_is_told() -> None:
    machine = {**MACHINE, "packages": {"torch": "2", "sglang": "1"}}
    assert notes(machine, WANTED)[0].startswith("sglang 1: not tested")
    assert notes(machine, KERNEL_ALONE) == notes(MACHINE, WANTED) == []


def test_what_can_be_done_without_is_told_and_not_lacking() -> None:
    machine = {**MACHINE, "errors": {"flashinfer": NO_MODULE, "xgrammar": NO_MODULE}}
    assert [line.split(":")[0] for line in notes(machine, KERNEL_ALONE)] == [
        "flashinfer",
        "xgrammar",
    ]


def test_the_command_itself_lacks_packages_by_part() -> None:
    lacks = driver_lacks(["soak"], has=lambda name: name not in ("quicktok", "regex"))
    assert [line.split(",")[0] for line in lacks] == ["quicktok-v1", "regex"]
    assert driver_lacks(["kernel"], has=lambda name: name != "regex") == []


def test_an_interpreter_without_sglang_ends_the_run_before_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["all", "--device", "cpu", "--python", sys.executable, "--out", str(tmp_path)]
    with pytest.raises(SystemExit) as left:
        main(given)
    assert left.value.code == LACKING
    assert f"- sglang: not installed for {sys.executable}" in capsys.readouterr().out
    assert "This machine lacks:" in (tmp_path / "report.md").read_text()
    assert json.loads((tmp_path / "probe.json").read_text())["lacks"]


def test_an_interpreter_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "bin" / "python"
    with pytest.raises(SystemExit) as left:
        main(["probe", "--python", str(missing), "--out", str(tmp_path)])
    assert left.value.code == LACKING
    assert f"{missing}: does not run" in (tmp_path / "report.md").read_text()


# -- arguments -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "given",
    [["nothing"], ["steps", "--batches", "1,0"], ["steps", "--backends", "ours"],
     ["steps", "--vocabulary", "gpt5"], []],
)  # fmt: skip
def test_arguments_that_mean_nothing_are_refused(given: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        arguments(given)
    assert left.value.code == 2


def test_parts_run_in_their_order() -> None:
    assert parts_of(arguments(["steps", "kernel"])) == ["kernel", "steps"]
    every = ["kernel", "decode", "gateway", "steps", "throughput", "first-text", "soak"]
    assert parts_of(arguments(["all"])) == parts_of(arguments(["probe"])) == every


def test_a_gpu_gets_what_sglang_does_by_default() -> None:
    """No shims, no torch-native attention; nothing that turns graphs or overlap off."""
    found = platform("cuda", has_flashinfer=True)
    assert found.options["--device"] == "cuda" and found.options["--load-format"] == "dummy"
    assert not any("attention" in name or "disable" in name for name in found.options)
    assert "SGLANG_USE_CPU_ENGINE" not in found.environment
    assert "shims" not in found.environment["PYTHONPATH"]
    assert platform("cuda", has_flashinfer=False).options["--attention-backend"] == "triton"
    assert "shims" in platform("cpu", has_flashinfer=False).environment["PYTHONPATH"]


def test_a_server_has_room_for_the_largest_batch_and_further_arguments_win() -> None:
    found = server_arguments([1, 256], ["--max-total-tokens", "9"])
    assert found[found.index("--max-running-requests") + 1] == "256"
    assert found[-2:] == ["--max-total-tokens", "9"]
    assert tokens_kept([256]) == 256 * 512


# -- the model -------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "billions"), [("llama-3.1-8b", 8.03), ("qwen3-0.6b", 0.596)])
def test_shapes_have_as_many_parameters_as_the_real_models(name: str, billions: float) -> None:
    shape = SHAPES[name]
    width = width_of(shape, shape.vocabulary)
    assert shape.parameters(width) / 1e9 == pytest.approx(billions, rel=0.001)
    assert shape.memory_bytes(width, 1000, "cuda") > 2e9 * billions


def test_the_written_tokenizer_has_the_vocabularys_bytes(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    loaded = load("sized@4096")
    folder = write_model(tmp_path, SHAPES["tiny"], "sized@4096")
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    found = Vocabulary.from_huggingface(tokenizer, stop_token_ids=[loaded.stop], size=4096)
    special = set(loaded.special.values())
    assert all(found.tokens[k] == loaded.tokens[k] for k in range(4096) if k not in special)
    assert json.loads((folder / "config.json").read_text())["vocab_size"] == 4096
    assert tokenizer.eos_token_id == loaded.stop


def test_a_tokenizer_that_encodes_otherwise_is_not_written() -> None:
    text = json.dumps(describe(load("sized@4096")))
    with pytest.raises(RuntimeError, match="is encoded as"):
        _check(text, load("sized@8192"))


# -- judging and telling ---------------------------------------------------------------------------
REVIEW = '{"title": "x", "stars": 3, "text": ""}'
CALL = '<tool_call>\n{"name": "review", "arguments": %s}\n</tool_call>'


@pytest.mark.parametrize(
    ("asked", "text", "how", "whole"),
    [
        (schemas("switchyard", 3)[2], REVIEW, "stop", [(SCHEMAS[2], REVIEW)]),
        (schemas("switchyard", 3)[2], REVIEW[:9], "length", []),
        (tool_calls("switchyard", 1)[0], CALL % REVIEW + " and <tool", "length",
         [(SCHEMAS[2], REVIEW)]),
        (tool_calls("switchyard", 1)[0], (CALL % "1") * 2, "stop", [(SCHEMAS[2], "1")] * 2),
        (tool_calls("switchyard", 1)[0], "no call", "stop", [(None, "no call")]),
        (tool_calls("switchyard", 1)[0], "<tool_call>\n{", "length", []),
    ],
)  # fmt: skip
def test_what_is_whole_of_an_answer_is_judged(
    asked: Asked, text: str, how: str, whole: list[tuple[Any, str]]
) -> None:
    assert whole_parts(asked, Answer(text, 9, {"type": how}, 1.0)) == whole


def test_tables_have_every_part_that_ran(tmp_path: Path) -> None:
    us = {"p50": 1.0, "p90": 2.0, "p99": 3.0, "mean": 1.5}
    kinds = ("allocate", "is_terminated", "fill", "move", "apply", "accept", "requests", "all")
    found = Measured("switchyard", answers=3, checked=2)
    found.records = {
        "steps": [
            {"workload": "schemas", "batch": 4, "steps": 9, "us": dict.fromkeys(kinds, us)},
            {"workload": "schemas", "batch": 8, "steps": 0, "us": {}},
        ],
        "throughput": [{"batch": 4, "tokens_a_second": {"none": [10.0], "own": [9.0]}}],
        "first-text": {"ms": {"none": [5.0], "own": []}, "refused": 1, "why": ["no"]},
    }
    steps, throughput, first, checks = served([found])
    assert "schemas, batch 4, switchyard" in steps and "batch 8" not in steps
    assert throughput.endswith("0.900 |") and " - |" in first and checks.endswith("0 |")
    record = {"batch": 1, "allowed": "few", "equal": False, "us": {"apply, host": 1.0}}
    assert "|    NO |" in kernel([{"width": 1000, "records": [record], "findings": ["equal"]}])
    report = Report(tmp_path)
    report.add("served", "old", [1])
    report.add("served", "new", [2], printed="")
    assert (tmp_path / "report.md").read_text() == "new\n"
    assert json.loads((tmp_path / "served.json").read_text()) == [2]
