"""The benchmark of gateways: its worker, its calls, and a gateway that finds them."""

import argparse
import asyncio
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.conversation.tokenizer import load_tokenizer
from bench.gateway.__main__ import MODEL, gateways, worker
from bench.gateway.calls import NAME, TOOLS, call_deltas, call_of
from bench.gateway.processes import running
from bench.gateway.zero_worker import Answers, Connection
from tests.app.messages import payloads
from tests.app.small_tokenizer import TEMPLATE, folder

CHUNKS = 120
BODY = b'{"a": 1}'
REQUESTS = {
    "length": b"POST /generate HTTP/1.1\r\nContent-Length: 8\r\n\r\n" + BODY,
    "chunks": b"POST /generate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'3\r\n{"a\r\n5\r\n": 1}\r\n0\r\n\r\n',
    "empty chunks": b"POST /generate HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "no body": b"POST /generate HTTP/1.1\r\n\r\n",
}


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))


def asked(**options: Any) -> argparse.Namespace:
    same = {"interval_ms": 0, "token": 70, "stop": 0, "chunks": 2, "model": MODEL}
    return argparse.Namespace(**{**same, "info": "{}", "call": None, **options})


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("body", REQUESTS)
def test_the_worker_answers_each_request_once_however_its_body_arrives(body: str, size: int):
    connection, transport = Connection(Answers(asked())), Transport()
    connection.connection_made(transport)
    sent = REQUESTS[body] * 2
    for at in range(0, len(sent), size):
        connection.data_received(sent[at : at + size])
    first, second = transport.written
    assert first == second and first.startswith(b"HTTP/1.1 200 OK")


def test_a_call_has_the_wanted_number_of_tokens_and_of_deltas(tmp_path: Path):
    tokenizer = load_tokenizer(folder(tmp_path, TEMPLATE), "auto")
    call = call_of(tokenizer, CHUNKS)
    assert len(call.tokens) == CHUNKS
    opening = f'<tool_call>\n{{"name": "{NAME}"'
    text = f'{opening}, "arguments": {call.arguments}}}\n</tool_call>'
    assert tokenizer.decode(call.tokens) == text
    assert tokenizer.decode(call.tokens[: call.opening]) == opening
    assert json.loads(call.arguments)["to"] == "Ann"
    deltas = call_deltas(call)
    assert len(deltas) == CHUNKS + 1
    assert [*map(bool, deltas)].index(True, 1) == call.opening - 1
    assert called([{"delta": delta} for delta in deltas if delta]) == (NAME, call.arguments)


def test_a_call_that_does_not_fit_is_an_error_with_both_numbers(tmp_path: Path):
    tokenizer = load_tokenizer(folder(tmp_path, TEMPLATE), "auto")
    with pytest.raises(ValueError, match=r"a call takes \d+ tokens or more, got 20"):
        call_of(tokenizer, 20)


def test_each_named_peer_stands_before_the_worker_on_a_port_of_its_own():
    named = {"router": "a/python", "smg": "b/python", "litellm": None}
    found = [*gateways(argparse.Namespace(processes=1, **named), "http://worker", "folder")]
    assert [each.name for each in found] == ["switchyard", "sglang-router", "smg"]
    assert [each.command[0] for each in found[1:]] == ["a/python", "b/python"]
    assert all("http://worker" in each.command for each in found[1:])
    assert len({each.port for each in found}) == 3


@pytest.mark.program
def test_the_gateway_finds_the_call_of_the_worker(tmp_path: Path):
    tokenizer = folder(tmp_path, TEMPLATE)
    arguments = call_of(load_tokenizer(tokenizer, "auto"), CHUNKS - 1).arguments
    options = argparse.Namespace(processes=1, router=None, smg=None, litellm=None)
    with ExitStack() as stack:
        behind = worker(stack, tokenizer, CHUNKS, calls=True)
        (ours,) = gateways(options, behind.url, tokenizer)
        stack.enter_context(running(ours))
        for process in (ours, behind):
            assert called(streamed(process.url)) == (NAME, arguments), process.name


def streamed(url: str) -> list[dict[str, Any]]:
    """Return the choices of the chunks of an answer that may call the tool."""
    body = {"model": MODEL, "stream": True, "tools": TOOLS, "max_tokens": 1000}
    body["messages"] = [{"role": "user", "content": "hi"}]
    answer = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=30)
    assert answer.status_code == 200, answer.text
    events = [json.loads(each) for each in payloads(answer.text) if each != "[DONE]"]
    return [choice for event in events for choice in event["choices"]]


def called(choices: list[dict[str, Any]]) -> tuple[str, str]:
    """Return the name and the arguments of the one call in the chunks of an answer."""
    calls = [call for each in choices for call in each["delta"].get("tool_calls") or []]
    assert {call["index"] for call in calls} == {0}
    functions = [call["function"] for call in calls]
    names = [function["name"] for function in functions if function.get("name")]
    assert len(names) == 1
    return names[0], "".join(function.get("arguments") or "" for function in functions)
