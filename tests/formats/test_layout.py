"""The layout of a plan: families write JSON as their history shows it, and with no other space."""

from typing import Any

import pytest

from adapters.formats import (
    COMPACT,
    FORMATS,
    SPACED,
    FormatPlan,
    InputFormat,
    JsonLayout,
    JsonRules,
    OutputSpec,
    PastCall,
    ResponseGrammar,
    Tool,
    for_own_engine,
    for_reading_foreign,
    get_format,
)

from .cases import SPECIALS
from .harness import compiled_as, encode, is_accepted
from .test_dialects import schema_nodes

INDENTED = JsonLayout(2, (",", ": "))
LAYOUTS = [SPACED, COMPACT, INDENTED, JsonLayout("\t", (",", ": "), 2)]
#: without strings: in elements, white space in a raw string is content
VALUE = {"a": {"b": [1, {"c": True}], "d": {}}, "n": 2, "l": [1, 2]}
NAMES = [name for name in FORMATS if name != "qwen3"]


def schema_of(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {"const": value}
    properties = {key: schema_of(each) for key, each in value.items()}
    return {
        "type": "object",
        "properties": properties,
        "required": [*value],
        "additionalProperties": False,
    }


TOOL = Tool("f", schema_of(VALUE))


def call(name: str) -> tuple[str, str]:
    """Return an answer with one call of f as history shows it, before and behind the arguments."""
    wire: Any = get_format(name)
    mark = '{"mark": 0}'
    text = wire.calls_texts([PastCall("abcdefgh1", "f", mark)])[0]
    shown = mark if name == "harmony" else wire.arguments.written(mark)
    before, _, behind = text.partition(shown)
    return before.removeprefix(getattr(wire, "start", "")), behind + getattr(wire, "tail", "")


def grammar(name: str, rules: JsonRules, **more: Any) -> Any:
    output = OutputSpec((TOOL,), "named", "f", reasoning="off", json_rules=rules, **more)
    return compiled_as(name, output, for_own_engine)[1]


def written(name: str, layout: JsonLayout) -> str:
    """Return the arguments in the layout, in the family's notation."""
    wire: Any = get_format(name)
    text = layout.written(dict(sorted(VALUE.items())) if wire.sorted_levels else VALUE)
    return text if name == "harmony" else wire.arguments.written(text)


def nearby(text: str) -> list[str]:
    """Return the text with one more character of white space, and with one less."""
    more = [text[:at] + blank + text[at:] for at in range(len(text) + 1) for blank in " \n\t"]
    less = [text[:at] + text[at + 1 :] for at in range(len(text)) if text[at].isspace()]
    return [*more, *less]


@pytest.mark.parametrize("name", NAMES)
def test_arguments_have_the_white_space_of_history_and_no_other(name: str) -> None:
    before, behind = call(name)
    allowed = grammar(name, JsonRules(layout=SPACED, element_space=True))
    text = written(name, SPACED)
    assert is_accepted(allowed, encode(name, before + text + behind))
    taken = [
        each for each in nearby(text) if is_accepted(allowed, encode(name, before + each + behind))
    ]
    assert taken == []


def is_written(name: str) -> bool:
    """Whether the family writes arguments as JSON text."""
    wire: Any = get_format(name)
    return name == "harmony" or wire.arguments.style == "json"


@pytest.mark.parametrize("layout", LAYOUTS, ids=repr)
@pytest.mark.parametrize("name", ["hermes", "command_r", "deepseek_v3", "harmony"])
def test_json_arguments_have_the_layout(name: str, layout: JsonLayout) -> None:
    assert is_written(name)
    before, behind = call(name)
    allowed = grammar(name, JsonRules(layout=layout))
    for other in LAYOUTS:
        ids = encode(name, before + written(name, other) + behind)
        assert is_accepted(allowed, ids) is (other == layout)


@pytest.mark.parametrize(
    ("rules", "texts"),
    [
        (JsonRules(layout=COMPACT), {'[1,{"c":true}]': True, '[1, {"c": true}]': False}),
        (JsonRules(layout=SPACED), {'[1,{"c":true}]': False, '[1, {"c": true}]': True}),
        (
            JsonRules(),
            {'[1,{"c":true}]': True, '[1, {"c": true}]': True, '[1,\n {"c": true}]': True},
        ),
    ],
)
@pytest.mark.parametrize("name", ["qwen_coder", "glm_45", "glm_47", "kimi_k3", "minimax_m2"])
def test_json_in_elements_has_the_layout_and_space_around_them_is_free_by_default(
    name: str, rules: JsonRules, texts: dict[str, bool]
) -> None:
    before, behind = call(name)
    allowed = grammar(name, rules)
    shown = written(name, SPACED)
    for text, is_taken in texts.items():
        arguments = shown.replace('{"b": [1, {"c": true}], "d": {}}', "A")
        value = '{"b":B,"d":{}}' if rules.layout == COMPACT else '{"b": B, "d": {}}'
        arguments = arguments.replace("A", value.replace("B", text))
        if rules.layout == COMPACT:
            arguments = arguments.replace("[1, 2]", "[1,2]")
        for spaced in (arguments, "\n  " + arguments):
            assert is_accepted(allowed, encode(name, before + spaced + behind)) is is_taken


def responses(rules: JsonRules, schema: Any, *texts: str) -> list[bool]:
    """Whether an answer may be each of these texts."""
    output = OutputSpec(response_schema=schema, json_rules=rules, reasoning="off")
    allowed = compiled_as("hermes", output, for_own_engine)[1]
    return [is_accepted(allowed, encode("hermes", text)) for text in texts]


def test_a_response_has_the_layout_without_the_depth_of_arguments() -> None:
    layout = JsonLayout(4, (",", ": "), depth=2)
    texts = (layout._replace(depth=0).written(VALUE), layout.written(VALUE), COMPACT.written(VALUE))
    assert responses(JsonRules(layout=layout), TOOL.parameters, *texts) == [True, False, False]


@pytest.mark.parametrize(
    ("wish", "layout", "taken"),
    [
        (None, SPACED, [False, True, False]),
        ({}, SPACED, [False, True, False]),
        ({"lenient": False}, SPACED, [False, True, False]),
        ({"whitespace_flexible": False}, SPACED, [True, False, False]),
        ({"whitespace_flexible": False}, COMPACT, [True, False, False]),
        ({"whitespace_flexible": True}, SPACED, [True, True, True]),
        # both are satisfied
        ({"whitespace_flexible": True}, COMPACT, [True, False, False]),
    ],
)
def test_the_wish_of_a_schema_comes_before_the_layout(
    wish: Any, layout: JsonLayout, taken: list[bool]
) -> None:
    """REGRESSION: a compact schema beside another layout was an error."""
    schema = TOOL.parameters if wish is None else {**TOOL.parameters, "x-guidance": wish}
    texts = (COMPACT.written(VALUE), SPACED.written(VALUE), INDENTED.written(VALUE))
    assert responses(JsonRules(layout=layout), schema, *texts) == taken


def test_any_value_inside_has_the_layout() -> None:
    schema = {"type": "object"}
    texts = (COMPACT.written(VALUE), SPACED.written(VALUE), '{"a": [1,2]}')
    assert responses(JsonRules(layout=SPACED), schema, *texts) == [False, True, False]


def plan_of(name: str, output: OutputSpec) -> FormatPlan:
    return get_format(name).plan(output, SPECIALS[name])


@pytest.mark.parametrize(
    "tag",
    [
        {"format": {"type": "json_schema", "json_schema": {}, "max_whitespace_cnt": 3}},
        {
            "structures": [{"begin": "<a>", "schema": {}, "end": "</a>"}],
            "triggers": ["<a>"],
        },
    ],
)
def test_a_structural_tag_of_the_client_keeps_its_own_white_space(tag: dict[str, Any]) -> None:
    asked = ResponseGrammar("structural_tag", {"type": "structural_tag", **tag}, "response_format")
    output = OutputSpec(response_grammar=asked, json_rules=JsonRules(layout=SPACED))
    (node,) = schema_nodes(for_own_engine(plan_of("hermes", output)).spec).values()
    assert "separators" not in node["switchyard"]


def test_reading_behind_foreign_engines_knows_no_layout() -> None:
    output = OutputSpec((TOOL,), json_rules=JsonRules(layout=SPACED, element_space=True))
    for name in ("hermes", "qwen_coder"):
        spec = for_reading_foreign(plan_of(name, output)).spec_json
        assert "separators" not in spec and "element_space" not in spec


@pytest.mark.parametrize("layout", [*LAYOUTS, None], ids=repr)
def test_the_input_of_a_custom_tool_is_wrapped_in_the_layout(layout: JsonLayout | None) -> None:
    tool = Tool("f", {}, input=InputFormat("lark", 'start: "x"'))
    rules = JsonRules(layout=layout)
    output = OutputSpec((tool,), "named", "f", reasoning="off", json_rules=rules)
    allowed = compiled_as("hermes", output, for_own_engine)[1]
    before, behind = call("hermes")
    for other in LAYOUTS[:3]:
        text = before + other.written({"input": "x"}) + behind
        assert is_accepted(allowed, encode("hermes", text)) is (layout in (None, other))
