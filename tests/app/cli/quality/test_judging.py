"""Verdicts: a table of answers to one call, and to one extraction."""

import json
from typing import Any

import pytest

from app.cli.quality import Case, Judge
from app.cli.quality.judging import field_score

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "share": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object", "properties": {"x": {"type": "integer"}}},
        "dry": {"type": "boolean"},
    },
    "required": ["city"],
}
EXPECTED = {
    "city": ["New York, NY", "NYC"],
    "days": [3, ""],
    "share": [2.0, ""],
    "tags": [["a-b", "c"], ""],
    "place": [{"x": [1, 2]}, ""],
    "dry": [True, ""],
}
TOOL = {"type": "function", "function": {"name": "forecast", "parameters": SCHEMA}}
CALL = Case("c", "simple", [], {"forecast": SCHEMA, "other": {}}, EXPECTED, (TOOL,), "forecast")
TEXT = Case("t", "extraction", [], {"": SCHEMA}, {"city": "Oslo", "tags": ["a", "b"]})


def completion(finish: str, content: str | None, *calls: tuple[str, str]) -> dict[str, Any]:
    made = [{"function": {"name": name, "arguments": text}} for name, text in calls]
    return {
        "choices": [{"finish_reason": finish, "message": {"content": content, "tool_calls": made}}]
    }


@pytest.mark.parametrize(
    ("arguments", "right"),
    [
        ({"city": "new york ny"}, True),
        ({"city": "nyc", "days": 3, "share": 2}, True),
        ({"city": "nyc", "tags": ["AB", "c"], "place": {"x": 2}, "dry": True}, True),
        ({"city": "Boston"}, False),
        ({"days": 3}, False),
        ({"city": "nyc", "days": 3.0}, False),
        ({"city": "nyc", "days": True}, False),
        ({"city": "nyc", "days": "3"}, False),
        ({"city": "nyc", "tags": ["c", "a-b"]}, False),
        ({"city": "nyc", "place": {"x": 3}}, False),
        ({"city": "nyc", "place": {"x": 1, "y": 1}}, False),
        ({"city": "nyc", "place": {}}, False),
        ({"city": "nyc", "dry": 1}, False),
        ({"city": "nyc", "more": 1}, False),
        ([], False),
    ],
)
def test_arguments_are_compared_as_bfcl_does(arguments: Any, right: bool) -> None:
    answer = completion("tool_calls", None, ("forecast", json.dumps(arguments)))
    assert Judge().judge(CALL, answer).arguments is right


def test_an_argument_that_has_no_empty_value_is_required() -> None:
    case = Case("c", "simple", [], {"f": {}}, {"a": [1]}, (TOOL,), "f")
    assert not Judge().judge(case, completion("tool_calls", None, ("f", "{}"))).arguments


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (("tool_calls", None, ("forecast", '{"city": "x"}')), (True, True, True, 1, 0)),
        (("tool_calls", None, ("forecast", '{"city": 1}')), (True, False, True, 1, 0)),
        (("tool_calls", None, ("other", "{}")), (True, True, False, 1, 0)),
        (("tool_calls", None, ("none", "{}")), (True, False, False, 1, 0)),
        (("length", None, ("forecast", '{"city": "')), (False, False, True, 1, 0)),
        (("abort", None, ("forecast", '{"city": "x"}')), (False, False, True, 1, 0)),
        (("stop", "Hello"), (True, False, False, 0, 0)),
        (
            (
                "tool_calls",
                None,
                ("forecast", '{"city": "x", "z": 1, "place": {"y": 1}}'),
                ("other", '{"w": 1}'),
            ),
            (True, True, True, 2, 2),
        ),
    ],
)
def test_calls(answer: tuple[Any, ...], verdict: tuple[Any, ...]) -> None:
    got = Judge().judge(CALL, completion(*answer))
    assert (got.complete, got.valid, got.function, got.calls, got.invented) == verdict
    assert got.fields is None


@pytest.mark.parametrize(
    ("finish", "text", "valid", "score", "invented"),
    [
        ("stop", '{"city": "oslo", "tags": ["a", "c"]}', True, 2 / 3, 0),
        ("stop", '{"city": "Oslo", "tags": ["a", "b"], "more": 1}', True, 1.0, 1),
        ("stop", '{"tags": [], "place": {"y": 1}}', False, 0.0, 1),
        ("length", '{"city": "Oslo", "tags": ["a", "b"]}', False, 0.0, 0),
        ("content_filter", '{"city": "Oslo", "tags": ["a", "b"]}', False, 0.0, 0),
        ("stop", "Oslo", False, 0.0, 0),
    ],
)
def test_extractions(finish: str, text: str, valid: bool, score: float, invented: int) -> None:
    got = Judge().judge(TEXT, completion(finish, text))
    assert (got.valid, got.fields, got.invented) == (valid, pytest.approx(score), invented)
    assert got.function is None


@pytest.mark.parametrize(("text", "valid"), [("2025-02-28", True), ("2025-02-30", False)])
def test_formats_are_validated(text: str, valid: bool) -> None:
    case = Case("d", "extraction", [], {"": {"type": "string", "format": "date"}}, {})
    assert Judge().judge(case, completion("stop", json.dumps(text))).valid is valid


def test_a_boolean_is_no_number() -> None:
    assert field_score({"a": 1, "b": True}, {"a": True, "b": 1}) == 0.0
