"""Images in the chat: chosen, pasted and dropped, in the words of each API and in programs."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.app.pictures import base64_of, data_url, png
from tests.app.ui.chromium import NEEDS_CHROMIUM, Recorder

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = NEEDS_CHROMIUM

RED, BLUE = png(), png(2, (0, 0, 255))
PATHS = {
    "completions": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
}
URL = data_url(RED)
#: an image in the words of each API
PARTS: dict[str, dict[str, Any]] = {
    "completions": {"type": "image_url", "image_url": {"url": URL}},
    "responses": {"type": "input_image", "image_url": URL, "detail": "auto"},
    "messages": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": base64_of(RED)},
    },
}
#: gives files to an element by an event of this type
GIVE = """
([target, kind, files, text]) => {
  const transfer = new DataTransfer();
  for (const [name, data] of files) {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    transfer.items.add(new File([bytes], name, {type: "image/png"}));
  }
  if (text) transfer.setData("text/plain", text);
  const made = kind === "paste"
    ? new ClipboardEvent(kind, {clipboardData: transfer, bubbles: true, cancelable: true})
    : new DragEvent(kind, {dataTransfer: transfer, bubbles: true, cancelable: true});
  return !document.querySelector(target).dispatchEvent(made);
}
"""
#: drops a file of as many bytes, which the page makes itself: sending it takes half a minute
GIVE_LARGE = """
([target, size]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([new Uint8Array(size)], "large.png", {type: "image/png"}));
  const made = new DragEvent("drop", {dataTransfer: transfer, bubbles: true, cancelable: true});
  document.querySelector(target).dispatchEvent(made);
}
"""
FIRST = "#messages .message:first-child textarea"


def chat(opened: Callable[..., Any], api: str = "completions") -> Any:
    page = opened("chat")
    page.locator("#model option").first.wait_for(state="attached")
    page.select_option("#api", api)
    page.fill("#tools", "")
    return page


def choose(page: Any, *files: tuple[str, str, bytes], message: int = 1) -> None:
    """Choose files with the button of a message."""
    payloads = [{"name": n, "mimeType": t, "buffer": b} for n, t, b in files]
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=f"Add images to message {message}").click()
    chooser.value.set_files(payloads)


def give(
    page: Any, kind: str, *files: tuple[str, bytes], target: str = FIRST, text: str = ""
) -> bool:
    """Paste or drop files; return whether the page took them."""
    listed = [(name, base64_of(data)) for name, data in files]
    return bool(page.evaluate(GIVE, [target, kind, listed, text]))


def sent(page: Any, api: str) -> dict[str, Any]:
    """Return the body that the page sends, without an answer."""
    page.route(f"**{PATHS[api]}", lambda route: route.fulfill(body="{}"))
    with page.expect_request(f"**{PATHS[api]}") as request:
        page.click("#send")
    body: dict[str, Any] = request.value.post_data_json
    return body


def contents(body: dict[str, Any]) -> list[Any]:
    return [each["content"] for each in body.get("messages") or body["input"]]


@pytest.mark.parametrize("api", PATHS)
def test_images_are_sent_in_the_words_of_each_api(opened: Callable[..., Any], api: str):
    page = chat(opened, api)
    choose(page, ("red.png", "image/png", RED))
    page.get_by_alt_text("red.png, 1 KB").wait_for()
    kind = "input_text" if api == "responses" else "text"
    text = {"type": kind, "text": "What is the weather in Oslo?"}
    assert contents(sent(page, api)) == [[PARTS[api], text]]
    page.get_by_role("textbox", name="Message 1").fill("")
    assert contents(sent(page, api)) == [[PARTS[api]]]


@pytest.mark.parametrize("api", PATHS)
def test_a_conversation_with_images_over_each_api(opened: Callable[..., Any], api: str):
    """An image of the user, and one in the result of a call; both are sent again."""
    page = opened("chat")
    page.locator("#model option").first.wait_for(state="attached")
    page.select_option("#api", api)
    page.select_option("#chat-choice", "required")
    page.fill("#max-tokens", "4000")
    choose(page, ("red.png", "image/png", RED))
    page.click("#send")
    expect(page.locator("#chat-state")).to_have_class("badge good")
    page.click("#keep")
    choose(page, ("blue.png", "image/png", BLUE), message=3)
    with page.expect_request(f"**{PATHS[api]}") as request:
        page.click("#send")
    expect(page.locator("#chat-state")).to_have_class("badge good")
    body = request.value.post_data
    assert base64_of(RED) in body and base64_of(BLUE) in body


@pytest.mark.parametrize("kind", ["paste", "drop"])
def test_images_are_pasted_and_dropped(opened: Callable[..., Any], kind: str):
    page = chat(opened)
    assert give(page, kind, ("image.png", RED), ("image.png", BLUE))
    expect(page.get_by_role("list", name="Images of message 1").get_by_role("img")).to_have_count(2)
    (content,) = contents(sent(page, "completions"))
    urls = [part["image_url"]["url"] for part in content[:-1]]
    assert urls == [data_url(RED), data_url(BLUE)]
    page.get_by_role("button", name="Remove image-2.png").wait_for()


def test_pasted_text_stays_text_and_a_drop_beside_the_messages_reaches_the_last_one(
    opened: Callable[..., Any],
):
    """An image that is dragged from a page has its address as text, too."""
    page = chat(opened)
    assert not give(page, "paste", ("image.png", RED), text="cells")
    page.click("#add-message")
    assert give(page, "drop", ("image.png", RED), target="#tools", text="http://host/image.png")
    expect(page.get_by_role("list", name="Images of message 2").get_by_role("img")).to_have_count(1)
    expect(page.get_by_role("list", name="Images of message 1").get_by_role("img")).to_have_count(0)


def test_other_files_and_too_many_bytes_are_refused_in_words(opened: Callable[..., Any]):
    page = chat(opened)
    note = page.locator("#messages .message [role=status]")
    choose(page, ("a.pdf", "application/pdf", b"%PDF"), ("red.png", "image/png", RED))
    expect(note).to_contain_text("a.pdf is application/pdf: only PNG, JPEG, WebP and GIF images")
    page.evaluate(GIVE_LARGE, [FIRST, 20_000_000])
    expect(note).to_contain_text("large.png was not added: all images together may have 20.0 MB")
    expect(page.get_by_role("list", name="Images of message 1").get_by_role("img")).to_have_count(1)


def test_the_keyboard_removes_images_and_keeps_the_focus(opened: Callable[..., Any]):
    page = chat(opened)
    choose(page, ("red.png", "image/png", RED), ("blue.png", "image/png", BLUE))
    page.get_by_role("button", name="Remove red.png").press("Enter")
    expect(page.get_by_role("button", name="Remove blue.png")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Message 1")).to_be_focused()
    assert contents(sent(page, "completions")) == ["What is the weather in Oslo?"]


def test_only_messages_that_can_have_images_are_sent_with_them(opened: Callable[..., Any]):
    page = chat(opened)
    choose(page, ("red.png", "image/png", RED))
    menu = page.get_by_role("combobox", name="Role of message 1")
    menu.select_option("system")
    page.click("#send")
    expect(page.locator("#answer")).to_contain_text(
        "Only messages of user and tool can have images"
    )
    page.get_by_role("button", name="Show the place").click()
    expect(menu).to_be_focused()


@pytest.mark.parametrize("language", ["curl", "python"])
@pytest.mark.parametrize("api", PATHS)
def test_programs_read_the_files_and_send_what_the_page_sends(
    opened: Callable[..., Any], api: str, language: str, tmp_path: Path
):
    page = chat(opened, api)
    name = 'it\'s "$(red)".png'
    (tmp_path / name).write_bytes(RED)
    choose(page, (name, "image/png", RED))
    page.get_by_role("textbox", name="Message 1").fill('It\'s "cold"; true?\n\\$(x) `y` image-1-0.')
    page.set_checked("#stream", False)
    body = sent(page, api)
    page.select_option("#language", language)
    program = page.locator("#program").text_content()
    assert base64_of(RED) not in program
    with Recorder() as recorder:
        program = program.replace(page.evaluate("location.origin"), recorder.url)
        command = ["bash", "-c", program] if language == "curl" else [sys.executable, "-c", program]
        environment = {**os.environ, "SWITCHYARD_API_KEY": "one"}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert [json.loads(each) for each in recorder.bodies] == [body]
