"""The report on a schema (enforced, refused and ineffective keywords, cost), and its command."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine import Compiler, Limits, WorkBudget, check_json_schema
from engine.check import byte_vocabulary, main
from engine.schema_tools.report import EXPLORED_BYTES, MAX_ANNOTATIONS, Report

AWAY = {"$ref": "https://example.org/schema"}
ITEMS = {"type": "array", "items": AWAY}
COMPILER = Compiler(byte_vocabulary())


def check(schema: Any) -> Report:
    return check_json_schema(schema, COMPILER)


def test_a_schema_of_which_all_is_enforced():
    report = check({"type": "object", "title": "t", "properties": {"a": {"type": "string"}}})
    assert report.is_enforced
    assert report.enforced == {"type": 2, "properties": 1}
    assert (report.refused, report.mistake, report.annotations) == ((), None, ())
    assert report.cost is not None
    cost = report.cost
    assert min(cost.rules, cost.ir_nodes, cost.states, cost.edges, cost.bytes) > 0
    assert cost.compile_ms > 0
    assert cost.first_mask_ms > 0


def test_the_states_that_are_counted_are_bounded():
    """REGRESSION: counting those of 100 KB took seconds, most of them with the interpreter lock."""
    items = [
        {"type": "array", "items": {"properties": {f"k{n}": {"const": n}}}} for n in range(900)
    ]
    report = check({"anyOf": items})
    assert report.mistake is None
    assert report.cost is not None
    assert report.cost.states > 1000
    assert report.cost.bytes < 5 * EXPLORED_BYTES


def test_a_schema_whose_automata_take_too_many_steps_is_enforced_all_the_same():
    """Its compile stays within the budget; only exploring does not."""
    schema = {"enum": [f"{n:04d}" for n in range(500)]}
    one = WorkBudget()
    COMPILER.compile_json_schema(schema, budget=one)
    # one for the relaxation, one for the compile, and not enough for the copy
    limits = Limits(compile_steps=2 * one.spent + one.spent // 2)
    compiler = Compiler(COMPILER.vocabulary, limits=limits)
    report = check_json_schema(schema, compiler)
    assert report.is_enforced
    assert report.cost is not None
    assert (report.cost.states, report.cost.edges) == (0, 0)
    assert report.cost.bytes > 0


def test_all_refused_places_are_found_with_what_would_be_taken_out():
    schema = {"properties": {"a": AWAY, "b": {"oneOf": [ITEMS, {"type": "null"}]}}}
    report = check(schema)
    assert not report.is_enforced
    assert [(each.pointer, each.keyword, each.relaxed) for each in report.refused] == [
        ("/properties/a/$ref", "$ref", ("/properties/a/$ref",)),
        (
            "/properties/b/oneOf/0/items/$ref",
            "$ref",
            ("/properties/b/oneOf", "/properties/b/oneOf/0/items/$ref"),
        ),
    ]
    assert all("leaves the document" in each.reason for each in report.refused)
    assert report.enforced == {"type": 2, "properties": 1, "anyOf": 1, "items": 1}
    assert report.cost is not None


def test_more_refused_places_are_found_than_the_gateway_relaxes():
    schema = {"properties": {f"p{n}": AWAY for n in range(200)}}
    assert len(check(schema).refused) == 200


def test_an_unrelaxable_refusal_is_listed():
    report = check({"items": {"not": {"items": AWAY}}, "allOf": [{"$ref": "#/items/not"}]})
    assert report.refused[-1].relaxed == ()
    assert report.cost is None
    assert "cannot be relaxed" in report.text()


#: name -> (schema, pointer, words of the reason)
MISTAKES: dict[str, tuple[Any, str, str]] = {
    "ill-formed": ({"type": "strnig"}, "/type", "unknown type"),
    "ill-formed, behind what is refused": (
        {"items": AWAY, "properties": {"a": {"minLength": -1}}}, "/properties/a/minLength", "whole",
    ),
    "satisfied by nothing": ({"type": "string", "enum": [1]}, "", "nothing can satisfy"),
    "false": (False, "", "nothing can satisfy"),
    "no schema": ([1], "", "an object or a boolean"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_with_its_place(case: tuple[Any, str, str]):
    schema, pointer, words = case
    report = check(schema)
    assert not report.is_enforced
    assert report.mistake is not None
    assert report.mistake.pointer == pointer
    assert words in report.mistake.reason
    assert words in report.text()


def test_a_limit_is_told_with_both_numbers():
    compiler = Compiler(byte_vocabulary(), limits=Limits(enum_values=2))
    report = check_json_schema({"items": {"enum": [1, 2, 3]}}, compiler)
    (refused,) = report.refused
    assert (refused.pointer, refused.keyword) == ("/items/enum", "enum")
    assert refused.reason == "enum_values: at most 2 allowed, got 3"
    compiler = Compiler(byte_vocabulary(), limits=Limits(ir_nodes=9_999))
    large = {"properties": {f"a{n}": {"const": [n]} for n in range(9_000)}}
    report = check_json_schema(large, compiler)
    assert report.mistake is not None
    assert report.mistake.reason == "ir_nodes: at most 9,999 allowed, got 10,000"


#: name -> (schema, [(pointer, reason)])
NOTHING: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    "misspelt": ({"requried": []}, [("/requried", "unknown keyword")]),
    "annotations of the standard": (
        {"title": "", "description": "", "default": 1, "examples": [], "$comment": "",
         "$schema": "https://json-schema.org/draft/2020-12/schema", "deprecated": True}, [],
    ),
    "an unknown format": (
        {"items": {"format": "phone"}}, [("/items/format", "unknown format 'phone'")],
    ),
    "a known format": ({"format": "date"}, []),
    "of another type": (
        {"type": ["integer", "null"], "maxLength": 1, "minimum": 1},
        [("/maxLength", "has no effect on type 'integer' or 'null' or 'number'")],
    ),
    "then alone": ({"then": {}}, [("/then", "has no effect without 'if'")]),
    "minContains alone": (
        {"minContains": 1}, [("/minContains", "has no effect without 'contains'")],
    ),
    "additionalItems alone": (
        {"additionalItems": False},
        [("/additionalItems", "has no effect if 'items' is not an array")],
    ),
    "in a definition, once": (
        {"items": {"$ref": "#/$defs/x"}, "prefixItems": [{"$ref": "#/$defs/x"}],
         "$defs": {"x": {"foo": 1}, "unused": {"bar": 1}}},
        [("/$defs/x/foo", "unknown keyword")],
    ),
    "a property's name, and what a value holds": (
        {"properties": {"foo": {}}, "const": {"foo": {"bar": 1}}}, [],
    ),
    "a circle": (
        {"properties": {"a": {"$ref": "#"}}, "foo": 1}, [("/foo", "unknown keyword")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NOTHING.values(), ids=NOTHING.keys())
def test_keywords_without_effect_are_listed(case: tuple[Any, list[tuple[str, str]]]):
    schema, expected = case
    report = check(schema)
    assert [(each.pointer, each.no_effect) for each in report.annotations] == expected
    for pointer, reason in expected:
        assert f"  {pointer}: {reason}\n" in report.text()


@pytest.mark.parametrize("more", [0, 1])
def test_what_says_nothing_is_listed_to_a_bound_and_counted(more: int):
    report = check({f"x{n}": 1 for n in range(MAX_ANNOTATIONS + more)})
    assert (len(report.annotations), report.more_annotations) == (MAX_ANNOTATIONS, more)
    assert ("and 1 more" in report.text()) == bool(more)


def test_the_report_is_json():
    report = check({"items": AWAY, "foo": 1})
    value = json.loads(json.dumps(report.as_dict()))
    assert value["is_enforced"] is False
    assert value["refused"] == [
        {
            "pointer": "/items/$ref",
            "keyword": "$ref",
            "reason": report.refused[0].reason,
            "relaxed": ["/items/$ref"],
        }
    ]
    assert value["annotations"] == [
        {"pointer": "/foo", "keyword": "foo", "reason": "unknown keyword"}
    ]
    assert value["cost"].keys() >= {"rules", "ir_nodes", "states", "edges", "bytes"}


# -- the command -----------------------------------------------------------------------------------

#: text of a file -> exit status
STATUS = {
    '{"type": "string"}': 0,
    "true": 0,
    '{"foo": 1}': 0,
    json.dumps(AWAY): 1,
    '{"type": "strnig"}': 1,
    "false": 1,
    "[]": 2,
    "{": 2,
    "[" * 100_000: 2,
    "\xff": 2,
}


@pytest.mark.parametrize(("text", "status"), STATUS.items(), ids=[k[:20] for k in STATUS])
def test_the_exit_status_says_what_came_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, status: int
):
    file = tmp_path / "schema.json"
    file.write_bytes(text.encode("latin-1"))
    assert main([str(file)]) == status
    shown = capsys.readouterr()
    assert bool(shown.out) == (status != 2)
    assert bool(shown.err) == (status == 2)


def test_a_file_that_is_not_there_is_no_schema(capsys: pytest.CaptureFixture[str]):
    assert main(["nowhere.json"]) == 2
    assert "nowhere.json" in capsys.readouterr().err


def test_the_command_reads_standard_input_and_writes_json():
    command = [sys.executable, "-W", "error", "-m", "engine.check", "--json", "-"]
    run = subprocess.run(command, input='{"type": "null"}', capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(run.stdout)["enforced"] == {"type": 1}
