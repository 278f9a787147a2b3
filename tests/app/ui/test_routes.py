"""GET /ui: local files under a strict policy, and a setting that turns them off."""

import re
from pathlib import Path

import pytest

import app.ui
from tests.app.gateway import Gateway, gateway_fixture

STATIC = Path(app.ui.__file__).parent / "static"
FILES = sorted(path.name for path in STATIC.iterdir() if path.name != "index.html")
PATHS = ["/ui", *(f"/ui/{name}" for name in FILES)]
KINDS = {".js": "text/javascript", ".css": "text/css"}

gateway = gateway_fixture(api_keys="one")


@pytest.mark.parametrize("path", PATHS)
def test_each_file_needs_no_key_and_has_a_strict_policy(gateway: Gateway, path: str):
    answer = gateway.get(path)
    assert answer.status_code == 200
    kind = KINDS.get(Path(path).suffix, "text/html")
    assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    wanted = {"default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'"}
    assert wanted | {"frame-ancestors 'none'", "form-action 'none'"} <= set(policy.split("; "))
    assert {"require-trusted-types-for 'script'", "trusted-types 'none'"} <= set(policy.split("; "))
    assert not re.search(r"https?:|\*|unsafe", policy)
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert "set-cookie" not in answer.headers
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("name", ["index.html", "x.js", "..%2Froutes.py", "%2E%2E%2F__init__.py"])
def test_there_are_no_other_files(gateway: Gateway, name: str):
    answer = gateway.get(f"/ui/{name}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_url")


@pytest.mark.parametrize("path", ["/ui", "/ui/main.js"])
def test_a_setting_turns_it_off(path: str):
    with Gateway(ui=False) as gateway:
        answer = gateway.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_url")


def test_the_page_has_no_inline_scripts_or_styles():
    page = (STATIC / "index.html").read_text()
    loaded = set(re.findall(r'(?:src|href)="([^"]+)"', page)) - {"data:,"}
    assert loaded == {"/ui/main.js", "/ui/style.css"}
    assert not re.search(r"<script>|<style| style=| on\w+=", page)


@pytest.mark.parametrize("name", FILES)
def test_no_file_makes_markup_of_text_or_names_another_host(name: str):
    text = (STATIC / name).read_text().replace("http://www.w3.org/2000/svg", "")
    text = text.replace("https://example.org/part", "")  # a reference in an example
    found = re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|https?://", text)
    assert found == []
