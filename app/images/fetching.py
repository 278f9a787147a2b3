"""Images fetched over HTTP, from hosts that the operator allows.

    URL -> hosts allow it -> name resolved -> all addresses public -> GET from exactly these

Invariants   I1 the addresses that were checked are those that are connected to: the name is
                resolved once, so a DNS server that changes its answer does not help. TLS still
                verifies the name.
             I2 a redirect is a URL like the first one and stays on its host.
             I3 no proxy of the environment, no cookie, no kept connection.
Bounds       bytes of an image, counted while they arrive, never decompressed; bytes and seconds of
             all images of a request; MAX_FETCHES at once, MAX_FETCHES_OF_CLIENT of one client.
Threads      the event loop; names are resolved in threads of their own, so that a slow DNS server
             keeps no other work of the process waiting.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal
from weakref import WeakValueDictionary

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ..version import version
from .data_url import check_size
from .image_hosts import ImageHosts, check_addresses
from .unreadable import ImageError, UnreadableImage

#: fetches at once in this process: 16 of the largest images are 320 MiB
MAX_FETCHES = 16
#: fetches at once of one client
MAX_FETCHES_OF_CLIENT = 4
#: redirects of an image
MAX_REDIRECTS = 3
#: bytes of all images that are fetched for a request, about twice the largest body
MAX_REQUEST_BYTES = 64 << 20
REDIRECTS = (301, 302, 303, 307, 308)

#: why a fetch failed; a label of metrics. "url": not allowed, "address": not public
FetchFailure = Literal["url", "address", "name", "connection", "status", "answer", "time"]
#: returns the addresses of a host
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass(slots=True)
class _Budget:
    """Bytes that the images of a request may still have."""

    left: int = field(default_factory=lambda: MAX_REQUEST_BYTES)


class ImageFetcher:
    """See the file's header.

    Args:
        seconds: for all images of a request.
        on_failure: called with the kind of each failure.
        resolve, check, tls: for tests; default: all addresses by getaddrinfo, public ones only, the
            system's CAs.
    """

    def __init__(
        self,
        hosts: ImageHosts,
        *,
        max_bytes: int,
        seconds: float,
        on_failure: Callable[[FetchFailure], None] = lambda failure: None,
        resolve: Resolve | None = None,
        check: Callable[[str, Sequence[str]], None] = check_addresses,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._hosts, self._max_bytes, self._seconds = hosts, max_bytes, seconds
        self._on_failure = on_failure
        self._resolve, self._check, self._tls = resolve or self._addresses, check, tls
        self._threads = ThreadPoolExecutor(MAX_FETCHES, "image-dns")
        self._all = asyncio.Semaphore(MAX_FETCHES)
        self._of_client: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def fetch(
        self, urls: Iterable[str], client: str
    ) -> Mapping[str, bytes | UnreadableImage]:
        """Return the file of each URL of a request, or why there is none."""
        budget, end = _Budget(), asyncio.get_running_loop().time() + self._seconds
        own = self._of_client.setdefault(client, asyncio.Semaphore(MAX_FETCHES_OF_CLIENT))

        async def one(url: str) -> bytes | UnreadableImage:
            try:
                async with asyncio.timeout_at(end), own, self._all:
                    return await self._fetch(url, budget)
            except TimeoutError:
                self._on_failure("time")
                reason = f"it could not be fetched within {self._seconds:g} seconds"
                return UnreadableImage(reason, "failed_to_download_image")
            except ImageError as error:
                return error.unreadable

        async with asyncio.TaskGroup() as group:
            tasks = {url: group.create_task(one(url)) for url in urls}
        return {url: task.result() for url, task in tasks.items()}

    def close(self) -> None:
        """Let go of the threads; running look-ups end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _fetch(self, url: str, budget: _Budget) -> bytes:
        """Return the file at a URL, through redirects. Raises ImageError."""
        target = self._allowed(url)
        for _ in range(MAX_REDIRECTS + 1):
            async with self._get(target) as answer:
                location = answer.headers.get("Location")
                if answer.status not in REDIRECTS or location is None:
                    return await self._file(answer, budget)
            target = self._redirected(target, location)
        raise self._failed(
            "answer", f"its URL may redirect at most {MAX_REDIRECTS} times, got more"
        )

    def _allowed(self, url: str) -> URL:
        try:
            return self._hosts.check(url)
        except ImageError:
            self._on_failure("url")
            raise

    def _redirected(self, source: URL, location: str) -> URL:
        """Return where a redirect leads. Raises ImageError."""
        try:
            target = str(source.join(URL(location)))
        except ValueError:
            raise self._failed("answer", "its URL redirects to one that is not valid") from None
        redirected = self._allowed(target)
        if redirected.raw_host != source.raw_host:
            raise self._failed(
                "answer", f"its URL may redirect to {source.raw_host}, got {redirected.raw_host}"
            )
        if source.scheme == "https" and redirected.scheme != "https":
            raise self._failed("answer", "its URL may redirect to https, got http")
        return redirected

    @asynccontextmanager
    async def _get(self, url: URL) -> AsyncIterator[aiohttp.ClientResponse]:
        """Request a URL from the addresses of its host. Raises ImageError."""
        host, port = url.raw_host or "", url.port or 0
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise self._failed("name", f"the host {host} has no address ({error})") from error
        try:
            self._check(host, addresses)
        except ImageError:
            self._on_failure("address")
            raise
        connector = aiohttp.TCPConnector(
            resolver=_Checked(addresses),
            use_dns_cache=False,
            force_close=True,
            ssl=self._tls or True,
        )
        try:
            async with (
                aiohttp.ClientSession(
                    connector=connector,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    auto_decompress=False,
                    timeout=aiohttp.ClientTimeout(total=None),
                    headers={
                        "User-Agent": f"switchyard/{version()}",
                        "Accept-Encoding": "identity",
                    },
                ) as session,
                session.get(url, allow_redirects=False) as answer,
            ):
                yield answer
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            text = f"it could not be fetched from {host} ({type(error).__name__}: {error})"
            raise self._failed("connection", text[:300]) from error

    async def _file(self, answer: aiohttp.ClientResponse, budget: _Budget) -> bytes:
        """Return the body of an answer. Raises ImageError, and errors of aiohttp."""
        if answer.status != 200:
            raise self._failed(
                "status", f"its URL must answer with status 200, got {answer.status}"
            )
        coding = answer.headers.get("Content-Encoding", "identity")
        if coding.lower() != "identity":
            raise self._failed("answer", f"its URL must answer uncompressed, got {coding[:40]!r}")
        pieces, size = [], 0
        check_size(max(answer.content_length or 1, 1), self._max_bytes)
        async for piece in answer.content.iter_any():
            size += len(piece)
            budget.left -= len(piece)
            check_size(size, self._max_bytes)
            if budget.left < 0:
                raise self._failed(
                    "answer",
                    "all images fetched for a request may have at most "
                    f"{MAX_REQUEST_BYTES:,} bytes",
                )
            pieces.append(piece)
        return b"".join(pieces)

    def _failed(self, failure: FetchFailure, reason: str) -> ImageError:
        self._on_failure(failure)
        return ImageError("failed_to_download_image", reason)

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        """Return all addresses of a host. Raises OSError."""
        loop = asyncio.get_running_loop()
        infos = await loop.run_in_executor(
            self._threads, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        )
        return [str(info[4][0]) for info in infos]


class _Checked(AbstractResolver):
    """Gives a connection the addresses that were checked."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses. Called by aiohttp."""
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        """Do nothing. Called by aiohttp."""
