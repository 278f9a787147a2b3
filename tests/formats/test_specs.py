"""Each (format, choice, parallel, schema) gives the spec that its declaration says."""

import json
from dataclasses import replace
from typing import Any

import pytest

from adapters.formats import FORMATS, OutputSpec, Tool, get_format
from adapters.formats.parts import Kind
from adapters.formats.spelling import unwritable
from adapters.formats.tags.tag_answer import MAX_EXACT_CALLS
from adapters.formats.tags.tag_family import TagFamily

from .cases import (
    AUTO,
    BARRED,
    FREE,
    NAMED,
    NONE,
    ONE,
    OUTPUTS,
    REQUIRED,
    REQUIRED_ONE,
    REQUIRED_VALUE,
    SPECIALS,
    TOOLS,
    VALUE_NONE,
    VALUE_ONLY,
    VALUE_OR_CALL,
    quiet,
)

NAMES = sorted(SPECIALS)
TAG_FAMILIES = [name for name in NAMES if name != "harmony"]


def spec(name: str, output: OutputSpec) -> dict[str, Any]:
    return get_format(name).plan(output, SPECIALS[name]).spec["format"]


def shape(node: Any) -> str:
    """A spec as one line: types, tools by their schemas' properties, no texts."""
    kind = node["type"]
    if kind in ("sequence", "or"):
        return f"{kind}({' '.join(map(shape, node['elements']))})"
    if kind in ("optional", "star"):
        return f"{kind}({shape(node['content'])})"
    if kind == "tag":
        return f"tag({shape(node['content'])})"
    if kind in ("triggered_tags", "tags_with_separator"):
        count = "one" if node["stop_after_first"] else "many"
        least = "+" if node.get("at_least_one") else "*"
        return f"{kind}{least}{count}[{len(node['tags'])}]"
    return "value" if kind == "json_schema" else str(kind)


#: (output, text families without a lead, llama3_json, which has one), all without reasoning
SHAPES = [
    (FREE, "any_text", "any_text"),
    (AUTO, "triggered_tags*many[3]", "triggered_tags*many[6]"),
    (ONE, "triggered_tags*one[3]", "triggered_tags*one[6]"),
    (NONE, "any_text", "any_text"),
    (
        REQUIRED,
        "tags_with_separator+many[3]",
        "sequence(optional(const_string) tags_with_separator+many[3])",
    ),
    (
        REQUIRED_ONE,
        "tags_with_separator+one[3]",
        "sequence(optional(const_string) tags_with_separator+one[3])",
    ),
    (
        NAMED,
        "tags_with_separator+one[1]",
        "sequence(optional(const_string) tags_with_separator+one[1])",
    ),
    (VALUE_ONLY, "value", "value"),
    (
        VALUE_OR_CALL,
        "or(tags_with_separator+many[3] value)",
        "or(sequence(const_string tags_with_separator+many[3]) value)",
    ),
    (VALUE_NONE, "value", "value"),
    (
        REQUIRED_VALUE,
        "tags_with_separator+many[3]",
        "sequence(optional(const_string) tags_with_separator+many[3])",
    ),
]


def _with_separator_behind(shape_: str) -> str:
    """Return the shape of a family that writes a line feed between calls."""
    if "tags_with_separator+many" not in shape_:
        return shape_
    calls = "tags_with_separator+many[3]"
    return shape_.replace(calls, f"sequence({calls} optional(const_string))")


#: every way to write calls: in free text, behind a lead, in a section
WAYS = ("plain", "hermes", "llama3_function", "llama3_json", "qwen_coder", "phi_4_mini", "kimi_k2")


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize(("output", "plain", "led"), SHAPES)
def test_shapes_of_tag_families(name: str, output: OutputSpec, plain: str, led: str) -> None:
    expected = led if name == "llama3_json" else plain
    if name in ("plain", "hermes", "qwen_coder"):
        expected = _with_separator_behind(expected)
    if name in ("phi_4_mini", "kimi_k2"):
        expected = (
            plain.replace("tags_with_separator", "tag(tags_with_separator")
            .replace("]", "])")
            .replace("triggered_tags*many[3])", "triggered_tags*one[1]")
            .replace("triggered_tags*one[3])", "triggered_tags*one[1]")
        )
    if name == "kimi_k2":
        # the numbers of the first calls are known
        several = calls = "tags_with_separator+many[3]"
        for _ in range(MAX_EXACT_CALLS):
            calls = f"sequence({several.replace('many', 'one')} optional({calls}))"
        expected = expected.replace(several, calls)
    assert shape(spec(name, quiet(output))) == expected


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        (FREE, "any_text"),
        (AUTO, "triggered_tags*many[3]"),
        (REQUIRED, "tags_with_separator+many[3] optional(const_string)"),
        (VALUE_ONLY, "value"),
    ],
)
def test_reasoning_comes_first_and_is_optional(output: OutputSpec, answer: str) -> None:
    is_text = answer.startswith(("any", "trig"))
    thought = "tag(any_text)" if is_text else "sequence(tag(any_text) regex)"
    assert shape(spec("hermes", output)) == f"sequence(optional({thought}) {answer})"


_TYPE = "optional(or(sequence(optional(const_string) token regex) regex))"
_CHANNEL = "token regex"
_CALL = (
    f"sequence(or(sequence({_CHANNEL} {_TYPE} const_string optional(sequence({_CHANNEL}))) "
    f"sequence(const_string optional(const_string) {_CHANNEL} optional(const_string))) "
    f"{_TYPE} tag(value))"
)
_CALLS = f"{_CALL} {_CALL} {_CALL}"
_STRAY = "optional(sequence(token const_string))"
_THOUGHT = _PREAMBLE = "sequence(token const_string tag(any_text))"
_AGAIN = "token const_string"
_BEFORE_CALL = f"star(sequence({_STRAY} or({_THOUGHT} {_PREAMBLE}) {_AGAIN}))"
_BEFORE = f"star(sequence({_STRAY} token const_string tag(any_text) {_AGAIN}))"


def _final(content: str) -> str:
    return f"sequence(token const_string {_TYPE} tag({content}))"


def _answer(final: str) -> str:
    return f"sequence({_STRAY} {final[9:-1]})"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (quiet(FREE), _answer(_final("any_text"))),
        (quiet(VALUE_NONE), _answer(_final("value"))),
        (FREE, f"sequence({_BEFORE} {_STRAY} {_final('any_text')[9:-1]})"),
        (NAMED, f"sequence({_BEFORE} {_STRAY} {_CALL[9:-1]})"),
        (AUTO, f"sequence({_BEFORE_CALL} {_STRAY} or({_CALLS} {_final('any_text')}))"),
        (ONE, f"sequence({_BEFORE_CALL} {_STRAY} or({_CALLS} {_final('any_text')}))"),
        (REQUIRED, f"sequence({_BEFORE} {_STRAY} or({_CALLS}))"),
        (VALUE_OR_CALL, f"sequence({_BEFORE} {_STRAY} or({_CALLS} {_final('value')}))"),
    ],
)
def test_shapes_of_harmony(output: OutputSpec, expected: str) -> None:
    assert shape(spec("harmony", output)) == expected


# -- properties of all specs ----------------------------------------------------------------------


def nodes(value: Any) -> list[dict[str, Any]]:
    """All nodes of a spec."""
    if isinstance(value, list):
        return [found for item in value for found in nodes(item)]
    if not isinstance(value, dict):
        return []
    inner = [v for key, v in value.items() if key not in ("json_schema", "excludes")]
    return [value, *nodes(inner)]


EVERY = [(name, output) for name in NAMES for output in OUTPUTS]


@pytest.mark.parametrize(("name", "output"), EVERY)
def test_free_text_holds_no_special_token_but_one_that_opens_a_tag(name: str, output: str) -> None:
    for node in nodes(spec(name, OUTPUTS[output])):
        if "excludes" in node:
            triggers = node.get("triggers", ())
            opening = {
                text for text in SPECIALS[name] if any(each.endswith(text) for each in triggers)
            }
            assert {*node["excludes"]} | opening >= {*SPECIALS[name]}
            assert not {*node["excludes"]} & {*node.get("triggers", ())}


@pytest.mark.parametrize(("name", "output"), EVERY)
def test_tools_can_be_called_exactly_where_the_choice_lets_them(name: str, output: str) -> None:
    asked = OUTPUTS[output]
    plan = get_format(name).plan(asked, SPECIALS[name])
    called = {role.tool for role in plan.roles.values() if role.kind is Kind.CALL}
    by_choice = {"none": set(), "named": {"f"}}
    assert called == by_choice.get(asked.tool_choice, {tool.name for tool in asked.tools})


@pytest.mark.parametrize(("name", "output"), EVERY)
def test_every_node_has_a_role_and_equal_asks_give_equal_bytes(name: str, output: str) -> None:
    plan = get_format(name).plan(OUTPUTS[output], SPECIALS[name])
    assert json.loads(plan.spec_json) == plan.spec
    typed = [node for node in nodes(plan.spec["format"]) if "type" in node]
    regions = [pointer for pointer in plan.roles if "#" in pointer]
    assert len(plan.roles) == len(typed) + len(regions)
    assert get_format(name).plan(OUTPUTS[output], SPECIALS[name]).spec_json == plan.spec_json
    assert plan.stop_texts == get_format(name).stop_texts


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_properties_is_kept(name: str) -> None:
    """It decides the order in which the model writes them; some models write them sorted."""
    properties = {key: {"type": "null"} for key in "zmab"}
    tool = Tool("t", {"type": "object", "properties": properties})
    plan = get_format(name).plan(OutputSpec((tool,), "required"), SPECIALS[name])
    shown = dict(sorted(properties.items())) if get_format(name).sorted_levels else properties
    assert json.dumps(shown, separators=(",", ":")) in plan.spec_json


#: the others have marks around content, or no text that always opens a call
TRIGGERED = [
    name
    for name in TAG_FAMILIES
    if isinstance(wire := FORMATS[name], TagFamily)
    and not wire.text
    and not (wire.section and "{name}" in wire.section.trigger)
]


@pytest.mark.parametrize("name", TRIGGERED)
def test_special_tokens_that_are_triggers_still_open_calls(name: str) -> None:
    trigger = spec(name, quiet(ONE))["triggers"]
    node = get_format(name).plan(quiet(AUTO), ["<x>", *trigger]).spec["format"]
    assert node["excludes"][0] == "<x>"
    assert not {*node["excludes"]} & {*trigger}


@pytest.mark.parametrize(
    ("name", "opening"),
    [
        ("plain", ["<tool_call>"]),
        ("hermes", ["<tool_call>"]),
        ("llama3_json", ["<|python_tag|>", '{"name": "f"', '{"name": "ff"']),
        ("llama3_function", ["<function=f>", "<function=ff>"]),
    ],
)
def test_only_calls_of_tools_that_are_known_begin_in_free_text(
    name: str, opening: list[str]
) -> None:
    """Other texts that begin alike are free, but for calls of tools that may not be called."""
    assert spec(name, quiet(BARRED))["triggers"] == opening
    barred = [text.replace("ff", "g") for text in opening if "ff" in text]
    assert [t for t in spec(name, quiet(BARRED))["excludes"] if t not in SPECIALS[name]] == barred
    ruled_out = spec(name, quiet(replace(BARRED, tool_choice="none")))["excludes"]
    assert {*opening} <= {*ruled_out}


def test_numbers_in_the_names_of_tools_rule_out_no_other_names() -> None:
    tools = tuple(Tool(f"tool_{number}", {}) for number in range(9))
    ruled_out = spec("llama3_json", OutputSpec(tools, "none"))["excludes"]
    assert {f'{{"name": "tool_{number}"' for number in range(9)} <= {*ruled_out}


def test_white_space_is_allowed_even_where_a_special_token_is_spelled_like_it() -> None:
    assert get_format("plain").plan(FREE, ["\n", "<eos>"]).spec["format"]["excludes"] == ["<eos>"]


@pytest.mark.parametrize(
    ("specials", "excludes"),
    [
        ([f"<|reserved_{n}|>" for n in range(8)], ["<|reserved_"]),
        ([f"<unused{n}>" for n in range(99)] + ["<a>"], ["<unused", "<a>"]),
        ([f"<|reserved_{n}|>" for n in range(7)], [f"<|reserved_{n}|>" for n in range(7)]),
        ([f"<|{n}|>" for n in range(9)], [f"<|{n}|>" for n in range(9)]),
        ([f"<tool_call{n}>" for n in range(9)], [f"<tool_call{n}>" for n in range(9)]),
        (["<a>", "", "<a>"], ["<a>"]),
    ],
)
def test_numbered_special_tokens_are_excluded_by_what_they_share(
    specials: list[str], excludes: list[str]
) -> None:
    assert unwritable(specials, ["<tool_call>"]) == excludes


def test_a_call_in_text_is_impossible_with_choice_none_but_not_without_tools() -> None:
    assert "<tool_call>" in spec("plain", NONE)["excludes"]
    assert "<tool_call>" not in spec("plain", FREE)["excludes"]


def test_names_of_formats() -> None:
    assert FORMATS["qwen3"] is FORMATS["hermes"]
    assert {f.name for f in FORMATS.values()} == {*NAMES}
    with pytest.raises(ValueError, match="no format 'x'; there are plain, hermes"):
        get_format("x")


@pytest.mark.parametrize("name", NAMES)
def test_the_size_of_a_spec_is_linear_in_the_tools(name: str) -> None:
    def size(count: int) -> int:
        tools = tuple(replace(TOOLS[0], name=f"tool_{n:03}") for n in range(count))
        return len(get_format(name).plan(OutputSpec(tools), SPECIALS[name]).spec_json)

    assert size(100) < 4 * size(30)


@pytest.mark.parametrize("name", NAMES)
def test_a_hundred_tools_stay_in_order(name: str) -> None:
    tools = tuple(replace(TOOLS[0], name=f"tool_{n}") for n in range(100))
    plan = get_format(name).plan(OutputSpec(tools, "required"), SPECIALS[name])
    called = [role.tool for role in plan.roles.values() if role.kind is Kind.CALL]
    # some formats have other numbers in the first call of an answer
    copies = len(called) // len(tools)
    assert called == [tool.name for tool in tools] * copies
