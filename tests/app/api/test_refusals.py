"""Bad input over HTTP: an OpenAI error object that names the place, and the next request works."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from app.api.surfaces import SURFACES
from tests.app.examples import LIGHT, MESSAGES, TOOLS, body, json_schema, tool
from tests.app.gateway import Gateway


def deep(levels: int) -> bytes:
    """A tool schema nested so deep, as text: no serialiser is asked to write it."""
    schema = '{"items":' * levels + "{}" + "}" * levels
    text = json.dumps(body(tools=[tool("f", {"properties": {"a": 0}})]))
    return text.replace('"a": 0', f'"a": {schema}').encode()


def call_of(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


#: name -> (body, status, code, param)
BAD: dict[str, tuple[Any, int, str | None, str | None]] = {
    "malformed JSON": (b'{"model": "noise", ', 400, "invalid_json", None),
    "invalid UTF-8": (b'{"model": "\xff"}', 400, "invalid_json", None),
    "a lone surrogate": (
        body(messages=[{"role": "user", "content": "a\ud800"}]),
        400,
        "invalid_value",
        "messages[0].content",
    ),
    "a lone surrogate in a key": (
        body(tools=[tool("f", {"properties": {"\udfff": {}}})]),
        400,
        "invalid_value",
        "tools[0].function.parameters.properties",
    ),
    "NaN": (b'{"temperature": NaN}', 400, "invalid_json", None),
    "10,000 levels": (deep(10_000), 400, "invalid_json", None),
    "as many levels as JSON may have here": (
        deep(180),
        400,
        "invalid_json_schema",
        "tools[0].function.parameters",
    ),
    # REGRESSION: the key beside it was blamed
    "an unknown key beside one that is named as the type": (
        body(response_format={**json_schema({}), "indent": 2}),
        400,
        "unknown_parameter",
        "response_format.indent",
    ),
    "an unknown model": (body(model="gpt-0"), 404, "model_not_found", "model"),
    "a 10 MB body": (b" " * 10_000_000, 413, "request_too_large", None),
    "a schema that is none": (
        body(tools=[tool("f", {"type": "object", "properties": {"a": {"type": "strnig"}}})]),
        400,
        "invalid_json_schema",
        "tools[0].function.parameters",
    ),
    "arguments that are no object": (
        body(tools=[TOOLS[0], tool("f", {"type": "array"})]),
        400,
        "invalid_json_schema",
        "tools[1].function.parameters",
    ),
    "a keyword that can't be enforced": (
        body(
            response_format=json_schema(
                {**LIGHT, "properties": {"on": {"type": "string", "pattern": r"(a*)b\1"}}},
                strict=True,
            )
        ),
        400,
        "invalid_json_schema",
        "response_format",
    ),
    "a dangling reference": (
        body(response_format=json_schema({"$ref": "#/$defs/missing"})),
        400,
        "invalid_json_schema",
        "response_format",
    ),
    "a schema that nothing satisfies": (
        body(response_format=json_schema({"type": "string", "enum": [1]})),
        400,
        "invalid_json_schema",
        "response_format",
    ),
    "a bad pattern": (
        body(response_format=json_schema({"type": "string", "pattern": "(("})),
        400,
        "invalid_json_schema",
        "response_format",
    ),
    "an unknown tool_choice": (
        body(tools=TOOLS, tool_choice=call_of("nope")),
        400,
        "invalid_value",
        "tool_choice.function.name",
    ),
    "an unknown allowed tool": (
        body(
            tools=TOOLS,
            tool_choice={
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [call_of("set_light"), call_of("x")]},
            },
        ),
        400,
        "invalid_value",
        "tool_choice.allowed_tools.tools[1].function.name",
    ),
    "tool_choice without tools": (body(tool_choice="required"), 400, None, "tool_choice"),
    "two tools of one name": (
        body(tools=[*TOOLS, tool("set_alarm", LIGHT)]),
        400,
        "duplicate_tool_name",
        "tools[2].function.name",
    ),
    "too many tools": (
        body(tools=[tool(f"f{n}", LIGHT) for n in range(1025)]),
        400,
        "array_above_max_length",
        "tools",
    ),
    "too many choices": (body(n=9), 400, "integer_above_max_value", "n"),
    "too many tokens": (
        body(max_completion_tokens=32_769),
        400,
        "invalid_value",
        "max_completion_tokens",
    ),
    "two limits": (body(max_tokens=3), 400, "invalid_value", "max_tokens"),
    "stream_options without stream": (body(stream_options={}), 400, None, "stream_options"),
    "json_object that neither the prompt nor a message names": (
        body(
            messages=[{"role": "user", "content": "hi"}],
            response_format={"type": "json_object"},
            include_schema_in_prompt=False,
        ),
        400,
        None,
        "messages",
    ),
    "strict without required": (
        body(response_format=json_schema({**LIGHT, "required": []}, strict=True)),
        400,
        "invalid_json_schema",
        "response_format",
    ),
    "a strict tool that is open": (
        body(tools=[tool("f", {"type": "object", "properties": {}}, strict=True)]),
        400,
        "invalid_function_parameters",
        "tools[0].function.parameters",
    ),
    "top_logprobs alone": (body(top_logprobs=3), 400, None, "top_logprobs"),
    "too many top_logprobs": (
        body(logprobs=True, top_logprobs=21),
        400,
        "integer_above_max_value",
        "top_logprobs",
    ),
    "an unknown parameter": (body(best_of=2), 400, "unknown_parameter", "best_of"),
    "a bias": (body(logit_bias={"1": 1}), 400, "unsupported_parameter", "logit_bias"),
}


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused_by_name_and_the_next_request_works(
    gateway: Gateway, case: tuple[Any, int, str | None, str | None], stream: bool
):
    sent, status, code, param = case
    if stream and isinstance(sent, dict) and "stream_options" not in sent:
        sent = {**sent, "stream": True}
    answer = gateway.post(sent)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", code, param)
    assert error["message"]
    assert gateway.post(body(max_completion_tokens=2)).status_code == 200


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"properties": {"a": {"items": {"type": "nonsense"}}}}, "/properties/a/items"),
        ({"properties": {"a": {"type": "string", "pattern": "(("}}}, "/properties/a"),
        ({"properties": {"a/b~": {"type": "nonsense"}}}, "/properties/a~1b~0"),
    ],
)
def test_a_refusal_points_into_the_schema(gateway: Gateway, wanted: dict[str, Any], words: str):
    for place, sent in (
        ("tools[1].function.parameters", body(tools=[TOOLS[0], tool("f", wanted)])),
        ("response_format", body(response_format=json_schema(wanted))),
    ):
        error = gateway.post(sent).json()["error"]
        assert error["param"] == place
        assert words in error["message"]


def test_a_tool_is_blamed_by_its_number_in_the_request_even_when_others_are_left_out(
    gateway: Gateway,
):
    choice = {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "auto", "tools": [call_of("bad")]},
    }
    tools = [*TOOLS, tool("bad", {"properties": {"a": {"type": "nonsense"}}})]
    error = gateway.post(body(tools=tools, tool_choice=choice)).json()["error"]
    assert error["param"] == "tools[2].function.parameters"


def test_refused_schemas_are_counted(gateway: Gateway):
    before = gateway.get("/metrics").text.count("switchyard_refused_schemas_total{")
    gateway.post(body(response_format=json_schema({"$ref": "#/nowhere"})))
    assert gateway.get("/metrics").text.count("switchyard_refused_schemas_total{") >= max(before, 1)


def test_a_body_in_chunks_is_counted_too(gateway: Gateway):
    def chunks() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * 100_000

    answer = httpx.post(f"{gateway.url}/v1/chat/completions", content=chunks(), timeout=60)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")


def test_the_official_client_raises_the_right_classes(client: openai.OpenAI):
    create = client.chat.completions.create
    with pytest.raises(openai.NotFoundError) as missing:
        create(model="gpt-0", messages=MESSAGES)
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as bad:
        create(model="noise", messages=MESSAGES, temperature=3)
    assert (bad.value.param, bad.value.type) == ("temperature", "invalid_request_error")
    with pytest.raises(openai.APIStatusError) as large:
        create(model="noise", messages=[{"role": "user", "content": "x" * 5_000_000}])
    assert large.value.status_code == 413
    assert large.value.request_id


def test_with_keys_only_keys_open_and_only_v1_asks():
    with Gateway(api_keys="one,two") as guarded:
        right = openai.OpenAI(base_url=f"{guarded.url}/v1", api_key="two", max_retries=0)
        wrong = openai.OpenAI(base_url=f"{guarded.url}/v1", api_key="three", max_retries=0)
        assert right.models.list().data
        with pytest.raises(openai.AuthenticationError) as caught:
            wrong.chat.completions.create(model="noise", messages=MESSAGES)
        assert caught.value.code == "invalid_api_key"
        with pytest.raises(openai.AuthenticationError):
            wrong.models.list()
        assert guarded.get("/health/ready").status_code == 200
        assert guarded.get("/metrics").status_code == 200
        assert "two" not in guarded.log.getvalue()


def test_every_route_of_v1_asks_for_a_key_before_it_reads_the_body():
    with Gateway(api_keys="one") as guarded:
        paths = guarded.get("/openapi.json").json()["paths"]
        asked = [
            (method, path.replace("{", "").replace("}", ""))
            for path, item in paths.items()
            for method in item
            if path.startswith("/v1/")
        ]
        found = {
            (method, path): httpx.request(method, guarded.url + path, timeout=60).status_code
            for method, path in asked
        }
    # those of operators are closed: there is no key of theirs
    assert {each: status for each, status in found.items() if status not in (401, 403)} == {}
    assert {found["post", surface.path] for surface in SURFACES} == {401}


def test_nothing_a_client_wrote_is_logged(gateway: Gateway):
    gateway.post(body(messages=[{"role": "user", "content": "a very private matter"}]))
    gateway.post(body(messages=[{"role": "user", "content": "a very private matter"}], n=0))
    assert "private" not in gateway.log.getvalue()


def test_our_own_faults_stayed_at_zero(gateway: Gateway):
    """Last in this file: after all that was sent above."""
    assert gateway.metric("switchyard_internal_errors_total") == 0
    assert gateway.metric("switchyard_parse_divergence_total") == 0
