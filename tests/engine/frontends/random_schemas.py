"""Hypothesis strategies for schemas of the enforced core, and walks of noise through what they compile to."""

import math
import random
from typing import Any

from hypothesis import strategies as st

import engine
from tests.engine.harness import bits, new_mask

NAMES = ["a", "b", "ab", "é", "x/y", "~", "", 'n"q', "😀", "key_1"]
# ASCII classes only: Python's \d and \s hold more than ECMA's
PATTERNS = [
    "^a+$", "b", "^ab|c$", "^[a-c]{1,3}$", "(a|b)*c", r"^\d{2}-\d{2}$", "[^a]", "^$", "x{2,4}", "^(foo|bar|foobar)$",
    r"\u00e9|z", "^.{2}$", r'^[^"\\]*$', "a$|^b", r"^\w+@\w+$", r"[\[\]{}]", r"^\.\/$",
]  # fmt: skip
FORMATS = ["date", "time", "date-time", "ipv4", "ipv6", "uuid", "email", "unknown"]
BOUNDS = [0, 1, -1, 5, 10, 0.5, -2.5, 100, 12.25, -7, 1e3, 1e-3]

scalars = st.sampled_from(
    ["", "a", "b", "ab", "é", 'c"d', "😀", "a/b", "zz\n", 0, 1, -1, 2.5, 1.0, 1e22, True, False, None]
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda below: st.one_of(
        st.lists(below, max_size=3), st.dictionaries(st.sampled_from(NAMES), below, max_size=3)
    ),
    max_leaves=5,
)
types = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
counts = st.integers(0, 4)
bounds = st.sampled_from(BOUNDS)


def _some(keywords: dict[str, Any], always: dict[str, Any] | None = None) -> Any:
    return st.fixed_dictionaries(always or {}, optional=keywords)


strings = _some(
    {
        "minLength": counts,
        "maxLength": counts,
        "pattern": st.sampled_from(PATTERNS),
        "format": st.sampled_from(FORMATS),
    },
    {"type": st.just("string")},
)
numbers = _some(
    dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), bounds),
    {"type": st.sampled_from(["integer", "number"])},
)
listed = st.one_of(
    _some({"type": types}, {"enum": st.lists(values, min_size=1, max_size=4)}),
    st.fixed_dictionaries({"const": values}),
)
leaves = st.one_of(
    st.booleans(),
    st.fixed_dictionaries({"type": types | st.lists(types, min_size=1, max_size=3, unique=True)}),
    strings,
    numbers,
    listed,
    st.fixed_dictionaries({"$ref": st.sampled_from(["#", "#/$defs/x", "#/$defs/y"])}),
)


def _composed(below: Any) -> Any:
    objects = _some(
        {
            "properties": st.dictionaries(st.sampled_from(NAMES), below, max_size=4),
            "required": st.lists(st.sampled_from(NAMES), max_size=3, unique=True),
            "additionalProperties": below,
        },
        {"type": st.just("object")},
    )
    arrays = _some(
        {
            "items": below,
            "prefixItems": st.lists(below, min_size=1, max_size=2),
            "minItems": counts,
            "maxItems": counts,
        },
        {"type": st.just("array")},
    )
    branches = st.lists(below, min_size=1, max_size=3)
    choices = st.sampled_from(["anyOf", "oneOf", "allOf"]).flatmap(
        lambda keyword: st.fixed_dictionaries({keyword: branches})
    )
    beside = st.one_of(objects, arrays, strings, numbers, listed)
    return st.one_of(objects, arrays, choices, st.builds(lambda a, b: {**a, **b}, beside, choices))


nested = st.recursive(leaves, _composed, max_leaves=12)
schemas = st.builds(
    lambda root, x, y: {"allOf": [root], "$defs": {"x": x, "y": y}}, nested, nested, nested
)


# -- noise ----------------------------------------------------------------------------------------

#: letters that lead towards an end are drawn more often, so that walks end
WEIGHTS = [
    40.0 if chr(b) in '"}]' else 6.0 if chr(b) in "abc:,-0123456789/.{[" else 0.6 if b <= 32 else 1
    for b in range(256)
]
STOP = 256


def byte_vocabulary() -> engine.Vocabulary:
    tokens = [bytes([b]) for b in range(256)]
    return engine.Vocabulary([*tokens, b"<eos>"], stop_token_ids=[STOP], special_token_ids=[STOP])


def noise(compiled: engine.Compiled, seed: int, longest: int = 300) -> bytes | None:
    """A text drawn byte by byte among what the masks allow; None if it did not end."""
    rng, matcher, text = random.Random(seed), engine.Matcher(compiled), bytearray()
    mask = new_mask(compiled.vocabulary)
    while len(text) < longest:
        matcher.fill_bitmask(mask)
        allowed = [int(token) for token in bits(mask)]
        assert allowed, bytes(text)
        impatience = 1 + len(text) / 100
        weights = [
            math.pow(60.0 if token == STOP else WEIGHTS[token], impatience) for token in allowed
        ]
        token = rng.choices(allowed, weights)[0]
        assert matcher.accept_token(token), (bytes(text), token)
        if matcher.is_terminated():
            return bytes(text)
        text.append(token)
    return None


def takes(compiled: engine.Compiled, text: str | bytes) -> bool:
    matcher = engine.Matcher(compiled)
    data = text.encode() if isinstance(text, str) else text
    return matcher.accept_bytes(data) and matcher.can_stop()
