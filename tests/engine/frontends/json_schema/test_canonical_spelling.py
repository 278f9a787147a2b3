"""Canonical spelling: what is known is written in one way, and every value still has a text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from tests.engine.frontends.accepting import compiler
from tests.engine.frontends.json_schema.json_texts import written
from tests.engine.frontends.json_schema.schema_cases import CASES
from tests.engine.frontends.oracle import is_valid
from tests.engine.frontends.random_schemas import noise, schemas, takes
from tests.engine.frontends.recognise import accepts, schema_language
from tests.turns import draws

INTEGER, NUMBER = {"type": "integer"}, {"type": "number"}
KEYS = {
    "type": "object",
    "properties": {'é "x"\n': {}, "a/b": {}},
    "additionalProperties": {"type": "string"},
}
UNIQUE = {"type": "array", "items": NUMBER, "uniqueItems": True}
# (schema, text, whether canonical spelling has it; any spelling has all of them)
TEXTS: list[tuple[Any, str, bool]] = [
    *[(INTEGER, text, True) for text in ("0", "7", "-12", "90071992547409930")],
    *[(INTEGER, text, False) for text in ("-0", "1.0", "1e3", "5E0", "4e+1", "-2.00")],
    *[({**INTEGER, "minimum": -3, "maximum": 20}, text, True) for text in ("-3", "0", "20")],
    *[({**INTEGER, "minimum": -3, "maximum": 20}, text, False) for text in ("-0", "7.0")],
    *[({**INTEGER, "multipleOf": 3}, text, True) for text in ("-3", "0", "33")],
    *[({**INTEGER, "multipleOf": 3}, text, False) for text in ("-0", "3.0")],
    *[(NUMBER, text, True) for text in ("0", "-7", "2.5", "1.50", "-0.25", "3.0")],
    *[(NUMBER, text, True) for text in ("1e-05", "1e-7", "-2.5e-10", "1e+16", "1.25e21")],
    *[(NUMBER, text, False) for text in ("-0", "5E0", "4e1", "1e5", "1E-7", "1.50e-7", "10e-7")],
    # beyond a double's range readers see infinity
    *[(NUMBER, text, True) for text in ("9.9e+307", "1e-400", "1" + "0" * 308)],
    *[(NUMBER, text, False) for text in ("9.9e+308", "-1e400", "1e+1000")],
    *[({**NUMBER, "minimum": 1}, text, text < "1e+308") for text in ("1e+307", "1e+309")],
    ({**NUMBER, "minimum": 1e308}, "1" * 309, True),
    *[(NUMBER, text, False) for text in ("1e-4", "1e-007", "1e+016", "0e-7")],
    *[({**NUMBER, "minimum": -1}, text, True) for text in ("-1", "-0.5", "0", "1e+20", "-1e-05")],
    *[({**NUMBER, "minimum": -1}, text, False) for text in ("-0", "-1E-05", "1e2")],
    *[({**NUMBER, "multipleOf": 0.5}, text, True) for text in ("0", "-1.5", "2")],
    *[({**NUMBER, "multipleOf": 0.5}, text, text == "-0.0") for text in ("-0", "-0.0")],
    # REGRESSION: negative numbers had 15 digits at most
    *[(UNIQUE, f"[{number}]", True) for number in ("-0.30000000000000004", "0.1", "-0.0")],
    (UNIQUE, "[-0]", False),
    *[({"enum": [1.5, 3, "é\n", None]}, text, True) for text in ("1.5", "3", '"é\\n"', "null")],
    *[({"enum": [1.5, 3, "é\n"]}, text, False) for text in ("1.50", "3.0", '"\\u00e9\\n"')],
    # REGRESSION: only digits were taken, which json.dumps does not write
    *[({"const": 1e22}, text, text == "1e+22") for text in ("1e+22", "1" + "0" * 22)],
    *[({"enum": [1.5e300, 5e15]}, text, True) for text in ("1.5e+300", "5000000000000000")],
    ({"const": {"k/": ["\u001f"]}}, '{"k/":["\\u001f"]}', True),
    ({"const": {"k/": ["\u001f"]}}, '{"k\\/":["\\u001F"]}', False),
    (KEYS, '{"é \\"x\\"\\n": 1, "a/b": 2}', True),
    (KEYS, '{"é \\u0022x\\"\\n": 1}', False),
    (KEYS, '{"a\\/b": 2}', False),
    # other strings have any spelling, but no listed name is one of them
    (KEYS, '{"\\u006fther": "\\u0041"}', True),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "text", "is_canonical"), TEXTS)
def test_known_texts_and_numbers_have_one_spelling(
    schema: Any, text: str, is_canonical: bool
) -> None:
    assert accepts(schema_language(schema), text)
    assert accepts(schema_language(schema, spelling="canonical"), text) == is_canonical


def test_another_spelling_of_a_listed_name_is_no_other_key() -> None:
    schema = {**KEYS, "properties": {"a": INTEGER}}
    found = schema_language(schema, spelling="canonical")
    assert accepts(found, '{"a": 1, "b": "x"}')
    assert not accepts(found, '{"\\u0061": "x"}')
    assert not accepts(found, '{"\\u0061": 1}')


@pytest.mark.parametrize(("name", "schema", "values"), CASES, ids=[case[0] for case in CASES])
def test_every_valid_value_has_a_canonical_text(name: str, schema: Any, values: list[Any]) -> None:
    found = schema_language(schema, spelling="canonical")
    compiled = compiler().compile_json_schema(schema, spelling="canonical")
    for value in values:
        valid = is_valid(schema, value)
        for options in ({}, {"separators": (",", ":")}):
            text = written(value, ensure_ascii=False, **options)
            assert accepts(found, text) == valid, text
            assert takes(compiled, text) == valid, text


@pytest.mark.campaign
@given(schemas, st.integers(0, 1 << 30), st.sampled_from(["flexible", "compact"]))
@draws(200)
def test_what_is_canonical_is_valid_in_any_spelling(
    schema: Any, seed: int, whitespace: str
) -> None:
    try:
        exact = compiler().compile_json_schema(schema, whitespace=whitespace)
        canonical = compiler().compile_json_schema(
            schema, whitespace=whitespace, spelling="canonical"
        )
    except engine.EngineError as error:
        assert not isinstance(error, engine.InternalError)
        return
    assert exact is not canonical
    for walk in range(4):
        text = noise(canonical, seed + walk)
        if text is not None:
            assert takes(exact, text), text
            assert is_valid(schema, json.loads(text)), text
