"""Fixtures of the tests in a real Chromium."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.app.gateway import OPERATOR, Gateway, gateway_fixture
from tests.app.ui.chromium import CHROMIUM, KEY, store_keys

gateway = gateway_fixture(api_keys=KEY, admin_keys=OPERATOR, format="hermes", noise_seed=3)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def opened(browser: Any, gateway: Gateway) -> Iterator[Callable[..., Any]]:
    """Opens the page with both keys. Afterwards there must be no error in the console but those
    that a test ``allows``, and no request to another host.
    """
    contexts, problems, hosts = [], [], set()

    def open_page(
        view: str = "status",
        *,
        theme: str = "light",
        width: int = 1280,
        client: str = KEY,
        operator: str = OPERATOR,
        allows: str = "$^",
        url: str = "",
        **options: Any,
    ) -> Any:
        size = {"width": width, "height": 900}
        context = browser.new_context(color_scheme=theme, viewport=size, **options)
        contexts.append(context)
        page = context.new_page()

        def said(text: str) -> None:
            if not re.search(allows, text):
                problems.append(text)

        page.on("console", lambda message: said(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: hosts.add(request.url))
        store_keys(page, client, operator)
        page.goto(f"{url or gateway.url}/ui#{view}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
    assert [host for host in hosts if not host.startswith(("http://127.0.0.1:", "data:"))] == []
