"""The chat in a real Chromium: markup of a model, broken streams, places of errors."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.app.ui.chromium import KEY, NEEDS_CHROMIUM

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = NEEDS_CHROMIUM

MARK = '<img src="x" onerror="alert(1)"><script>alert(2)</script>'
HEADERS = {"content-type": "text/event-stream"}


def chunk(**delta: Any) -> str:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}\n\n"


def chat(
    opened: Callable[..., Any],
    answer: str = "",
    path: str = "/v1/chat/completions",
    **options: Any,
) -> Any:
    """Open the chat. ``answer``: the stream that it gets instead of the gateway's."""
    page = opened("chat", **options)
    page.locator("#model option").first.wait_for(state="attached")
    if answer:
        page.route(f"**{path}", lambda route: route.fulfill(body=answer, headers=HEADERS))
    return page


def test_markup_of_a_model_is_shown_as_text(opened: Callable[..., Any]):
    call = {"index": 0, "id": MARK, "function": {"name": MARK, "arguments": MARK}}
    deltas = chunk(reasoning_content=MARK) + chunk(content=MARK) + chunk(tool_calls=[call])
    page = chat(opened, f"{deltas}data: [DONE]\n\n")
    page.click("#send")
    expect(page.locator("#answer .part")).to_have_count(3)
    for part in ("reasoning", "content", "call"):
        expect(page.locator(f"#answer .{part} pre")).to_have_text(MARK)
    expect(page.locator("#answer .call h3")).to_contain_text(MARK)
    page.click("#keep")
    assert page.locator("main img, main script").count() == 0


def test_markup_of_an_error_is_shown_as_text(opened: Callable[..., Any]):
    error = {"message": MARK, "param": MARK, "code": MARK}
    page = chat(opened, f"{chunk(content='a')}data: {json.dumps({'error': error})}\n\n")
    page.click("#send")
    expect(page.locator("#answer .bad-text")).to_contain_text(MARK)
    assert page.locator("main img, main script").count() == 0


def test_an_answer_without_its_end_is_cut_off(opened: Callable[..., Any]):
    """REGRESSION: it looked like one that had ended."""
    page = chat(opened, chunk(content="half"))
    page.click("#send")
    expect(page.locator("#chat-state")).to_have_text("cut off")
    expect(page.locator("#answer .content pre")).to_have_text("half")


#: field -> (its text, the message, the selected text)
WRONG = {
    "tools": ('[{"type": "function",\n}]', "Tools: Line 2, column 1", "}"),
    "response-format": ('{"type": }', "Response format: Line 1, column 10", "}"),
}
#: field -> (its text, the parameter in the error, the selected text)
REFUSED = {
    "tools": (
        '[{"type": "function", "function": {"name": "a b"}}]',
        "tools[0].function.name",
        '"name": "a b"',
    ),
    "response-format": (
        '{"type": "json_schema", "json_schema": {"name": "a", "strict": true, "schema": '
        '{"type": "object", "properties": {"b": {"type": "string", "pattern": "(a+)\\\\1"}}, '
        '"required": ["b"], "additionalProperties": false}}}',
        "response_format",
        '"pattern": "(a+)\\\\1"',
    ),
}


@pytest.mark.parametrize("field", sorted(WRONG))
def test_broken_json_is_not_sent_and_its_place_can_be_selected(
    opened: Callable[..., Any], field: str
):
    text, message, selected = WRONG[field]
    page = chat(opened)
    page.fill(f"#{field}", text)
    page.click("#send")
    expect(page.locator("#answer")).to_contain_text(message)
    page.get_by_role("button", name="Show the place").click()
    expect(page.locator(f"#{field}")).to_be_focused()
    assert page.evaluate("getSelection().toString()") == selected


@pytest.mark.parametrize("field", sorted(REFUSED))
def test_the_place_of_a_refusal_can_be_selected(opened: Callable[..., Any], field: str):
    text, param, selected = REFUSED[field]
    page = chat(opened, allows="400")
    page.fill("#tools", "")
    page.fill(f"#{field}", text)
    page.click("#send")
    expect(page.locator("#chat-state")).to_have_text("error 400")
    page.get_by_role("button", name=f"Show {param}").click()
    assert page.evaluate("getSelection().toString()") == selected


def test_messages_keep_their_numbers_and_the_focus_when_one_is_removed(
    opened: Callable[..., Any],
):
    page = chat(opened)
    page.click("#add-message")
    page.keyboard.type("second")
    page.get_by_role("button", name="Remove message 1").click()
    expect(page.get_by_role("textbox", name="Message 1")).to_have_value("second")
    expect(page.get_by_role("textbox", name="Message 1")).to_be_focused()
    page.get_by_role("button", name="Remove message 1").click()
    expect(page.locator("#add-message")).to_be_focused()


def test_a_message_is_sent_with_the_keyboard(opened: Callable[..., Any]):
    page = chat(opened, f"{chunk(content='hello')}data: [DONE]\n\n")
    page.get_by_role("textbox", name="Message 1").press("Control+Enter")
    expect(page.locator("#answer .content pre")).to_have_text("hello")


APIS = ("completions", "responses", "messages")


@pytest.mark.parametrize("api", ["responses", "messages"])
def test_a_schema_that_an_api_does_not_know_is_refused(opened: Callable[..., Any], api: str):
    """REGRESSION: it was left out of the request."""
    page = chat(opened, allows="400")
    page.select_option("#api", api)
    page.fill("#tools", "")
    page.fill("#response-format", '{"type": "json_object", "schema": {"type": "object"}}')
    page.click("#send")
    expect(page.locator("#chat-state")).to_have_text("error 400")


@pytest.mark.parametrize("api", APIS)
def test_a_loop_of_calls_over_each_api(opened: Callable[..., Any], api: str):
    """A stream with calls, their results in the next request, and a whole answer."""
    page = chat(opened)
    page.select_option("#api", api)
    page.select_option("#chat-choice", "required")
    page.fill("#max-tokens", "4000")
    page.click("#send")
    expect(page.locator("#chat-state")).to_have_class("badge good")
    expect(page.locator("#answer .call h3").first).to_contain_text("get_weather")
    assert "city" in json.loads(page.locator("#answer .call pre").first.text_content())
    expect(page.locator("#usage")).to_contain_text("First token")
    expect(page.locator("#usage")).to_contain_text("Output")
    page.click("#keep")
    page.get_by_role("textbox", name="Message 3").fill("warm")
    page.set_checked("#stream", False)
    page.click("#send")
    expect(page.locator("#usage")).not_to_contain_text("First token")
    expect(page.locator("#chat-state")).to_have_class("badge good")
    assert "city" in json.loads(page.locator("#answer .call pre").first.text_content())


@pytest.mark.parametrize("language", ["curl", "python"])
@pytest.mark.parametrize("api", APIS)
def test_the_request_is_shown_as_a_program(opened: Callable[..., Any], api: str, language: str):
    """Its answer has the call, and the program does not have the key."""
    page = chat(opened)
    page.select_option("#api", api)
    page.select_option("#chat-choice", "required")
    page.fill("#max-tokens", "4000")
    page.fill("#temperature", "0.5")
    page.get_by_role("textbox", name="Message 1").fill('It\'s "cold"; true?\n\\$(x)')
    page.set_checked("#stream", False)
    page.select_option("#language", language)
    program = page.locator("#program").text_content()
    command = ["bash", "-c", program] if language == "curl" else [sys.executable, "-c", program]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False,
        env={**os.environ, "SWITCHYARD_API_KEY": KEY},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "get_weather" in done.stdout
    assert f"Bearer {KEY}" not in program
    assert f'"{KEY}"' not in program


def test_thoughts_of_the_messages_api_are_shown(opened: Callable[..., Any]):
    parts = [
        {"type": "content_block_start", "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": MARK}},
        {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "s"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": MARK}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    ]
    answer = "".join(f"event: x\ndata: {json.dumps({'index': 0, **each})}\n\n" for each in parts)
    page = chat(opened, answer, path="/v1/messages")
    page.select_option("#api", "messages")
    page.click("#send")
    expect(page.locator("#chat-state")).to_have_text("end_turn")
    for part in ("reasoning", "content"):
        expect(page.locator(f"#answer .{part} pre")).to_have_text(MARK)


def test_the_place_of_a_refusal_of_responses_can_be_selected(opened: Callable[..., Any]):
    text, _, selected = REFUSED["response-format"]
    page = chat(opened, allows="400")
    page.select_option("#api", "responses")
    page.fill("#response-format", text)
    page.click("#send")
    expect(page.locator("#chat-state")).to_have_text("error 400")
    page.get_by_role("button", name="Show text.format").click()
    assert page.evaluate("getSelection().toString()") == selected
