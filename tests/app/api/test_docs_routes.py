"""GET /docs and GET /openapi.json: local files only, and a setting that turns both off."""

import re

import httpx
import pytest

from tests.app.gateway import OPTIONS, Gateway, gateway_fixture

PAGES = ("/docs", "/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/docs/start.js")

gateway = gateway_fixture(api_keys="one")


@pytest.mark.parametrize("path", [*PAGES, "/openapi.json"])
def test_no_key_is_needed_and_the_policy_allows_no_other_host(gateway: Gateway, path: str):
    answer = gateway.get(path)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"].split("; ")
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"https?:|\*|unsafe", answer.headers["content-security-policy"])
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_the_page_loads_files_of_this_gateway_without_inline_scripts(gateway: Gateway):
    page = gateway.get("/docs").text
    loaded = set(re.findall(r'(?:src|href)="([^"]+)"', page)) - {"data:,"}
    assert loaded == set(PAGES[1:])
    assert not re.search(r"<script>|<style>| style=| on\w+=", page)
    assert '"/openapi.json"' in gateway.get("/docs/start.js").text


@pytest.mark.parametrize("name", ["x.js", "..%2Fmain.py", "%2E%2E%2F__init__.py", "favicon.ico"])
def test_there_are_no_other_files(gateway: Gateway, name: str):
    answer = gateway.get(f"/docs/{name}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_url")


def test_the_document_names_nothing_of_this_gateway(gateway: Gateway):
    """Neither models, workers nor addresses; and each answer has the same bytes."""
    first, second = gateway.get("/openapi.json"), gateway.get("/openapi.json")
    assert first.content == second.content
    for secret in ('"noise"', "127.0.0.1", "one,"):
        assert secret not in first.text


@pytest.mark.parametrize("path", [*PAGES, "/openapi.json"])
def test_a_setting_turns_them_off(path: str):
    with Gateway(docs=False) as gateway:
        answer = gateway.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_url")


@pytest.mark.parametrize("path", ["compacted", "batch/", "batch", "x"])
def test_an_endpoint_that_is_not_served_is_no_response(gateway: Gateway, path: str):
    """REGRESSION: it got 405, as if a response had this name. Clients fall back at 404."""
    answer = gateway.post({"model": "noise"}, path=f"/v1/responses/{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_url")
    assert "POST /v1/responses" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/responses/resp_" + "0" * 32, "DELETE, GET"),
        ("/v1/responses", "POST"),
        ("/v1/responses/compact", "POST"),
        ("/health", "GET, HEAD"),
        ("/v1/models/a/b", "GET"),
    ],
)
def test_a_wrong_method_is_told_all_methods_of_the_path(gateway: Gateway, path: str, allowed: str):
    """REGRESSION: Allow had the methods of the first route of the path only."""
    is_posted = not path.startswith("/v1/responses") or "resp_" in path
    answer = gateway.post({}, path=path) if is_posted else httpx.put(gateway.url + path, **OPTIONS)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
