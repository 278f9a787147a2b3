"""Unenforceable keywords that are not strict are removed, and reported in header, log, metric."""

import json
from typing import Any

import jsonschema
import openai
import pytest

from app.constraints.relaxation import RELAXED_HEADER
from app.errors import ApiError
from app.observability.left_out import MAX_HEADER_CHARS
from tests.app.examples import LIGHT, MESSAGES, body, closed, json_schema, tool
from tests.app.gateway import Gateway
from tests.app.service.scripted import Service, script

#: what no engine can enforce: it leaves the document
AWAY = {"$ref": "https://example.org/schema"}
END = "<|im_end|>"


#: hosts of at most 253 characters, or of fewer with a hyphen at the end: no register counts both
LONG = r"^(?=.{1,253}$|.{1,99}-$)(?:[a-z](?:[a-z-]{0,61}[0-9])?\.)+[a-z]{2,63}$"
#: a step of too many remainders
LARGE_STEP = {"type": "number", "multipleOf": 1234.567891}
SWITCH = closed(on={"type": "boolean", **AWAY})
PLACE = "tools/0/function/parameters#/properties/on/$ref"

#: name -> (request, header)
RELAXED: dict[str, tuple[dict[str, Any], str]] = {
    "a tool": ({"tools": [tool("f", SWITCH)], "tool_choice": "required"}, PLACE),
    "a tool that says it is not strict": (
        {"tools": [tool("f", SWITCH, strict=False)], "tool_choice": "required"}, PLACE,
    ),
    "a response format": (
        {"response_format": json_schema(SWITCH)},
        "response_format/json_schema/schema#/properties/on/$ref",
    ),
    "both, and strict ones beside them": (
        {
            "tools": [tool("g", LIGHT, strict=True), tool("f", SWITCH)],
            "response_format": json_schema(SWITCH, strict=False),
            "tool_choice": "required",
        },
        "tools/1/function/parameters#/properties/on/$ref, "
        "response_format/json_schema/schema#/properties/on/$ref",
    ),
    "a tool's number is the request's": (
        {
            "tools": [tool("g", LIGHT), tool("f", SWITCH)],
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": "f"}}],
                },
            },
        },
        "tools/1/function/parameters#/properties/on/$ref",
    ),
    "REGRESSION a pattern and a step beyond a limit": (
        {
            "tools": [
                tool("f", closed(a={"type": "string", "pattern": LONG}, b=LARGE_STEP)),
                tool("g", LIGHT),
            ]
        },
        "tools/0/function/parameters#/properties/a/pattern, "
        "tools/0/function/parameters#/properties/b/multipleOf",
    ),
    "names are written as in a URI": (
        {"tools": [tool("f", closed(**{"a b,é/~": {"type": "boolean", **AWAY}}))]},
        "tools/0/function/parameters#/properties/a%20b%2C%C3%A9~1~0/$ref",
    ),
}  # fmt: skip


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("case", RELAXED.values(), ids=RELAXED.keys())
def test_the_header_names_what_was_relaxed(
    gateway: Gateway, case: tuple[dict[str, Any], str], stream: bool
):
    asked, header = case
    answer = gateway.post(body(**asked, stream=stream))
    assert answer.status_code == 200
    if asked.get("tool_choice") == "required" and "response_format" in asked:
        # the response format does not matter where a call is required
        header = header.partition(", ")[0]
    assert answer.headers[RELAXED_HEADER] == header


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_nothing_is_said_where_nothing_was_relaxed(gateway: Gateway, stream: bool):
    answer = gateway.post(body(tools=[tool("f", LIGHT)], stream=stream))
    assert answer.status_code == 200
    assert RELAXED_HEADER not in answer.headers


def test_the_rest_is_enforced_and_the_official_client_sees_the_header(client: openai.OpenAI):
    schema = closed(hour={"type": "integer", "minimum": 3, "maximum": 5, **AWAY}, on=AWAY)
    schema["properties"]["on"] = {"type": "boolean"}
    for seed in range(5):
        raw = client.chat.completions.with_raw_response.create(
            model="noise", messages=MESSAGES, tools=[tool("f", schema)], tool_choice="required",
            seed=seed, max_completion_tokens=8000, parallel_tool_calls=False,
        )  # fmt: skip
        assert raw.headers[RELAXED_HEADER] == "tools/0/function/parameters#/properties/hour/$ref"
        calls = raw.parse().choices[0].message.tool_calls
        assert calls
        given = json.loads(calls[0].function.arguments)
        assert 3 <= given["hour"] <= 5
        assert isinstance(given["on"], bool)


def test_the_official_client_streams_it_too(client: openai.OpenAI):
    with client.chat.completions.with_streaming_response.create(
        model="noise", messages=MESSAGES, response_format=json_schema(SWITCH), stream=True
    ) as raw:
        assert raw.headers[RELAXED_HEADER].startswith("response_format/json_schema/schema#")
        assert list(raw.iter_lines())


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"tools": [tool("g", SWITCH), tool("f", SWITCH, strict=True)]},
         "tools[1].function.parameters"),
        ({"response_format": json_schema(SWITCH, strict=True)}, "response_format"),
    ],
)  # fmt: skip
async def test_under_strict_nothing_is_relaxed(asked: dict[str, Any], param: str):
    service = Service(script(f"a{END}"), strict_profile="extended")
    with pytest.raises(ApiError) as caught:
        await service.complete(**asked)
    error = caught.value
    assert (error.status, error.param, error.code) == (400, param, "invalid_json_schema")
    assert "/properties/on/$ref" in error.message
    assert service.metrics.registry.get_sample_value(
        "switchyard_refused_schemas_total", {"keyword": "$ref"}
    )
    assert "relaxed" not in service.log.getvalue()


#: name -> (parameters, what the message says)
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "ill-formed": (
        closed(on=AWAY, a={"type": "strnig"}), "at /properties/a/type: unknown type 'strnig'"
    ),
    "ill-formed below what was a oneOf": (
        closed(on={"oneOf": [{"items": AWAY, "minItems": -1}, {"type": "null"}]}),
        "at /properties/on/oneOf/0/minItems",
    ),
    "satisfied by nothing": (
        closed(on=AWAY, a={"type": "string", "enum": [1]}), "nothing can satisfy this"
    ),
    "past the bound on relaxing": (
        closed(**{f"p{n}": AWAY for n in range(65)}), "leaves the document"
    ),
    "named elsewhere": (
        closed(on={"not": {"items": AWAY}}, a={"$ref": "#/properties/on/not"}), "at /properties/on"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
async def test_what_relaxing_does_not_help_is_refused(case: tuple[dict[str, Any], str]):
    schema, words = case
    with pytest.raises(ApiError) as caught:
        await Service(script(f"a{END}")).complete(tools=[tool("f", LIGHT), tool("g", schema)])
    assert words in caught.value.message
    assert (caught.value.status, caught.value.param) == (400, "tools[1].function.parameters")


#: name -> (parameters, the place of the contradiction)
CONTRADICTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "a constant of another type": (closed(a={"type": "string", "const": 5}), "/properties/a"),
    "bounds": (closed(b={}, a={"type": "number", "minimum": 5, "maximum": 3}), "/properties/a"),
    "an inner property": (
        closed(a=closed(b={"type": "string", "minLength": 3, "maxLength": 2})),
        "/properties/a/properties/b",
    ),
    "items": (
        closed(a={"type": "array", "minItems": 1, "items": {"type": "string", "enum": [1]}}),
        "/properties/a/items",
    ),
    "by reference": (
        {**closed(a={"$ref": "#/$defs/x"}), "$defs": {"x": closed(b=False)}},
        "/$defs/x/properties/b",
    ),
    "a required key that is not allowed": ({**closed(a={}), "required": ["b"]}, ""),
    "endless recursion": (closed(a={"$ref": "#"}), "/properties/a"),
    "no multiple between bounds": (
        closed(a={"type": "integer", "multipleOf": 60, "minimum": 1, "maximum": 59}),
        "/properties/a",
    ),
    "schemas that exclude each other": (
        {
            "type": "object",
            "allOf": [closed(a={"type": "string"}), {"properties": {"a": {"type": "null"}}}],
        },
        "/allOf/1/properties/a",
    ),
}  # fmt: skip


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("case", CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
async def test_a_contradictory_tool_is_refused_with_its_property(
    case: tuple[dict[str, Any], str], strict: bool
):
    """REGRESSION: the error named no property. A tool that nothing satisfies cannot be called, so
    it is not left out silently.
    """
    schema, place = case
    with pytest.raises(ApiError) as caught:
        await Service(script(f"a{END}"), strict_profile="extended").complete(
            tools=[tool("f", LIGHT), tool("g", schema, **({"strict": True} if strict else {}))]
        )
    at = f"at {place}: " if place else ""
    assert f": {at}nothing can satisfy this schema" in caught.value.message
    assert (caught.value.status, caught.value.param) == (400, "tools[1].function.parameters")


async def test_a_required_key_that_is_not_allowed_is_named():
    with pytest.raises(ApiError) as caught:
        await Service(script(f"a{END}")).complete(
            tools=[tool("g", {**closed(a={}), "required": ["a", "b"]})]
        )
    assert caught.value.message.endswith(": no value is allowed under the required key 'b'.")


async def test_a_step_beyond_a_limit_is_refused_with_its_place_if_strict():
    with pytest.raises(ApiError) as caught:
        await Service(script(f"a{END}"), strict_profile="extended").complete(
            tools=[tool("g", closed(a=LARGE_STEP), strict=True)]
        )
    assert "at /properties/a/multipleOf: pattern_states: at most 20,000" in caught.value.message
    assert caught.value.param == "tools[0].function.parameters"


async def test_log_and_metric_name_keywords_but_no_name_of_the_clients():
    service = Service(script(f"a{END}"))
    await service.complete(
        tools=[tool("f", closed(secret={"oneOf": [{"items": AWAY}, {"type": "null"}]}))]
    )
    (line,) = [json.loads(line) for line in service.log.getvalue().splitlines()]
    assert (line["event"], line["level"], line["count"]) == ("schema relaxed", "warning", 2)
    start = "tools/0/function/parameters#/properties/*/oneOf"
    assert line["places"] == [start, f"{start}/0/items/$ref"]
    for keyword in ("oneOf", "$ref"):
        count = service.metrics.registry.get_sample_value(
            "switchyard_relaxed_keywords_total", {"keyword": keyword}
        )
        assert count == 1


@pytest.mark.parametrize("length", [1, 200, 2000])
async def test_the_header_is_bounded_and_counts_the_rest(length: int):
    names = [f"{n:02}" + "x" * length for n in range(60)]
    schema = closed(**dict.fromkeys(names, AWAY))
    completion = await Service(script(f"a{END}")).complete_with_headers(tools=[tool("f", schema)])
    value = completion.headers[RELAXED_HEADER]
    *shown, rest = value.split(", ")
    assert len(value) <= MAX_HEADER_CHARS
    assert rest == f"+{60 - len(shown)} more"
    assert len(value) + length > MAX_HEADER_CHARS - 100 or not shown


#: arguments that would be no objects, or none at all, if the rest were all there is
EMPTY = [AWAY, {"allOf": [AWAY]}, {"oneOf": [AWAY]}, {"anyOf": [AWAY, {"type": "object"}]}]


@pytest.mark.parametrize("parameters", EMPTY)
async def test_arguments_of_which_nothing_is_left_are_any_object(parameters: dict[str, Any]):
    call = '<tool_call>\n{"name": "f", "arguments": %s}\n</tool_call>'
    service = Service(script(call % '{"a": 1}' + END))
    completion = await service.complete_with_headers(tools=[tool("f", parameters)])
    (called,) = completion.body["choices"][0]["message"]["tool_calls"]
    assert json.loads(called["function"]["arguments"]) == {"a": 1}
    assert "/$ref" in completion.headers[RELAXED_HEADER]
    (asked,) = service.worker.asked
    assert '"type":"object"' in (asked.spec or "")


async def test_the_model_is_shown_the_whole_schema():
    service = Service(script(f"a{END}"))
    await service.complete(tools=[tool("f", SWITCH)])
    (asked,) = service.worker.asked
    assert "example.org" in service.prompt()
    assert "example.org" not in (asked.spec or "")


def test_noise_fits_what_is_left(gateway: Gateway):
    schema = closed(a={"type": "array", "items": {"enum": [1, 2]}, "maxItems": 3, "x": 1, **AWAY})
    left = closed(a={"type": "array", "items": {"enum": [1, 2]}, "maxItems": 3})
    answer = gateway.post(body(response_format=json_schema(schema))).json()
    jsonschema.validate(json.loads(answer["choices"][0]["message"]["content"]), left)
