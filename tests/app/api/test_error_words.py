"""Errors in OpenAI's words: message, type, param and code of the usual mistakes."""

from typing import Any

import httpx
import pytest

from tests.app.examples import MESSAGES, TOOLS, body, json_schema, tool
from tests.app.gateway import OPTIONS, Gateway, gateway_fixture

CHAT, TEXT, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
LOST = "resp_" + "0" * 32


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in body().items() if key != name}


def asked(**more: Any) -> dict[str, Any]:
    return {"model": "noise", "input": "hi", **more}


#: (path, body, status, code, param, message)
WORDS: list[tuple[str, Any, int, str | None, str | None, str]] = [
    (CHAT, without("messages"), 400, "missing_required_parameter", "messages",
     "Missing required parameter: 'messages'."),
    (CHAT, body(messages=[]), 400, "empty_array", "messages",
     "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty "
     "array instead."),
    (CHAT, body(messages=[{"role": "user"}]), 400, "missing_required_parameter",
     "messages[0].content", "Missing required parameter: 'messages[0].content'."),
    (CHAT, body(messages=[{"role": "user", "content": 5}]), 400, "invalid_type",
     "messages[0].content",
     "Invalid type for 'messages[0].content': expected one of a string or array of objects, but "
     "got an integer instead."),
    (CHAT, body(stop=3), 400, "invalid_type", "stop",
     "Invalid type for 'stop': expected one of a string or array of strings, but got an integer "
     "instead."),
    (RESPONSES, asked(input={}), 400, "invalid_type", "input",
     "Invalid type for 'input': expected one of a string or array of objects, but got an object "
     "instead."),
    (CHAT, body(messages=[{"role": "robot", "content": ""}]), 400, "invalid_value",
     "messages[0].role",
     "Invalid value: 'robot'. Supported values are: 'system', 'developer', 'user', 'assistant', "
     "'tool', and 'function'."),
    (CHAT, body(messages=[{"role": "user", "content": [{"type": "image_url"}]}]), 400,
     "missing_required_parameter", "messages[0].content[0].image_url",
     "Missing required parameter: 'messages[0].content[0].image_url'."),
    (CHAT, body(temperature="hot"), 400, "invalid_type", "temperature",
     "Invalid type for 'temperature': expected a number, but got a string instead."),
    (CHAT, body(temperature=2.5), 400, "decimal_above_max_value", "temperature",
     "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.5 "
     "instead."),
    (CHAT, body(n=0), 400, "integer_below_min_value", "n",
     "Invalid 'n': integer below minimum value. Expected a value >= 1, but got 0 instead."),
    (CHAT, body(best=1), 400, "unknown_parameter", "best", "Unknown parameter: 'best'."),
    (CHAT, body(stop=list("abcde")), 400, "array_above_max_length", "stop",
     "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array "
     "with length 5 instead."),
    (CHAT, body(stop=""), 400, "empty_string", "stop",
     "Invalid 'stop': empty string. Expected a string with minimum length 1, but got an empty "
     "string instead."),
    (CHAT, body(stop="a" * 1001), 400, "string_above_max_length", "stop",
     "Invalid 'stop': string too long. Expected a string with maximum length 1000, but got a "
     "string with length 1001 instead."),
    (CHAT, body(tools=[tool("f", {})] * 1025), 400, "array_above_max_length", "tools",
     "Invalid 'tools': array too long. Expected an array with maximum length 1024, but got an "
     "array with length 1025 instead."),
    (CHAT, body(tools=[tool("two words", {})]), 400, "invalid_value", "tools[0].function.name",
     "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that "
     "matches the pattern '^[a-zA-Z0-9_.-]{1,64}$'."),
    (CHAT, body(tool_choice="auto"), 400, None, "tool_choice",
     "Invalid value for 'tool_choice': it is only allowed when 'tools' are specified."),
    (CHAT, body(parallel_tool_calls=False), 400, None, "parallel_tool_calls",
     "Invalid value for 'parallel_tool_calls': only allowed when 'tools' are specified."),
    (CHAT, body(functions=[{"name": "f"}], tools=TOOLS), 400, "invalid_value", "tools",
     "Setting 'functions' and 'tools' at the same time is not supported: 'functions' is the "
     "deprecated form of 'tools'."),
    (CHAT, body(functions=[{"name": "f"}], tool_choice="auto"), 400, "invalid_value",
     "tool_choice",
     "Setting 'functions' and 'tool_choice' at the same time is not supported: 'functions' is the "
     "deprecated form of 'tools'."),
    (CHAT, body(function_call="auto"), 400, None, "function_call",
     "Invalid value for 'function_call': it is only allowed when 'functions' are specified."),
    (CHAT, body(top_logprobs=2), 400, None, "top_logprobs",
     "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."),
    (CHAT, body(stream_options={"include_usage": True}), 400, None, "stream_options",
     "The 'stream_options' parameter is only allowed when 'stream' is enabled."),
    (CHAT, body(max_completion_tokens=99_999), 400, "invalid_value", "max_completion_tokens",
     "max_completion_tokens is too large: 99999. This model supports at most 32768 completion "
     "tokens, whereas you provided 99999."),
    (CHAT, body(response_format=json_schema({"type": "object"}, strict=True)), 400,
     "invalid_json_schema", "response_format",
     "Invalid schema for response_format 'answer': In context=(), 'additionalProperties' is "
     "required to be supplied and to be false."),
    (CHAT, body(model="gpt-0"), 404, "model_not_found", "model",
     "The model 'gpt-0' does not exist or you do not have access to it."),
    (CHAT, b"[1]", 400, "invalid_type", None,
     "Invalid type for 'body': expected an object, but got an array instead."),
    (TEXT, {"model": "noise", "prompt": []}, 400, "empty_array", "prompt",
     "Invalid 'prompt': empty array. Expected an array with minimum length 1, but got an empty "
     "array instead."),
    (RESPONSES, {"model": "noise"}, 400, "missing_required_parameter", "input",
     "Missing required parameter: 'input'."),
    (RESPONSES, asked(previous_response_id=LOST), 400, "previous_response_not_found",
     "previous_response_id", f"Previous response with id '{LOST}' not found."),
    (RESPONSES, asked(n=2), 400, "unknown_parameter", "n", "Unknown parameter: 'n'."),
    (RESPONSES, asked(max_tokens=5), 400, "unsupported_parameter", "max_tokens",
     "Unsupported parameter: 'max_tokens'. In the Responses API, this parameter has moved to "
     "'max_output_tokens'. Try again with the new parameter."),
    (RESPONSES, asked(moderation={"model": "m"}), 400, "unsupported_parameter", "moderation",
     "Unsupported parameter: 'moderation' is not supported by this server."),
    ("/v1/embeddings", {}, 404, "unknown_url", None, "Invalid URL (POST /v1/embeddings)"),
    ("/v1/models", {}, 405, "method_not_supported", None, "Not allowed to POST on /v1/models"),
    (f"{RESPONSES}/{LOST}/cancel", None, 404, None, None, f"Response with id '{LOST}' not found."),
]  # fmt: skip

gateway = gateway_fixture(strict_profile="openai", api_keys="one,two")


@pytest.mark.parametrize("case", WORDS, ids=[f"{n}:{case[3]}" for n, case in enumerate(WORDS)])
def test_an_error_has_openais_words(
    gateway: Gateway, case: tuple[str, Any, int, str | None, str | None, str]
):
    """The message begins with them; this server may add more."""
    path, sent, status, code, param, words = case
    key = {"Authorization": "Bearer one"}
    answer = gateway.post(sent, path=path, headers=key)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (status, code, param)
    assert error["type"] == "invalid_request_error"
    assert error["message"].startswith(words)


#: (Authorization, message)
KEYS = [
    (None, "You didn't provide an API key."),
    ("Basic b25l", "You didn't provide an API key."),
    ("Bearer three", "Incorrect API key provided."),
]


@pytest.mark.parametrize(("given", "words"), KEYS)
@pytest.mark.parametrize("path", ["/v1/models", "/v1/responses/resp_1"])
def test_a_wrong_key_has_openais_words(gateway: Gateway, given: str | None, words: str, path: str):
    headers = {} if given is None else {"Authorization": given}
    answer = httpx.get(gateway.url + path, headers=headers, **OPTIONS)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (401, "invalid_api_key")
    assert (error["type"], error["param"]) == ("invalid_request_error", None)
    assert error["message"].startswith(words)
    assert answer.headers["www-authenticate"] == "Bearer"


ONE = {"authorization": "Bearer one"}
FUNCTION = {"name": "f", "arguments": "{}"}
CUSTOM = {"name": "f", "input": ""}
#: a past call of a chat completion: what it lacks, or what is wrong
PAST_CALLS = [
    ({"id": 7, "type": "function", "function": FUNCTION}, "id"),
    ({"id": ["a"], "type": "custom", "custom": CUSTOM}, "id"),
    ({"id": "a", "type": 5, "function": FUNCTION}, "type"),
    ({"id": "a", "type": "function"}, "function"),
    ({"id": "a", "type": "custom", "function": FUNCTION}, "custom"),
    ({"id": "a", "function": {"arguments": "{}"}}, "function.name"),
    ({"id": "a", "function": {"name": "f", "arguments": []}}, "function.arguments"),
    ({"id": "a", "type": "custom", "custom": {"name": "f"}}, "custom.input"),
]


@pytest.mark.parametrize(("call", "place"), PAST_CALLS)
def test_an_error_in_a_past_call_names_its_place(gateway: Gateway, call: Any, place: str):
    """REGRESSION: the place of a wrong id was ``function.id``."""
    result = {"role": "tool", "tool_call_id": "a", "content": ""}
    messages = [*MESSAGES, {"role": "assistant", "tool_calls": [call]}, result]
    answer = httpx.post(f"{gateway.url}{CHAT}", json=body(messages=messages), headers=ONE)
    assert answer.status_code == 400
    at = len(MESSAGES)
    assert answer.json()["error"]["param"] == f"messages[{at}].tool_calls[0].{place}"


#: past calls and results as servers and frameworks write them that pair by order
LOOSE_CALLS = [
    {"type": "function", "function": FUNCTION},
    {"id": None, "function": FUNCTION},
    {"id": "", "function": {"name": "f"}},
    {"id": "a", "function": {"name": "f", "arguments": {"city": ["Oslo"]}}},
    {"function": {"name": "f", "arguments": None}},
    {"type": "custom", "custom": CUSTOM},
]


@pytest.mark.parametrize("call", LOOSE_CALLS)
@pytest.mark.parametrize("ids", [{}, {"tool_call_id": None}, {"tool_call_id": "a"}])
def test_a_past_call_and_its_result_need_no_ids(gateway: Gateway, call: Any, ids: Any):
    """REGRESSION: a history with a call without an id was refused, and with it each later turn."""
    said = {"role": "assistant", "tool_calls": [call]}
    messages = [*MESSAGES, said, {"role": "tool", "content": "12", **ids}]
    answer = httpx.post(f"{gateway.url}{CHAT}", json=body(messages=messages), headers=ONE)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("item", "place"),
    [
        ({"type": "function_call", "call_id": 5, **FUNCTION}, "call_id"),
        ({"type": "function_call", "call_id": "c", "name": "f", "arguments": 5}, "arguments"),
        ({"type": "custom_tool_call", "name": "f", "input": {}}, "input"),
        ({"type": "function_call_output", "call_id": "c", "output": 5}, "output"),
    ],
)
def test_an_error_in_a_past_item_names_its_place(gateway: Gateway, item: Any, place: str):
    answer = httpx.post(f"{gateway.url}/v1/responses", json=asked(input=[item]), headers=ONE)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == f"input[0].{place}"
