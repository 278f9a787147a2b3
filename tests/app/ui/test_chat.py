"""The chat in a real Chromium: markup of a model, broken streams, places of errors."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.app.ui.chromium import NEEDS_CHROMIUM

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = NEEDS_CHROMIUM

MARK = '<img src="x" onerror="alert(1)"><script>alert(2)</script>'
HEADERS = {"content-type": "text/event-stream"}


def chunk(**delta: Any) -> str:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}\n\n"


def chat(opened: Callable[..., Any], answer: str = "", **options: Any) -> Any:
    """Open the chat. ``answer``: the stream that it gets instead of the gateway's."""
    page = opened("chat", **options)
    page.locator("#model option").first.wait_for(state="attached")
    if answer:
        page.route(
            "**/v1/chat/completions", lambda route: route.fulfill(body=answer, headers=HEADERS)
        )
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
