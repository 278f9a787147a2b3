"""The record of a request: its log line, and /debug/requests."""

import json
import socket
import weakref
from typing import Any

import httpx
import pytest

from app.observability.request_log import MAX_RECENT, RequestLog
from app.observability.request_record import MAX_IGNORED, RequestRecord
from tests.app.examples import TOOLS, body
from tests.app.gateway import PATIENCE, Gateway, gateway_fixture
from tests.app.operators import BEARER, KEY

SECRET = "a-word-of-the-client"
#: an answer of eight tokens
EIGHT = {"max_completion_tokens": 8, "min_tokens": 8}
#: an answer that goes on until its client leaves
ENDLESS = body(stream=True, max_completion_tokens=20_000, min_tokens=20_000)

watched = gateway_fixture(admin_keys=KEY)


def lines_of(gateway: Gateway, number: str) -> list[dict[str, Any]]:
    lines = [line for line in gateway.lines() if line["event"] == "request"]
    return [line for line in lines if line["request_id"] == number]


def seen(gateway: Gateway) -> Any:
    return gateway.get("/debug/requests", headers=BEARER).json()


def asked(gateway: Gateway, content: dict[str, Any], number: str, path: str) -> httpx.Response:
    return httpx.post(
        f"{gateway.url}{path}", json=content, headers={"x-request-id": number}, timeout=PATIENCE
    )


CHAT, RESPONSES, COMPLETIONS = "/v1/chat/completions", "/v1/responses", "/v1/completions"
CASES = {
    "a call": (CHAT, body(tools=TOOLS, tool_choice="required"), 200, ["tool_calls"], None),
    "a stream": (CHAT, body(stream=True, **EIGHT), 200, ["length"], None),
    "two choices": (CHAT, body(n=2, **EIGHT), 200, ["length", "length"], None),
    "a response": (RESPONSES, {"input": SECRET, "max_output_tokens": 8}, 200, ["length"], None),
    "a text": (COMPLETIONS, {"prompt": SECRET, "max_tokens": 8}, 200, ["length"], None),
    "a refusal": (CHAT, body(n=9), 400, None, "integer_above_max_value"),
    "an unknown model": (CHAT, body(model=SECRET), 404, None, "model_not_found"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_request_is_one_line_and_one_entry(watched: Gateway, name: str):
    """Both have the same facts, and no text of the client."""
    path, content, status, finish, error = CASES[name]
    number = f"case-{name.replace(' ', '-')}"
    content = {"model": "noise", **content}
    answer = asked(watched, content, number, path)
    assert answer.status_code == status, answer.text
    # a stream's line comes after its last byte
    watched.eventually(lambda: bool(lines_of(watched, number)))
    (line,) = lines_of(watched, number)
    assert (line["route"], line["status"], line.get("error")) == (path, status, error)
    assert line.get("finish_reasons") == finish
    assert SECRET not in json.dumps(line)
    entry = next(each for each in seen(watched)["recent"] if each["id"] == number)
    assert line.items() >= {key: entry[key] for key in entry if key != "id"}.items()
    if status == 200:
        assert set(line["workers"]) == {"noise"}
        assert len(line["workers"]) == len(line["finish_reasons"])
        assert line["stream"] is bool(content.get("stream"))
        assert line["completion_tokens"] > 0
        assert line["prompt_tokens"] > 0
        assert 0 <= line["queue_ms"] + line["prepare_ms"] <= line["first_token_ms"] <= line["ms"]


def test_a_running_answer_is_shown_until_its_client_leaves(watched: Gateway):
    """Its line then says that the client left, although the status was 200."""
    with socket.create_connection(("127.0.0.1", httpx.URL(watched.url).port)) as client:
        content = json.dumps(ENDLESS).encode()
        head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\nx-request-id: leaves\r\n"
        client.sendall(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)
        assert client.recv(100).startswith(b"HTTP/1.1 200")

        def answers() -> bool:
            found = [each for each in seen(watched)["running"] if each["id"] == "leaves"]
            return bool(found) and found[0]["phase"] == "answering"

        watched.eventually(answers)
        (entry,) = [each for each in seen(watched)["running"] if each["id"] == "leaves"]
        assert (entry["model"], entry["workers"], entry["stream"]) == ("noise", ["noise"], True)
        assert entry["completion_tokens"] > 0
        assert entry["age_ms"] > 0
    watched.eventually(lambda: bool(lines_of(watched, "leaves")))
    (line,) = lines_of(watched, "leaves")
    assert (line["status"], line["error"]) == (200, "client_disconnect")
    assert all(each["id"] != "leaves" for each in seen(watched)["running"])


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer none"}])
def test_only_operators_see_requests(watched: Gateway, headers: dict[str, str]):
    assert watched.get("/debug/requests", headers=headers).status_code == 401


def test_the_ended_requests_are_bounded():
    log = RequestLog()
    for number in range(MAX_RECENT + 1):
        record = RequestRecord(str(number))
        log.begin(record)
        for _ in range(2):
            log.end(record, method="POST", outcome={"route": "/", "status": 200})
    assert [log.recent()[0]["id"], log.recent()[-1]["id"]] == [str(MAX_RECENT), "1"]
    assert log.running() == []


class Parts(list[str]):
    """A list that may have weak references."""


def test_of_an_ended_request_only_what_is_shown_is_kept():
    """REGRESSION: all parts that a request left out were kept, of a large body a million."""
    parts = Parts(f"input/{number} compaction" for number in range(MAX_IGNORED + 1))
    log, record, kept = RequestLog(), RequestRecord("r", ignored=parts), weakref.ref(parts)
    log.begin(record)
    log.end(record, method="POST", outcome={"route": "/", "status": 200, "ms": 1.0})
    del record, parts
    (shown,) = log.recent()
    assert len(shown["ignored"]) == MAX_IGNORED
    assert kept() is None
