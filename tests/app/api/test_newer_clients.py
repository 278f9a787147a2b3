"""Histories with items, parts, calls and blocks of types that only newer clients know.

Agents send their whole history again, so one refused item would end a session: it is shown as text,
or left out, and named.
"""

from typing import Any

import pytest

from app.common_form.anthropic.messages import ReadMessages
from app.common_form.chat import common_chat
from app.protocol import ChatRequest, CountRequest
from app.protocol.unknown_fields import NAME_CHARS
from tests.app.gateway import Gateway, gateway_fixture
from tests.app.openapi.described import refused_by_document

HEADER = "x-switchyard-ignored"
PART = {"type": "brand_new", "data": [1]}
TEXT = {"type": "brand_new", "text": "Shown."}
USER = {"role": "user", "content": "hi"}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "ok"}
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"

gateway = gateway_fixture()


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": [*parts]}


def said(*parts: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [*parts]}


#: (path, messages or items, what is named)
HISTORIES: list[tuple[str, list[Any], str]] = [
    (CHAT, [user(PART)], "messages/0/content/0 brand_new unknown_part"),
    (CHAT, [USER, said({"type": "text", "text": "a"}, TEXT), USER],
     "messages/1/content/1 brand_new unknown_part"),
    (CHAT, [USER, {"role": "assistant", "tool_calls": [CALL]}, {**RESULT, "content": [PART]}],
     "messages/2/content/0 brand_new unknown_part"),
    (CHAT, [USER, {"role": "assistant", "tool_calls": [CALL, {"id": "d", "type": "brand_new"}]},
            RESULT, {**RESULT, "tool_call_id": "d"}],
     "messages/1/tool_calls/1 brand_new unknown_call"),
    (CHAT, [{"role": "system", "content": [PART]}, USER],
     "messages/0/content/0 brand_new unknown_part"),
    (CHAT, [user({"type": "b\r\nx: y, " + "z" * 100})],
     "messages/0/content/0 b%0D%0Ax%3A%20y%2C%20" + "z" * (NAME_CHARS - 9) + " unknown_part"),
    (RESPONSES, [{"type": "brand_new", "id": 5}, USER], "input/0 brand_new unknown_item"),
    (RESPONSES, [{"type": "compaction_trigger"}, USER], "input/0 compaction_trigger"),
    (RESPONSES, [USER, {"type": "tool_search_output", "tools": [
        {"type": "brand_new", "name": "f"}, {"type": "function"}, {"type": "web_search"}, 5]}],
     "input/1/tools/0 brand_new unknown_tool, input/1/tools/1 function, "
     "input/1/tools/2 web_search, input/1/tools/3 tool"),
    (RESPONSES, [user(PART, TEXT)],
     "input/0/content/0 brand_new unknown_part, input/0/content/1 brand_new unknown_part"),
    (RESPONSES, [USER, said(TEXT), USER], "input/1/content/0 brand_new unknown_part"),
    (RESPONSES, [USER, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                 {"type": "function_call_output", "call_id": "c", "output": [PART]}],
     "input/2/output/0 brand_new unknown_part"),
    (MESSAGES, [user(PART, {"type": "text", "text": "a"})],
     "messages/0/content/0 brand_new unknown_block"),
    (MESSAGES, [USER, said(TEXT), USER], "messages/1/content/0 brand_new unknown_block"),
    (MESSAGES, [USER, said({"type": "tool_use", "id": "c", "name": "f", "input": {}}),
                user({"type": "tool_result", "tool_use_id": "c", "content": [PART]})],
     "messages/2/content/0/content/0 brand_new unknown_block"),
    (MESSAGES, [USER, said({"type": "tool_use", "id": "c", "name": "f", "input": {}}),
                user({"type": "tool_result", "tool_use_id": "c", "content": [
                    {"type": "tool_use", "id": "d", "name": "f", "input": {}}]})],
     "messages/2/content/0/content/0 tool_use"),
]  # fmt: skip


BODIES = {CHAT: "ChatRequest", RESPONSES: "ResponseRequest", MESSAGES: "MessagesRequest"}


@pytest.mark.parametrize(("path", "history", "named"), HISTORIES)
def test_types_of_newer_clients_end_no_session(
    gateway: Gateway, path: str, history: list[Any], named: str
) -> None:
    field, limit = (
        ("input", "max_output_tokens") if path == RESPONSES else ("messages", "max_tokens")
    )
    body = {field: history, limit: 2}
    answer = gateway.post(body, path=path)
    assert answer.status_code == 200, answer.text
    assert answer.headers[HEADER] == named
    assert not refused_by_document(BODIES[path], body)


def test_an_unknown_block_of_the_instructions_is_left_out(gateway: Gateway) -> None:
    system = [{"type": "text", "text": "Rules."}, PART, {"type": "image"}]
    body = {"messages": [USER], "max_tokens": 2, "system": system}
    answer = gateway.post(body, path=MESSAGES)
    assert answer.headers[HEADER] == "system/1 brand_new unknown_block, system/2 image"
    assert not refused_by_document("MessagesRequest", body)


def test_kinds_in_metrics_are_bounded(gateway: Gateway) -> None:
    for number in range(3):
        gateway.post({"messages": [user({"type": f"new_{number}"})], "max_tokens": 2})
    kinds = [line for line in gateway.get("/metrics").text.splitlines() if "ignored_parts" in line]
    assert any('kind="unknown_part"' in line for line in kinds)
    assert not any("new_" in line for line in kinds)


def test_the_text_of_a_part_is_shown_and_a_line_for_others() -> None:
    request = ChatRequest.model_validate({"messages": [user(PART, TEXT)]})
    (message,) = common_chat(request).messages or ()
    assert [getattr(part, "text", "") for part in message.parts] == [
        "[brand_new: not shown]", "Shown.",
    ]  # fmt: skip


def test_the_text_of_a_block_is_shown_and_no_line_for_others() -> None:
    conversation = ReadMessages(lambda sealed: None)
    conversation.read(CountRequest.model_validate({"messages": [user(PART, TEXT)]}))
    (message,) = conversation.messages
    assert [getattr(part, "text", "") for part in message.parts] == ["Shown."]


@pytest.mark.parametrize(
    ("path", "history", "place"),
    [
        (CHAT, [user({"text": "a"})], "messages[0].content[0].type"),
        (CHAT, [user({"type": "text", "content": "a"})], "messages[0].content[0].text"),
        (RESPONSES, [user({"text": "a"})], "input[0].content[0].type"),
        (RESPONSES, [{"type": "function_call", "name": "f", "call_id": 5}], "input[0].call_id"),
    ],
)
def test_a_missing_type_and_wrong_fields_of_known_types_are_refused(
    gateway: Gateway, path: str, history: list[Any], place: str
) -> None:
    answer = gateway.post({"input" if path == RESPONSES else "messages": history}, path=path)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == place
