"""The bench of quality with a tiny random model: every way, five cases, and what its steps say."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("xgrammar")
pytest.importorskip("llguidance")

from adapters.workers import Generation  # noqa: E402
from app.cli.quality import Asking  # noqa: E402
from bench.quality.__main__ import main  # noqa: E402
from bench.quality.compare import compared  # noqa: E402
from bench.quality.gateway import Gateway  # noqa: E402
from bench.quality.grammars import WAYS, lark_of  # noqa: E402
from bench.quality.loop import Model, RecordingWorker  # noqa: E402
from bench.quality.report import report  # noqa: E402
from bench.quality.run import Options, Row, grammar_of, load, run  # noqa: E402
from bench.quality.steps import Step, shape, worst_places  # noqa: E402
from tests.workers.tiny_model import make_model  # noqa: E402

BOOLEAN = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny")
    make_model(path)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 2048}))
    return path


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[Row]:
    """Five extractions in every way."""
    return run_sync(folder, sets=("extraction",), cases=5)


def run_sync(folder: Path, **changes: Any) -> list[Row]:
    options: dict[str, Any] = {
        "models": [folder], "sets": ("extraction",), "cases": 5, "share": "tuning",
        "ways": tuple(WAYS), "asking": "required", "max_tokens": 24, "temperature": 0.0,
        "bfcl": folder, "settings": {},
    }  # fmt: skip
    rows: list[Row] = []
    asyncio.run(run(Options(**(options | changes)), rows))
    return rows


def test_every_way_answers_every_case(rows: list[Row]) -> None:
    assert [row.way for row in rows] == list(WAYS)
    for row in rows:
        figures = row.summary()
        assert (figures["answers"], figures["failed"]) == (5, 0), row.figures.failures
        assert figures["tokens"] == figures["steps"] + row.trace.forced
        assert figures["tokens"] <= 5 * 24
        # the first pass reads the prompt, and its time is not counted
        assert 0 < row.trace.decoded <= figures["tokens"] - 5
        assert figures["tokens_per_s"] == pytest.approx(
            row.trace.decoded / row.trace.decode_s, abs=1e-3
        )


def test_only_masks_forbid_and_what_they_keep_is_a_share(rows: list[Row]) -> None:
    for row in rows:
        for step in row.trace.steps:
            assert 0 <= step.kept <= 1.0001 and step.taken_p <= step.kept + 1e-3
            assert step.wanted_p >= step.taken_p
            assert step.taken == step.wanted or step.is_masked
        assert any(step.is_masked for step in row.trace.steps) == (row.way != "off")


@pytest.mark.parametrize("asking", ["required", "named", "auto"])
def test_every_constrained_way_calls_the_tool(folder: Path, tmp_path: Path, asking: Asking) -> None:
    write_case(tmp_path / "bfcl")
    options = {"sets": ("multiple",), "cases": 1, "max_tokens": 40, "bfcl": tmp_path / "bfcl"}
    ways = ("ours", "xgrammar", "llguidance")
    for row in run_sync(folder, asking=asking, ways=ways, settings={"format": "plain"}, **options):
        figures = row.summary()
        assert figures["failed"] == 0, row.figures.failures
        if asking != "auto":
            assert figures["function"] == 1


def test_an_end_that_the_grammar_forces_is_a_forced_token(folder: Path) -> None:
    model, tokenizer = load(folder)
    gateway = Gateway(str(folder), "ours", {})
    grammar = grammar_of("ours", gateway, tokenizer)
    worker = RecordingWorker(model, "tiny", gateway.vocabulary, grammar)
    node = {"type": "regex", "pattern": "ab|cd"}
    spec = json.dumps({"type": "structural_tag", "format": node})
    asked = Generation("end", [5, 6, 7], spec, 9, temperature=0.0)

    async def ends() -> list[Any]:
        return [chunk.finish_reason async for chunk in worker.generate(asked)]

    assert asyncio.run(ends()) == ["stop"]
    trace = worker.trace
    assert len(trace.tokens) == len(trace.steps) + trace.forced
    assert trace.tokens[-1] in gateway.vocabulary.stop_token_ids
    assert trace.unwanted >= 1, "the model would have written on"
    asyncio.run(gateway.aclose())


def write_case(folder: Path) -> None:
    line = {"id": "m", "question": [[{"role": "user", "content": "Do it."}]]}
    line["function"] = [
        {"name": "do", "description": "", "parameters": {**BOOLEAN, "type": "dict"}}
    ]
    (folder / "possible_answer").mkdir(parents=True)
    (folder / "BFCL_v4_multiple.json").write_text(json.dumps(line))
    truth = {"id": "m", "ground_truth": [{"do": {"a": [True, False]}}]}
    (folder / "possible_answer" / "BFCL_v4_multiple.json").write_text(json.dumps(truth))


def test_logits_are_the_same_with_the_cache_of_another_sequence(folder: Path) -> None:
    model, _ = load(folder)
    cold, _ = load(folder)
    model.logits([5, 6, 7, 8, 9], 1)
    model.logits([5, 6, 7, 30, 31, 32], 2)
    for ids, count in [([5, 6, 7, 30, 31, 32], 1), ([5, 6], 2), ([9, 8], 1)]:
        fresh = Model(cold._model).logits(ids, count)
        assert torch.allclose(model.logits(ids, count), fresh, atol=1e-5)
        assert fresh.shape == (count, model.width)


def test_worst_places_are_those_that_lose_the_most_probability() -> None:
    def step(before: str, kept: float, masked: bool = True) -> Step:
        return Step(before, "x", 0.9, masked, kept, "y", 0.1)

    steps = [
        step('{"price": ', 0.4),
        step('{"count": ', 0.2),
        step('["b', 0.1),
        step("c", 0, False),
    ]
    first, second = worst_places(steps)
    assert (first.count, first.lost, first.example.kept) == (2, pytest.approx(1.4), 0.2)
    assert second.count == 1
    assert shape('{"total": 418') == '": 0'


def test_the_report_shows_every_row_and_the_worst_places(rows: list[Row]) -> None:
    text = report("command", rows)
    for row in rows:
        assert f"{row.model}, extraction, {row.way}" in text
    assert "## Worst places" in text
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in lines)


def test_the_command_writes_what_two_runs_are_compared_by(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "quality --sets extraction --cases 1 --ways ours --max-tokens 8"
    arguments = [*command.split(), "--models", str(folder), "--out", str(tmp_path)]
    monkeypatch.setattr("sys.argv", [*arguments, "--set", "include_schema_in_prompt=false"])
    main()
    assert {file.name for file in tmp_path.iterdir()} == {
        "answers.jsonl", "figures.json", "report.md"
    }  # fmt: skip
    answer = json.loads((tmp_path / "answers.jsonl").read_text())
    masked = sum(step["is_masked"] for step in answer["steps"])
    places = compared(tmp_path, tmp_path).partition(f"## Worst places: {folder.name}, ours")[2]
    cells = [[cell.strip() for cell in line.split("|")] for line in places.splitlines()[4:]]
    assert sum(int(line[-5]) for line in cells) == masked > 0
    assert all(line[-5:-3] == line[-3:-1] for line in cells)


def test_a_refused_grammar_is_a_failure_with_its_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise ValueError("no such node")

    monkeypatch.setattr("bench.quality.grammars.Ours.start", refuse)
    (row,) = run_sync(folder, cases=1, ways=("ours",))
    assert row.summary()["answers"] == 0
    assert "no such node" in row.figures.failures[0]


def test_unknown_nodes_are_refused_for_llguidance() -> None:
    with pytest.raises(ValueError, match="'regex' has no equivalent"):
        lark_of({"type": "regex", "pattern": "a"}, [], {})


@pytest.mark.parametrize(
    ("way", "taken"),
    [
        ("xgrammar", [True, True, True]),
        ("xgrammar-tight", [True, True, False]),
        ("llguidance", [True, True, True]),
        ("llguidance-tight", [True, False, False]),
    ],
)
def test_the_white_space_of_peers(folder: Path, way: str, taken: list[bool]) -> None:
    _, tokenizer = load(folder)
    gateway = Gateway(str(folder), way, {})
    grammar = grammar_of(way, gateway, tokenizer)
    node = {"type": "json_schema", "json_schema": BOOLEAN}
    spec = json.dumps({"type": "structural_tag", "format": node})
    texts = ['{"a": true}', '{"a":true}', '{"a":\n  true}']
    rows = [grammar.start(spec, "structural_tag") for _ in texts]
    assert [takes(*each) for each in zip(rows, [tokenizer] * 3, texts, strict=True)] == taken
    asyncio.run(gateway.aclose())


def takes(row: Any, tokenizer: Any, text: str) -> bool:
    """Whether a grammar takes the tokens of a text."""
    try:
        for token in tokenizer.encode(text, add_special_tokens=False):
            row.take(token)
    except RuntimeError:
        return False
    return True
