"""Cases: MaskBench's halves, specs made to order, vocabularies made to size."""

import json
from random import Random

import jsonschema
import pytest

from bench import made, vocabularies
from bench.data import bfcl, builtin_tools, maskbench


@pytest.fixture
def folder(tmp_path):
    for k in range(7):
        case = {"schema": {"const": k}, "tests": [{"data": k, "valid": True}]}
        (tmp_path / f"{k}.json").write_text(json.dumps(case))
    return tmp_path


def test_the_halves_of_maskbench_are_every_second_file(folder):
    halves = [{case.name for case in maskbench(folder, 99, half=half)} for half in (0, 1)]
    assert halves == [{"0", "2", "4", "6"}, {"1", "3", "5"}]
    assert {case.name for case in maskbench(folder, 99)} == halves[0] | halves[1]
    assert len(maskbench(folder, 2, half=1)) == 2


@pytest.mark.parametrize("seed", range(20))
def test_made_values_fit_their_schemas(seed):
    case = made.schema_case(Random(seed))
    jsonschema.Draft202012Validator.check_schema(case.schema)
    jsonschema.validate(json.loads(case.texts[0][0]), case.schema)
    tools = made.tool_case(Random(seed), 5)
    (name, arguments) = tools.calls[0]
    jsonschema.validate(arguments, dict(tools.tools)[name])


@pytest.mark.parametrize("kilobytes", [1, 4, 64])
def test_a_schema_of_a_size_has_it(kilobytes):
    case = made.schema_of(Random(1), 1024 * kilobytes)
    assert abs(len(json.dumps(case.schema)) - 1024 * kilobytes) < 1024
    jsonschema.validate(json.loads(case.texts[0][0]), case.schema)


def test_made_specs_are_distinct_and_come_again_from_their_seed():
    first, again = ([made.schema_case(Random(k)) for k in range(300)] for _ in range(2))
    assert first == again
    assert len({json.dumps(case.schema) for case in first}) == 300


def test_made_tool_sets_fill_up_where_real_ones_do_not_suffice():
    real = builtin_tools()
    cases = made.tool_cases(real * 3, 10)
    assert cases[0] == real[0]
    assert len({json.dumps(case.tools) for case in cases}) == len(cases) == 10
    assert made.tool_cases(real, 1) == real


def test_large_sets_share_no_tool_and_call_what_they_have():
    real = [made.tool_case(Random(seed), 3)._replace(name=f"real {seed}") for seed in range(8)]
    sets = made.large_sets([*real, *real], 10, 4)
    names = [{name for name, _ in case.tools} for case in sets]
    assert [len(own) for own in names] == [10] * 4
    assert len(set().union(*names)) == 40
    assert {name for case in real for name, _ in case.tools} <= set().union(*names)
    for case, own in zip(sets, names, strict=True):
        assert case.calls and {name for name, _ in case.calls} <= own
    assert sets == made.large_sets([*real, *real], 10, 4)


def test_large_sets_are_made_where_there_are_no_real_ones():
    (case,) = made.large_sets([], 5, 1)
    assert len(case.tools) == 5 and case.calls[0][0] in dict(case.tools)


def _write_bfcl(folder, functions, truth):
    (folder / "possible_answer").mkdir()
    for kind in ("live_multiple", "live_parallel_multiple", "multiple", "parallel_multiple"):
        lines = [json.dumps({"id": kind, "function": functions})]
        truths = [json.dumps({"id": kind, "ground_truth": truth}), json.dumps({"id": "other"})]
        (folder / f"BFCL_v4_{kind}.json").write_text("\n".join(lines))
        (folder / "possible_answer" / f"BFCL_v4_{kind}.json").write_text("\n".join(truths))


def test_bfcl_becomes_json_schema_with_arguments_in_the_order_of_the_schema(tmp_path):
    parameters = {
        "type": "dict",
        "required": ["a", "gone"],
        "properties": {
            "a": {"type": "String", "description": "x", "default": "y"},
            "b": {"type": "ArrayList", "items": {"type": "float"}},
            "c": {"type": "any"},
            "d": {"type": "dict", "properties": {"e": {"type": "Boolean"}}},
        },
    }
    call = {"f": {"d": [{"e": [True]}], "c": ["", 1], "b": [[1.5]], "a": [""], "z": [3]}}
    _write_bfcl(tmp_path, [{"name": "f", "parameters": parameters}], [call])
    cases = bfcl(tmp_path)
    assert len(cases) == 4 and len(bfcl(tmp_path, 2)) == 2
    ((name, schema),) = cases[0].tools
    assert name == "f"
    assert schema == {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "array", "items": {"type": "number"}},
            "c": {},
            "d": {
                "type": "object",
                "properties": {"e": {"type": "boolean"}},
                "required": [],
                "additionalProperties": False,
            },
        },
        "additionalProperties": False,
    }
    # An empty text stands for an argument left out, except where it is required.
    assert cases[0].calls == [("f", {"a": "", "b": [1.5], "d": {"e": True}})]
    assert list(cases[0].calls[0][1]) == ["a", "b", "d"]


@pytest.mark.parametrize("size", [32_768, 262_144])
def test_a_sized_vocabulary_has_its_size_no_token_twice_and_spells_every_text(size):
    loaded = vocabularies.load(f"sized@{size}")
    assert len(loaded.tokens) == len(set(loaded.tokens)) == size
    text = '{"name": "Grüße, 漢字 😀", "n": 12345}'
    ids = loaded.encoding.encode(text)
    assert b"".join(loaded.tokens[t] for t in ids).decode() == text
    assert loaded.tokens[loaded.stop] == b"<|return|>"


def test_a_vocabulary_too_small_for_all_bytes_is_refused():
    with pytest.raises(ValueError, match="1000 tokens"):
        vocabularies.load("sized@1000")
