"""White space as ``json.dumps`` writes it: that of the layout is taken, and no other."""

import json
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

import engine
from tests.app.examples import closed
from tests.engine.frontends.accepting import compiled_or_none, compiler
from tests.engine.frontends.json_schema.json_texts import LAYOUTS, TOKENS, laid_out, written
from tests.engine.frontends.json_schema.schema_cases import CASES, INTEGER, NODE
from tests.engine.frontends.oracle import oracle
from tests.engine.frontends.random_schemas import noise, schemas, takes, values
from tests.engine.frontends.recognise import accepts, schema_language
from tests.turns import draws

EXACT_LEVELS, MAX_DEPTH = 16, 128


def deepest(text: str) -> int:
    depths = [0]
    for token in TOKENS.findall(text):
        depths.append(depths[-1] + (token in ("{", "[")) - (token in ("}", "]")))
    return max(depths)


def nearby(text: str) -> list[str]:
    """The text with one character of white space more, or less, or another one, outside strings."""
    gaps = [0, *(end for found in TOKENS.finditer(text) for end in (found.start(), found.end()))]
    more = [text[:at] + blank + text[at:] for at in sorted({*gaps, len(text)}) for blank in " \n\t"]
    inside = {at for found in TOKENS.finditer(text) for at in range(*found.span())}
    less = [text[:at] + text[at + 1 :] for at in range(len(text)) if at not in inside]
    return [other for other in [*more, *less] if other != text]


@given(values, st.sampled_from(LAYOUTS))
@draws(100)
def test_the_judge_of_layouts_writes_as_json_dumps(value: Any, options: dict[str, Any]) -> None:
    assert laid_out(json.dumps(value), **options) == json.dumps(value, **options)


@pytest.mark.parametrize("options", LAYOUTS, ids=repr)
@pytest.mark.parametrize(("name", "schema", "instances"), CASES, ids=[case[0] for case in CASES])
def test_every_valid_value_is_taken_as_json_dumps_writes_it_and_not_otherwise(
    name: str, schema: Any, instances: list[Any], options: dict[str, Any]
) -> None:
    """By the engine and the plain recogniser, in any spelling and in the canonical one."""
    judge, language = oracle(schema), schema_language(schema, **options)
    compiled = compiler().compile_json_schema(schema, **options)
    canonical = compiler().compile_json_schema(schema, spelling="canonical", **options)
    for value in instances:
        text = json.dumps(value, **options)
        assert takes(compiled, text) == accepts(language, text) == judge.is_valid(value), text
        assert takes(canonical, written(value, ensure_ascii=False, **options)) == judge.is_valid(
            value
        ), text
        taken = [other for other in nearby(text) if takes(compiled, other)]
        assert taken == [], text


@pytest.mark.campaign
@given(
    schemas,
    st.integers(0, 1 << 30),
    st.sampled_from(LAYOUTS),
    st.booleans(),
    st.sampled_from(["any", "canonical"]),
)
@draws(300)
def test_the_language_is_the_flexible_one_laid_out(
    schema: Any, seed: int, options: dict[str, Any], any_order: bool, spelling: str
) -> None:
    more: dict[str, Any] = {"any_order": any_order, "spelling": spelling}
    flexible = compiled_or_none(schema, **more)
    fixed = compiled_or_none(schema, **more, **options)
    assert (flexible is None) == (fixed is None)
    if flexible is None or fixed is None:
        return
    for walk in range(4):
        text = noise(flexible, seed + walk)
        if text is not None:
            assert takes(fixed, laid_out(text.decode(), **options)), text
        text = noise(fixed, seed + walk)
        event("cut off" if text is None else "whole text")
        if text is not None:
            assert takes(flexible, laid_out(text.decode())), text
            assume(deepest(text.decode()) < EXACT_LEVELS)
            assert laid_out(text.decode(), **options) == text.decode()


def chain(levels: int) -> Any:
    """Objects whose deepest line stands at this depth."""
    value: Any = {"value": 1}
    for _ in range(levels - 1):
        value = {"value": 1, "next": value}
    return value


def lists(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


#: schema, values by the depth of their deepest line, the depth at which recursion begins
RECURSIVE = [
    ({"$defs": {"node": NODE}, "$ref": "#/$defs/node"}, chain, 0),
    ({}, lists, 0),
    ({"properties": {"value": {}, "next": {}}, "type": "object"}, chain, 1),
    ({"items": {"items": {"$ref": "#/items"}, "type": "array"}, "type": "array"}, lists, 1),
]


@pytest.mark.parametrize(("schema", "value", "first"), RECURSIVE)
def test_depth_is_exact_for_some_levels_of_recursion(schema: Any, value: Any, first: int) -> None:
    compiled = compiler().compile_json_schema(schema, indent=1)
    exact = json.dumps(value(first + EXACT_LEVELS), indent=1)
    assert takes(compiled, exact)
    assert [other for other in nearby(exact) if takes(compiled, other)] == []
    deeper = json.dumps(value(first + EXACT_LEVELS + 1), indent=1)
    assert takes(compiled, deeper)
    assert [other for other in nearby(deeper) if takes(compiled, other)] != []


@pytest.mark.parametrize("options", [{"indent": 3}, {"indent": "\t"}])
def test_below_these_levels_a_line_has_whole_levels_up_to_a_bound(options: dict[str, Any]) -> None:
    compiled = compiler().compile_json_schema({}, **options)
    unit = " " * 3 if options["indent"] == 3 else "\t"
    text = json.dumps(lists(40), **options)
    assert takes(compiled, text)
    line = f"\n{30 * unit}["
    for levels in (EXACT_LEVELS, 31, MAX_DEPTH):
        assert takes(compiled, text.replace(line, f"\n{levels * unit}["))
    for levels in (EXACT_LEVELS - 1, MAX_DEPTH + 1):
        assert not takes(compiled, text.replace(line, f"\n{levels * unit}["))
    assert not takes(compiled, text.replace(line, f"\n{30 * unit} ["))
    assert takes(compiled, json.dumps(lists(MAX_DEPTH), **options))
    assert not takes(compiled, json.dumps(lists(MAX_DEPTH + 1), **options))


def test_outside_of_recursion_every_depth_is_exact() -> None:
    levels = 2 * EXACT_LEVELS
    schema: Any = {"type": "array", "items": INTEGER}
    value: Any = [1, 2]
    for level in range(levels):
        schema = {"type": "object", "properties": {"a": schema, f"b{level}": INTEGER}}
        value = {"a": value, f"b{level}": 1}
    compiled = compiler().compile_json_schema(schema, indent=1)
    text = json.dumps(value, indent=1)
    assert takes(compiled, text)
    assert [other for other in nearby(text) if takes(compiled, other)] == []


POINT = closed(x=closed(y={"const": 1}), z={"type": "array", "maxItems": 0})


@pytest.mark.parametrize("options", [*LAYOUTS, {"indent": 4, "separators": (",", ":")}], ids=repr)
def test_what_json_dumps_alone_could_write_is_forced(options: dict[str, Any]) -> None:
    compiled = compiler().compile_json_schema(POINT, spelling="canonical", **options)
    text = json.dumps({"x": {"y": 1}, "z": []}, **options)
    assert engine.Matcher(compiled).forced_bytes() == text.encode()


def test_an_empty_object_or_list_stands_on_one_line() -> None:
    compiled = compiler().compile_json_schema({"type": ["array", "object"]}, indent=2)
    matcher = engine.Matcher(compiled)
    assert matcher.accept_bytes(b"[")
    assert matcher.fork().accept_bytes(b"]")
    assert matcher.fork().accept_bytes(b"\n  {}\n]")
    assert not matcher.fork().accept_bytes(b"\n]")


#: REGRESSION: behind its bracket a line could begin, and nothing could follow
MEMBERLESS: list[dict[str, Any]] = [
    {"maxProperties": 0},
    {"additionalProperties": False},
    {"propertyNames": False},
    {"properties": {"a": False}, "additionalProperties": {"not": {}}},
    {"patternProperties": {"^a": True}, "additionalProperties": False, "maxProperties": 0},
]


@pytest.mark.parametrize("schema", MEMBERLESS, ids=repr)
@pytest.mark.parametrize("any_order", [False, True])
def test_an_object_that_can_hold_nothing_is_closed_at_once(schema: Any, any_order: bool) -> None:
    schema = {"type": "object", **schema}
    compiled = compiler().compile_json_schema(schema, indent=2, any_order=any_order)
    assert engine.Matcher(compiled).forced_bytes() == b"{}"


def test_options_are_part_of_what_a_grammar_is_kept_by() -> None:
    schema = {"type": "array", "title": "keys"}
    made = [compiler().compile_json_schema(schema, **options) for options in [{}, *LAYOUTS]]
    assert len({id(compiled) for compiled in made}) == len(made)


def test_no_white_space_can_be_said_in_two_ways() -> None:
    compact = compiler().compile_json_schema(NODE | {"$defs": {"node": {}}}, whitespace="compact")
    fixed = compiler().compile_json_schema(NODE | {"$defs": {"node": {}}}, separators=(",", ":"))
    assert compact.grammar.nodes == fixed.grammar.nodes


#: options, and the one that is refused
REFUSED = [
    *[({"indent": indent}, "indent") for indent in (-1, 21, True, 2.0, "x", "\n", " " * 21, [2])],
    *[
        ({"separators": separators}, "separators")
        for separators in (
            ",:", ",", [","], [",", ":", ":"], [":", ","], [";", ":"], [" ,", ":"], [",,", ":"],
            [",", ": x"], [",\f", ":"], [", " * 2, ":"], ["," + " " * 20, ":"], [1, 2], {",": ":"},
        )
    ],
]  # fmt: skip


@pytest.mark.parametrize(("options", "name"), REFUSED)
def test_options_out_of_bounds_are_refused_by_name(options: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be "):
        compiler().compile_json_schema({}, **options)
    own = {"version": engine.SPEC_VERSION, **options}
    with pytest.raises(engine.SpecError, match=f"{name} must be ") as caught:
        compiler().compile_structural_tag(tag(own))
    assert caught.value.pointer == f"/format/switchyard/{name}"


def tag(own: dict[str, Any], **more: Any) -> dict[str, Any]:
    node = {"type": "json_schema", "json_schema": {}, "switchyard": own, **more}
    return {"type": "structural_tag", "format": node}


@pytest.mark.parametrize("options", [{"indent": 20}, {"separators": ("," + " " * 19, ":")}])
def test_the_largest_options_are_taken(options: dict[str, Any]) -> None:
    compiled = compiler().compile_json_schema({}, **options)
    assert takes(compiled, json.dumps([[1, 2], {"a": {}}], **options))


def test_white_space_is_given_in_one_way() -> None:
    with pytest.raises(ValueError, match="'compact' cannot be combined with indent or separators"):
        compiler().compile_json_schema({}, whitespace="compact", indent=2)
    own = {"version": engine.SPEC_VERSION, "indent": 2}
    with pytest.raises(
        engine.SpecError, match="cannot be combined with max_whitespace_cnt"
    ) as caught:
        compiler().compile_structural_tag(tag(own, max_whitespace_cnt=3))
    assert caught.value.pointer == "/format/switchyard/indent"


def test_values_in_elements_are_laid_out_each_on_its_own() -> None:
    node = {
        "type": "json_schema",
        "style": "qwen_xml",
        "json_schema": closed(a={"type": "array", "items": INTEGER}),
        "switchyard": {"version": engine.SPEC_VERSION, "indent": 2},
    }
    compiled = compiler().compile_structural_tag({"type": "structural_tag", "format": node})
    text = f"<parameter=a>{json.dumps([1, 2], indent=2)}</parameter>"
    assert takes(compiled, text)
    assert not takes(compiled, text.replace("\n", "").replace(" ", ""))
