"""Images fetched over HTTP, and requests that a hostile URL must not cause."""

import asyncio
import socket
import ssl
from collections.abc import Sequence

import pytest
import trustme

from app.images import fetching
from app.images.fetching import MAX_FETCHES_OF_CLIENT, MAX_REDIRECTS, ImageFetcher
from app.images.image_hosts import ImageHosts, check_addresses
from app.images.unreadable import UnreadableImage

from .image_server import HOST, ImageServer, answer, fetcher_of, image_server, redirect

FILE = b"image" * 100


async def fetched(fetcher: ImageFetcher, url: str) -> bytes | UnreadableImage:
    return (await fetcher.fetch([url], "client"))[url]


async def reason_of(fetcher: ImageFetcher, url: str) -> str:
    got = await fetched(fetcher, url)
    assert isinstance(got, UnreadableImage), got
    return got.reason


async def test_an_image_is_fetched_with_a_plain_request(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with image_server({"/a.png?x=1": answer(FILE)}) as server:
        assert await fetched(fetcher_of(server), server.url("/a.png?x=1")) == FILE
        head = server.heads[0].lower()
        assert f"host: {HOST}:{server.port}\r\n" in head
        assert "accept-encoding: identity\r\n" in head
        assert "cookie" not in head
        assert "authorization" not in head


async def test_images_of_a_request_are_fetched_side_by_side_within_the_bounds():
    paths = [f"/{number}" for number in range(10)]
    async with image_server({path: answer(FILE) for path in paths}) as server:
        server.go.clear()
        urls = [server.url(path) for path in paths]
        fetcher = fetcher_of(server)
        running = asyncio.create_task(fetcher.fetch(urls, "client"))
        while server.open < MAX_FETCHES_OF_CLIENT:
            await asyncio.sleep(0.001)
        other = asyncio.create_task(fetcher.fetch([server.url("/0")], "other"))
        while server.open <= MAX_FETCHES_OF_CLIENT:
            await asyncio.sleep(0.001)
        server.go.set()
        assert await running == dict.fromkeys(urls, FILE)
        assert await other == {server.url("/0"): FILE}
        assert server.most == MAX_FETCHES_OF_CLIENT + 1


async def test_fetches_of_all_clients_are_bounded(monkeypatch):
    monkeypatch.setattr(fetching, "MAX_FETCHES", 2)
    async with image_server({"/a.png": answer(FILE)}) as server:
        server.go.clear()
        fetcher = fetcher_of(server)
        clients = [asyncio.create_task(fetcher.fetch([server.url()], str(n))) for n in range(5)]
        while server.open < 2:
            await asyncio.sleep(0.001)
        server.go.set()
        await asyncio.gather(*clients)
        assert server.most == 2


async def test_cancelling_a_fetch_closes_its_connection():
    async with image_server({}) as server:
        task = asyncio.create_task(fetched(fetcher_of(server), server.url()))
        while not server.heads:
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.wait([task])
        await asyncio.wait_for(server.idle.wait(), 10)
        assert task.cancelled()


async def test_a_server_that_does_not_answer_takes_the_seconds_of_the_setting():
    failures: list[str] = []
    async with image_server({}) as server:
        fetcher = fetcher_of(server, seconds=0.05, on_failure=failures.append)
        assert (
            await reason_of(fetcher, server.url()) == "it could not be fetched within 0.05 seconds"
        )
        await asyncio.wait_for(server.idle.wait(), 10)
    assert failures == ["time"]


ENDLESS = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + b"x" * 4096 + b"\r\n"
)
ANSWERS = {
    "a claimed size": (
        answer(b"", Content_Length="10001"),
        "may have at most 10,000 bytes, got 10,001",
    ),
    "a size that grows": (
        ENDLESS + b"1000\r\n" + b"x" * 4096 + b"\r\n" + b"1000\r\n" + b"x" * 4096,
        "may have at most 10,000 bytes, got",
    ),
    "status 404": (answer(b"no", "404 Not Found"), "status 200, got 404"),
    "status 204": (answer(b"", "204 No Content"), "status 200, got 204"),
    "status 206": (answer(b"no", "206 Partial Content"), "status 200, got 206"),
    "gzip": (answer(FILE, Content_Encoding="gzip"), "uncompressed, got 'gzip'"),
    "no HTTP": (b"SSH-2.0-OpenSSH_9\r\n\r\n", "could not be fetched from images.example.org"),
    "a body that breaks off": (answer(FILE, Content_Length="600"), "could not be fetched from"),
    "a redirect without a location": (answer(b"", "302 Found"), "status 200, got 302"),
    "a redirect to nowhere": (redirect("http://[::1/"), "redirects to one that is not valid"),
    "a large head": (answer(FILE, X="y" * 100_000), "could not be fetched from"),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_that_is_no_file_is_refused_by_reason(name: str) -> None:
    reply, reason = ANSWERS[name]
    async with image_server({"/a.png": reply}) as server:
        assert reason in await reason_of(fetcher_of(server), server.url())


async def test_the_images_of_a_request_have_a_bound_of_bytes_together(monkeypatch):
    monkeypatch.setattr(fetching, "MAX_REQUEST_BYTES", 2 * len(FILE))
    async with image_server({f"/{n}": answer(FILE) for n in range(3)}) as server:
        got = await fetcher_of(server).fetch([server.url(f"/{n}") for n in range(3)], "client")
        reasons = [each.reason for each in got.values() if isinstance(each, UnreadableImage)]
        assert reasons == ["all images fetched for a request may have at most 1,000 bytes"]


async def test_redirects_stay_on_their_host():
    async with image_server({}) as server:
        server.answers = {
            "/a.png": redirect("/b.png"),
            "/b.png": redirect(server.url("/c.png")),
            "/c.png": answer(FILE),
            "/loop": redirect("/loop"),
        }
        fetcher = fetcher_of(server)
        assert await fetched(fetcher, server.url()) == FILE
        assert server.connections == 3
        reason = await reason_of(fetcher, server.url("/loop"))
        assert reason == f"its URL may redirect at most {MAX_REDIRECTS} times, got more"
        assert server.connections == 3 + MAX_REDIRECTS + 1


@pytest.mark.parametrize(
    "location",
    [
        "http://evil.example:{port}/b.png",
        "//evil.example:{port}/b.png",
        "http://127.0.0.1:{port}/b.png",
        "http://user@images.example.org:{port}/b.png",
        "http://images.example.org:1/b.png",
        "ftp://images.example.org:{port}/b.png",
        "file:///etc/passwd",
        "http://images.example.org.:{port}/b.png",
    ],
)
async def test_a_redirect_elsewhere_is_not_followed(location: str) -> None:
    async with image_server({"/b.png": answer(FILE)}) as server:
        server.answers["/a.png"] = redirect(location.format(port=server.port))
        assert isinstance(await fetched(fetcher_of(server), server.url()), UnreadableImage)
        assert server.connections == 1


# -- requests that must not be made ---------------------------------------------------------------
async def hostile(server: ImageServer, addresses: Sequence[str]) -> UnreadableImage | bytes:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    fetcher = fetcher_of(server, resolve=resolve, check=check_addresses)
    return await fetched(fetcher, server.url())


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["0.0.0.0"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["100.64.0.1"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["2002:7f00:1::1"],
        ["fe80::1%lo"],
        ["1.1.1.1", "127.0.0.1"],
        ["127.0.0.1", "1.1.1.1"],
        [],
    ],
)
async def test_a_host_with_an_address_that_is_not_public_gets_no_connection(addresses):
    async with image_server({"/a.png": answer(FILE)}) as server:
        got = await hostile(server, addresses)
        assert isinstance(got, UnreadableImage)
        assert (got.code, server.connections) == ("image_host_not_allowed", 0)


HOSTILE_URLS = [
    "http://127.0.0.1:{port}/a.png", "http://localhost:{port}/a.png",
    "http://2130706433:{port}/a.png", "http://0x7f000001:{port}/a.png",
    "http://0177.0.0.1:{port}/a.png", "http://127.1:{port}/a.png", "http://0:{port}/a.png",
    "http://[::1]:{port}/a.png", "http://[::ffff:127.0.0.1]:{port}/a.png",
    "http://\u2460\u2461\u2466.0.0.1:{port}/a.png", "http://LOCALHOST:{port}/a.png",
    "http://localhost.:{port}/a.png", "http://images.example.org.:{port}/a.png",
    "http://user@images.example.org:{port}/a.png",
    "http://images.example.org:{port}@127.0.0.1:{port}/a.png",
    "http://127.0.0.1:{port}\\@images.example.org:{port}/a.png",
    "http://images.example.org#@127.0.0.1:{port}/a.png",
    "http://127.0.0.1:{port}#@images.example.org:{port}/a.png",
    "ftp://images.example.org:{port}/a.png", "file:///etc/passwd",
    "gopher://images.example.org:{port}/a.png", "http://other.example.org:{port}/a.png",
]  # fmt: skip


@pytest.mark.parametrize("url", HOSTILE_URLS)
async def test_a_hostile_url_gets_no_connection(url: str) -> None:
    async with image_server({"/a.png": answer(FILE)}) as server:
        fetcher = ImageFetcher(ImageHosts([f"{HOST}:{server.port}"]), max_bytes=10_000, seconds=5)
        assert isinstance(await fetched(fetcher, url.format(port=server.port)), UnreadableImage)
        assert server.connections == 0


async def test_a_name_that_really_leads_to_loopback_gets_no_connection():
    async with image_server({"/a.png": answer(FILE)}) as server:
        hosts = ImageHosts([f"localhost:{server.port}"])
        fetcher = ImageFetcher(hosts, max_bytes=10_000, seconds=5)
        reason = await reason_of(fetcher, server.url(host="localhost"))
        assert reason == "the host localhost must have public addresses, got one that is not public"
        assert server.connections == 0
        fetcher.close()


async def test_dns_that_changes_after_the_check_does_not_help(monkeypatch):
    """The first answer is public, all later ones are loopback."""
    answers = iter(["93.184.215.14"])
    asked = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return [next(answers, "127.0.0.1")]

    def getaddrinfo(*arguments: object, **options: object) -> list[object]:
        raise AssertionError("a name is resolved again")

    connected: list[object] = []

    async def connect(self: object, sock: socket.socket, address: object) -> None:
        connected.append(address)
        raise ConnectionRefusedError

    async with image_server({"/a.png": answer(FILE)}) as server:
        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        monkeypatch.setattr(type(asyncio.get_running_loop()), "sock_connect", connect)
        fetcher = fetcher_of(server, resolve=resolve, check=check_addresses)
        assert "could not be fetched" in await reason_of(fetcher, server.url())
        assert (connected, asked) == ([("93.184.215.14", server.port)], [HOST])
        assert server.connections == 0


async def test_a_name_without_an_address_is_refused_by_reason():
    async def resolve(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async with image_server({}) as server:
        reason = await reason_of(fetcher_of(server, resolve=resolve), server.url())
        assert "the host images.example.org has no address" in reason


async def test_a_name_that_is_too_long_is_refused():
    fetcher = ImageFetcher(ImageHosts(["*.example.org"]), max_bytes=10, seconds=5)
    assert "has no address" in await reason_of(fetcher, f"http://{'a' * 64}.example.org/")
    fetcher.close()


@pytest.mark.parametrize("name", [HOST, "127.0.0.1"])
async def test_tls_verifies_the_name_and_not_the_address(name: str) -> None:
    authority = trustme.CA()
    served, trusted = (
        ssl.SSLContext(p) for p in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT)
    )
    authority.issue_cert(name).configure_cert(served)
    authority.configure_trust(trusted)
    async with image_server({"/a.png": answer(FILE)}, served) as server:
        got = await fetched(fetcher_of(server, tls=trusted), server.url(scheme="https"))
        assert got == FILE if name == HOST else isinstance(got, UnreadableImage)
        assert len(server.heads) == (name == HOST)
