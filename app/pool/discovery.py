"""Discovery: workers from DNS, one for each address of a name, added and removed while running.

    dns+http://workers:30000    ->    http://10.0.0.5:30000, http://10.0.0.6:30000

Invariants   I1 a resolution that fails or finds no address changes nothing: a broken resolver must
                not empty a pool. It is logged once, until one succeeds.
             I2 a worker whose address is gone gets no new request, and finishes its answers.
             I3 a name has at most MAX_WORKERS workers, whatever the resolver says.
Threads      the event loop; getaddrinfo runs in the loop's executor.
Not here     the scheme of such workers (settings).
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol
from urllib.parse import urlsplit

from adapters.workers import Worker

from ..concurrency import cancel
from .member import Member
from .recovery import Observer

#: workers of a name; a resolver that answers with thousands is wrong, or hostile
MAX_WORKERS = 256
#: maximal seconds that startup waits for the first resolution; later ones take their time
FIRST_S = 5.0

#: (host, port) -> addresses; raises OSError
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


class Membership(Protocol):
    """A pool whose members change."""

    async def add(self, worker: Worker) -> Member: ...

    def remove(self, member: Member) -> None: ...


class Discovery:
    """Keeps the members of a pool equal to the addresses of DNS names.

    Args:
        urls: http URLs, of any scheme, whose host is the name.
        seconds: between two resolutions.
        make_worker: returns a worker for an http URL.
        resolve: for tests; default: all A and AAAA records, by getaddrinfo.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        seconds: float,
        make_worker: Callable[[str], Worker],
        resolve: Resolve | None = None,
    ) -> None:
        self._urls = urls
        self._seconds = seconds
        self._make_worker = make_worker
        self._resolve = resolve or addresses_of
        self._found: dict[str, dict[str, Member]] = {url: {} for url in urls}
        self._failing: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    async def start(self, pool: Membership, observer: Observer) -> None:
        """Resolve all names, and again every ``seconds``, until ``aclose``."""
        first = asyncio.Event()
        self._task = asyncio.create_task(self._run(pool, observer, first))
        waiting = asyncio.create_task(first.wait())
        await asyncio.wait({waiting, self._task}, timeout=FIRST_S, return_when="FIRST_COMPLETED")
        waiting.cancel()

    async def aclose(self) -> None:
        """Stop resolving; the members stay."""
        await cancel(self._task)

    async def _run(self, pool: Membership, observer: Observer, first: asyncio.Event) -> None:
        while True:
            await asyncio.gather(*(self._refresh(url, pool, observer) for url in self._urls))
            first.set()
            await asyncio.sleep(self._seconds)

    async def _refresh(self, url: str, pool: Membership, observer: Observer) -> None:
        """Resolve one name, and apply the difference. Never raises."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        try:
            addresses = await self._resolve(host, parts.port or 80)
            if not addresses:
                raise OSError("no addresses")
        except Exception as error:
            if url not in self._failing:
                self._failing.add(url)
                reason = f"{type(error).__name__}: {error}"
                kept = len(self._found[url])
                observer.warn("resolution failed", host=host, reason=reason, workers_kept=kept)
            return
        if url in self._failing:
            self._failing.discard(url)
            observer.warn("resolution works again", host=host)
        await self._apply(url, sorted(set(addresses))[:MAX_WORKERS], pool, observer)

    async def _apply(
        self, url: str, addresses: Sequence[str], pool: Membership, observer: Observer
    ) -> None:
        found = self._found[url]
        for address in found.keys() - set(addresses):
            member = found.pop(address)
            observer.inform("worker removed", name=member.name)
            pool.remove(member)
        new = [address for address in addresses if address not in found]
        await asyncio.gather(*(self._join(url, address, pool, observer) for address in new))

    async def _join(self, url: str, address: str, pool: Membership, observer: Observer) -> None:
        """Add the worker at an address; after a failure, the next resolution tries again."""
        try:
            member = await pool.add(self._make_worker(url_of(url, address)))
        except Exception as error:
            observer.warn("worker not added", address=address, exc_info=error)
            return
        self._found[url][address] = member
        observer.inform("worker added", name=member.name)


def url_of(url: str, address: str) -> str:
    """Return the http URL of one address of a DNS name; user, password, port and path stay."""
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    host = f"[{address}]" if ":" in address else address
    port = "" if parts.port is None else f":{parts.port}"
    return parts._replace(scheme="http", netloc=f"{user}{at}{host}{port}").geturl()


async def addresses_of(host: str, port: int) -> list[str]:
    """Return the addresses of all A and AAAA records. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # link-local addresses have a zone, which a URL cannot carry
    return [str(info[4][0]) for info in found if "%" not in str(info[4][0])]
