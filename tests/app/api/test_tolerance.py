"""Forms that other servers accept: encodings, slashes, null, other forms of a field."""

import gzip
import json
import zlib
from typing import Any

import httpx
import pytest

from tests.app.examples import ALARM, body, json_schema
from tests.app.gateway import OPTIONS, Gateway, gateway_fixture

MAX_BYTES = 50_000
ORIGIN = "https://chat.example.org"
CHAT = "/v1/chat/completions"

small = gateway_fixture(max_body_bytes=MAX_BYTES, cors_origins=ORIGIN, api_keys="k")


def raw_deflate(data: bytes) -> bytes:
    made = zlib.compressobj(wbits=-15)
    return made.compress(data) + made.flush()


CODINGS = {
    "identity": lambda data: data,
    "gzip": gzip.compress,
    "GZip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "DEFLATE": raw_deflate,
}
SENT = json.dumps(body(max_completion_tokens=3)).encode()
PADDED = SENT[:-1] + b" " * (MAX_BYTES - len(SENT)) + b"}"


def encoded(gateway: Gateway, data: bytes, coding: str) -> httpx.Response:
    headers = {"content-encoding": coding, "authorization": "Bearer k"}
    return gateway.post(data, headers=headers)


def error_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize("data", [SENT, PADDED], ids=["short", "at the limit"])
@pytest.mark.parametrize("coding", CODINGS)
def test_compressed_bodies_are_read(small: Gateway, coding: str, data: bytes) -> None:
    answer = encoded(small, CODINGS[coding](data), coding)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("coding", CODINGS)
def test_the_limit_holds_for_the_decoded_body(small: Gateway, coding: str) -> None:
    """One byte too many, and a bomb of a hundred times the limit in a few kilobytes."""
    for extra in (1, 100 * MAX_BYTES):
        data = CODINGS[coding](PADDED + b" " * extra)
        assert error_of(encoded(small, data, coding)) == (413, "request_too_large")
    assert encoded(small, SENT, "identity").status_code == 200


BROKEN: dict[str, tuple[bytes, str, int, str]] = {
    "cut off": (gzip.compress(SENT)[:-1], "gzip", 400, "invalid_encoding"),
    "cut off early": (gzip.compress(SENT)[:12], "gzip", 400, "invalid_encoding"),
    "empty": (b"", "gzip", 400, "invalid_encoding"),
    "no gzip": (SENT, "gzip", 400, "invalid_encoding"),
    "no deflate": (SENT, "deflate", 400, "invalid_encoding"),
    "a wrong checksum": (gzip.compress(SENT)[:-8] + bytes(8), "gzip", 400, "invalid_encoding"),
    "a second member": (gzip.compress(SENT) * 2, "gzip", 400, "invalid_encoding"),
    "trailing bytes": (zlib.compress(SENT) + b"x", "deflate", 400, "invalid_encoding"),
    "brotli": (SENT, "br", 415, "unsupported_content_encoding"),
    "two codings": (SENT, "gzip, gzip", 415, "unsupported_content_encoding"),
    "no JSON inside": (gzip.compress(b"{"), "gzip", 400, "invalid_json"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_encodings_are_refused_by_name(small: Gateway, name: str) -> None:
    data, coding, status, code = BROKEN[name]
    assert error_of(encoded(small, data, coding)) == (status, code)
    assert encoded(small, SENT, "identity").status_code == 200


# -- paths and methods -----------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/noise", "/health", "/version"])
def test_a_path_may_end_with_slashes(gateway: Gateway, path: str) -> None:
    wanted = gateway.get(path).json()
    assert gateway.get(path + "/").json() == wanted
    assert gateway.get(path + "//").json() == wanted


def test_a_completion_may_be_posted_with_a_slash(gateway: Gateway) -> None:
    asked = body(max_completion_tokens=3)
    answer = httpx.post(f"{gateway.url}{CHAT}/", json=asked, **OPTIONS)
    assert answer.json()["object"] == "chat.completion"


@pytest.mark.parametrize("path", ["/health", "/health/live", "/health/ready"])
def test_monitors_may_ask_for_the_head_of_health_alone(gateway: Gateway, path: str) -> None:
    answer = httpx.head(gateway.url + path, **OPTIONS)
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/embeddings",
        "/v1/images/generations",
        "/v1/audio/speech",
        "/v1/audio/transcriptions",
        "/v1/moderations",
        "/v1/files",
        "/",
    ],
)
def test_an_unknown_endpoint_is_told_what_there_is(gateway: Gateway, path: str) -> None:
    answer = httpx.post(gateway.url + path, json={"input": "x"}, **OPTIONS)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (404, "unknown_url")
    assert error["message"].startswith(f"Invalid URL (POST {path}). This server is Switchyard")
    assert f"POST {CHAT}" in error["message"]
    assert "GET /v1/models" in error["message"]


# -- fields ----------------------------------------------------------------------------------------

SCHEMAS: dict[str, dict[str, Any]] = {
    "llama.cpp": {"type": "json_object", "schema": ALARM},
    "Together": {"type": "json_schema", "schema": ALARM},
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_may_stand_beside_the_type(gateway: Gateway, name: str) -> None:
    """It is enforced as in OpenAI's form, and the prompt is the same but for the name."""
    asked = {"max_completion_tokens": 2000, "messages": [{"role": "user", "content": "Wake me."}]}
    given = gateway.post(body(response_format=SCHEMAS[name], **asked)).json()
    wanted = gateway.post(body(response_format=json_schema(ALARM), **asked)).json()
    assert given["choices"] == wanted["choices"]


BAD_SCHEMAS: dict[str, tuple[Any, str]] = {
    "no object": ({"type": "json_object", "schema": 3}, "response_format.schema"),
    "of text": ({"type": "text", "schema": ALARM}, "response_format.schema"),
    "another field": (
        {"type": "json_object", "schema": ALARM, "strict": True},
        "response_format.strict",
    ),
    "a wrong schema": ({"type": "json_object", "schema": {"type": 3}}, "response_format"),
}


@pytest.mark.parametrize("name", BAD_SCHEMAS)
def test_mistakes_in_such_a_schema_have_their_place(gateway: Gateway, name: str) -> None:
    form, param = BAD_SCHEMAS[name]
    answer = gateway.post(body(response_format=form))
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


@pytest.mark.parametrize(("choice", "status"), [("auto", 200), ("none", 200), ("required", 400)])
def test_an_empty_list_of_tools_is_no_tools(gateway: Gateway, choice: str, status: int) -> None:
    asked = body(tools=[], tool_choice=choice, max_completion_tokens=3)
    assert gateway.post(asked).status_code == status


# -- browsers --------------------------------------------------------------------------------------


def preflight(gateway: Gateway, origin: str) -> httpx.Response:
    headers = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-os",
    }
    return httpx.options(gateway.url + CHAT, headers=headers, **OPTIONS)


def test_pages_of_listed_origins_may_call_the_gateway(small: Gateway) -> None:
    answer = preflight(small, ORIGIN)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "x-stainless-os" in answer.headers["access-control-allow-headers"]
    assert preflight(small, "https://evil.example").status_code == 400


@pytest.mark.parametrize("stream", [False, True])
def test_answers_and_streams_can_be_read_by_the_page(small: Gateway, stream: bool) -> None:
    headers = {"origin": ORIGIN, "authorization": "Bearer k", "content-type": "application/json"}
    answer = small.post(body(max_completion_tokens=9, stream=stream), headers=headers)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "x-request-id" in answer.headers["access-control-expose-headers"]
    assert answer.text.endswith("data: [DONE]\n\n") == stream


def test_errors_can_be_read_by_the_page(small: Gateway) -> None:
    answer = small.post(b"{", headers={"origin": ORIGIN})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (401, ORIGIN)


def test_other_pages_get_no_permission(small: Gateway, gateway: Gateway) -> None:
    """Nor any page where no origin is set; without keys, there is no answer either."""
    for running, origin, status in [(small, "https://evil.example", 200), (gateway, ORIGIN, 403)]:
        headers = {"origin": origin, "authorization": "Bearer k"}
        headers |= {"content-type": "application/json"}
        answer = running.post(body(max_completion_tokens=3), headers=headers)
        assert answer.status_code == status
        assert "access-control-allow-origin" not in answer.headers
    assert preflight(gateway, ORIGIN).status_code == 403
