"""The status view in a real Chromium: what each key shows, and a gateway that does not answer."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.app.gateway import OPERATOR, Gateway
from tests.app.ui.chromium import KEY, NEEDS_CHROMIUM

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = NEEDS_CHROMIUM

#: parts of the view that only operators see
PARTS = ("workers", "running", "recent", "cache")


def test_an_operator_sees_workers_and_requests(opened: Callable[..., Any], gateway: Gateway):
    gateway.get("/v1/models", headers={"Authorization": f"Bearer {KEY}"})
    page = opened()
    expect(page.locator("#state")).to_have_text("ok")
    expect(page.locator("#workers")).to_contain_text("available")
    expect(page.locator("#figures")).to_contain_text("Requests")
    expect(page.locator("#cache")).to_contain_text("No Redis")


@pytest.mark.parametrize("client", ["", KEY])
def test_without_an_operator_key_no_worker_and_no_request_is_asked_for(
    opened: Callable[..., Any], gateway: Gateway, client: str
):
    page = opened("chat", client=client, operator="", allows="401")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.click("#tab-status")
    expect(page.locator("#state")).to_have_text("ok")
    for part in PARTS:
        expect(page.locator(f"#{part}")).to_have_text("Enter an operator key (Keys) to see this.")
    assert not any("/debug/" in url for url in asked)
    plain = gateway.get("/health/ready", headers={"Authorization": f"Bearer {KEY}"})
    assert plain.json() == {"status": "ok"}
    denied = gateway.get("/debug/requests", headers={"Authorization": f"Bearer {KEY}"})
    assert denied.status_code == 401


def test_a_wrong_operator_key_is_said_so_and_sent_once(opened: Callable[..., Any]):
    """REGRESSION: the gateway was shown as unreachable."""
    page = opened("chat", operator="wrong", allows="401")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.click("#tab-status")
    expect(page.locator("#state")).to_have_text("ok")
    for part in PARTS:
        expect(page.locator(f"#{part}")).to_have_text(
            "The gateway does not accept the operator key."
        )
    with page.expect_response("**/metrics"):
        pass
    assert len([url for url in asked if "/debug/requests" in url]) == 1
    expect(page.locator("#notice")).to_be_hidden()
    page.click("#keys-button")
    page.fill("#operator-key", OPERATOR)
    page.keyboard.press("Enter")
    expect(page.locator("#workers")).to_contain_text("available")


def test_metrics_that_a_proxy_hides_leave_the_rest(opened: Callable[..., Any]):
    page = opened("chat", allows="404")
    page.route("**/metrics", lambda route: route.fulfill(status=404, body="no"))
    page.click("#tab-status")
    expect(page.locator("#figures")).to_contain_text("does not show metrics")
    expect(page.locator("#state")).to_have_text("ok")
    expect(page.locator("#workers")).to_contain_text("available")


def test_a_gateway_that_stopped_is_said_so_with_the_time_of_the_numbers(
    opened: Callable[..., Any],
):
    page = opened(allows="ERR_CONNECTION_REFUSED|503")
    expect(page.locator("#state")).to_have_text("ok")
    page.route("**/health/ready", lambda route: route.abort("connectionrefused"))
    expect(page.locator("#state")).to_have_text("no answer")
    expect(page.locator("#state-detail")).to_contain_text("The numbers are those of")
    expect(page.locator("#workers")).to_contain_text("available")
    refused = '{"error": {"message": "too many connections", "code": "overloaded"}}'
    page.unroute("**/health/ready")
    page.route("**/health/ready", lambda route: route.fulfill(status=503, body=refused))
    expect(page.locator("#state-detail")).to_contain_text("too many connections")
    page.unroute("**/health/ready")
    expect(page.locator("#state")).to_have_text("ok")


def test_selected_text_stays_selected_while_the_numbers_change(opened: Callable[..., Any]):
    page = opened()
    cell = page.locator("#workers td").first
    cell.wait_for()
    cell.evaluate("(each) => getSelection().selectAllChildren(each)")
    # two refreshes later
    for _ in range(2):
        with page.expect_response("**/health/ready"):
            pass
    assert page.evaluate("getSelection().toString()") == "noise"
