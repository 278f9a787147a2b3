"""Stand-ins for a SGLang server: recorded bodies, and faults that a real one can't be made to show.

The recordings are raw response bodies of SGLang 0.5.23: cumulative streams, the same from a server
with ``--incremental-streaming-output``, a grammar that does not compile, an abort while decoding.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

from adapters.workers import Chunk, Generation, SGLangWorker, WorkerError
from adapters.workers.http_client import HttpClient
from adapters.workers.http_connection import Receiver

from .helpers import ids_of

RECORDED = Path(__file__).parent / "recorded"
#: bytes of the recorded ids; the model had 4,096 tokens
TOKENS = [b"?"] * 4096
for _number, _text in json.loads((RECORDED / "tokens.json").read_text()).items():
    TOKENS[int(_number)] = _text.encode("latin-1")
PROMPT = [10, 11, 12]


class Body(httpx.AsyncByteStream):
    """A response body in pieces of ``size`` bytes; ``fault`` is raised after the last one."""

    def __init__(self, data: bytes, size: int = 50, fault: Exception | None = None) -> None:
        self.data, self.size, self.fault, self.closed = data, size, fault, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self.data), self.size):
            await asyncio.sleep(0)
            yield self.data[at : at + self.size]
        if self.fault is not None:
            raise self.fault

    async def aclose(self) -> None:
        self.closed = True


class MockClient(HttpClient):
    """A client whose answers ``handler`` makes; any exception is a broken connection."""

    def __init__(self, handler: Callable[[httpx.Request], Awaitable[httpx.Response]]) -> None:
        self._client = httpx.AsyncClient(
            transport=httpx.MockTransport(handler), base_url="http://worker"
        )

    def begin(self, method: str, path: str, receiver: Receiver, **options: Any) -> Any:
        content, headers = options.get("content"), dict(options.get("headers") or {})
        sent = self._client.stream(method, path, content=content, headers=headers)
        return MockExchange(sent, receiver)

    async def aclose(self) -> None:
        await self._client.aclose()


class MockExchange:
    """Passes on an answer of httpx."""

    def __init__(self, sent: Any, receiver: Receiver) -> None:
        self._sent, self._receiver = sent, receiver
        self._is_stopped = False
        self._resumed = asyncio.Event()
        self._resumed.set()

    async def wait(self) -> None:
        try:
            async with self._sent as answer:
                self._receiver.on_head(answer.status_code)
                async for data in answer.aiter_bytes():
                    self._receiver.on_data(data)
                    if self._is_stopped:
                        return
                    await self._resumed.wait()
        except httpx.HTTPError as error:
            raise WorkerError(502, str(error), reason="connection") from error

    def stop(self, *, is_ending: bool) -> None:
        self._is_stopped = True

    def pause(self) -> None:
        self._resumed.clear()

    def resume(self) -> None:
        self._resumed.set()


class Server:
    """Stands in for a server: answers /generate with ``reply`` and remembers every request."""

    def __init__(self, reply: Callable[[], httpx.Response]) -> None:
        self.reply = reply
        self.requests: list[tuple[str, Any]] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else None
        self.requests.append((request.url.path, body))
        return self.reply() if request.url.path == "/generate" else httpx.Response(200)

    def worker(self, **options: Any) -> SGLangWorker:
        client = MockClient(self)
        return SGLangWorker("http://worker:30000/", tokens=TOKENS, client=client, **options)

    def sent(self, path: str) -> list[Any]:
        return [body for at, body in self.requests if at == path]


def recorded(name: str, size: int = 50) -> Server:
    data = (RECORDED / f"{name}.sse").read_bytes()
    return Server(lambda: httpx.Response(200, stream=Body(data, size)))


def streamed(*events: Any, fault: Exception | None = None, done: bool = True) -> Server:
    lines = [b"data: " + json.dumps(event, ensure_ascii=False).encode() for event in events]
    lines += [b"data: [DONE]"] if done else []
    data = b"".join(line + b"\n\n" for line in lines)
    return Server(lambda: httpx.Response(200, stream=Body(data, fault=fault)))


def event(ids: list[int], made: int, finish: Any = None, text: str = "") -> dict[str, Any]:
    meta = {"finish_reason": finish, "prompt_tokens": 3, "completion_tokens": made}
    return {"text": text, "output_ids": ids, "meta_info": meta}


def ask(**changes: Any) -> Generation:
    values: dict[str, Any] = {"rid": "r", "prompt": PROMPT, "spec": None, "max_tokens": 60}
    return Generation(**values | changes)


def text_of(chunks: list[Chunk]) -> bytes:
    text = b"".join(TOKENS[number] for number in ids_of(chunks))
    return text[: len(text) - chunks[-1].trim]
