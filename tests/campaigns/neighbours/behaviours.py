"""The worst behaviours of one key. Each is a load that continues until it is cancelled."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

#: bytes of a large body, a little less than the default of SWITCHYARD_MAX_BODY_BYTES
LARGE = (4 << 20) - 1024
#: clients that send large or heavy requests at once: more than may wait
FLOOD = 70
#: idle or slow connections: more than may be open
CONNECTIONS, CONNECTS_PER_S = 2_200, 500

Load = Callable[["Neighbour"], Coroutine[Any, Any, None]]
_PROSE = "the quick brown fox, 3e7 of them. "


class Neighbour:
    """The clients of one key, or without one."""

    def __init__(self, url: str, key: str | None) -> None:
        parts = urlsplit(url)
        self._address = parts.hostname, parts.port
        self._key = "" if key is None else f"authorization: Bearer {key}\r\n"

    def head(self, path: str, size: int, *, keeps: bool = False) -> bytes:
        """Return the headers of a request with a body of so many bytes."""
        ends = "" if keeps else "connection: close\r\n"
        return (
            f"POST {path} HTTP/1.1\r\nhost: gateway\r\n{self._key}{ends}"
            f"content-type: application/json\r\ncontent-length: {size}\r\n\r\n"
        ).encode()

    @asynccontextmanager
    async def connection(
        self,
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection(*self._address)
        try:
            yield reader, writer
        finally:
            writer.close()

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Return (status, answer)."""
        async with self.connection() as (reader, writer):
            writer.write(self.head(path, len(body)) + body)
            answer = await reader.read()
        head, _, text = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), text

    async def flood(self, path: str, bodies: Callable[[int], bytes], clients: int = FLOOD) -> None:
        """Send bodies, ``clients`` at once, for ever."""
        numbers = itertools.count()

        async def send() -> None:
            while True:
                # a refused or closed connection is part of the load
                with suppress(OSError, IndexError):
                    await self.post(path, bodies(next(numbers)))
                await asyncio.sleep(0)

        await asyncio.gather(*(send() for _ in range(clients)))

    async def hold(self, sent: bytes, drip: bytes = b"", *, connections: int = CONNECTIONS) -> None:
        """Keep connections open that sent some bytes and go on with some, for ever."""

        async def one(number: int) -> None:
            # not all at once: a flood of connects is another matter
            await asyncio.sleep(number / CONNECTS_PER_S)
            while True:
                with suppress(OSError):
                    async with self.connection() as (reader, writer):
                        writer.write(sent)
                        while not reader.at_eof():
                            with suppress(TimeoutError):
                                await asyncio.wait_for(reader.read(4096), 5)
                            if drip:
                                writer.write(drip)
                await asyncio.sleep(1)

        await asyncio.gather(*(one(number) for number in range(connections)))


def _filled(body: dict[str, Any], size: int = LARGE) -> bytes:
    """Return the body with "%" replaced by prose of so many bytes in all."""
    text = json.dumps(body)
    return text.replace("%", _PROSE * ((size - len(text)) // len(_PROSE))).encode()


def _large(path: str, body: dict[str, Any], size: int = LARGE, clients: int = FLOOD) -> Load:
    made = _filled(body, size)
    return lambda neighbour: neighbour.flood(path, lambda _: made, clients)


_CHAT = {"model": "noise", "max_completion_tokens": 4}
_STORED = {"model": "noise", "max_output_tokens": 4, "store": True}


def _heavy(make: Callable[[int], dict[str, Any]]) -> Load:
    """Chats with constraints that no cache holds."""

    def body(number: int) -> bytes:
        asked = {**_CHAT, "messages": [{"role": "user", "content": "hi"}], **make(number)}
        return json.dumps(asked).encode()

    return lambda neighbour: neighbour.flood("/v1/chat/completions", body, 16)


def _schema(schema: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "a", **schema}}}


def _names(number: int, prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number:x}{at}" for at in range(count)]


#: grammars that cost much within the budget of one compile, never the same twice
HEAVY: dict[str, Callable[[int], dict[str, Any]]] = {
    "wide objects": lambda n: _schema(
        {"schema": {"properties": {p: {"enum": _names(n, p, 40)} for p in _names(n, "p", 60)}}}
    ),
    "patterns": lambda n: _schema(
        {
            "schema": {
                "properties": {
                    p: {"type": "string", "pattern": f"^{p}(\\p{{L}}|[0-9-]){{1,60}}$"}
                    for p in _names(n, "p", 30)
                }
            }
        }
    ),
    "alternatives": lambda n: _schema(
        {"schema": {"anyOf": [{"properties": {p: {"const": p}}} for p in _names(n, "k", 300)]}}
    ),
    "choices": lambda n: {"guided_choice": _names(n, "a", 400)},
    "regular expressions": lambda n: {"guided_regex": f"{n:x}(a|b){{1,400}}(\\w+ ){{1,80}}c"},
    "Lark": lambda n: {
        "guided_grammar": f'start: "{n:x}" item+\nitem: /[a-z]{{1,200}}/ | "(" item* ")"\n'
    },
}


def _check(neighbour: Neighbour) -> Coroutine[Any, Any, None]:
    """Schemas of some MB to the check: 40 at once."""
    return neighbour.flood("/v1/grammars/check", _checked, 40)


def _checked(number: int) -> bytes:
    names = _names(number, "p", 9_000)
    return json.dumps(
        {"schema": {"properties": {n: {"description": _PROSE * 8} for n in names}}}
    ).encode()


BEHAVIOURS: dict[str, Load] = {
    "large chats": _large(
        "/v1/chat/completions", {**_CHAT, "messages": [{"role": "user", "content": "%"}]}
    ),
    "chats of 60 KB": _large(
        "/v1/chat/completions", {**_CHAT, "messages": [{"role": "user", "content": "%"}]}, 60_000
    ),
    "large completions": _large(
        "/v1/completions", {"model": "noise", "max_tokens": 4, "prompt": "%"}
    ),
    "large texts to /tokenize": _large("/tokenize", {"prompt": "%"}),
    "texts of 60 KB to /tokenize": _large("/tokenize", {"prompt": "%"}, 60_000, 500),
    "large schemas to check": _check,
    "large outputs to explain": _large(
        "/v1/grammars/explain", {**_schema({"schema": {"type": "string"}}), "output": '"%'}
    ),
    "large stored responses": _large("/v1/responses", {**_STORED, "input": "%"}),
    "bodies that are no JSON": lambda neighbour: neighbour.flood(
        "/v1/chat/completions", lambda _: b'{"messages": "' + b"\\n" * (LARGE // 2)
    ),
    "idle connections": lambda neighbour: neighbour.hold(
        b"GET /health/live HTTP/1.1\r\nhost: gateway\r\n\r\n"
    ),
    "slow headers": lambda neighbour: neighbour.hold(b"GET /health/live HTTP/1.1\r\nx: ", b"x"),
    "slow bodies": lambda neighbour: neighbour.hold(
        neighbour.head("/tokenize", 1000, keeps=True), b"x"
    ),
    "slow large bodies": lambda neighbour: neighbour.hold(
        neighbour.head("/tokenize", LARGE) + b"x" * (LARGE - 1000), b"x", connections=2 * FLOOD
    ),
    **{f"compiles: {name}": _heavy(make) for name, make in HEAVY.items()},
}


def misbehave(url: str, name: str) -> None:
    """Run a behaviour for ever."""
    asyncio.run(BEHAVIOURS[name](Neighbour(url, "bad")))
