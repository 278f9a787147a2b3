"""Refusals of argument styles are relaxed by name, and refused by name in strict tools."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from app.constraints.relaxation import RELAXED_HEADER
from tests.app.examples import body, closed, tool
from tests.app.gateway import Gateway

FORMATS = ("qwen_coder", "minimax_m3", "llama4_pythonic", "gemma_4")
PARAM = "tools/0/function/parameters#"


@pytest.fixture(scope="module", params=FORMATS)
def styled(request: pytest.FixtureRequest) -> Iterator[tuple[str, Gateway]]:
    with Gateway(format=request.param, strict_profile="extended") as running:
        yield request.param, running


END = {"qwen_coder": "</parameter>", "minimax_m3": "]<]minimax[>[", "gemma_4": '<|"|>'}
SEVERAL = {"type": "object", "additionalProperties": {"type": "boolean"}, "minProperties": 2}
UNIQUE = closed(
    l={"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": True}
)
#: name -> (schema, the relaxed keyword, the formats that cannot enforce it)
REFUSED: dict[str, tuple[dict[str, Any], str, tuple[str, ...]]] = {
    "several additional keys": (SEVERAL, "/minProperties", FORMATS),
    "several additional keys of a value": (
        closed(o=SEVERAL), "/properties/o/minProperties",
        ("minimax_m3", "llama4_pythonic", "gemma_4"),
    ),
    "unique strings": (
        UNIQUE, "/properties/l/uniqueItems", ("minimax_m3", "llama4_pythonic", "gemma_4")
    ),
    "an additional key that must be there": (
        {"type": "object", "not": {"additionalProperties": {"type": "boolean"}}}, "/not", FORMATS
    ),
    "an empty key": ({**closed(a={"type": "boolean"}), "required": ["a", ""],
                      "additionalProperties": True}, "/required", FORMATS),
}  # fmt: skip


def post(gateway: Gateway, schema: dict[str, Any], **more: Any) -> Any:
    return gateway.post(body(tools=[tool("f", schema, **more)], tool_choice="required"))


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_a_lenient_tool_loses_the_keyword_that_the_style_cannot_enforce(
    styled: tuple[str, Gateway], case: tuple[dict[str, Any], str, tuple[str, ...]]
):
    name, gateway = styled
    schema, place, formats = case
    answer = post(gateway, schema)
    assert answer.status_code == 200, answer.text
    assert answer.headers.get(RELAXED_HEADER) == (f"{PARAM}{place}" if name in formats else None)


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_a_strict_tool_is_refused_at_the_keyword(
    styled: tuple[str, Gateway], case: tuple[dict[str, Any], str, tuple[str, ...]]
):
    name, gateway = styled
    schema, place, formats = case
    answer = post(gateway, schema, strict=True)
    if name not in formats:
        assert answer.status_code == 200
        return
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, "tools[0].function.parameters")
    assert f"at {place}: " in error["message"]


def test_a_value_that_contains_its_end_is_left_out_alone(styled: tuple[str, Gateway]):
    name, gateway = styled
    end = END.get(name)
    schema = closed(e={"enum": ["a", f"x{end}", f"{end}", "b"]}, c={"type": "boolean"})
    answer = post(gateway, schema)
    assert answer.status_code == 200
    places = [f"{PARAM}/properties/e/enum/{n}" for n in (1, 2)]
    assert answer.headers.get(RELAXED_HEADER) == (", ".join(places) if end else None)
    (message,) = answer.json()["choices"]
    call = json.loads(message["message"]["tool_calls"][0]["function"]["arguments"])
    assert call["e"] in schema["properties"]["e"]["enum"]
    if end:
        strict = post(gateway, schema, strict=True)
        assert strict.status_code == 400
        assert "/properties/e/enum/1" in strict.json()["error"]["message"]
        log = next(line for line in reversed(gateway.lines()) if line["event"] == "schema relaxed")
        assert log["places"] == [
            place.replace("#/properties/e/", "#/properties/*/") for place in places
        ]
        assert gateway.metric("switchyard_relaxed_keywords_total", keyword="enum") >= 2


def test_a_constant_that_contains_its_end_is_any_value(styled: tuple[str, Gateway]):
    name, gateway = styled
    constant = f"x{END.get(name)}"
    answer = post(gateway, closed(e={"type": "string", "const": constant, "maxLength": 20}))
    assert answer.status_code == 200
    assert answer.headers.get(RELAXED_HEADER) == (
        f"{PARAM}/properties/e/const" if name in END else None
    )


def test_listed_arguments_are_enforced(styled: tuple[str, Gateway]):
    values = [{"a": True, "b": "x"}, {"a": False, "b": "y"}]
    answer = post(styled[1], {"type": "object", "enum": values}, strict=True)
    assert answer.status_code == 200, answer.text
    for choice in answer.json()["choices"]:
        for call in choice["message"]["tool_calls"]:
            assert json.loads(call["function"]["arguments"]) in values
