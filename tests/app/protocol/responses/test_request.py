"""Requests of the Responses API: every field of OpenAI's client, and the errors of bad ones."""

import json
import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from openai.types.responses import (
    ResponseIncludable,
    response_create_params,
    response_input_param,
    tool_param,
)

from app.errors import ApiError
from app.protocol.responses.client_tools import CLIENT_TOOLS
from app.protocol.responses.items import KINDS, LEFT_OUT
from app.protocol.responses.request import (
    INERT_INCLUDES,
    LOGPROBS,
    MOVED,
    RESPONSES_IGNORED,
    RESPONSES_UNSUPPORTED,
    SEALED_REASONING,
    ResponseRequest,
)
from app.protocol.responses.tools import HOSTED
from tests.app.bodies import parse_as
from tests.app.examples import LIGHT
from tests.app.openapi.described import refused_by_document

ROOT = Path(__file__).parents[4]
GOOD: dict[str, Any] = {"model": "noise", "input": "hi"}
TOOL: dict[str, Any] = {"type": "function", "name": "set_light", "parameters": LIGHT}
#: fields that OpenAI's client does not have
EXTENSIONS = {
    "cache_salt",
    "chat_template_args",
    "chat_template_kwargs",
    "enable_thinking",
    "extra_key",
    "frequency_penalty",
    "include_schema_in_prompt",
    "json_layout",
    "logit_bias",
    "min_p",
    "presence_penalty",
    "preserve_thinking",
    "repetition_penalty",
    "seed",
    "thinking",
    "thinking_budget",
    "thinking_token_budget",
    "top_k",
}


def parse(**fields: Any) -> ResponseRequest:
    return parse_as(ResponseRequest, json.dumps({**GOOD, **fields}).encode())


def refusal(**fields: Any) -> ApiError:
    with pytest.raises(ApiError) as raised:
        parse(**fields)
    assert raised.value.status == 400
    return raised.value


def test_every_field_of_openais_client_has_a_treatment():
    """A new field of the client fails here, until it is honoured, ignored or refused by name."""
    base = response_create_params.ResponseCreateParamsBase.__annotations__
    # over a WebSocket, OpenAI's clients know more; client_metadata is the Codex CLI's
    theirs = set(base) | {"stream", "client_metadata", "generate"}
    honoured = set(ResponseRequest.model_fields)
    assert not honoured & set(RESPONSES_IGNORED) and not honoured & set(RESPONSES_UNSUPPORTED)
    assert theirs == (honoured - EXTENSIONS) | set(RESPONSES_IGNORED) | set(RESPONSES_UNSUPPORTED)
    assert not theirs & set(MOVED)


def test_every_value_of_include_has_a_treatment():
    assert {*INERT_INCLUDES, LOGPROBS, SEALED_REASONING} == set(get_args(ResponseIncludable))


def documented(heading: str) -> set[str]:
    """The names in the first column of a section's table in docs/api.md."""
    text = (ROOT / "docs/api.md").read_text()
    section = re.split(r"(?m)^##+ ", text.partition(f"# {heading}\n")[2])[0]
    cells = re.findall(r"(?m)^\| (`[^|]+) \|", section)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_the_documented_fields_are_those_of_the_code():
    assert documented("Responses") == {
        *ResponseRequest.model_fields,
        *RESPONSES_IGNORED,
        *RESPONSES_UNSUPPORTED,
    }


def test_the_documented_items_are_those_of_the_code():
    assert documented("Items") == set(KINDS)


@pytest.mark.parametrize("name", sorted(RESPONSES_UNSUPPORTED))
def test_an_unsupported_field_is_refused_by_name_unless_it_is_off(name: str):
    error = refusal(**{name: "something"})
    assert (error.param, error.code) == (name, "unsupported_parameter")
    for off in RESPONSES_UNSUPPORTED[name]:
        parse(**{name: off})


@pytest.mark.parametrize("name", sorted(MOVED))
def test_a_field_of_chat_completions_is_refused_with_its_new_name(name: str):
    parse(**{name: None})
    error = refusal(**{name: "x"})
    assert (error.param, error.code) == (name, "unsupported_parameter")
    assert f"this parameter has moved to '{MOVED[name]}'" in error.message


@pytest.mark.parametrize("kind", ["brand_new"])
def test_tools_of_other_types_are_refused_by_name(kind: str):
    error = refusal(tools=[TOOL, {"type": kind, "name": "f"}])
    assert (error.param, error.code) == ("tools[1].type", "unsupported_value")
    assert f"'{kind}'" in error.message
    error = refusal(tools=[{"type": "namespace", "name": "n", "tools": [{"type": kind}]}])
    assert (error.param, error.code) == ("tools[0].tools[0].type", "unsupported_value")


@pytest.mark.parametrize("kind", HOSTED)
def test_tools_of_other_servers_are_accepted_but_not_as_a_choice(kind: str):
    """REGRESSION: agents offer them beside their own tools. A choice is a constraint."""
    assert refused_by_document("ResponseRequest", {**GOOD, "tools": [{"type": kind}]}) is False
    parse(tools=[TOOL, {"type": kind, "more": {"a": [1]}}])
    error = refusal(tools=[TOOL], tool_choice={"type": kind})
    assert (error.param, error.code) == ("tool_choice.type", "unsupported_value")
    # REGRESSION: the message had the name of a class
    assert error.message == f"Tool choices of type '{kind}' are not supported by this server."


@pytest.mark.parametrize(
    "tool", [TOOL, {"type": "custom", "name": "c", "format": {"type": "text"}}], ids=["f", "custom"]
)
def test_a_choice_may_hold_the_whole_tool(tool: dict[str, Any]):
    """REGRESSION: it is read by its name."""
    named = {"type": tool["type"], "name": tool["name"]}
    assert parse(tools=[tool], tool_choice=tool) == parse(tools=[tool], tool_choice=named)
    allowed = {"type": "allowed_tools", "mode": "auto"}
    assert parse(tools=[tool], tool_choice={**allowed, "tools": [tool]}) == parse(
        tools=[tool], tool_choice={**allowed, "tools": [named]}
    )
    wrong = refusal(tools=[tool], tool_choice={**named, "nmae": 1})
    assert (wrong.param, wrong.code) == ("tool_choice.nmae", "unknown_parameter")
    wrong = refusal(tools=[tool], tool_choice={**named, "type": ["function"]})
    assert wrong.status == 400


def test_every_type_of_the_clients_items_has_a_treatment():
    """A new type of the client fails here, until it is read or left out on purpose."""
    theirs = types_of(response_input_param.ResponseInputItemParam)
    assert theirs <= {*KINDS, *LEFT_OUT}
    assert not set(KINDS) & set(LEFT_OUT)


def types_of(union: Any) -> set[str]:
    """The types of a union of the client's objects."""
    return {
        kind
        for each in get_args(union)
        for kind in get_args(get_type_hints(each)["type"])
        if isinstance(kind, str)
    }


def test_every_type_of_the_clients_tools_has_a_treatment():
    """A new type of the client fails here, until it is offered, left out or refused on purpose."""
    offered = {"function", "custom", "namespace", *CLIENT_TOOLS}
    assert types_of(tool_param.ToolParam) <= {*offered, *HOSTED}
    assert not offered & set(HOSTED)


def user(content: Any) -> list[Any]:
    return [{"role": "user", "content": content}]


#: (fields of a bad request, param, code)
MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"model": 3}, "model", "invalid_type"),
    ({"n": 2}, "n", "unknown_parameter"),
    ({"stop": "x"}, "stop", "unknown_parameter"),
    ({"input": 3}, "input", "invalid_type"),
    ({"input": {"role": "user"}}, "input", "invalid_type"),
    ({"input": ["hi"]}, "input[0]", "invalid_type"),
    ({"input": [None]}, "input[0]", "invalid_type"),
    ({"input": [{}]}, "input[0].role", "missing_required_parameter"),
    ({"input": user(3)}, "input[0].content", "invalid_type"),
    ({"input": [{"role": "user"}]}, "input[0].content", "missing_required_parameter"),
    ({"input": [{"role": "tool", "content": ""}]}, "input[0].role", "invalid_value"),
    ({"input": user([{"type": "input_text"}])}, "input[0].content[0].text",
     "missing_required_parameter"),
    ({"input": user([{"type": "input_image"}])}, "input[0].content[0].image_url",
     "missing_required_parameter"),
    ({"input": user([{"type": "input_text", "text": 3}])}, "input[0].content[0].text",
     "invalid_type"),
    ({"input": user("") * 2049}, "input", "array_above_max_length"),
    ({"input": [{"type": "custom_tool_call"}]}, "input[0].name", "missing_required_parameter"),
    ({"input": [{"type": "function_call", "call_id": 3, "name": "f"}]}, "input[0].call_id",
     "invalid_type"),
    ({"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": []}]},
     "input[0].arguments", "invalid_type"),
    ({"input": [{"type": "function_call_output", "call_id": "c", "output": 3}]},
     "input[0].output", "invalid_type"),
    ({"input": [{"type": "item_reference"}]}, "input[0].id", "missing_required_parameter"),
    ({"input": [{"type": "item_reference", "id": ""}]}, "input[0].id", "empty_string"),
    ({"input": [{"type": "item_reference", "id": "m" * 129}]}, "input[0].id",
     "string_above_max_length"),
    ({"instructions": ["a"]}, "instructions", "invalid_type"),
    ({"previous_response_id": 3}, "previous_response_id", "invalid_type"),
    ({"previous_response_id": ""}, "previous_response_id", "empty_string"),
    ({"previous_response_id": "r" * 129}, "previous_response_id", "string_above_max_length"),
    ({"tools": TOOL}, "tools", "invalid_type"),
    ({"tools": [{"type": "function"}]}, "tools[0].name", "missing_required_parameter"),
    ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools[0].name",
     "missing_required_parameter"),
    ({"tools": [{**TOOL, "name": "a b"}]}, "tools[0].name", "invalid_value"),
    ({"tools": [{**TOOL, "parameters": "object"}]}, "tools[0].parameters", "invalid_type"),
    ({"tools": [{"type": "namespace", "name": "n", "tools": [{**TOOL, "name": "a b"}]}]},
     "tools[0].tools[0].name", "invalid_value"),
    ({"tools": [{"type": "namespace", "name": "n"}]}, "tools[0].tools",
     "missing_required_parameter"),
    ({"tools": [{**TOOL, "async": True}]}, "tools[0].async", "unsupported_parameter"),
    ({"tool_choice": "always"}, "tool_choice", "invalid_value"),
    ({"tool_choice": {"type": "function"}}, "tool_choice.name", "missing_required_parameter"),
    ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice.name",
     "missing_required_parameter"),
    ({"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}}, "tool_choice.tools",
     "empty_array"),
    ({"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "brand_new"}]}},
     "tool_choice.tools[0].type", "unsupported_value"),
    ({"text": "json"}, "text", "invalid_type"),
    ({"text": {"verbosity": "brief"}}, "text.verbosity", "invalid_value"),
    ({"text": {"format": {"type": "xml"}}}, "text.format.type", "invalid_value"),
    ({"text": {"format": {"type": "json_schema", "json_schema": {}}}},
     "text.format.json_schema", "unsupported_parameter"),
    ({"text": {"format": {"type": "json_schema", "name": "a"}}}, "text.format.schema",
     "missing_required_parameter"),
    ({"reasoning": {"effort": "huge"}}, "reasoning.effort", "invalid_value"),
    ({"include": "all"}, "include", "invalid_type"),
    ({"truncation": "middle"}, "truncation", "invalid_value"),
    ({"max_output_tokens": 0}, "max_output_tokens", "integer_below_min_value"),
    ({"max_output_tokens": "many"}, "max_output_tokens", "invalid_type"),
    ({"temperature": 3}, "temperature", "integer_above_max_value"),
    ({"store": "yes"}, "store", "invalid_type"),
    ({"stream": 1}, "stream", "invalid_type"),
    ({"stream_options": {"include_usage": True}}, "stream_options.include_usage",
     "unknown_parameter"),
    ({"metadata": {"a": 3}}, "metadata.a", "invalid_type"),
    ({"metadata": {"a": "b" * 513}}, "metadata.a", "string_above_max_length"),
    ({"user": "u" * 513}, "user", "string_above_max_length"),
    ({"top_logprobs": 21}, "top_logprobs", "integer_above_max_value"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "param", "code"), MISTAKES, ids=[json.dumps(row[0])[:60] for row in MISTAKES]
)
def test_a_mistake_is_named_with_its_place(fields: dict[str, Any], param: str, code: str):
    error = refusal(**fields)
    assert (error.param, error.code) == (param, code)
    assert refused_by_document("ResponseRequest", {**GOOD, **fields})


def test_a_lone_surrogate_is_named_with_its_place():
    body = rb'{"model": "noise", "input": [{"role": "user", "content": "a\ud800"}]}'
    with pytest.raises(ApiError) as raised:
        parse_as(ResponseRequest, body)
    assert raised.value.param == "input[0].content"


#: places of a type
TYPES: dict[str, Any] = {
    "tools[0].type": lambda kind: {"tools": [{"type": kind}]},
    "tool_choice": lambda kind: {"tool_choice": {"type": kind}},
    "text.format.type": lambda kind: {"text": {"format": {"type": kind}}},
    "input[0].type": lambda kind: {"input": [{"type": kind}]},
    "input[0].content[0].type": lambda kind: {"input": user([{"type": kind}])},
}


@pytest.mark.parametrize("kind", [[], {}, 3, True], ids=str)
@pytest.mark.parametrize("param", sorted(TYPES))
def test_a_type_of_another_type_is_refused(param: str, kind: Any):
    """REGRESSION: types were looked up in tables, which fails for arrays and objects."""
    fields = TYPES[param](kind)
    assert refusal(**fields).param == param
    assert refused_by_document("ResponseRequest", {**GOOD, **fields})


#: requests that clients send
ACCEPTED: list[dict[str, Any]] = [
    {"input": None, "previous_response_id": "resp_1"},
    {"include": ["reasoning.encrypted_content"], "store": False},
    {"reasoning": {"effort": "low", "summary": "auto"}},
    {"text": {"format": {"type": "text"}, "verbosity": "low"}},
    {"tools": [{**TOOL, "strict": True, "description": "", "allowed_callers": ["direct"]}]},
    {"input": [{"id": "msg_1"}]},
    {"input": [{"role": "assistant", "content": None}]},
    {"input": [{"type": "item_reference", "id": "rs_1"}]},
    {"input": [{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}]},
    {"service_tier": "flex", "prompt_cache_retention": "24h", "prompt_cache_options": {}},
    {"stream": True, "stream_options": {"include_obfuscation": False}},
    {"tools": [{**TOOL, "defer_loading": True}, {"type": "tool_search"}]},
    {"tools": [{"type": "namespace", "name": "n", "description": "d", "tools": [TOOL]}]},
    {"input": [{"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"}]},
    {"input": [{"type": "compaction", "id": "cmp", "encrypted_content": "x"}]},
    {"input": [{"type": "compaction", "encrypted_content": None}]},
    {"input": [{"type": "function_call_output", "name": "goal", "output": "x"}]},
    {"input": [{"type": "shell_call", "call_id": "c", "action": {"commands": []}}]},
    {"input": [{"type": "tool_search_output", "tools": []}, {"type": "tool_search_output"}]},
    # REGRESSION: the document forbade these
    {"input": [{"type": "additional_tools", "tools": None}, {"role": "user", "content": "a"}]},
    {"input": [{"type": "additional_tools", "tools": [], "status": 5}]},
    {"input": [{"type": "shell_call", "call_id": 5, "action": "x"}]},
    {"input": [{"type": "shell_call_output", "call_id": 5, "status": 5}]},
    {"input": user([{"type": "refusal", "refusal": "", "text": None}])},
    {"input": user([{"type": "input_text", "text": None, "refusal": None}])},
    {"input": [{"type": "brand_new", "call_id": 5}]},
    {"input": user([{"type": "brand_new"}, {"type": "input_text", "text": "a"}])},
    {
        "input": [
            {
                "type": "function_call_output",
                "call_id": "c",
                "output": [
                    {"type": "brand_new", "text": "a"},
                    {"type": "input_image", "image_url": "x"},
                ],
            }
        ]
    },
    *({"input": [{"type": kind, "id": "x"}, {"role": "user", "content": ""}]} for kind in LEFT_OUT),
    {"max_tool_calls": 3, "truncation": "disabled", "metadata": {}},
    {"truncation": "auto", "reasoning": {"mode": "pro", "context": "all_turns"}},
    {"include": ["everything"], "context_management": [{"type": "compaction"}]},
]


@pytest.mark.parametrize("fields", ACCEPTED, ids=[json.dumps(each)[:60] for each in ACCEPTED])
def test_what_clients_send_is_accepted(fields: dict[str, Any]):
    parse(**fields)
    assert not refused_by_document("ResponseRequest", {**GOOD, **fields})
