"""A worker that costs next to nothing: every answer is the same bytes, made in advance.

It speaks SGLang's ``/generate`` and OpenAI's ``/v1/chat/completions``, so that it serves
Switchyard and proxies alike. With ``--interval-ms`` it sends a token at a time, with ``--call`` the
tokens of a tool call.

python -m bench.gateway.zero_worker --port 30000 --chunks 64
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from typing import Any, cast

import uvloop

from .calls import Call, call_deltas

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
LAST = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(value: Any) -> bytes:
    return chunk(b"data: " + json.dumps(value).encode() + b"\n\n")


def native_chunks(tokens: Sequence[int], stop: int) -> list[bytes]:
    """Return the events of SGLang with incremental ids; one more stops."""
    found = []
    for number, token in enumerate([*tokens, stop], 1):
        is_last = number > len(tokens)
        meta = {
            "id": "x",
            "finish_reason": {"type": "stop", "matched": stop} if is_last else None,
            "prompt_tokens": 10,
            "completion_tokens": number,
            "cached_tokens": 0,
        }
        found.append(event({"text": "a", "output_ids": [token], "meta_info": meta}))
    return [*found, chunk(b"data: [DONE]\n\n") + LAST]


def text_deltas(count: int) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": ""}, *[{"content": "a"}] * (count - 1)]


def openai_chunks(model: str, deltas: Sequence[dict[str, Any] | None], reason: str) -> list[bytes]:
    """Return the chunks of a chat completion; those of None are empty."""
    same = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": model}
    found = []
    for number, delta in enumerate(deltas, 1):
        finish = reason if number == len(deltas) else None
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        found.append(b"" if delta is None else event({**same, "choices": [choice]}))
    return [*found, chunk(b"data: [DONE]\n\n") + LAST]


class Answers:
    """The answers by path, and the pace of the streams."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.interval = asked.interval_ms / 1000
        tokens = [asked.token] * (asked.chunks - 1)
        deltas: list[dict[str, Any] | None] = [*text_deltas(asked.chunks)]
        if asked.call:
            call = Call(*json.loads(asked.call))
            tokens, deltas = call.tokens, call_deltas(call)
        reason = "tool_calls" if asked.call else "stop"
        self.streams = {
            b"/generate": native_chunks(tokens, asked.stop),
            b"/v1/chat/completions": openai_chunks(asked.model, deltas, reason),
        }
        info = {"model_path": asked.model, "served_model_name": asked.model, "version": "0.5.23"}
        info |= json.loads(asked.info)
        models = {"object": "list", "data": [{"id": asked.model, "object": "model"}]}
        self._plain = {b"/v1/models": models, b"/server_info": info, b"/get_server_info": info}
        self._plain |= {b"/get_model_info": info, b"/model_info": info}

    def plain(self, path: bytes) -> bytes:
        body = json.dumps(self._plain.get(path, {})).encode()
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
        return head + b"content-length: %d\r\n\r\n%s" % (len(body), body)


class Connection(asyncio.Protocol):
    """A connection of requests, one after the other."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._data = b""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            after = self._end_of_request(self._data[:end].lower())
            if not 0 <= after <= len(self._data):
                return
            path = self._data.split(b" ", 2)[1].partition(b"?")[0]
            self._data = self._data[after:]
            self._answer(path)

    def _end_of_request(self, head: bytes) -> int:
        """Return where the body ends; -1 if the last of its chunks is missing."""
        at = head.find(b"content-length:")
        if at >= 0:
            return len(head) + 4 + int(head[at + 15 :].split(b"\r\n", 1)[0])
        if b"transfer-encoding: chunked" not in head:
            return len(head) + 4
        # SMG streams bodies; those of a load have no CR LF, so this is the last chunk
        last = self._data.find(b"\r\n" + LAST, len(head) + 2)
        return last if last < 0 else last + 2 + len(LAST)

    def _answer(self, path: bytes) -> None:
        chunks = self._answers.streams.get(path)
        if chunks is None:
            self._transport.write(self._answers.plain(path))
        elif self._answers.interval:
            self._transport.write(HEAD)
            self._send(chunks, 0, asyncio.get_running_loop().time())
        else:
            self._transport.write(HEAD + b"".join(chunks))

    def _send(self, chunks: list[bytes], number: int, due: float) -> None:
        self._transport.write(chunks[number])
        if number + 1 < len(chunks):
            due += self._answers.interval
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(due, self._send, chunks, number + 1, due)

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()


async def serve(asked: argparse.Namespace) -> None:
    answers = Answers(asked)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(answers), "127.0.0.1", asked.port)
    print("ready", flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--chunks", type=int, default=64)
    parser.add_argument("--interval-ms", type=float, default=0)
    parser.add_argument("--token", type=int, default=70, help="the token of every chunk")
    parser.add_argument("--call", help="JSON: a Call; it replaces --chunks")
    parser.add_argument("--stop", type=int, default=0, help="the token that ends an answer")
    parser.add_argument("--model", default="m")
    parser.add_argument("--info", default="{}", help="JSON: more fields of /server_info")
    uvloop.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
