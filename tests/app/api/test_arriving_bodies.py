"""Bodies that are arriving have a bound in bytes, and the client with the most makes room."""

import asyncio
import json
import socket
from contextlib import AsyncExitStack, ExitStack, suppress

import httpx
import pytest

from app.api.arriving_bodies import ArrivingBodies, ArrivingBody
from app.errors import ApiError
from tests.app.gateway import PATIENCE, Gateway, gateway_fixture

#: bytes of one body, and of all that are arriving
BODY, ARRIVING = 64 << 10, 256 << 10
#: of one body that is sent slowly
SLOW = BODY - 1024


class Arriving:
    """Bodies by name; a name begins with its client's."""

    def __init__(self, stack: AsyncExitStack, max_bytes: int) -> None:
        self.bodies = ArrivingBodies(max_bytes)
        self._stack = stack
        self._named: dict[str, ArrivingBody] = {}

    async def send(self, name: str, size: int) -> None:
        """Begin a body, or go on with it."""
        if name not in self._named:
            self._named[name] = await self._stack.enter_async_context(
                self.bodies.body(name[0], PATIENCE)
            )
        with suppress(ApiError):
            self.bodies.add(self._named[name], b"x" * size)

    @property
    def left(self) -> str:
        return " ".join(name for name, each in self._named.items() if not each.is_refused)


@pytest.mark.parametrize(
    ("sent", "left"),
    [
        ("a1=4 a2=4 a3=2", "a1 a2 a3"),
        # the newest of the client with the most, even if it sends nothing now
        ("a1=4 a2=4 b1=4", "a1 b1"),
        ("a1=4 a2=4 a1=4", "a1"),
        ("b1=3 a1=4 a2=4", "b1 a1"),
        # a body without bytes frees none
        ("a1=6 a2=0 b1=5", "a2 b1"),
        # as many as it takes
        ("a1=3 a2=3 a3=3 b1=5", "a1 b1"),
        # and no client below another one's bytes
        ("a1=3 a2=3 a3=3 b1=8", "a1 a2"),
        # one client alone
        ("a1=11", ""),
        ("a1=4 a2=4 a3=4 a4=2", "a1 a2 a4"),
    ],
)
async def test_the_newest_body_of_the_client_with_the_most_bytes_is_refused(sent: str, left: str):
    async with AsyncExitStack() as stack:
        arriving = Arriving(stack, 10)
        for name, _, size in (each.partition("=") for each in sent.split()):
            await arriving.send(name, int(size))
        assert arriving.left == left
        assert arriving.bodies._size <= 10
    assert (arriving.bodies._sizes, arriving.bodies._bodies, arriving.bodies._size) == ({}, {}, 0)


async def test_a_reader_that_waits_learns_at_once_that_its_body_is_refused():
    bodies = ArrivingBodies(10)
    begun = asyncio.Event()

    async def slow() -> None:
        async with bodies.body("a", 3600) as body:
            bodies.add(body, b"x" * 6)
            begun.set()
            await asyncio.Event().wait()

    reading = asyncio.create_task(slow())
    await begun.wait()
    async with bodies.body("b", 3600) as body:
        bodies.add(body, b"x" * 5)
        with pytest.raises(ApiError, match="this client sends the most"):
            await reading


async def test_a_body_that_takes_too_long_is_a_timeout():
    bodies = ArrivingBodies(10)

    async def slow() -> None:
        async with bodies.body("a", 0) as body:
            bodies.add(body, b"x")
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await slow()
    assert (bodies._sizes, bodies._bodies) == ({}, {})


async def test_a_whole_body_has_no_deadline_and_still_counts():
    """It may wait for a thread that parses it."""
    bodies = ArrivingBodies(10)

    async def waits() -> None:
        async with bodies.body("a", 0.01) as body, bodies.body("b", PATIENCE) as other:
            bodies.add(body, b"x" * 6)
            body.end()
            await asyncio.sleep(0.03)
            bodies.add(other, b"x" * 5)
            await asyncio.Event().wait()

    with pytest.raises(ApiError, match="this client sends the most"):
        await waits()
    assert (bodies._sizes, bodies._bodies) == ({}, {})


gateway = gateway_fixture(
    api_keys="slow,other",
    max_body_bytes=BODY,
    max_image_body_bytes=BODY,
    max_arriving_bytes=ARRIVING,
)


def begin(gateway: Gateway, stack: ExitStack) -> socket.socket:
    """Send all of a body but its end."""
    address = httpx.URL(gateway.url)
    made = socket.create_connection((address.host, address.port or 80), PATIENCE)
    head = (
        "POST /tokenize HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer slow\r\n"
        f"content-type: application/json\r\ncontent-length: {SLOW}\r\n\r\n"
    )
    made.sendall(head.encode() + b"x" * (SLOW - 1))
    return stack.enter_context(made)


def test_slow_bodies_of_one_key_refuse_no_body_of_another(gateway: Gateway):
    """REGRESSION: 70 bodies of 4 MB that arrived slowly took 280 MB, and nothing bounded them."""
    with ExitStack() as stack:
        slow = [begin(gateway, stack) for _ in range(12)]
        prompt = json.dumps({"model": "noise", "prompt": "x" * (SLOW - 100)})
        headers = {"authorization": "Bearer other", "content-type": "application/json"}
        for _ in range(3):
            answer = httpx.post(f"{gateway.url}/tokenize", content=prompt, headers=headers)
            assert answer.status_code == 200
        refused = []
        for each in slow[-8:]:
            answer = each.recv(65536)
            refused.append(answer)
            assert answer.startswith(b"HTTP/1.1 503")
            assert b"retry-after: 1" in answer.lower()
            error = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
            assert (error["code"], error["type"]) == ("overloaded", "service_unavailable")
            assert f"{ARRIVING:,}" in error["message"]
        assert gateway.metric("switchyard_admission_refused_total", reason="arriving_bytes") >= 8
        # the oldest ones go on
        slow[0].sendall(b"x")
        assert slow[0].recv(65536).startswith(b"HTTP/1.1 400")
