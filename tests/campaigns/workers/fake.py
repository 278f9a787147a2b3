"""A worker that speaks SGLang's wire over real sockets, and answers right until it has a fault.

Representation   the right answer to a prompt that says ``number N`` is ``{"n": N}`` in tokens of
                 one byte, one event each, and a stop token. So an answer tells whose it is.
Threads          one thread runs the loop of all fakes; ``fault`` may be set from any thread.
"""

import asyncio
import json
import re
import ssl
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine import SPEC_VERSION, Vocabulary

#: what a gateway's health check must find
PLUGIN = "switchyard"
#: of an image, in place of its placeholder
IMAGE_TOKENS = 4


@dataclass(frozen=True)
class Fault:
    """How a worker is bad: what it does instead of answering on one kind of path.

    ``when``: "before" its first output, "mid" answer, or only in its "health" checks.
    ``listens``: whether it accepts connections at all.
    """

    name: str
    when: str
    act: Callable[["Reply"], Awaitable[None]]
    listens: bool = True


class Reply:
    """One request's connection, and the right answer to it."""

    def __init__(
        self, worker: "FakeWorker", writer: asyncio.StreamWriter, path: str, ids: list[int]
    ) -> None:
        self.worker = worker
        self.writer = writer
        self.path = path
        self.ids = ids
        #: of the request
        self.body: Mapping[str, Any] = {}
        self.made = 0
        self.prompt_tokens = 3

    async def whole(self, status: int, body: bytes, head: str = "") -> None:
        """An answer that is no stream."""
        start = f"HTTP/1.1 {status} x\r\ncontent-length: {len(body)}\r\n{head}\r\n"
        await self.raw(start.encode() + body)

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def begin(self) -> None:
        """The head of a stream."""
        await self.raw(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )

    async def piece(self, data: bytes) -> None:
        """Bytes of a stream."""
        await self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def event(self, value: Any) -> None:
        await self.piece(b"data: " + json.dumps(value).encode() + b"\n\n")

    def state(self, ids: list[int], finish: Any = None, **meta: Any) -> dict[str, Any]:
        """SGLang's event: all ids so far."""
        counts = {"prompt_tokens": self.prompt_tokens, "completion_tokens": len(ids)}
        return {
            "text": "",
            "output_ids": ids,
            "meta_info": {"finish_reason": finish, **counts, **meta},
        }

    async def tokens(self, count: int) -> None:
        """The first tokens of the right answer."""
        for made in range(1, count + 1):
            await self.event(self.state(self.ids[:made]))

    async def end(self) -> None:
        """The end of a stream, as HTTP has it."""
        await self.raw(b"0\r\n\r\n")

    async def answer(self) -> None:
        """The right answer, whole."""
        await self.begin()
        await self.tokens(len(self.ids) - 1)
        await self.event(self.state(self.ids, {"type": "stop", "matched": self.ids[-1]}))
        await self.piece(b"data: [DONE]\n\n")
        await self.end()


class FakeWorker:
    """One worker, by TLS if ``tls`` is a context. ``answers`` counts its whole answers,
    ``attempts`` all requests for one. ``sees_images``: an image has IMAGE_TOKENS tokens, and
    ``images`` keeps the URLs of the last request.
    """

    sees_images = False

    def __init__(self, vocabulary: Vocabulary, tls: ssl.SSLContext | None = None) -> None:
        self.tls = tls
        self.fault: Fault | None = None
        self.answers = self.attempts = self.aborts = 0
        #: the header of each generation that has one
        self.traceparents: list[str] = []
        self.images: list[str] = []
        self.port = 0
        self._tokens = vocabulary.tokens
        self._stop = vocabulary.stop_token_ids[0]
        self._bytes = {token: number for number, token in enumerate(self._tokens)}
        self.info = {
            "grammar_backend": PLUGIN,
            "context_length": 8192,
            "internal_states": [
                {PLUGIN: {"spec_version": SPEC_VERSION, "vocabulary": vocabulary.fingerprint}}
            ],
        }
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    async def listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(
                self._serve, "127.0.0.1", self.port, ssl=self.tls
            )
            self.port = self._server.sockets[0].getsockname()[1]

    async def refuse(self) -> None:
        """Refuse connections from now on."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answers one request; returns whether another may come on this connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split(" ", 2)[1]
        size = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        body = json.loads(await reader.readexactly(int(size[1]))) if size else {}
        if path == "/generate":
            self.traceparents += re.findall(r"(?im)^traceparent: (\S+)", head)
        fault = self.fault
        self.images = body.get("image_data") or []
        reply = Reply(self, writer, path, self._right(body))
        reply.body = body
        if self.images and self.sees_images:
            reply.prompt_tokens = len(body["input_ids"]) + (IMAGE_TOKENS - 1) * len(self.images)
        if (
            fault is not None
            and fault.listens
            and (path == "/generate") != (fault.when == "health")
        ):
            self.attempts += path == "/generate"
            if path in ("/generate", "/ready", "/server_info"):
                gone = asyncio.ensure_future(reader.read(1))  # a client that gives up ends it
                work = asyncio.ensure_future(fault.act(reply))
                await asyncio.wait({gone, work}, return_when=asyncio.FIRST_COMPLETED)
                gone.cancel()
                work.cancel()
                return False
        await self._good(reply)
        return True

    async def _good(self, reply: Reply) -> None:
        if reply.path == "/generate":
            self.attempts += 1
            await reply.answer()
            self.answers += 1
        elif reply.path == "/server_info":
            await reply.whole(200, json.dumps(self.info).encode())
        elif reply.path == "/model_info":
            sees = {"has_image_understanding": self.sees_images}
            await reply.whole(200, json.dumps(sees).encode())
        else:
            self.aborts += reply.path == "/abort_request"
            await reply.whole(200, b"{}")

    def _right(self, body: Mapping[str, Any]) -> list[int]:
        """The right answer; a probe, which has no number, gets a space."""
        prompt = b"".join(self._tokens[number] for number in body.get("input_ids", ()))
        number = re.search(rb"number (\d+)", prompt)
        text = b'{"n": %s}' % number[1] if number else b""
        return [*(self._bytes[bytes([byte])] for byte in text), self._stop]


class Loop:
    """An event loop in a thread, for the fakes."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Awaitable[None]) -> None:
        async def awaited() -> None:
            await work

        asyncio.run_coroutine_threadsafe(awaited(), self._loop).result(30)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
