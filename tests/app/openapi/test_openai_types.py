"""Objects of the Responses API against the types of OpenAI's client, strictly.

The client's own models take any field and any type. Here they are closed and never convert, and a
null is allowed only where OpenAI's document has one.
"""

import json
import types
import typing
from collections.abc import Iterator
from typing import Any

import httpx
import openai.types.responses as kinds
import pytest
from openai import BaseModel
from openai.types.responses import Response, ResponseStreamEvent, response_usage

from tests.app.examples import LIGHT
from tests.app.gateway import OPTIONS, Gateway, gateway_fixture
from tests.app.messages import payloads

#: fields of OpenAI's document that are optional and not nullable, by type
NO_NULLS: dict[str, tuple[str, ...]] = {
    "CustomTool": ("description", "format", "defer_loading"),
    "FunctionTool": ("defer_loading",),
    "ResponseCustomToolCall": ("id", "namespace"),
    "ResponseFormatTextJSONSchemaConfig": ("description", "strict"),
    "ResponseFunctionToolCall": ("id", "namespace", "status"),
    "ResponseReasoningItem": ("content", "status"),
    "ToolFunction": ("defer_loading",),
}
#: fields that this server adds to the types of OpenAI
OWN = {
    "Response": {"store", "frequency_penalty", "presence_penalty"},
    "ResponseCustomToolCall": {"status"},
    "ResponseError": {"param", "type"},
    # of OpenAI's document, but not of the client
    "ResponseFunctionCallArgumentsDoneEvent": {"name"},
    # of chat completions
    "Logprob": {"bytes"},
    "LogprobTopLogprob": {"bytes"},
}
#: fields of each response that a test of Open Responses asks for
REQUIRED = {
    *("id", "object", "created_at", "completed_at", "status", "incomplete_details", "model"),
    *("previous_response_id", "instructions", "output", "error", "tools", "tool_choice"),
    *("truncation", "parallel_tool_calls", "text", "top_p", "presence_penalty"),
    *("frequency_penalty", "top_logprobs", "temperature", "reasoning", "usage"),
    *("max_output_tokens", "max_tool_calls", "store", "background", "service_tier", "metadata"),
    *("safety_identifier", "prompt_cache_key"),
}


def mistakes(kind: Any, value: Any, place: str = "") -> list[str]:
    """Return the places at which a value is not of a type of the client; none: it is."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return mistakes(inner[0], value, place)
    if origin in (typing.Union, types.UnionType):
        tried = [mistakes(each, value, place) for each in _alike(inner, value)]
        return min(tried, key=len) if tried else [f"{place}: no type for {value!r:.80}"]
    if origin is list:
        if not isinstance(value, list):
            return [f"{place}: no list"]
        return [m for n, each in enumerate(value) for m in mistakes(inner[0], each, f"{place}/{n}")]
    if origin is typing.Literal:
        return [] if value in inner else [f"{place}: {value!r:.80}"]
    if origin is dict or kind in (object, Any):
        return [] if origin is None or isinstance(value, dict) else [f"{place}: no object"]
    if kind is float:
        return [] if type(value) in (int, float) else [f"{place}: no number"]
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return list(_of_object(kind, value, place))
    return [] if type(value) is kind else [f"{place}: {value!r:.80} is no {kind}"]


def _alike(kinds: Any, value: Any) -> Iterator[Any]:
    """Yield the types of a union that have the value's ``type``, if it has one."""
    for kind in kinds:
        field = getattr(kind, "model_fields", {}).get("type")
        given = value.get("type") if isinstance(value, dict) else None
        if field is None or given is None or given in typing.get_args(field.annotation):
            yield kind


def _of_object(kind: type[BaseModel], value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place}: no object"
        return
    fields = {field.alias or name: field for name, field in kind.model_fields.items()}
    for name in value.keys() - fields.keys() - OWN.get(kind.__name__, set()):
        yield f"{place}/{name}: unknown in {kind.__name__}"
    for name, field in fields.items():
        if name not in value:
            if field.is_required():
                yield f"{place}/{name}: missing in {kind.__name__}"
        elif value[name] is None and name in NO_NULLS.get(kind.__name__, ()):
            yield f"{place}/{name}: null in {kind.__name__}"
        else:
            yield from mistakes(field.annotation, value[name], f"{place}/{name}")


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
