"""Web pages of other sites cannot use a gateway that asks for no key."""

from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.app.examples import body
from tests.app.gateway import OPTIONS, Gateway, gateway_fixture

ASKED = body(max_completion_tokens=4)
JSON = "application/json"

running = gateway_fixture(cors_origins="https://chat.example", allowed_hosts="gateway.example,::2")


def answer(gateway: Gateway, headers: dict[str, str]) -> tuple[int, str | None]:
    given = {"content-type": JSON, **headers}
    port = str(urlsplit(gateway.url).port)
    given = {name: value.replace("PORT", port) for name, value in given.items() if value}
    response = gateway.post(ASKED, headers=given)
    error = response.json().get("error")
    return response.status_code, error and error["code"]


TYPE, HOST, ORIGIN = (
    (415, "unsupported_content_type"),
    (403, "host_not_allowed"),
    (403, "origin_not_allowed"),
)
OK = (200, None)
CASES: list[tuple[dict[str, str], Any]] = [
    ({}, OK),
    ({"content-type": "Application/JSON; charset=utf-8"}, OK),
    ({"content-type": "application/vnd.api+json"}, OK),
    ({"content-type": ""}, OK),
    ({"content-type": "", "origin": "http://127.0.0.1:PORT"}, TYPE),
    ({"content-type": "", "sec-fetch-site": "cross-site"}, TYPE),
    # REGRESSION: what a page may send without asking
    ({"content-type": "text/plain"}, TYPE),
    ({"content-type": "text/plain; application/json"}, TYPE),
    ({"content-type": "application/x-www-form-urlencoded"}, TYPE),
    ({"content-type": "multipart/form-data; boundary=x"}, TYPE),
    ({"content-type": "application/jsonp"}, TYPE),
    ({"content-type": "x/y+json"}, TYPE),
    ({"origin": "http://127.0.0.1:PORT"}, OK),
    ({"origin": "https://chat.example"}, OK),
    ({"origin": "https://evil.example"}, ORIGIN),
    ({"origin": "http://127.0.0.1:1"}, ORIGIN),
    ({"origin": "http://localhost:PORT"}, ORIGIN),
    ({"origin": "null"}, ORIGIN),
    ({"origin": ""}, OK),
    ({"origin": "https://chat.example.evil.example"}, ORIGIN),
    ({"host": "localhost:PORT", "origin": "http://localhost:PORT"}, OK),
    ({"host": "LOCALHOST"}, OK),
    ({"host": "[::1]:8000"}, OK),
    ({"host": "127.9.9.9"}, OK),
    ({"host": "gateway:8000"}, OK),
    ({"host": "ui.localhost"}, OK),
    ({"host": "gateway.example:443", "origin": "https://gateway.example"}, OK),
    ({"host": "[::2]"}, OK),
    # REGRESSION: a name that a page's owner lets resolve to 127.0.0.1
    ({"host": "evil.example"}, HOST),
    ({"host": "evil.example:PORT", "origin": "http://evil.example:PORT"}, HOST),
    ({"host": "127.0.0.1.evil.example"}, HOST),
    ({"host": "evil.example."}, HOST),
    ({"host": "8.8.8.8"}, HOST),
    ({"host": "[2001:db8::1]"}, HOST),
]


@pytest.mark.parametrize(("headers", "expected"), CASES)
def test_a_gateway_without_keys(running: Gateway, headers: dict[str, str], expected: Any):
    assert answer(running, headers) == expected


@pytest.mark.parametrize("path", ["/v1/models", "/openapi.json", "/ui", "/v1/responses/resp_1"])
def test_pages_read_nothing_by_a_foreign_name(running: Gateway, path: str):
    assert running.get(path, headers={"host": "evil.example"}).status_code == 403
    assert running.get(path, headers={"origin": "http://evil.example"}).status_code == 403


def test_monitors_may_use_any_name(running: Gateway):
    for path in ("/health/live", "/health/ready", "/metrics"):
        assert running.get(path, headers={"host": "10.1.2.3.example"}).status_code == 200


def test_a_preflight_is_answered_for_named_origins_only(running: Gateway):
    for origin, status in (("https://chat.example", 200), ("https://evil.example", 400)):
        asked = {"origin": origin, "access-control-request-method": "POST"}
        path = f"{running.url}/v1/chat/completions"
        assert httpx.options(path, headers=asked, **OPTIONS).status_code == status


def test_with_keys_only_the_type_is_checked():
    """No page of another site has the key."""
    with Gateway(api_keys="k") as gateway:
        key = {"authorization": "Bearer k"}
        assert answer(gateway, {**key, "host": "a.example", "origin": "http://b.example"}) == OK
        assert answer(gateway, {**key, "content-type": "text/plain"}) == TYPE


def test_on_other_addresses_any_name_fits_unless_names_are_given():
    for settings, expected in (({}, OK), ({"allowed_hosts": "gateway.example"}, HOST)):
        with Gateway(host="0.0.0.0", allow_anonymous=True, **settings) as gateway:
            assert answer(gateway, {"host": "other.example"}) == expected
            assert answer(gateway, {"host": "gateway.example"}) == OK
            assert answer(gateway, {"origin": "https://evil.example"}) == ORIGIN
