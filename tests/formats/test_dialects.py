"""One spec in several dialects: pointers stay, schemas stay, and each says what it is for."""

import json

import pytest

from adapters.formats import (
    FormatPlan,
    OutputSpec,
    Tool,
    for_own_engine,
    for_reading_foreign,
    get_format,
)

from .cases import SPECIALS
from .harness import compiler, is_accepted

SCHEMA = {"type": "object", "properties": {"type": {"type": "json_schema"}}}


def plan() -> FormatPlan:
    tool = Tool("f", {"type": "object", "properties": {"a": {"enum": [{"type": "json_schema"}]}}})
    return get_format("hermes").plan(OutputSpec(tools=(tool,), response_schema=SCHEMA), ())


def schema_nodes(node: object, pointer: str = "") -> dict[str, dict]:
    """The json_schema nodes by pointer, found independently of the code under test."""
    found: dict[str, dict] = {}
    if isinstance(node, dict) and node.get("type") == "json_schema" and "json_schema" in node:
        return {pointer: node}
    children = dict(enumerate(node)) if isinstance(node, list) else node
    for key, child in children.items() if isinstance(children, dict) else ():
        found.update(schema_nodes(child, f"{pointer}/{key}"))
    return found


def test_our_own_engine_is_told_that_additional_keys_stand_last() -> None:
    made = plan()
    own = schema_nodes(json.loads(for_own_engine(made).spec_json))
    plain = schema_nodes(made.spec)
    assert own.keys() == plain.keys()
    assert len(own) == 2
    for pointer, node in own.items():
        assert node["switchyard"] == {
            "version": 7,
            "extra_keys": "last",
            "spelling": "canonical",
        }
        assert node["json_schema"] == plain[pointer]["json_schema"], "schemas are not walked into"


#: the text that ends an element, by format
ELEMENT_ENDS = {
    "qwen_coder": "</parameter>",
    "seed_oss": "</parameter>",
    "glm_45": "</arg_value>",
    "glm_47": "</arg_value>",
    "hunyuan": "</arg_value:opensource>",
    "minimax_m2": "</parameter>",
    "minicpm_5": "</param>",
    "deepseek_v32": "</｜DSML｜parameter>",
    "kimi_k3": "<|close|>argument<|sep|>",
}


@pytest.mark.parametrize(("name", "end"), ELEMENT_ENDS.items())
def test_json_in_an_element_cannot_contain_its_end(name: str, end: str) -> None:
    """REGRESSION: parsers of these families end the element inside of the JSON string."""
    inner = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    tool = Tool("f", {"type": "object", "properties": {"x": inner}, "required": ["x"]})
    family = get_format(name)
    made = family.plan(OutputSpec((tool,), "named", "f", reasoning="off"), SPECIALS[name])
    for value, is_own in ((end, False), (end.replace("/", "\\/").replace("|>", "|\\u003e"), True)):
        text = family.arguments.written(json.dumps({"x": {"a": "VALUE"}})).replace("VALUE", value)
        assert accepts(for_reading_foreign(made), name, text)
        assert accepts(for_own_engine(made), name, text) is is_own


def accepts(plan: FormatPlan, name: str, arguments: str) -> bool:
    """Whether the grammar accepts one call of f with these arguments."""
    grammar = compiler(name).compile_structural_tag(plan.spec_json)
    call = get_format(name)
    text = call.begin.replace("{name}", "f").replace("{id}", "1") + arguments + call.end
    if call.section is not None:
        text = call.section.begin + text + call.section.end
    return is_accepted(grammar, list((text + call.tail).encode()))


def test_reading_behind_foreign_engines_is_loose_and_changes_no_pointer() -> None:
    made = plan()
    loose = schema_nodes(json.loads(for_reading_foreign(made).spec_json))
    assert loose.keys() == schema_nodes(made.spec).keys()
    assert all(node["switchyard"] == {"version": 7, "loose": True} for node in loose.values())


def test_the_plain_spec_has_no_field_of_ours() -> None:
    assert "switchyard" not in plan().spec_json
