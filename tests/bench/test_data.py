"""Cases: MaskBench's halves, specs made to order, vocabularies made to size."""

import json
from random import Random

import jsonschema
import pytest

from bench import made, vocabularies
from bench.data import builtin_tools, maskbench


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
