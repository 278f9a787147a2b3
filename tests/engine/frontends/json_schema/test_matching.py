"""Schemas through the whole engine: no text that it takes is one that ``jsonschema`` calls invalid."""

import json
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from tests.engine.frontends.accepting import compiled_or_none, compiler
from tests.engine.frontends.json_schema.schema_cases import CASES
from tests.engine.frontends.oracle import oracle
from tests.engine.frontends.random_schemas import (
    NAMES,
    noise,
    scalars,
    schemas,
    takes,
    values,
)
from tests.engine.frontends.recognise import layouts
from tests.reference import Recogniser
from tests.turns import draws


@pytest.mark.parametrize(("name", "schema", "instances"), CASES, ids=[case[0] for case in CASES])
def test_the_engine_takes_what_the_oracle_calls_valid(
    name: str, schema: Any, instances: list[Any]
) -> None:
    """The table of the front end, by way of automata and rows."""
    compiled, judge = compiler().compile_json_schema(schema), oracle(schema)
    for value in instances:
        for text in layouts(value):
            assert takes(compiled, text) == judge.is_valid(value), text


@pytest.mark.campaign
@given(
    schemas,
    st.integers(0, 1 << 30),
    st.booleans(),
    st.sampled_from(["flexible", "compact"]),
)
@draws(400)
def test_noise_comes_out_valid(schema: Any, seed: int, any_order: bool, whitespace: str) -> None:
    """Any text that the masks allow is JSON, and the schema accepts it."""
    compiled = compiled_or_none(schema, any_order=any_order, whitespace=whitespace)
    if compiled is None:
        return
    judge = oracle(schema)
    for walk in range(4):
        text = noise(compiled, seed + walk)
        event("cut off" if text is None else "whole text")
        if text is not None:
            assert judge.is_valid(json.loads(text)), text


def changed(value: Any, at: int) -> Any:
    """The value with one part changed."""
    if isinstance(value, list) and value:
        at %= len(value)
        return value[:at] + ([] if at % 2 else [[value[at]]]) + value[at + 1 :]
    if isinstance(value, dict) and value:
        items = list(value.items())
        name, item = items[at % len(items)]
        items[at % len(items)] = (NAMES[at % len(NAMES)], item) if at % 3 else (name, [item])
        return dict(items)
    return [value, None, -1, 0.5, "x", {}][at % 6]


@pytest.mark.campaign
@given(schemas, st.integers(0, 1 << 30), values | scalars)
@draws(400)
def test_values_close_to_valid_ones_are_not_taken_unless_they_are_valid(
    schema: Any, seed: int, other: Any
) -> None:
    compiled = compiled_or_none(schema)
    if compiled is None:
        return
    judge = oracle(schema)
    written = noise(compiled, seed)
    near = [] if written is None else [changed(json.loads(written), n) for n in range(8)]
    for value in [*near, other]:
        try:
            text = json.dumps(value, allow_nan=False)
        except ValueError:  # an exponent that is too large for a double was written
            continue
        if takes(compiled, text):
            assert judge.is_valid(value), text


@given(schemas, st.integers(0, 1 << 30))
@draws(150)
def test_rows_and_the_plain_recogniser_agree_on_noise(schema: Any, seed: int) -> None:
    compiled = compiled_or_none(schema)
    text = None if compiled is None else noise(compiled, seed, 80)
    if compiled is None or text is None:
        return
    reference = Recogniser(compiled.grammar)
    for end in {len(text), len(text) // 2, max(len(text) - 1, 0)}:
        for data in (text[:end], text[:end] + b'"', text[:end] + b"0", text[:end] + b"}"):
            assert takes(compiled, data) == reference.matches(data), data
