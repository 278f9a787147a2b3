"""Tools of namespaces: their names in prompts, and back."""

from typing import Any

import pytest

from app.common_form.responses.tool_names import MAX_NAME, ToolNames
from app.errors import ApiError
from app.protocol.responses.request import ResponseRequest


def function(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, **more}


def space(name: str, *tools: Any, **more: Any) -> dict[str, Any]:
    return {"type": "namespace", "name": name, "tools": list(tools), **more}


def names(*tools: Any) -> ToolNames:
    request = ResponseRequest.model_validate({"model": "m", "input": "hi", "tools": list(tools)})
    return ToolNames(request.tools or ())


def flat(made: ToolNames) -> list[str]:
    return [each.name for each in made.tools]


def test_a_name_says_its_namespace_and_finds_back():
    custom = {"type": "custom", "name": "patch"}
    made = names(function("f"), space("mcp__x", function("f"), custom), function("g"))
    assert flat(made) == ["f", "mcp__x__f", "mcp__x__patch", "g"]
    assert [each.param for each in made.tools] == [
        "tools[0]",
        "tools[1].tools[0]",
        "tools[1].tools[1]",
        "tools[2]",
    ]
    assert made.flat("mcp__x", "f") == "mcp__x__f"
    assert made.named("mcp__x__f") == {"name": "f", "namespace": "mcp__x"}
    assert made.named("f") == {"name": "f"}
    assert [each.is_custom for each in made.of_namespace("mcp__x")] == [False, True]


def test_a_name_without_its_namespace_is_found_if_it_is_the_only_one():
    made = names(space("a", function("x"), function("y")), space("b", function("y")), function("z"))
    assert [made.flat(None, each) for each in "xyz"] == ["a__x", "y", "z"]
    assert made.flat("gone", "x") == "gone__x"


@pytest.mark.parametrize(("length", "is_cut"), [(MAX_NAME - 3, False), (MAX_NAME - 2, True)])
def test_a_long_name_is_cut_to_the_bound(length: int, is_cut: bool):
    """Two names that are cut stay apart; the same request gives the same names."""
    long, other = "n" * length, "n" * (length - 1) + "m"
    made = names(space("a", function(long), function(other)))
    first, second = flat(made)
    assert max(len(first), len(second)) <= MAX_NAME
    assert first != second
    assert (first == f"a__{long}") is not is_cut
    assert made.named(first) == {"name": long, "namespace": "a"}
    assert flat(names(space("a", function(long)))) == [first]
    assert names().flat("a", long) == first


def test_names_that_collide_stay_apart():
    """A tool outside of namespaces keeps its name, wherever it stands."""
    made = names(space("a", function("b__c")), space("a__b", function("c")), function("a__b__c"))
    assert len(set(flat(made))) == 3
    assert flat(made)[2] == "a__b__c"
    assert made.named(made.flat("a", "b__c")) == {"name": "b__c", "namespace": "a"}
    assert made.named(made.flat("a__b", "c")) == {"name": "c", "namespace": "a__b"}


def test_two_tools_of_one_name_in_a_namespace_are_refused_by_place():
    with pytest.raises(ApiError) as caught:
        names(space("a", function("x")), space("a", function("x")))
    assert caught.value.param == "tools[1].tools[0].name"
    assert caught.value.code == "duplicate_tool_name"


def test_what_is_left_out_is_named():
    made = names(
        {"type": "web_search", "external_web_access": True},
        space("a", function("x", defer_loading=True), {"type": "mcp", "server_label": "s"}),
    )
    assert made.ignored == ["tools/0 web_search", "tools/1/tools/0 defer_loading",
                            "tools/1/tools/1 mcp"]  # fmt: skip
    assert flat(made) == ["a__x"]


def test_the_description_of_a_namespace_is_told_once():
    tools = [function("x", description="X."), function("y", description="Y.")]
    made = names(space("a", *tools, description="Tools of a."))
    texts = [each.description for each in made.tools]
    assert texts == ["X.\n\nAbout all tools whose names begin with a__: Tools of a.", "Y."]
