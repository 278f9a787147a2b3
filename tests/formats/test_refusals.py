"""Refusals name their place in the request, and spec pointers lead back to the request."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from adapters.formats import FORMATS, FormatError, Location, OutputSpec, Tool, get_format
from adapters.formats.argument_schema import NO_ARGUMENTS, argument_schema
from adapters.formats.spelling import json_name
from adapters.formats.tags.tag_family import TagFamily

from .cases import AUTO, FREE, REQUIRED, SPECIALS, TOOLS, VALUE_ONLY, VALUE_OR_CALL, G

NAMES = sorted(SPECIALS)


def refusal(name: str, output: OutputSpec) -> FormatError:
    with pytest.raises(FormatError) as caught:
        _ = get_format(name).plan(output, SPECIALS[name]).spec_json
    return caught.value


# -- arguments are objects ------------------------------------------------------------------------

TYPED = {"type": "object", "properties": {"a": {}}}
NARROWED: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = [
    ({}, NO_ARGUMENTS),
    (TYPED, TYPED),
    ({"type": "object"}, {"type": "object"}),
    ({"type": ["object"]}, {"type": ["object"]}),
    ({"type": ["object", "null"]}, {"type": "object"}),
    ({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
    ({"enum": ["x", {"a": 1}]}, {"type": "object", "enum": ["x", {"a": 1}]}),
    ({"const": {}}, {"type": "object", "const": {}}),
    ({"anyOf": [TYPED, {"type": "null"}]}, {"type": "object", "anyOf": [TYPED, {"type": "null"}]}),
    ({"anyOf": [TYPED, TYPED]}, {"anyOf": [TYPED, TYPED]}),
    ({"oneOf": [TYPED]}, {"oneOf": [TYPED]}),
    ({"allOf": [{}, TYPED]}, {"allOf": [{}, TYPED]}),
    (
        {"$ref": "#/$defs/a~1b", "$defs": {"a/b": TYPED}},
        {"$ref": "#/$defs/a~1b", "$defs": {"a/b": TYPED}},
    ),
    ({"$ref": "#/nowhere"}, {"type": "object", "$ref": "#/nowhere"}),
    ({"$ref": "#"}, {"type": "object", "$ref": "#"}),
    ({"$ref": "https://x"}, {"type": "object", "$ref": "https://x"}),
    # REGRESSION: what is no type was replaced by "object"; it is the engine's to refuse
    *(({"type": t}, {"type": t}) for t in ("objekt", ["object", "string?"], 5, None)),
    ({"anyOf": [{"type": "x"}]}, {"type": "object", "anyOf": [{"type": "x"}]}),
]


@pytest.mark.parametrize(("schema", "expected"), NARROWED)
def test_schemas_are_narrowed_to_objects(
    schema: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    assert argument_schema(schema, "p") == expected


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "string"}, "/type"),
        ({"type": ["string", "null"]}, "/type"),
        ({"type": []}, "/type"),
        ({"const": 1}, "/const"),
        ({"enum": [1, "a", [{}]]}, "/enum"),
        ({"anyOf": [{"type": "string"}, {"const": 2}, False]}, "/anyOf"),
        ({"oneOf": [{"type": "array"}]}, "/oneOf"),
        ({"allOf": [{}, {"anyOf": [{"type": "null"}]}]}, "/allOf/1/anyOf"),
        ({"$ref": "#/$defs/s", "$defs": {"s": {"type": "string"}}}, "/$ref"),
        ([], ""),
        ("object", ""),
        (None, ""),
        (True, ""),
    ],
)
def test_schemas_that_no_object_fits_are_refused_with_their_place(
    schema: Any, pointer: str
) -> None:
    with pytest.raises(FormatError) as caught:
        argument_schema(schema, "tools[3].function.parameters")
    assert caught.value.location == Location("tools[3].function.parameters", pointer)
    assert str(caught.value).startswith(f"tools[3].function.parameters{pointer}: ")


def test_schemas_that_refer_to_themselves_cost_nothing() -> None:
    """Branches that all lead back would be 50**16 ways without the memo."""
    schema: dict[str, Any] = {"anyOf": [{"$ref": "#"}] * 50, "oneOf": [{"$ref": "#/anyOf/0"}] * 50}
    assert argument_schema(schema, "p") == {"type": "object", **schema}
    deep: dict[str, Any] = TYPED
    for _ in range(5_000):
        deep = {"allOf": [deep]}
    assert argument_schema(deep, "p")["type"] == "object"


# -- names and choices ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tool", ["", "\ud800", "a<tool_call>b", "<|call|>", '{"name"', "<eos>"])
def test_names_that_could_be_read_as_something_else_are_refused(name: str, tool: str) -> None:
    output = OutputSpec((G, Tool(tool, {})))
    spelled = {
        "plain": ("<|call|>", '{"name"'),
        "hermes": ("<|call|>", '{"name"', "<eos>"),
        "llama3_json": ("a<tool_call>b", "<|call|>", '{"name"', "<eos>"),
    }
    wire = get_format(name)
    if isinstance(wire, TagFamily) and wire.spell is json_name and name not in spelled:
        spelled[name] = spelled["llama3_json"]
    if tool in spelled.get(name, ()):  # ordinary text inside of a JSON string
        get_format(name).plan(output, SPECIALS[name])
    else:
        assert refusal(name, output).location.param == "tools[1].function.name"


@pytest.mark.parametrize("name", ["plain", "hermes", "llama3_json"])
@pytest.mark.parametrize("tool", ['a"b', "a\\b", "a\nb", "{}", "é", "a b"])
def test_names_in_json_are_escaped(name: str, tool: str) -> None:
    plan = get_format(name).plan(OutputSpec((Tool(tool, {}),), "required", reasoning="off"), ())
    root = plan.spec["format"]
    (tags,) = (each["tags"] for each in root.get("elements", [root]) if "tags" in each)
    begin = tags[0]["begin"]
    assert json.loads(begin[begin.index("{") :] + "0}")["name"] == tool


@pytest.mark.parametrize("name", ["llama3_function", "harmony"])
@pytest.mark.parametrize("tool", ["a>b", "a b", "é", "a\n"])
def test_names_that_stand_bare_must_be_words(name: str, tool: str) -> None:
    assert refusal(name, OutputSpec((Tool(tool, {}),))).location.param == "tools[0].function.name"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("output", "param"),
    [
        (OutputSpec((G, G)), "tools[1].function.name"),
        (OutputSpec((G, G), "none"), "tools[1].function.name"),
        (OutputSpec((), "required"), "tool_choice"),
        (OutputSpec(TOOLS, "named", "nobody"), "tool_choice"),
        (OutputSpec(TOOLS, "named"), "tool_choice"),
        (OutputSpec((G, Tool("t", {"type": "array"}))), "tools[1].function.parameters"),
        (OutputSpec(response_schema={"const": float("nan")}), "response_format"),
        (OutputSpec(response_schema={"const": {1}}), "response_format"),
    ],
)
def test_refusals_name_the_place(name: str, output: OutputSpec, param: str) -> None:
    assert refusal(name, output).location.param == param


@pytest.mark.share
@pytest.mark.parametrize("name", NAMES)
def test_a_schema_nested_too_deep_is_refused(name: str) -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"items": deep}
    assert refusal(name, replace(FREE, response_schema=deep)).location.param == "response_format"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "harmony"])
def test_only_harmony_has_builtin_tools(name: str) -> None:
    output = OutputSpec(TOOLS, builtin_tools=("python",))
    assert refusal(name, output).location.param == "chat_template_kwargs.builtin_tools"


@pytest.mark.parametrize("tool", ["python", "browser.find"])
def test_no_function_has_the_name_of_an_offered_builtin_tool(tool: str) -> None:
    functions = (G, Tool(tool, {}))
    output = OutputSpec(functions, builtin_tools=("browser", "python"))
    assert refusal("harmony", output).location.param == "tools[1].function.name"
    get_format("harmony").plan(OutputSpec(functions), SPECIALS["harmony"])


def test_harmony_needs_its_tokens() -> None:
    with pytest.raises(FormatError, match=r"no token <\|call\|>$"):
        get_format("harmony").plan(FREE, [t for t in SPECIALS["harmony"] if t != "<|call|>"])
    for name, format in FORMATS.items():
        if name not in ("plain", "qwen3"):
            assert {*format.own_tokens, *format.prompt_tokens} <= {*SPECIALS[name]}


# -- the way back ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("output", [AUTO, REQUIRED, VALUE_OR_CALL, VALUE_ONLY])
def test_places_inside_schemas_lead_back_to_the_request(name: str, output: OutputSpec) -> None:
    plan = get_format(name).plan(output, SPECIALS[name])
    seen = set()
    for pointer, origin in plan.origins.items():
        if origin.is_schema:
            inside = f"{pointer}/json_schema/properties/a~1b/type"
            assert plan.locate(inside) == Location(origin.param, "/properties/a~1b/type")
            assert plan.locate(pointer) == Location(origin.param)
            assert plan.locate(f"{pointer}/json_schema") == Location(origin.param)
        else:
            assert plan.locate(f"{pointer}/begin") == Location(origin.param)
        seen.add(origin.param)
    expected = {f"tools[{n}].function" for n, _ in enumerate(output.tools)}
    expected |= {f"{place}.parameters" for place in expected}
    assert seen == expected | ({"response_format"} if output.response_schema else set())


def test_places_without_an_origin_are_blamed_on_what_the_spec_is_for() -> None:
    hermes, specials = get_format("hermes"), SPECIALS["hermes"]
    assert hermes.plan(AUTO, specials).locate("/format/elements/0") == Location("tools")
    assert hermes.plan(AUTO, specials).locate("") == Location("tools")
    assert hermes.plan(VALUE_ONLY, specials).locate("") == Location("response_format")
    assert hermes.plan(FREE, specials).locate("/format/excludes/0") == Location(None)
