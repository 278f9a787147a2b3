"""The extractions that are shipped, and the reader of BFCL's files."""

import json
from collections import Counter
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from app.cli.quality import Judge, halved, read_bfcl, read_extraction, spread
from app.protocol import ChatRequest

CASES = read_extraction()


def test_every_expected_answer_satisfies_its_schema_and_is_judged_right() -> None:
    for case in CASES:
        schema = case.schemas[""]
        Draft202012Validator(schema, format_checker=FormatChecker()).validate(case.expected)
        message = {"content": json.dumps(case.expected)}
        completion = {"choices": [{"finish_reason": "stop", "message": message}]}
        verdict = Judge().judge(case, completion)
        assert (verdict.valid, verdict.fields, verdict.invented) == (True, 1.0, 0), case.id


def test_texts_state_what_is_expected_of_them() -> None:
    for case in CASES:
        text = case.messages[0]["content"].lower()
        for value in case.expected.values():
            if isinstance(value, str):
                assert value.lower() in text, (case.id, value)


def test_both_halves_have_every_schema() -> None:
    assert len(CASES) == len({case.id for case in CASES}) == 40
    for share in ("tuning", "reported"):
        schemas = Counter(case.id.split("_")[0] for case in halved(CASES, share))
        assert (len(schemas), set(schemas.values())) == (10, {2})


@pytest.mark.parametrize(
    ("most", "items"),
    [(1, [0]), (2, [0, 2]), (3, [0, 1, 3]), (5, [0, 1, 2, 3, 4]), (9, [0, 1, 2, 3, 4])],
)
def test_few_cases_are_spread_over_a_set(most: int, items: list[int]) -> None:
    assert spread(range(5), most) == items


def test_ten_cases_have_every_schema() -> None:
    chosen = spread(halved(CASES, "reported"), 10)
    assert len({case.id.split("_")[0] for case in chosen}) == 10


def test_requests_are_chat_completions(tmp_path: Path) -> None:
    for case in (CASES[0], write_bfcl(tmp_path)):
        for asking in ("required", "auto", "named"):
            ChatRequest.model_validate(case.request(asking, model="m", max_tokens=8))


def write_bfcl(folder: Path):
    """Write a case in BFCL's own dialect, and return it as it is read."""
    parameters = {
        "type": "dict",
        "properties": {
            "base": {"type": "float", "optional": True},
            "unit": {"type": "string", "enum": ["m", "ft"]},
            "any": {"type": "any"},
        },
        "required": ["base"],
    }
    line = {
        "id": "multiple_0",
        "question": [[{"role": "user", "content": "How large?"}]],
        "function": [{"name": "area", "description": "Area.", "parameters": parameters}],
    }
    truth = {"id": "multiple_0", "ground_truth": [{"area": {"base": [10], "unit": ["m", ""]}}]}
    (folder / "possible_answer").mkdir()
    (folder / "BFCL_v4_multiple.json").write_text(json.dumps(line) + "\n")
    (folder / "possible_answer" / "BFCL_v4_multiple.json").write_text(json.dumps(truth) + "\n")
    (case,) = read_bfcl(folder, ["multiple"])
    return case


def test_bfcl_is_read_as_json_schema(tmp_path: Path) -> None:
    case = write_bfcl(tmp_path)
    assert (case.set, case.function, case.expected["base"]) == ("multiple", "area", [10])
    assert case.schemas["area"] == {
        "type": "object",
        "properties": {
            "base": {"type": "number"},
            "unit": {"type": "string", "enum": ["m", "ft"]},
            "any": {},
        },
        "required": ["base"],
    }
    assert case.tools[0]["function"]["description"] == "Area."
