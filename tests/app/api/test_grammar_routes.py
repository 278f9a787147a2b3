"""POST /v1/grammars/check says what of a schema is enforced, with the gateway's vocabulary."""

import json
from typing import Any

import httpx
import pytest

from tests.app.examples import ALARM, LIGHT, body
from tests.app.gateway import Gateway

AWAY = {"$ref": "https://example.org/schema"}


def ask(gateway: Gateway, value: Any, **options: Any) -> httpx.Response:
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    address = f"{gateway.url}/v1/grammars/check"
    return httpx.post(address, content=content, timeout=60, **options)


def test_a_schema_that_is_enforced(gateway: Gateway):
    answer = ask(gateway, {"schema": ALARM})
    assert answer.status_code == 200
    report = answer.json()
    assert report["object"] == "grammar.check"
    assert report["is_enforced"] is True
    assert report["enforced"]["type"] == 3
    assert report["cost"]["rules"] > 0
    assert "strict" not in report


def test_what_is_refused_and_what_says_nothing(gateway: Gateway):
    report = ask(gateway, {"schema": {"items": AWAY, "requried": []}}).json()
    assert report["is_enforced"] is False
    assert [each["pointer"] for each in report["refused"]] == ["/items/$ref"]
    assert [each["pointer"] for each in report["annotations"]] == ["/requried"]


@pytest.mark.parametrize(
    ("schema", "is_taken", "pointers"),
    [
        (LIGHT, True, []),
        ({**LIGHT, "required": []}, False, [""]),
        ({**LIGHT, "minProperties": 1, "properties": {"on": {"oneOf": []}}}, False,
         ["", "/properties/on", "/properties/on"]),
        (True, False, ["", ""]),
    ],
)  # fmt: skip
def test_strict_adds_the_rules_of_the_profile(
    gateway: Gateway, schema: Any, is_taken: bool, pointers: list[str]
):
    found = ask(gateway, {"schema": schema, "strict": True}).json()["strict"]
    assert (found["profile"], found["is_taken"]) == ("openai", is_taken)
    assert [each["pointer"] for each in found["violations"]][: len(pointers)] == pointers


def test_the_extended_profile_takes_whatever_is_enforced():
    with Gateway(strict_profile="extended") as gateway:
        for schema, is_taken in (({"type": "array"}, True), (AWAY, False)):
            found = ask(gateway, {"schema": schema, "strict": True}).json()["strict"]
            assert found == {"profile": "extended", "is_taken": is_taken, "violations": []}


#: name -> (body, status, code, param)
BAD: dict[str, tuple[Any, int, str, str | None]] = {
    "no JSON": (b"{", 400, "invalid_json", None),
    "no object": ([], 400, "invalid_type", None),
    "no schema": ({}, 400, "missing_required_parameter", "schema"),
    "a schema that is a number": ({"schema": 1}, 400, "invalid_type", "schema"),
    "strict that is a number": ({"schema": {}, "strict": 1}, 400, "invalid_type", "strict"),
    "something else": ({"schema": {}, "x": 1}, 400, "unknown_parameter", "x"),
    "too large": (b" " * 10_000_000, 413, "request_too_large", None),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_an_ill_formed_request_is_an_openai_error(
    gateway: Gateway, case: tuple[Any, int, str, str | None]
):
    sent, status, code, param = case
    answer = ask(gateway, sent)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (status, code, param)
    assert error["type"] == "invalid_request_error"


def test_a_deep_schema_is_a_mistake_and_the_gateway_lives(gateway: Gateway):
    schema = '{"items":' * 150 + "{}" + "}" * 150
    report = ask(gateway, f'{{"schema": {schema}}}'.encode()).json()
    assert "spec_depth" in report["mistake"]["reason"]
    assert gateway.post(body(max_completion_tokens=2)).status_code == 200


def test_it_asks_for_the_same_keys():
    with Gateway(api_keys="one") as gateway:
        assert ask(gateway, {"schema": True}).status_code == 401
        right = {"authorization": "Bearer one"}
        assert ask(gateway, {"schema": True}, headers=right).status_code == 200


def test_other_methods_are_told_so(gateway: Gateway):
    assert gateway.get("/v1/grammars/check").status_code == 405
