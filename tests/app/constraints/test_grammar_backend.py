"""With a stock engine no constraint is silently weaker: it is reported or refused."""

import json
from dataclasses import replace
from io import StringIO
from typing import Any, get_args

import pytest

from adapters.formats import (
    Format,
    OutputSpec,
    ResponseGrammar,
    TagFamily,
    Tool,
    get_format,
)
from adapters.formats.tags.notation import Elements
from app.constraints import BACKENDS
from app.constraints.constraint_plan import ConstraintPlan
from app.constraints.xgrammar_limits import unenforced_keywords
from app.conversation.tokenizer import BuiltinTokenizer
from app.errors import ApiError
from app.observability.logs import make_logger
from app.observability.metrics import Metrics
from app.settings import ModelSettings
from engine import Compiler, Style
from tests.app.planners import make_planner

TOKENIZERS = {name: BuiltinTokenizer(name) for name in ("plain", "hermes")}

# (schema, pointers of what xgrammar lets pass)
LET_PASS: list[tuple[Any, list[str]]] = [
    (True, []),
    ({"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}}, []),
    ({"properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]}, []),
    ({"type": ["string", "null"], "pattern": "a"}, []),
    ({"anyOf": [{"type": "string"}, {"$ref": "#/$defs/x"}], "$defs": {"x": {"const": 1}}}, []),
    ({"type": "array", "uniqueItems": True}, ["/uniqueItems"]),
    ({"type": "integer", "multipleOf": 2}, ["/multipleOf"]),
    ({"properties": {"a/b": {"not": {"type": "null"}}}}, ["/properties/a~1b/not"]),
    ({"oneOf": [{"type": "string"}, {"minimum": 1}]}, ["/oneOf", "/oneOf/1/minimum"]),
    ({"allOf": [{"type": "string"}]}, []),
    ({"allOf": [{"type": "string"}, {"enum": ["a"]}]}, ["/allOf"]),
    ({"maxLength": 3}, ["/maxLength"]),
    ({"type": "integer", "maxLength": 3}, ["/maxLength"]),
    ({"type": "string", "pattern": "a", "maxLength": 3}, ["/maxLength"]),
    ({"type": "string", "format": "regex"}, ["/format"]),
    ({"type": "array", "prefixItems": [{"if": True}]}, ["/prefixItems/0/if"]),
    ({"$ref": "#/$defs/a", "minimum": 3}, ["/minimum"]),
    ({"$ref": "#name", "$defs": {"a": {"$anchor": "name"}}}, ["/$defs/a/$anchor"]),
    ({"$ref": "other"}, ["/$ref"]),
    ({"enum": [{"not": 1}], "default": {"not": {}}}, []),
]


@pytest.mark.parametrize(("schema", "pointers"), LET_PASS)
def test_what_xgrammar_lets_pass_is_known_by_its_place(schema: Any, pointers: list[str]) -> None:
    assert [pointer for pointer, _ in unenforced_keywords(schema)] == pointers


def test_the_setting_names_the_engines() -> None:
    names = get_args(ModelSettings.model_fields["grammar_backend"].annotation)
    assert set(names) == set(BACKENDS)


async def constraint(
    backend: str, output: OutputSpec, name: str = "hermes", wire: Format | None = None
) -> ConstraintPlan:
    tokenizer = TOKENIZERS[name]
    logger = make_logger("info", StringIO())
    planner = make_planner(
        Compiler(tokenizer.vocabulary),
        wire or tokenizer.wire,
        tokenizer.special_texts,
        Metrics(),
        logger,
        backend=backend,
    )
    return await planner.plan(output, "me")


UNIQUE = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}


def with_tool(*, strict: bool | None) -> OutputSpec:
    tools = (Tool("f", UNIQUE, strict=strict),)
    return OutputSpec(tools, "required")


def with_schema(schema: Any, *, strict: bool = False, reasoning: Any = "off") -> OutputSpec:
    return OutputSpec(response_schema=schema, response_strict=strict, reasoning=reasoning)


async def test_what_passes_is_told_where_the_schema_is_not_strict() -> None:
    made = await constraint("xgrammar", with_tool(strict=None))
    place = "tools/0/function/parameters#/properties/a/uniqueItems"
    assert [each.fragment for each in made.relaxed] == [place]
    assert made.backend == "xgrammar" and made.spec == made.format_plan.spec_json
    ours = await constraint("switchyard", with_tool(strict=None))
    assert ours.relaxed == () and ours.backend == "switchyard"


@pytest.mark.parametrize(
    ("output", "param"),
    [
        (with_tool(strict=True), "tools[0].function.parameters"),
        (with_schema(UNIQUE, strict=True), "response_format"),
    ],
)
async def test_what_would_pass_is_refused_where_the_schema_is_strict(
    output: OutputSpec, param: str
) -> None:
    with pytest.raises(ApiError) as caught:
        await constraint("xgrammar", output)
    assert caught.value.status == 400 and caught.value.param == param
    for word in ("xgrammar", "/properties/a/uniqueItems", "'uniqueItems'"):
        assert word in caught.value.message


async def test_llguidance_gets_the_schema_of_a_whole_answer_as_it_is() -> None:
    made = await constraint("llguidance", with_schema(UNIQUE))
    assert made.spec is not None and json.loads(made.spec) == UNIQUE
    assert (made.spec_kind, made.relaxed) == ("json_schema", ())


async def test_llguidance_gets_nothing_where_nothing_is_asked_for() -> None:
    made = await constraint("llguidance", OutputSpec(reasoning="off"))
    assert made.spec is None


@pytest.mark.parametrize(
    ("output", "param"),
    [
        (with_tool(strict=None), "tools"),
        (with_schema(UNIQUE, reasoning="auto"), "response_format"),
    ],
)
async def test_what_llguidance_can_not_take_is_refused(output: OutputSpec, param: str) -> None:
    with pytest.raises(ApiError) as caught:
        await constraint("llguidance", output)
    assert (caught.value.status, caught.value.param) == (400, param)
    assert "llguidance" in caught.value.message and "structural tags" in caught.value.message


IN_OBJECT = {"open": '<arg name="{key}">', "close": "</arg>"}
STYLE = Style(**IN_OBJECT)
IN_TAG = {
    "type": "structural_tag",
    "format": {
        "type": "sequence",
        "elements": [
            {"type": "const_string", "value": "x"},
            {"type": "json_schema", "json_schema": {"type": "object"}, "style": IN_OBJECT},
        ],
    },
}


@pytest.mark.parametrize(
    ("output", "param"),
    [
        (OutputSpec((Tool("f", {"type": "object"}),)), "tools[0].function.parameters"),
        (
            OutputSpec(response_grammar=ResponseGrammar("structural_tag", IN_TAG, "a_field")),
            "a_field",
        ),
    ],
)
async def test_xgrammar_has_no_styles_that_are_objects(output: OutputSpec, param: str) -> None:
    hermes = get_format("hermes")
    assert isinstance(hermes, TagFamily)
    family = replace(hermes, arguments=Elements(STYLE))
    with pytest.raises(ApiError) as caught:
        await constraint("xgrammar", output, wire=family)
    assert (caught.value.status, caught.value.param) == (400, param)
    assert caught.value.code == "unsupported_by_backend" and "styles" in caught.value.message
    assert (await constraint("switchyard", output, wire=family)).spec is not None


@pytest.mark.parametrize("backend", ["xgrammar", "llguidance"])
async def test_no_stock_engine_bounds_reasoning(backend: str) -> None:
    with pytest.raises(ApiError) as caught:
        await constraint(backend, OutputSpec(thinking_tokens=5))
    found = caught.value
    assert (found.status, found.param) == (400, "thinking_token_budget")
    assert found.code == "unsupported_by_backend"
