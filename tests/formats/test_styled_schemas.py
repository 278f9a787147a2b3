"""In every style, random schemas constrain arguments as they constrain JSON.

A walk through the style's masks is read as a value that the schema allows, and a value that the
JSON grammar of the schema allows may be written in the style.
"""

import json
import math
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from engine import (
    STYLES,
    Compiled,
    Compiler,
    LimitExceeded,
    Matcher,
    SpecError,
    UnsupportedSchema,
    Vocabulary,
    relax,
)
from tests.conformance.oracle import Oracle, parsed
from tests.engine.frontends.random_schemas import NAMES, nested, takes
from tests.engine.harness import bits, new_mask
from tests.turns import draws

from .test_argument_reader import NOTATIONS, read_with

KEYS = st.sampled_from(NAMES)
FEW = st.integers(0, 3)
#: keywords of objects and arrays beside those of random_schemas
OF_OBJECTS: dict[str, Any] = {
    "minProperties": FEW,
    "maxProperties": FEW,
    "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$", "^k"]), nested, max_size=2),
    "propertyNames": st.sampled_from(
        [{"maxLength": 2}, {"enum": ["a", "b"]}, {"pattern": "^[ab]"}]
    ),
    "dependentRequired": st.dictionaries(KEYS, st.lists(KEYS, max_size=2, unique=True), max_size=2),
}
OF_ARRAYS: dict[str, Any] = {
    "contains": nested,
    "minContains": FEW,
    "maxContains": FEW,
    "uniqueItems": st.booleans(),
}
CONDITIONS = st.fixed_dictionaries({"if": nested}, optional={"then": nested, "else": nested})
NEGATIONS = st.fixed_dictionaries({"not": nested})
members = st.dictionaries(KEYS, nested, max_size=3)
objects = st.builds(
    lambda properties, more: {"type": "object", "properties": properties, **more},
    members,
    st.fixed_dictionaries(
        {},
        optional={
            "required": st.lists(KEYS, max_size=2, unique=True),
            "additionalProperties": nested,
            **OF_OBJECTS,
        },
    ),
)
arrays = st.builds(
    lambda items, more: {"type": "array", "items": items, **more},
    nested | objects,
    st.fixed_dictionaries({}, optional={"minItems": FEW, "maxItems": FEW, **OF_ARRAYS}),
)
mixed = st.one_of(
    nested, objects, arrays, st.builds(lambda a, b: {"allOf": [a, b]}, objects | arrays, nested),
    st.builds(lambda a, b: {**a, **b}, objects | arrays, CONDITIONS | NEGATIONS),
)  # fmt: skip
roots = st.builds(
    lambda given, root, x, y: {
        **root,
        "properties": {**given, **root["properties"]},
        "$defs": {"x": x, "y": y},
    },
    st.dictionaries(st.sampled_from(["o", "l", "v"]), mixed, min_size=1, max_size=2),
    objects | st.builds(lambda a, b: {**a, **b}, objects, CONDITIONS),
    nested,
    nested,
)

IDENTIFIER = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")
#: tokens of several characters, so that walks find the marks of the styles
PIECES = sorted(
    {
        *(part for style in STYLES.values()
          for text in (style.open, style.close, style.item, style.quote)
          for part in re.split(r"\{key\}|\{type\}", text)
          if len(part) > 1),
        *(name for style in STYLES.values() for name in style.types.values()),
        *(f'"{name}"' for name in ("a", "b", "ab", "o", "l", "v")), "key_2", "item",
        "true", "false", "null", "True", "False", "None", '": ', "a>", "b>", "</", "10", "2.5",
    }
)  # fmt: skip
STOP = 256
TOKENS = [*(bytes([byte]) for byte in range(256)), b"<eos>", *(piece.encode() for piece in PIECES)]
COMPILER = Compiler(Vocabulary(TOKENS, stop_token_ids=[STOP], special_token_ids=[STOP]))
#: characters that end something
ENDS = '<>/{}[]",'
#: attempts, and tokens of each
WALKS, LONGEST = 3, 200


def compiled(style: str, schema: Any) -> Compiled:
    node = {
        "type": "json_schema",
        "json_schema": schema,
        "style": style,
        "switchyard": {"version": 7, "extra_keys": "last"},
    }
    return COMPILER.compile_structural_tag({"type": "structural_tag", "format": node})


def weight(token: int, calm: float) -> float:
    """The weight of a token in a walk; ``calm`` falls from 1 to 0, and then ends are drawn."""
    if token == STOP or (token > STOP and b"</" in TOKENS[token]):
        return 6 - 5 * calm
    if token > STOP or chr(token) in "abolv":
        return 6 * calm
    if chr(token) in ENDS:
        return 1
    return calm * (0.2 if 32 <= token < 127 else 0.01)


def walk(grammar: Compiled, seed: int) -> bytes | None:
    """A text drawn token by token among those that the masks allow; None: it does not end."""
    rng, matcher, text = random.Random(seed), Matcher(grammar), b""
    mask = new_mask(grammar.vocabulary)
    for step in range(LONGEST):
        matcher.fill_bitmask(mask)
        allowed = [int(token) for token in bits(mask)]
        assert allowed, text
        calm = max(1 - step / 80, 0.02)
        token = rng.choices(allowed, [weight(token, calm) for token in allowed])[0]
        assert matcher.accept_token(token), (text, token)
        if matcher.is_terminated():
            return text
        text += TOKENS[token]
    return None


def parts(value: Any) -> Iterator[Any]:
    """The value, and all keys and values inside it."""
    todo = [value]
    while todo:
        value = todo.pop()
        yield value
        if isinstance(value, dict):
            yield from ((key, None) for key in value)
            todo += value.values()
        elif isinstance(value, list):
            todo += value


def is_writable(style: str, value: Any) -> bool:
    """Whether the style has a text for the value, whatever the schema lists."""
    chosen = STYLES[style]
    guard = chosen.guard or chosen.close or chosen.quote
    for each in parts(value):
        if isinstance(each, tuple) and not IDENTIFIER.fullmatch(each[0]):
            return False
        if isinstance(each, str) and guard and guard in each:
            return False
        if isinstance(each, float) and not math.isfinite(each):
            return False
    return True


def grammars(style: str, schema: Any) -> tuple[Compiled, Compiled] | None:
    """The grammars of the schema in JSON and in the style; None: one of them refuses it."""
    try:
        return compiled("json", schema), compiled(style, schema)
    except (SpecError, LimitExceeded):
        return None


@pytest.mark.parametrize("style", NOTATIONS)
@draws(100, suppress_health_check=list(HealthCheck))
@given(roots, st.integers(0, 1000))
def test_a_style_is_as_faithful_as_json(style: str, schema: Any, seed: int) -> None:
    made = grammars(style, schema)
    if made is None:
        return
    oracle = Oracle(schema)
    for number in range(seed, seed + WALKS):
        text = walk(made[1], number)
        if text is not None:
            read = read_with(made[1], style, text)
            assert oracle.accepts(parsed(read)), (text, read)
        in_json = walk(made[0], number)
        value = None if in_json is None else json.loads(in_json)
        if value is not None and is_writable(style, value):
            written = NOTATIONS[style].written(json.dumps(value))
            assert takes(made[1], written), (in_json, written)


def is_unsupported(style: str, schema: Any) -> bool:
    try:
        compiled(style, schema)
    except (SpecError, LimitExceeded) as error:
        return isinstance(error, UnsupportedSchema)
    return False


@pytest.mark.parametrize("style", NOTATIONS)
@draws(60, suppress_health_check=list(HealthCheck))
@given(roots)
def test_what_a_style_refuses_is_relaxed(style: str, schema: Any) -> None:
    relaxed, in_json = relax(schema, style=style), relax(schema, extra_keys="last")
    if in_json.error is None:
        # keys may have to match a pattern that no name of a style matches
        assert relaxed.error is None or "nothing can satisfy" in relaxed.error.message
    assert relaxed.error is not None or not is_unsupported(style, relaxed.schema)
