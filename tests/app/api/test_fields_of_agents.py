"""Fields that agents send beside those of the APIs: they refuse no request, answers name them."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from anthropic.types.beta import BetaMessageParam
from openai.types.completion_usage import (
    CompletionTokensDetails,
    CompletionUsage,
    PromptTokensDetails,
)
from openai.types.responses import Response, ResponseUsage
from openai.types.responses.response_function_call_output_item_param import (
    ResponseFunctionCallOutputItemParam,
)
from openai.types.responses.response_input_message_content_list_param import (
    ResponseInputContentParam,
)
from openai.types.responses.response_input_param import ResponseInputItemParam
from openai.types.responses.response_output_message_param import Content
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails
from pydantic import BaseModel

from app.api.body import parse
from app.common_form.chat import common_chat
from app.generation import AskedThinking
from app.protocol import (
    ChatRequest,
    CompletionRequest,
    CountRequest,
    MessagesRequest,
    ResponseRequest,
)
from app.protocol.anthropic.content import BLOCK_FIELDS, BLOCKS
from app.protocol.fields_of_others import SOURCES
from app.protocol.responses.items import ITEM_FIELDS, ITEM_PARTS, KINDS
from app.settings import MAX_JSON_VALUES
from tests.app.gateway import Gateway, gateway_fixture
from tests.app.openapi.described import refused_by_document
from tools.client_types import types_of

#: recorded requests of agents, if they are there
RECORDED = Path(__file__).parents[4] / "shared" / "data" / "agent-requests"
HEADER = "x-switchyard-ignored"
APIS: dict[str, Any] = {
    "/v1/chat/completions": ChatRequest,
    "/v1/completions": CompletionRequest,
    "/v1/responses": ResponseRequest,
    "/v1/messages": MessagesRequest,
    "/v1/messages/count_tokens": CountRequest,
}
MESSAGES = [{"role": "user", "content": "hi"}]
TOOL = {"name": "f", "description": "", "parameters": {"type": "object", "properties": {}}}
CACHED = {"cache_control": {"type": "ephemeral"}}
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"

gateway = gateway_fixture(unknown_fields="ignore")


def body_of(path: str) -> dict[str, Any]:
    """Return a body with the fields that an API needs, and a bound on the answer."""
    body = {"messages": MESSAGES, "input": "hi", "prompt": "hi"}
    body |= {"max_tokens": 3, "max_output_tokens": 3}
    return {name: each for name, each in body.items() if name in APIS[path].model_fields}


def ignored_of(path: str, body: dict[str, Any]) -> list[str]:
    """Return what the answer to a request names."""
    return parse(APIS[path], json.dumps(body).encode(), max_values=MAX_JSON_VALUES)[1]


#: (API, messages or items, what is named)
NESTED: list[tuple[str, list[Any], list[str]]] = [
    (RESPONSES, [{"role": "user", "content": "a", "brand_new": 1}], ["input/0/brand_new"]),
    (RESPONSES, [{"role": "user", "content": [{"type": "input_text", "text": "a", "x": 1}] * 2},
                 {"role": "user", "content": [{"type": "input_text", "text": "a", "x": 1}]}],
     ["input/0/content/0/x"]),
    (RESPONSES, [{"type": "shell_call_output", "call_id": "c", "output": ["a", {"stdout": "b"}]}],
     []),
    (RESPONSES, [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "", "y": {}},
                 {"type": "function_call_output", "call_id": "c", "output": [
                     {"type": "input_text", "text": "a", "x": 1}]}], ["input/1/output/0/x"]),
    (RESPONSES, [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "", "z": 1}]},
                 {"type": "web_search_call", "z": 1}], ["input/0/summary/0/z"]),
    ("/v1/messages", [{"role": "user", "content": "a", "priority": 1}], ["messages/0/priority"]),
    ("/v1/messages", [{"role": "user", "content": [
        {"type": "text", "text": "a", "x": 1},
        {"type": "tool_result", "tool_use_id": "c", "content": [
            {"type": "text", "text": "a", "x": 1, **CACHED}]}]}],
     ["messages/0/content/0/x", "messages/0/content/1/content/0/x"]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "history", "named"), NESTED)
def test_fields_inside_of_histories_are_named(
    path: str, history: list[Any], named: list[str]
) -> None:
    body = {**body_of(path), "input" if path == RESPONSES else "messages": history}
    assert ignored_of(path, body) == [f"{name} field" for name in named]


def fields_of(kind: Any, known: Collection[str]) -> set[str]:
    """Return the fields of those objects in a union of a client's types that are read."""
    if not isinstance(kind, type):
        return {name for each in get_args(kind) for name in fields_of(each, known)}
    is_read = types_of(kind) & {*known} and not issubclass(kind, BaseModel)
    return set(get_type_hints(kind)) if is_read else set()


def test_fields_of_the_official_clients_are_not_named() -> None:
    parts = (ResponseInputContentParam, Content, ResponseFunctionCallOutputItemParam)
    for kind in (ResponseInputItemParam, *parts):
        assert fields_of(kind, (*KINDS, *ITEM_PARTS)) <= ITEM_FIELDS
    for message in get_args(BetaMessageParam):
        hints = get_type_hints(message)
        assert {*hints, *fields_of(hints["content"], BLOCKS)} <= BLOCK_FIELDS


#: values that agents send for models whose names begin with gpt-5, by field
VALUES: list[tuple[str, str, list[Any]]] = [
    ("reasoning", "effort", ["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
    ("reasoning", "summary", ["auto", "concise", "detailed", None]),
    ("text", "verbosity", ["low", "medium", "high", None]),
    ("", "service_tier", ["auto", "default", "flex", "priority", "scale", "fast", None]),
    ("", "prompt_cache_retention", ["in_memory", "24h", None]),
    (
        "",
        "include",
        [["reasoning.encrypted_content"], ["web_search_call.action.sources"], [], None],
    ),
    ("", "truncation", ["disabled", None]),
    ("", "max_tool_calls", [1, None]),
    ("", "top_logprobs", [0, 20, None]),
    ("", "metadata", [{"a": "b"}, {}, None]),
    ("", "safety_identifier", ["u", None]),
]
CHAT_NAMES = {
    "effort": "reasoning_effort",
    "verbosity": "verbosity",
    "service_tier": "service_tier",
}


@pytest.mark.parametrize(("parent", "name", "values"), VALUES, ids=[row[1] for row in VALUES])
def test_values_for_models_of_openai_are_accepted(
    parent: str, name: str, values: list[Any]
) -> None:
    for value in values:
        fields = {parent: {name: value}} if parent else {name: value}
        assert ignored_of(RESPONSES, {"model": "gpt-5.5", "input": "hi", **fields}) == []
        if name in CHAT_NAMES:
            chat = {"model": "gpt-5.5", "messages": MESSAGES, CHAT_NAMES[name]: value}
            assert ignored_of(CHAT, chat) == []


#: (client, path, its body, what is named); fields as the sources of these clients write them
SHAPES: list[tuple[str, str, dict[str, Any], list[str]]] = [
    ("OpenRouter", CHAT, {
        "models": ["a", "b"], "route": "fallback", "provider": {"sort": "price"},
        "transforms": ["middle-out"], "plugins": [{"id": "web"}], "usage": {"include": True},
        "include_reasoning": True, "reasoning": {"effort": "low", "exclude": False},
        "session_id": "s", "trace": {"trace_id": "t"}, "cache_control": CACHED["cache_control"],
     }, ["cache_control", "models", "plugins", "provider", "route", "session_id", "trace",
         "transforms", "usage"]),
    ("Cline", CHAT, {
        "messages": [{"role": "system", "content": [{"type": "text", "text": "a", **CACHED}]},
                     *MESSAGES],
        "reasoning": {"max_tokens": 2000}, "include_reasoning": True,
        "provider": {"order": ["x"], "allow_fallbacks": False},
     }, ["provider"]),
    ("LiteLLM", CHAT, {
        "metadata": {"tags": "a"}, "litellm_session_id": "s", "fallbacks": ["b"], "num_retries": 2,
        "timeout": 60, "caching": True, "tags": ["x"],
     }, ["caching", "fallbacks", "litellm_session_id", "num_retries", "tags", "timeout"]),
    ("Qwen Code", CHAT, {
        "metadata": {"sessionId": "s", "promptId": "p"}, "vl_high_resolution_images": True,
        "preserve_thinking": True, "enable_thinking": True,
        "tools": [{"type": "function", "function": TOOL, **CACHED}],
     }, ["vl_high_resolution_images"]),
    ("DashScope", CHAT, {
        "enable_search": True, "search_options": {"forced_search": True}, "thinking_budget": 50,
        "incremental_output": True, "result_format": "message",
     }, ["enable_search", "incremental_output", "result_format", "search_options"]),
    ("Z.AI", CHAT, {
        "thinking": {"type": "enabled", "clear_thinking": False}, "tool_stream": True,
        "do_sample": True, "request_id": "r", "user_id": "u",
     }, ["request_id", "tool_stream", "user_id"]),
    ("opencode", CHAT, {
        "chat_template_args": {"enable_thinking": True}, "promptCacheKey": None, "store": False,
        "prompt_cache_key": "k", "reasoning_effort": "medium", "verbosity": "low",
     }, []),
    ("VS Code Copilot", CHAT, {
        "intent": True, "intent_threshold": 0.5, "snippy": {"enabled": False}, "n": 1,
        "thinking_budget": 4000, "prediction": {"type": "content", "content": "x"},
        "messages": [{**MESSAGES[0], "copilot_cache_control": {"type": "ephemeral"}}],
        "tools": [{"type": "function", "function": TOOL,
                   "copilot_cache_control": {"type": "ephemeral"}}],
     }, ["intent", "intent_threshold", "snippy"]),
    ("Azure", CHAT, {"user_security_context": {"end_user_id": "x"}, "data_sources": []},
     ["user_security_context"]),
    ("Vercel AI Gateway", CHAT, {"providerOptions": {"gateway": {"order": ["x"]}}},
     ["providerOptions"]),
    ("MiniMax", CHAT, {"reasoning_split": True}, ["reasoning_split"]),
    ("OpenAI's search models", CHAT, {"web_search_options": {"search_context_size": "low"}},
     ["web_search_options"]),
    ("OpenRouter, text", "/v1/completions", {"prompt": "a", "provider": {"sort": "price"}},
     ["provider"]),
    ("OpenRouter, responses", RESPONSES, {
        "input": "hi", "plugins": [{"id": "web"}], "provider": {"sort": "price"},
        "reasoning": {"enabled": True, "max_tokens": 100, "exclude": True}, "models": ["a"],
     }, ["models", "plugins", "provider", "reasoning/exclude"]),
    ("Codex CLI, a known name", RESPONSES, {
        "model": "gpt-5.5", "input": [{"type": "message", "role": "developer", "id": "msg_1",
                                       "content": [{"type": "input_text", "text": "a"}]}],
        "tool_choice": "auto", "parallel_tool_calls": True, "reasoning": {"effort": "medium"},
        "store": False, "stream": True, "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "k", "text": {"verbosity": "low"}, "client_metadata": {"a": "b"},
     }, []),
    ("openai-agents, gpt-5", RESPONSES, {
        "input": [{"role": "user", "content": "hi"}], "include": [], "instructions": "a",
        "reasoning": {"effort": "none", "summary": "auto"}, "text": {"verbosity": "low"},
        "truncation": "disabled", "top_logprobs": 0, "max_tool_calls": 5, "metadata": {"a": "b"},
        "prompt_cache_retention": "24h", "service_tier": "auto", "safety_identifier": "u",
     }, []),
    ("a newer model's options", RESPONSES, {
        "input": "hi", "truncation": "auto", "include": ["brand.new", "web_search_call.results"],
        "context_management": [{"type": "compaction", "compact_threshold": 9}],
        "reasoning": {"effort": "xhigh", "summary": "detailed", "context": "all_turns",
                      "mode": "pro"},
     }, ["context_management", "reasoning/context", "reasoning/mode", "truncation",
         "include/0 brand.new unknown_value"]),
    ("Claude Code", "/v1/messages", {
        "messages": MESSAGES, "max_tokens": 5, "metadata": {"user_id": "x"},
        "thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "high"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
     }, ["context_management"]),
    ("OpenRouter, messages", "/v1/messages", {
        "messages": MESSAGES, "max_tokens": 5, "provider": {"sort": "price"}, "models": ["a"],
     }, ["models", "provider"]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "named"), [row[1:] for row in SHAPES], ids=[
    row[0] for row in SHAPES
])  # fmt: skip
def test_fields_of_agents_are_accepted_and_named(
    path: str, body: dict[str, Any], named: list[str]
) -> None:
    asked = {"messages": MESSAGES, **body} if path == CHAT else body
    fields = [name if " " in name else f"{name} field" for name in named]
    assert ignored_of(path, asked) == fields


@pytest.mark.parametrize("name", ["ResponseRequest", "InputTokensRequest", "CompactRequest"])
def test_the_document_has_the_fields_of_responses(name: str) -> None:
    fields = {"model": "m", "service_tier": "auto", "image": {}}
    assert not refused_by_document(name, {"input": "hi", **fields})
    assert refused_by_document(name, fields)


@pytest.mark.parametrize("path", APIS)
def test_every_field_of_the_sources_is_named_in_every_api(path: str) -> None:
    body = body_of(path)
    for names in SOURCES.values():
        for name in set(names) - set(APIS[path].model_fields) - {"cache_control"}:
            assert ignored_of(path, {**body, name: {"a": 1}}) == [f"{name} field"]
            assert ignored_of(path, {**body, name: None}) == []


def test_a_field_has_one_source() -> None:
    names = [name for each in SOURCES.values() for name in each]
    assert len(names) == len(set(names))


def test_fields_with_a_meaning_here_are_mapped() -> None:
    def asked(**fields: Any) -> Any:
        return common_chat(ChatRequest.model_validate({"messages": MESSAGES, **fields}))

    assert asked(thinking_budget=7).thinking == AskedThinking(budget=7)
    options = asked(reasoning={"enabled": True, "max_tokens": 9}).thinking
    assert options == AskedThinking(is_on=True, budget=9)
    fields = asked(
        preserve_thinking=True,
        thinking={"type": "enabled", "clear_thinking": False},
        chat_template_args={"a": 1, "b": 1},
        chat_template_kwargs={"b": 2},
    )
    assert fields.template_variables == {
        "preserve_thinking": True, "clear_thinking": False, "a": 1, "b": 2,
    }  # fmt: skip


def test_answers_repeat_what_openais_answers_repeat(gateway: Gateway) -> None:
    """The answers are read with the types of OpenAI's client, which know each key."""
    asked = {
        "metadata": {"a": "b"}, "prompt_cache_key": "k", "prompt_cache_retention": "24h",
        "safety_identifier": "s", "user": "u", "max_tool_calls": 5, "top_logprobs": 2,
    }  # fmt: skip
    fields = {"service_tier": "priority", "truncation": "auto", "text": {"verbosity": "low"}}
    answer = gateway.post({**body_of(RESPONSES), **asked, **fields}, path=RESPONSES).json()
    response = Response.model_validate(answer, strict=True)
    assert {name: answer[name] for name in asked} == asked
    assert (response.service_tier, response.truncation) == ("default", "disabled")
    assert response.text is not None and response.text.verbosity == "low"
    assert "prompt_cache_retention" not in gateway.post(body_of(RESPONSES), path=RESPONSES).json()


@pytest.mark.parametrize("stream", [False, True])
def test_chats_tell_the_tier_if_one_is_asked_for(gateway: Gateway, stream: bool) -> None:
    asked = {**body_of(CHAT), "stream": stream}
    assert '"service_tier"' not in gateway.post(asked).text
    answer = gateway.post({**asked, "service_tier": "flex"})
    assert '"service_tier":"default"' in answer.text


def test_usage_has_the_newest_fields(gateway: Gateway) -> None:
    used = gateway.post(body_of(CHAT)).json()["usage"]
    assert used.keys() == CompletionUsage.model_fields.keys()
    prompt, answer = used["prompt_tokens_details"], used["completion_tokens_details"]
    assert prompt.keys() == PromptTokensDetails.model_fields.keys()
    assert answer.keys() == CompletionTokensDetails.model_fields.keys()
    assert prompt["text_tokens"] == used["prompt_tokens"]
    assert answer["text_tokens"] == used["completion_tokens"]
    used = gateway.post(body_of(RESPONSES), path=RESPONSES).json()["usage"]
    assert used.keys() == ResponseUsage.model_fields.keys()
    details = InputTokensDetails.model_fields
    assert used["input_tokens_details"].keys() == {
        name for name, each in details.items() if each.is_required()
    }
    assert used["output_tokens_details"].keys() == OutputTokensDetails.model_fields.keys()


def recorded() -> list[Any]:
    """Return the bodies of recorded requests, and one with the shapes of a tool loop of Codex."""
    said = {"type": "message", "role": "assistant", "phase": "commentary", "content": [
        {"type": "output_text", "text": "a", "annotations": [], "logprobs": []},
    ]}  # fmt: skip
    call = {"type": "function_call", "call_id": "c", "name": "f", "namespace": "n"}
    result = {"type": "function_call_output", "call_id": "c", "output": "b"}
    loop = [said, {**call, "arguments": "{}", "status": "completed"}, result]
    bodies = [pytest.param(RESPONSES, {"input": loop}, id="loop")]
    for path in sorted(RECORDED.glob("*.json")):
        for number, each in enumerate(json.loads(path.read_text())["requests"]):
            if each["body"]:
                name, at = f"{path.stem}-{number}", each["path"].partition("?")[0]
                bodies.append(pytest.param(at, each["body"], id=name))
    return bodies


@pytest.mark.parametrize(("path", "body"), recorded())
def test_recorded_requests_are_accepted(path: str, body: dict[str, Any]) -> None:
    assert set(ignored_of(path, body)) <= {"context_management field"}


@pytest.mark.parametrize("stream", [False, True])
def test_an_unknown_field_is_named_in_the_header_the_log_and_a_metric(
    gateway: Gateway, stream: bool
) -> None:
    tool = {"type": "function", "function": {**TOOL, "title": "F"}}
    body = {**body_of(CHAT), "stream": stream, "brand_new": 1, "tools": [tool]}
    before = gateway.metric("switchyard_ignored_parts_total")
    answer = gateway.post(body)
    assert answer.status_code == 200
    assert answer.headers[HEADER] == "brand_new field, tools/0/function/title field"
    gateway.eventually(lambda: "title" in str(gateway.lines()[-1].get("ignored")))
    gateway.eventually(lambda: gateway.metric("switchyard_ignored_parts_total") == before + 2)


@pytest.mark.parametrize("path", APIS)
def test_the_setting_holds_for_every_api(gateway: Gateway, path: str) -> None:
    body = body_of(path)
    answer = gateway.post({**body, "brand_new": 1}, path=path)
    assert answer.status_code == 200, answer.text
    assert answer.headers[HEADER] == "brand_new field"
    assert gateway.post({**body, "respone_format": 1}, path=path).status_code == 400
