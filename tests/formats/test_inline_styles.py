"""Styles given as objects constrain and read arguments like the named ones.

Random objects are refused as a style, or write arguments that the grammar accepts and the reader
reads back.
"""

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from adapters.formats.tags.notation import (
    Elements,
    GemmaArguments,
    Notation,
    PythonArguments,
)
from engine import STYLES, Compiled, Matcher, SpecError, Style, read_style, style_field
from engine.frontends.structural_tag.style_reader import style_object
from engine.frontends.structural_tag.tag_styles import COHERE, IS_STRING, JSON_NAMES
from tests.conformance.oracle import Oracle, parsed
from tests.engine.harness import bits, new_mask
from tests.turns import draws

from .test_argument_reader import SCHEMA, read_with
from .test_styled_schemas import COMPILER, LONGEST, STOP, TOKENS, walk, weight


def compiled(style: Any, schema: Any = SCHEMA) -> Compiled:
    node = {"type": "json_schema", "json_schema": schema, "style": style}
    return COMPILER.compile_structural_tag({"type": "structural_tag", "format": node})


OPEN = {**SCHEMA, "properties": {**SCHEMA["properties"], "any": {}}, "additionalProperties": True}


@pytest.mark.parametrize("schema", [SCHEMA, OPEN], ids=["closed", "open"])
@pytest.mark.parametrize("name", STYLES)
def test_an_object_masks_and_reads_like_the_style_of_that_name(name: str, schema: Any) -> None:
    named, inline = compiled(name, schema), compiled(style_object(STYLES[name]), schema)
    for seed in range(6):
        rng, matchers = random.Random(seed), (Matcher(named), Matcher(inline))
        masks = [new_mask(named.vocabulary) for _ in matchers]
        parsers = named.parser(), inline.parser()
        for step in range(LONGEST):
            for matcher, mask in zip(matchers, masks, strict=True):
                matcher.fill_bitmask(mask)
            assert masks[0].tobytes() == masks[1].tobytes()
            allowed = [int(token) for token in bits(masks[0])]
            calm = max(1 - step / 80, 0.02)
            token = rng.choices(allowed, [weight(token, calm) for token in allowed])[0]
            assert all(matcher.accept_token(token) for matcher in matchers)
            if token == STOP:
                break
            events = [parser.feed_bytes(TOKENS[token]) for parser in parsers]
            assert events[0] == events[1]
        assert parsers[0].finish() == parsers[1].finish()


# -- random objects --------------------------------------------------------------------------------

PIECES = ["<", ">", "</", "=", "p", "item", " ", "\n", '"', "'", "|", ":", "]", "{", "1", ".", "-",
          "é", "}"]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map("".join)
maybe = texts | st.just("")
opens = st.tuples(maybe, st.sampled_from(["", ">", '">', "=", ": ", "|"]), maybe)
types = st.sampled_from([IS_STRING, JSON_NAMES, COHERE])
escapes = st.sampled_from(
    [{"&": "&amp;", '"': "&quot;"}, {"%": "%25", "<": "%3C", " ": "%20"}, {'"': "&quot;"}]
)


@st.composite
def styles(draw: Any) -> dict[str, Any]:
    """Objects that are near to a style of elements; some are refused."""
    head, between, tail = draw(opens)
    typed = draw(st.sampled_from(["", "", ' type="{type}">', " {type}:"]))
    made: dict[str, Any] = {
        "open": f"{head}{{key}}{between}{typed}{tail}",
        "close": draw(texts) + draw(st.sampled_from(["", "", "{key}>"])),
    }
    if typed:
        made["types"] = draw(types)
    kind = draw(st.integers(0, 5))
    if kind == 0:
        made |= {"nested": True, "item": draw(st.sampled_from(
            [f"{head}item{between}{typed}{tail}", f"-{between}{typed}{tail}", draw(texts)]
        ))}  # fmt: skip
    elif kind == 1:
        made["wrap"] = [draw(texts), draw(texts)]
    elif kind == 2:
        made["guard"] = draw(st.sampled_from([made["close"][1:], made["close"][:-1]]))
    elif kind == 3:
        made["escapes"] = draw(escapes)
    elif kind == 4:
        made["values"] = "quoted"
    made |= draw(st.sampled_from([{}, {"constants": ["True", "False", "None"]}]))
    return made


literals = st.builds(
    lambda quote, more: {
        "open": "{key}:", "close": "", "values": "gemma", "separator": ",", "quote": quote, **more
    },
    texts,
    st.sampled_from([{}, {"any_order": True}, {"constants": ["", "", "None"]}]),
)  # fmt: skip
KEYED: Any = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        'a "&<b': {"type": "integer"},
        "flag": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "string"}},
        "inner": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "item": {"type": "integer"}},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
ORACLE = Oracle(KEYED)
strings = st.text(alphabet=st.sampled_from("ab <>=/\"'|:]1\n-é"), max_size=5)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "text": strings,
        'a "&<b': st.integers(-99, 99),
        "flag": st.booleans(),
        "list": st.lists(strings, max_size=2),
        "inner": st.fixed_dictionaries({}, optional={"text": strings, "item": st.integers(0, 9)}),
    },
)


def in_order(value: dict[str, Any], schema: Any) -> dict[str, Any]:
    """The arguments in the order of the schema."""
    listed = schema["properties"]
    return {
        key: in_order(value[key], listed[key]) if isinstance(value[key], dict) else value[key]
        for key in listed
        if key in value
    }


def notation_of(style: Style) -> Notation:
    kinds = {
        "json": Elements,
        "quoted": Elements,
        "python": PythonArguments,
        "gemma": GemmaArguments,
    }
    return kinds[style.values](style)


def strings_of(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        inside = value.values() if isinstance(value, dict) else value
        return [text for each in inside for text in strings_of(each)]
    return [value] if isinstance(value, str) else []


def is_writable(style: Style, arguments: Any) -> bool:
    """Whether the style has a text for all strings that are not JSON."""
    if style.values == "quoted":
        return True
    raw = arguments if style.nested or style.quote else {"text": arguments.get("text")}
    end, (before, after) = style.quote or style.value_end, style.wrap
    for text in strings_of(raw):
        if before and after in text and before in text:
            return False
        is_wrapped = (
            before and after not in text and any(each in text for each in ("<", "\n", before))
        )
        if end in text and not is_wrapped:
            return False
    return True


@draws(600, suppress_health_check=list(HealthCheck))
@given(styles() | literals, ARGUMENTS, st.integers(0, 1000))
def test_a_random_object_is_refused_or_reads_what_it_writes(
    value: dict[str, Any], arguments: dict[str, Any], seed: int
) -> None:
    arguments = in_order(arguments, KEYED)
    try:
        grammar = compiled(value, KEYED)
    except SpecError:
        return
    style = read_style(value, "")
    notation = notation_of(style)
    assert read_style(style_field(style), "") == style
    if is_writable(style, arguments):
        text = notation.written(json.dumps(arguments, ensure_ascii=False))
        assert json.loads(read_with(grammar, style, text.encode())) == arguments, (value, text)
    said = walk(grammar, seed)
    if said is not None:
        assert ORACLE.accepts(parsed(read_with(grammar, style, said))), (value, said)


#: what clients may send for a field
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | texts,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(texts, inside, max_size=3),
    max_leaves=5,
)


@draws(300)
@given(st.dictionaries(st.sampled_from(Style._fields) | texts, anything, max_size=6))
def test_any_object_is_read_or_refused(value: dict[str, Any]) -> None:
    place = ""
    try:
        read_style({"open": "<{key}>", "close": "</>", **value}, "/style")
    except SpecError as error:
        place = error.pointer
    assert place == "" or place.startswith("/style")
