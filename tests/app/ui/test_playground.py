"""The playground in a real Chromium: places of errors, waiting, models, what a reader may enter."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.app.gateway import OPERATOR, Gateway
from tests.app.ui.chromium import NEEDS_CHROMIUM, explain

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = NEEDS_CHROMIUM

BACK = "(a+)\\1"
#: text -> (line and column, the expected thing, the marked characters)
BROKEN = {
    '{"type": x}': ("Line 1, column 10", "a value", "x"),
    '{"a": 01}': ("Line 1, column 8", '"," or "}"', "1"),
    '{"a": 1,\n "b" 2}': ("Line 2, column 6", '":"', "2"),
    '{"a": 1,}': ("Line 1, column 9", "a name in double quotes", "}"),
    "{a: 1}": ("Line 1, column 2", "a name in double quotes", "a"),
    '{"a": "x\\y"}': ("Line 1, column 9", "a valid escape", "\\"),
    '{"a": "x\ny"}': ("Line 1, column 9", "a quote at the end of the string", "\n"),
    '{"a": [1, 2}': ("Line 1, column 12", '"," or "]"', "}"),
    '{"a": 1} []': ("Line 1, column 10", "the end of the text", "["),
    '{"a":': ("Line 1, column 6", "a value, got the end of the text", ":"),
    "[" * 300: ("Line 1, column 202", "at most 200 levels", "["),
    "😀": ("Line 1, column 1", 'a value, got "😀"', None),
}


@pytest.mark.parametrize("text", sorted(BROKEN))
def test_the_place_of_broken_json_is_named_and_marked(opened: Callable[..., Any], text: str):
    page = opened("playground")
    page.locator("#drawing svg").wait_for()
    page.fill("#source", text)
    place, wanted, marked = BROKEN[text]
    finding = page.locator("#findings li.bad")
    expect(finding).to_contain_text(f"{place}: expected {wanted}")
    expect(page.locator("#verdict")).to_have_text("not JSON")
    expect(page.locator("#drawing svg")).to_have_count(0)
    if marked:
        assert page.locator("#source-marks mark").text_content() == marked
    finding.get_by_role("button").click()
    expect(page.locator("#source")).to_be_focused()


def test_a_place_far_to_the_right_or_below_is_scrolled_to(opened: Callable[..., Any]):
    page = opened("playground")
    wide = {"properties": {"a" * 400: {"type": "string", "pattern": BACK}, "b": {"type": "null"}}}
    explain(page, json.dumps(wide))
    page.get_by_role("button", name="/properties/aaa").click()
    assert page.evaluate("document.querySelector('#source').scrollLeft") > 1000
    explain(page, {"properties": {f"p{n}": True for n in range(200)} | {"x": {"pattern": BACK}}})
    page.get_by_role("button", name="/properties/x/pattern").click()
    assert page.evaluate("document.querySelector('#source').scrollTop") > 1000
    # the layer of marks follows, to the very end
    page.evaluate("document.querySelector('#source').scrollTo(1e6, 1e6)")
    scrolled = "[source, document.querySelector('#source-marks')].map((each) => each.scrollTop)"
    page.wait_for_function(f"new Set({scrolled}).size === 1")


@pytest.mark.parametrize(
    ("kind", "value", "pointer", "marked"),
    [
        ("schema", [1], "/", "[1]"),
        ("schema", {"type": "strin"}, "/type", '"type": "strin"'),
        ("tools", [{"type": "function", "function": {"name": "a b"}}], "/0/function/name",
         '"name": "a b"'),
        ("tools", {"type": "function", "function": {"name": "a", "parameters": {"type": 1}}},
         "/0/function/parameters/type", '"type": 1'),
    ],
)  # fmt: skip
def test_an_error_of_the_request_has_a_place(
    opened: Callable[..., Any], kind: str, value: Any, pointer: str, marked: str
):
    page = opened("playground", allows="400")
    explain(page, json.dumps(value), kind=kind)
    expect(page.locator("#source-marks mark.bad").first).to_have_text(marked)
    expect(page.locator("#findings li.bad").first.get_by_role("button")).to_have_text(pointer)


@pytest.mark.parametrize("number", ["9007199254740993", "1.0", "123456789012345678901234567890"])
def test_numbers_reach_the_gateway_as_they_are_written(opened: Callable[..., Any], number: str):
    page = opened("playground")
    page.locator("#drawing svg").wait_for()
    with page.expect_request("**/v1/grammars/explain") as asked:
        page.fill("#source", f'{{"const": {number}}}')
    assert f'"const":{number}}}' in asked.value.post_data
    page.click("#indent")
    expect(page.locator("#source")).to_have_value(f'{{\n  "const": {number}\n}}')


def test_the_page_says_that_it_waits_and_a_newer_request_replaces_an_older_one(
    opened: Callable[..., Any],
):
    page = opened("playground", allows="ERR_FAILED")
    page.locator("#drawing svg").wait_for()
    page.route("**/v1/grammars/explain", lambda route: None)
    page.fill("#source", '{"type": "null"}')
    expect(page.locator("#verdict")).to_have_text("checking…")
    expect(page.locator("#view-playground")).to_have_attribute("aria-busy", "true")
    page.unroute("**/v1/grammars/explain")
    page.fill("#source", '{"type": "boolean"}')
    expect(page.locator("#verdict")).to_have_text("enforced")
    expect(page.locator("#view-playground")).to_have_attribute("aria-busy", "false")
    page.fill("#output", "null")
    expect(page.locator("#why")).to_contain_text("is rejected")


def test_a_gateway_that_stopped_is_said_so_and_can_be_asked_again(opened: Callable[..., Any]):
    page = opened("playground", allows="ERR_CONNECTION_REFUSED")
    page.locator("#drawing svg").wait_for()
    page.route("**/v1/grammars/explain", lambda route: route.abort("connectionrefused"))
    page.fill("#output", "x")
    expect(page.locator("#verdict")).to_have_text("no answer")
    expect(page.locator("#findings")).to_contain_text("The gateway does not answer")
    page.unroute("**/v1/grammars/explain")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#why")).to_contain_text("is rejected")


@pytest.mark.parametrize(("status", "said"), [(200, "not JSON"), (502, "status 502")])
def test_an_answer_of_a_proxy_is_no_crash(opened: Callable[..., Any], status: int, said: str):
    page = opened("playground", allows="502")
    page.locator("#drawing svg").wait_for()
    page.route(
        "**/v1/grammars/explain", lambda route: route.fulfill(status=status, body="<h1>no</h1>")
    )
    page.fill("#output", "x")
    expect(page.locator("#verdict")).to_have_text("failed")
    expect(page.locator("#findings li.bad")).to_contain_text(said)


def test_pasted_tools_are_read_as_tools(opened: Callable[..., Any]):
    page = opened("playground")
    page.locator("#drawing svg").wait_for()
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"pattern": BACK}}}]
    page.fill("#source", "")
    page.focus("#source")
    page.evaluate(
        """(text) => {
          const source = document.querySelector("#source");
          source.value = text;
          source.dispatchEvent(new InputEvent("input", { inputType: "insertFromPaste" }));
        }""",
        json.dumps(tools),
    )
    expect(page.locator("#kind")).to_have_value("tools")
    expect(page.locator("#source-marks mark.warn")).to_contain_text('"pattern"')


MODELS = """
[[models]]
name = "first"
noise_seed = 1
format = "hermes"

[[models]]
name = "second"
noise_seed = 1
format = "harmony"
"""


def test_the_model_can_be_chosen_where_there_are_several(
    opened: Callable[..., Any], tmp_path: Path
):
    (tmp_path / "gateway.toml").write_text(MODELS)
    with Gateway(config_file=tmp_path / "gateway.toml", admin_keys=OPERATOR) as several:
        page = opened("playground", url=several.url)
        format_of_the_model = page.locator("#format option").first
        expect(format_of_the_model).to_have_text("the model's (hermes)")
        page.select_option("#playground-model", "second")
        expect(format_of_the_model).to_have_text("the model's (harmony)")
        expect(page.locator("#verdict")).to_have_text("enforced")
        page.close()


def test_the_states_of_a_drawing_are_one_tab_stop(opened: Callable[..., Any]):
    page = opened("playground")
    page.locator("#drawing .state").first.wait_for()
    assert page.locator('#drawing [tabindex="0"]').count() == 1
    page.locator('#drawing [tabindex="0"]').focus()
    first = page.locator("#node").text_content()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#node")).not_to_have_text(first)
    thick = "getComputedStyle(document.activeElement.querySelector('circle')).strokeWidth"
    assert page.evaluate(thick) == "4px"
    page.keyboard.press("Home")
    expect(page.locator("#node")).to_have_text(first)
