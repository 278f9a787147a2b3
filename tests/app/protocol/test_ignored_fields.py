"""Fields inside of messages: read, refused, or ignored by name."""

import json
from typing import Any

import pytest

from app.errors import ApiError
from app.protocol.chat_request import ChatRequest
from app.protocol.ignored_fields import ECHOED, MAX_NAMES, ignored_fields
from app.protocol.messages import AssistantMessage
from app.protocol.tokenize_request import TokenizeRequest
from tests.app.bodies import parse_as
from tests.app.gateway import Gateway

USER: dict[str, Any] = {"role": "user", "content": "hi"}
SAID: dict[str, Any] = {"role": "assistant", "content": "Hello."}
CALL: dict[str, Any] = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
HEADER = "x-switchyard-ignored"

#: (messages, what is listed)
LISTED: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "nothing": ([USER, SAID, USER], []),
    "tools of a message": (
        [{"role": "system", "content": "x", "tools": [{"type": "function"}]}, USER],
        ["messages/0/tools field"],
    ),
    "a prefix that is not last": (
        [{**SAID, "prefix": True}, {**SAID, "partial": True}, USER],
        ["messages/0/prefix field", "messages/1/partial field"],
    ),
    "a prefix that is off": ([USER, {**SAID, "prefix": False, "partial": None}], []),
    "a prefix of a user": ([{**USER, "prefix": True}], ["messages/0/prefix field"]),
    "REGRESSION: calls of a user, of any type": (
        [{**USER, "tool_calls": 1}, {**USER, "tool_calls": {"a": "b"}}],
        ["messages/0/tool_calls field"],
    ),
    "each name once": ([{**USER, "x": 1}, {**USER, "x": 2, "y": 3}], [
        "messages/0/x field", "messages/1/y field",
    ]),
    "values without effect": (
        [{**USER, "a": None, "b": False, "c": "", "d": [], "e": {}, "f": 0}], [],
    ),
    "a field of another role": (
        [{**USER, "tool_call_id": "a"}], ["messages/0/tool_call_id field"],
    ),
    "fields of parts": (
        [{**USER, "content": [{"type": "text", "text": "a", "detail": "low", "thinking": "b"}]}],
        ["messages/0/content/0/detail field", "messages/0/content/0/thinking field"],
    ),
    "each name of parts once": (
        [{**USER, "content": [{"type": "text", "text": "a", "x": 1}] * 3}] * 2,
        ["messages/0/content/0/x field"],
    ),
    "fields of calls": (
        [{**SAID, "tool_calls": [{**CALL, "x": 1, "function": {**CALL["function"], "y": 1}}]}],
        ["messages/0/tool_calls/0/x field", "messages/0/tool_calls/0/function/y field"],
    ),
    "fields of custom calls": (
        [{**SAID, "tool_calls": [
            {"id": "a", "type": "custom", "custom": {"name": "f", "input": "", "z": 1}},
        ]}],
        ["messages/0/tool_calls/0/custom/z field"],
    ),
    "a name that is no header": ([{**USER, "é\r\nx: y, z": 1}], [
        "messages/0/%C3%A9%0D%0Ax%3A%20y%2C%20z field",
    ]),
    "a long name": ([{**USER, "n" * 1000: 1}], [f"messages/0/{'n' * 64} field"]),
    "many names": (
        [{**USER, **{f"n{at:03}": 1 for at in range(1000)}}],
        [f"messages/0/n{at:03} field" for at in range(MAX_NAMES)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTED)
def test_ignored_fields_are_listed_by_place(name: str) -> None:
    messages, listed = LISTED[name]
    ChatRequest.model_validate({"messages": messages})
    assert ignored_fields(ChatRequest, {"messages": messages}) == listed


#: messages of answers as clients send them back
REPLAYED: dict[str, dict[str, Any]] = {
    "openai": {**SAID, "refusal": None, "annotations": [], "audio": None, "function_call": None},
    "vLLM and SGLang": {**SAID, "reasoning": None, "reasoning_content": None, "tool_calls": []},
    "LiteLLM": {
        **SAID,
        "provider_specific_fields": {"refusal": None},
        "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
        "tool_calls": [{**CALL, "index": 0}],
    },
    "OpenRouter": {
        **SAID,
        "reasoning_details": [{"type": "reasoning.text", "text": "hm", "format": None, "index": 0}],
    },
    "Gemini": {**SAID, "tool_calls": [{**CALL, "extra_content": {"google": {"x": "s"}}}]},
    "LangChain": {**SAID, "name": "bot", "id": "run-1", "response_metadata": {"model": "m"}},
    "caches": {
        "role": "user",
        "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}],
    },
    "a parsed answer": {**SAID, "parsed": {"a": 1}, "content": [{"type": "text", "text": "a"}]},
}


@pytest.mark.parametrize("client", REPLAYED)
def test_what_servers_add_to_answers_is_not_listed(client: str) -> None:
    messages = [USER, REPLAYED[client]]
    parse_as(ChatRequest, json.dumps({"messages": messages}).encode())
    assert ignored_fields(ChatRequest, {"messages": messages}) == []


#: (fields with reasoning, the reasoning that is read)
BLOCKS: list[tuple[dict[str, Any], str | None]] = [
    ({"reasoning_details": [{"type": "reasoning.text", "text": "a"}, {"text": "b"}]}, "ab"),
    ({"reasoning_details": [{"type": "reasoning.summary", "summary": "a"}]}, "a"),
    ({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}, ""),
    ({"thinking_blocks": [{"type": "thinking", "thinking": "a"}, {"type": "redacted"}]}, "a"),
    ({"thinking_blocks": [{"thinking": "a"}], "reasoning_content": "b"}, None),
    ({"reasoning_details": [{"text": 3}, 4, None, {"text": ["a"]}]}, ""),
    ({"reasoning_details": "a", "thinking_blocks": {}}, ""),
    ({"reasoning_details": [], "reasoning": None}, None),
]


@pytest.mark.parametrize(("fields", "read"), BLOCKS)
def test_reasoning_in_blocks_is_read(fields: dict[str, Any], read: str | None) -> None:
    """Where the message has no other reasoning."""
    assert AssistantMessage.model_validate({**SAID, **fields}).reasoning == read


@pytest.mark.parametrize("kind", [ChatRequest, TokenizeRequest])
@pytest.mark.parametrize("name", ["prefix", "partial"])
def test_an_answer_that_continues_the_last_message_is_refused(
    name: str, kind: type[ChatRequest] | type[TokenizeRequest]
) -> None:
    """REGRESSION: the field was dropped, and the answer began anew."""
    body = {"messages": [USER, {**SAID, name: True}]}
    with pytest.raises(ApiError) as caught:
        parse_as(kind, json.dumps(body).encode())
    assert (caught.value.param, caught.value.code) == (
        f"messages[1].{name}", "unsupported_parameter",
    )  # fmt: skip
    assert caught.value.message.endswith("Ask for the continuation in a message of the user.")


def test_no_field_that_is_read_is_listed() -> None:
    assert not ECHOED & {"content", "tool_calls", "tool_call_id", "reasoning", "reasoning_content"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("content", ["hi", "x" * 100_000], ids=["short", "long"])
def test_answers_and_the_log_name_ignored_fields(
    gateway: Gateway, stream: bool, content: str
) -> None:
    asked = {"max_completion_tokens": 3, "stream": stream}
    tools = {"role": "user", "content": content, "tools": [1]}
    answer = gateway.post({**asked, "messages": [tools]})
    assert answer.headers[HEADER] == "messages/0/tools field"
    gateway.eventually(lambda: bool(gateway.lines()[-1].get("ignored")))
    assert gateway.lines()[-1]["ignored"] == ["messages/0/tools field"]
    assert HEADER not in gateway.post({**asked, "messages": [USER]}).headers
