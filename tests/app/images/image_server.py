"""A server of images that counts its connections, and a fetcher that may reach it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from app.images.fetching import ImageFetcher
from app.images.image_hosts import ImageHosts

HOST = "images.example.org"


def answer(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer; names of headers have `_` for `-`."""
    fields = {"Content_Length": str(len(body)), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def redirect(location: str) -> bytes:
    return answer(status="302 Found", Location=location)


@dataclass
class ImageServer:
    """``answers`` by path; a path without one gets no answer.

    ``connections``: accepted so far; ``open``: not closed yet; ``most``: open at once;
    ``heads``: of requests.
    """

    answers: dict[str, bytes]
    port: int = 0
    connections: int = 0
    open: int = 0
    most: int = 0
    heads: list[str] = field(default_factory=list)
    #: set when the last connection has closed
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    #: waited for before each answer
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections, self.open = self.connections + 1, self.open + 1
        self.most = max(self.most, self.open)
        self.idle.clear()
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            await self.go.wait()
            if (reply := self.answers.get(head.split()[1])) is not None:
                writer.write(reply)
                await writer.drain()
            else:
                await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self.open -= 1
            if not self.open:
                self.idle.set()

    def url(self, path: str = "/a.png", host: str = HOST, scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


@asynccontextmanager
async def image_server(
    answers: Mapping[str, bytes], tls: ssl.SSLContext | None = None
) -> AsyncIterator[ImageServer]:
    server = ImageServer(dict(answers))
    server.go.set()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield server


async def to_loopback(host: str, port: int) -> Sequence[str]:
    """The address of any host in these tests."""
    return ["127.0.0.1"]


def allow_all(host: str, addresses: Sequence[str]) -> None:
    """Allow loopback, which only tests do."""


def fetcher_of(
    server: ImageServer, *, check: Callable[[str, Sequence[str]], None] = allow_all, **options: Any
) -> ImageFetcher:
    """A fetcher that may fetch from HOST at the server's port and at the ports of the web."""
    hosts = ImageHosts([f"{HOST}:{server.port}", HOST, f"evil.example:{server.port}"])
    defaults = {"max_bytes": 10_000, "seconds": 5.0, "resolve": to_loopback}
    return ImageFetcher(hosts, check=check, **(defaults | options))
