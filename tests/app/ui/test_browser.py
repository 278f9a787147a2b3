"""The page in a real Chromium: both themes and widths, keyboard, hostile input, wrong outputs."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.app.gateway import Gateway
from tests.app.ui.chromium import KEY, NEEDS_CHROMIUM, READY, VIEWS, explain

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = NEEDS_CHROMIUM

#: contrast of text on its background that WCAG's level AA asks for
AA = 4.5
#: visible elements whose text has less contrast; backgrounds are those of the closest ancestor
CONTRASTS = """
() => {
  const parts = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = parts(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll("body *")].filter((each) =>
    each.checkVisibility() && !each.disabled && !each.closest("svg, #source-marks, option") &&
    [...each.childNodes].some((child) => child.nodeType === 3 && child.data.trim())
  ).map((each) => {
    const [a, b] = [light(parts(getComputedStyle(each).color)), light(behind(each))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), each.textContent.slice(0, 40)];
  });
}
"""


@pytest.mark.parametrize("width", [1280, 400, 320])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_view_fits_and_its_text_has_enough_contrast(
    opened: Callable[..., Any], theme: str, width: int
):
    page = opened(theme=theme, width=width)
    for view in VIEWS:
        page.click(f"#tab-{view}")
        page.locator(READY[view]).first.wait_for(state="attached")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = page.evaluate(CONTRASTS)
        assert found
        assert [text for ratio, text in found if ratio < AA] == [], view


def test_a_wrong_output_is_marked_at_the_right_token(opened: Callable[..., Any]):
    page = opened("playground")
    days = {"properties": {"days": {"type": "integer", "maximum": 14, "minimum": 1}}}
    closed = {"type": "object", "required": ["days"], "additionalProperties": False, **days}
    explain(page, closed, '{"days": 15}')
    expect(page.locator("#tokens .rejected")).to_have_text("5")
    expect(page.locator("#tokens .unread")).to_have_text(["}"])
    assert "".join(page.locator("#tokens .accepted").all_text_contents()) == '{"days":␣1'
    expect(page.locator("#why")).to_contain_text("5 is rejected")
    expect(page.locator("#next .allowed").filter(has_text="}").first).to_be_visible()
    page.fill("#output", '{"days": 14}')
    expect(page.locator("#why")).to_contain_text("may end here")
    expect(page.locator("#tokens .rejected")).to_have_count(0)


def test_the_place_of_a_refused_keyword_is_marked(opened: Callable[..., Any]):
    page = opened("playground")
    schema = {
        "type": "object",
        "properties": {"a/b": {"type": "string", "pattern": "(a+)\\1"}},
        "required": ["a/b"],
        "additionalProperties": False,
    }
    explain(page, schema)
    expect(page.locator("#verdict")).to_have_text("relaxed")
    expect(page.locator("#source-marks mark.warn")).to_have_text('"pattern": "(a+)\\\\1"')
    page.check("#strict")
    expect(page.locator("#verdict")).to_have_text("refused")
    expect(page.locator("#source-marks mark.bad")).to_have_text('"pattern": "(a+)\\\\1"')
    page.get_by_role("button", name="/properties/a~1b/pattern").click()
    assert page.evaluate("getSelection().toString()").startswith('"pattern"')


def test_hostile_text_stays_text(opened: Callable[..., Any]):
    """Markup in names, values, outputs and errors makes no element; long ones break no layout."""
    # a schema that is a text is refused, if its request is sent before the end of the test
    page = opened("playground", allows="400")
    mark = "</script><img src=x onerror=alert(1)>"
    schema = {
        "type": "object",
        "properties": {mark: {"enum": [mark, "x" * 5000]}, "y" * 3000: {"$ref": mark}},
        mark: mark,
    }
    explain(page, schema, json.dumps({mark: "x" * 3000}))
    expect(page.locator("#findings li").first).to_be_visible()
    expect(page.locator("#tokens .token").first).to_be_visible()
    for name in ("rules", "spec", "drawing"):
        page.click(f"#tab-{name}")
    assert page.locator("main img, main script, main iframe").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    for broken in ("{", "[" * 3000, '{"type": 1}', '"</script>"'):
        page.fill("#source", broken)
        expect(page.locator("#verdict")).to_have_class("badge bad")
        expect(page.locator("#findings li.bad").first).to_be_visible()


def test_tabs_and_tokens_work_with_the_keyboard_alone(opened: Callable[..., Any]):
    page = opened()
    page.focus("#tab-status")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-playground")).to_be_focused()
    expect(page.locator("#view-playground")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator("#view-chat")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    expect(page.locator("#tokens .rejected")).to_have_attribute("aria-selected", "true")
    page.focus("#tokens")
    page.keyboard.press("Home")
    expect(page.locator("#next-title")).to_contain_text("instead of token 1:")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#next-title")).to_contain_text("instead of token 2:")


def test_the_theme_can_be_chosen(opened: Callable[..., Any]):
    page = opened(theme="light")
    back = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(back)
    page.click("#theme-button")
    page.click("#theme-button")
    expect(page.locator("#theme-button")).to_have_text("Theme: dark")
    assert page.evaluate(back) != light


def test_a_chat_streams_calls_and_shows_its_events(opened: Callable[..., Any]):
    page = opened("chat")
    page.locator("#model option").first.wait_for(state="attached")
    page.select_option("#chat-choice", "required")
    page.fill("#max-tokens", "4000")
    page.click("#send")
    expect(page.locator("#chat-state")).to_have_text("tool_calls")
    expect(page.locator("#answer .call h3").first).to_contain_text("get_weather")
    assert "city" in json.loads(page.locator("#answer .call pre").first.text_content())
    expect(page.locator("#raw")).to_contain_text("data: [DONE]")
    expect(page.locator("#usage")).to_contain_text("First token")
    page.click("#keep")
    expect(page.locator("#messages .message select").nth(1)).to_have_value("assistant")


def test_a_running_answer_can_be_stopped(opened: Callable[..., Any]):
    page = opened("chat")
    page.locator("#model option").first.wait_for(state="attached")
    # a worker that writes noise is too fast to be stopped, so the request never gets there
    page.route("**/v1/chat/completions", lambda route: None)
    page.click("#send")
    expect(page.locator("#chat-state")).to_have_text("waiting")
    expect(page.locator("#send")).to_be_disabled()
    with page.expect_event("requestfailed"):
        page.click("#stop")
    expect(page.locator("#chat-state")).to_have_text("stopped")
    expect(page.locator("#send")).to_be_enabled()


def test_a_key_is_asked_for_and_kept_in_the_tab_only(browser: Any, gateway: Gateway):
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{gateway.url}/ui#playground")
    expect(page.locator("#notice")).to_contain_text("needs an API key")
    expect(page.locator("#findings")).to_contain_text("Enter the API key")
    expect(page.locator("#source")).not_to_be_empty()
    page.get_by_role("button", name="Enter the key").click()
    page.fill("#client-key", KEY)
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_have_text("enforced")
    expect(page.locator("#notice")).to_be_hidden()
    stored = page.evaluate("[localStorage, sessionStorage].map((each) => Object.values(each))")
    assert stored == [[], [KEY]]
    assert not [url for url in asked if f"={KEY}" in url or f"/{KEY}" in url]
    assert context.cookies() == []
    context.close()
