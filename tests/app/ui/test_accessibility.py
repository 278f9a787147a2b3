"""Names, focus, announcements and motion, for keyboards and assistive technology."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.app.gateway import Gateway
from tests.app.ui.chromium import KEY, NEEDS_CHROMIUM, READY, VIEWS, store_keys

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = NEEDS_CHROMIUM

#: visible controls without a name
NAMELESS = """
() => [...document.querySelectorAll(
    "button, input, select, textarea, [role=listbox], [role=region], [role=group]")]
  .filter((each) => each.checkVisibility())
  .filter((each) => !(each.getAttribute("aria-label") || each.getAttribute("aria-labelledby")
    || each.labels?.length || each.textContent.trim()))
  .map((each) => each.outerHTML.slice(0, 80))
"""
#: visible boxes that scroll and that the keyboard does not reach
UNREACHABLE = """
() => [...document.querySelectorAll("main *")].filter((each) => each.checkVisibility()
    && (each.scrollWidth > each.clientWidth + 1 || each.scrollHeight > each.clientHeight + 1)
    && ["auto", "scroll"].includes(getComputedStyle(each).overflowX)
    && each.tabIndex < 0 && !each.querySelector("button, summary, [tabindex='0']"))
  .map((each) => each.id || each.className)
"""
#: whether the element with the focus looks different from itself without it
MARKED = """
() => {
  const at = document.activeElement;
  const inner = at.querySelector("circle") ?? at;
  const style = getComputedStyle(at);
  return (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2)
    || getComputedStyle(inner).strokeWidth === "4px";
}
"""


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("view", VIEWS)
def test_controls_have_names_and_the_keyboard_reaches_what_scrolls(
    opened: Callable[..., Any], view: str, width: int
):
    page = opened(view, width=width)
    page.locator(READY[view]).first.wait_for(state="attached")
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(UNREACHABLE) == []
    for role in ("banner", "main"):
        expect(page.get_by_role(role)).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    selected = page.get_by_role("tab", selected=True).first
    expect(selected).to_have_attribute("aria-controls", f"view-{view}")
    expect(page.get_by_role("tabpanel").first).to_have_attribute("id", f"view-{view}")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_each_tab_stop_shows_the_focus(opened: Callable[..., Any], view: str, theme: str):
    page = opened(view, theme=theme)
    page.locator(READY[view]).first.wait_for(state="attached")
    page.focus(f"#tab-{view}")
    seen = 0
    while True:
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        seen += 1
        where = page.evaluate("document.activeElement.outerHTML.slice(0, 80)")
        assert page.evaluate(MARKED), where
        assert seen < 60
    assert seen > 4


def test_results_are_announced(opened: Callable[..., Any]):
    page = opened("playground")
    for name in ("verdict", "findings", "why", "node"):
        expect(page.locator(f"#{name}")).to_have_attribute("aria-live", "polite")
    for name in ("state", "chat-state", "verdict"):
        expect(page.locator(f"#{name}")).to_have_attribute("role", "status")
    expect(page.locator("#notice")).to_have_attribute("role", "alert")


def test_nothing_moves_for_readers_who_want_less_motion(opened: Callable[..., Any]):
    page = opened("playground", reduced_motion="reduce")
    page.locator("#drawing svg").wait_for()
    moving = "[...document.querySelectorAll('*')].some((each) => each.getAnimations().length)"
    assert page.evaluate(moving) is False
    scrolling = "getComputedStyle(document.documentElement).scrollBehavior"
    assert page.evaluate(scrolling) == "auto"


def test_the_dialog_of_keys_keeps_the_focus_and_gives_it_back(browser: Any, gateway: Gateway):
    context = browser.new_context()
    page = context.new_page()
    store_keys(page, KEY)
    page.goto(f"{gateway.url}/ui")
    page.focus("#keys-button")
    page.keyboard.press("Enter")
    expect(page.locator("#client-key")).to_be_focused()
    expect(page.locator("#client-key")).to_have_value(KEY)
    page.keyboard.press("Escape")
    expect(page.locator("#keys-button")).to_be_focused()
    # a closed dialog holds no key
    expect(page.locator("#client-key")).to_have_value("")
    page.click("#keys-button")
    page.fill("#client-key", "other")
    page.click("#keys-cancel")
    assert page.evaluate("sessionStorage.getItem('switchyard.client-key')") == KEY
    page.click("#keys-button")
    page.click("#keys-forget")
    assert page.evaluate("Object.keys(sessionStorage)") == []
    context.close()


@pytest.mark.parametrize("name", ["", "toString", "__proto__", "<img>", "nothing"])
def test_an_unknown_fragment_shows_the_status(opened: Callable[..., Any], name: str):
    page = opened(name)
    expect(page.locator("#state")).to_have_text("ok")
    expect(page.locator("#view-status")).to_be_visible()
