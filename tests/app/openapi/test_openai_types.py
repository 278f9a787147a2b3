"""Objects of the Responses API against the types of OpenAI's client, strictly."""

import json
from typing import Any

import httpx
import openai.types.responses as kinds
import pytest
from openai.types.responses import Response, ResponseStreamEvent, response_usage

from tests.app.examples import LIGHT
from tests.app.gateway import OPTIONS, Gateway, gateway_fixture
from tests.app.messages import payloads
from tests.app.wire import mistakes

#: fields of each response that a test of Open Responses asks for
REQUIRED = {
    *("id", "object", "created_at", "completed_at", "status", "incomplete_details", "model"),
    *("previous_response_id", "instructions", "output", "error", "tools", "tool_choice"),
    *("truncation", "parallel_tool_calls", "text", "top_p", "presence_penalty"),
    *("frequency_penalty", "top_logprobs", "temperature", "reasoning", "usage"),
    *("max_output_tokens", "max_tool_calls", "store", "background", "service_tier", "metadata"),
    *("safety_identifier", "prompt_cache_key"),
}


#: fields of OpenAI's types that answers lack: they concern what is not served, or is ignored
ABSENT = {
    Response: {
        *("access_programs", "image", "input_transformations", "moderation"),
        *("prompt", "prompt_cache_diagnostics", "prompt_cache_options", "prompt_cache_retention"),
        "tool_usage",
    },
    kinds.ResponseUsage: set(),
    response_usage.InputTokensDetails: {"cache_write_tokens_details"},
    response_usage.OutputTokensDetails: set(),
}

FUNCTION = {"type": "function", "name": "set_light", "parameters": LIGHT}
CUSTOM = {"type": "custom", "name": "note"}
SPACE = {"type": "namespace", "name": "n", "tools": [FUNCTION, CUSTOM]}
SCHEMA = {"type": "json_schema", "name": "light", "schema": LIGHT}
ASKED: dict[str, dict[str, Any]] = {
    "text": {},
    "cut": {"max_output_tokens": 3, "user": "me", "metadata": {"a": "b"}},
    "penalties": {"temperature": 0.5, "top_p": 0.5, "include": ["message.output_text.logprobs"]},
    "tools": {"tools": [FUNCTION, CUSTOM, SPACE, {"type": "mcp"}], "tool_choice": "required"},
    "a name": {"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "set_light"}},
    "a namespace": {
        "tools": [SPACE],
        "tool_choice": {
            "type": "allowed_tools",
            "mode": "required",
            "tools": [{"type": "function", "name": "set_light", "namespace": "n"}],
        },
    },
    "a custom tool": {"tools": [CUSTOM], "tool_choice": {"type": "custom", "name": "note"}},
    "all of a tool": {
        "tools": [{**FUNCTION, "description": "d", "strict": True, "defer_loading": True}]
    },
    "a schema": {"text": {"format": SCHEMA, "verbosity": "low"}},
    "a strict schema": {"text": {"format": {**SCHEMA, "strict": True, "description": "d"}}},
    "sealed reasoning": {"input": "Hello", "include": ["reasoning.encrypted_content"]},
    "an object": {"text": {"format": {"type": "json_object"}}, "reasoning": {"effort": "low"}},
}  # fmt: skip

gateway = gateway_fixture(format="hermes", reasoning="on")


@pytest.mark.parametrize("more", ASKED.values(), ids=ASKED.keys())
def test_each_object_is_of_openais_types(gateway: Gateway, more: dict[str, Any]):
    """REGRESSION: responses lacked both penalties, and had nulls that OpenAI's types forbid."""
    body = {"model": "noise", "input": "As JSON.", "max_output_tokens": 400, "seed": 3, **more}
    answer = httpx.post(f"{gateway.url}/v1/responses", json=body, **OPTIONS)
    assert answer.status_code == 200, answer.text
    whole = answer.json()
    assert mistakes(Response, whole) == []
    assert REQUIRED - whole.keys() == set()
    stream = httpx.post(f"{gateway.url}/v1/responses", json={**body, "stream": True}, **OPTIONS)
    for data in payloads(stream.text):
        assert mistakes(ResponseStreamEvent, json.loads(data)) == []
    stored = httpx.get(f"{gateway.url}/v1/responses/{whole['id']}", **OPTIONS).json()
    assert mistakes(Response, stored) == []
    path = f"{gateway.url}/v1/responses/{whole['id']}?stream=true"
    for data in payloads(httpx.get(path, **OPTIONS).text):
        assert mistakes(ResponseStreamEvent, json.loads(data)) == []


def test_every_field_of_openais_response_has_a_treatment(gateway: Gateway):
    """A new field of the client fails here, until it is answered or left out on purpose."""
    body = {"model": "noise", "input": "hi", "max_output_tokens": 3}
    whole = httpx.post(f"{gateway.url}/v1/responses", json=body, **OPTIONS).json()
    used = whole["usage"]
    values = (whole, used, used["input_tokens_details"], used["output_tokens_details"])
    for (kind, absent), value in zip(ABSENT.items(), values, strict=True):
        assert kind.model_fields.keys() - value.keys() == absent


def test_sealed_reasoning_is_of_openais_types():
    body = {"model": "noise", "input": "Hello", "max_output_tokens": 100, "stream": True}
    body["include"] = ["reasoning.encrypted_content"]
    types_of_items = set()
    with Gateway(format="harmony", reasoning="on") as gateway:
        for seed in range(8):
            asked = {**body, "seed": seed}
            stream = httpx.post(f"{gateway.url}/v1/responses", json=asked, **OPTIONS)
            events = list(map(json.loads, payloads(stream.text)))
            assert [m for event in events for m in mistakes(ResponseStreamEvent, event)] == []
            types_of_items |= {item["type"] for item in events[-1]["response"]["output"]}
    assert "reasoning" in types_of_items


def test_input_items_are_of_openais_types(gateway: Gateway):
    """Those of a whole turn, with a thought that has a summary only."""
    items = [
        {"role": "user", "content": "hi"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "x"},
        {"type": "custom_tool_call", "call_id": "d", "name": "g", "input": "", "namespace": "n"},
        {"type": "custom_tool_call_output", "call_id": "d", "output": "x"},
        {"type": "compaction", "encrypted_content": "x"},
        {"type": "reasoning", "encrypted_content": "x"},
    ]
    body = {"model": "noise", "input": items, "max_output_tokens": 3}
    made = httpx.post(f"{gateway.url}/v1/responses", json=body, **OPTIONS).json()
    path = f"{gateway.url}/v1/responses/{made['id']}/input_items"
    listed = httpx.get(path, **OPTIONS).json()["data"]
    assert len(listed) == len(items)
    for item in listed:
        assert mistakes(kinds.ResponseItem, item) == []


def test_a_compacted_conversation_is_of_openais_types(gateway: Gateway):
    """Its messages are input items, which OpenAI answers, too, but its type lacks."""
    body = {"model": "noise", "input": [{"role": "user", "content": "hi"}]}
    answer = httpx.post(f"{gateway.url}/v1/responses/compact", json=body, **OPTIONS).json()
    message, compaction = answer["output"]
    assert mistakes(kinds.ResponseItem, message) == []
    assert mistakes(kinds.CompactedResponse, {**answer, "output": [compaction]}) == []


#: (change of a good response, its mistake)
BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"id": 3}, "/id: 3 is no <class 'str'>"),
    ({"more": 1}, "/more: unknown in Response"),
    ({"object": "x"}, "/object: 'x'"),
    ({"tools": [{**CUSTOM, "description": None}]}, "/tools/0/description: null in CustomTool"),
    ({"output": [{"type": "message"}]}, "/output/0/id: missing in ResponseOutputMessage"),
]


@pytest.mark.parametrize(("change", "mistake"), BROKEN)
def test_the_check_finds_mistakes(gateway: Gateway, change: dict[str, Any], mistake: str):
    body = {"model": "noise", "input": "hi", "max_output_tokens": 3}
    good = httpx.post(f"{gateway.url}/v1/responses", json=body, **OPTIONS).json()
    assert mistake in mistakes(Response, good | change)
