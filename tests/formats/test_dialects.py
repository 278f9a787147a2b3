"""One spec in several dialects: pointers stay, schemas stay, and each says what it is for."""

import json

from adapters.formats import (
    FormatPlan,
    OutputSpec,
    Tool,
    for_own_engine,
    for_reading_foreign,
    get_format,
)

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
            "version": 3,
            "extra_keys": "last",
            "spelling": "canonical",
        }
        assert node["json_schema"] == plain[pointer]["json_schema"], "schemas are not walked into"


def test_reading_behind_foreign_engines_is_loose_and_changes_no_pointer() -> None:
    made = plan()
    loose = schema_nodes(json.loads(for_reading_foreign(made).spec_json))
    assert loose.keys() == schema_nodes(made.spec).keys()
    assert all(node["switchyard"] == {"version": 3, "loose": True} for node in loose.values())


def test_the_plain_spec_has_no_field_of_ours() -> None:
    assert "switchyard" not in plan().spec_json
