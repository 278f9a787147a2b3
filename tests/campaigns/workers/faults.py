"""How a worker can be bad.

Representation   ``FAULTS``, by name. "before": nothing of an answer came, so no client may notice.
                 "mid": some tokens were sent, so that one request fails, with an error. "health":
                 answers are right, and the health check is not.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from .fake import PLUGIN, Fault, Reply

Act = Callable[[Reply], Awaitable[None]]
#: tokens of an answer before a fault in its middle
SENT = 3


async def nothing(reply: Reply) -> None:
    """Closes the connection."""


async def reset(reply: Reply) -> None:
    reply.writer.transport.abort()


async def hang(reply: Reply) -> None:
    await asyncio.Event().wait()


async def ping(reply: Reply) -> None:
    """Bytes for ever, and no token."""
    while True:
        await reply.piece(b": ping\n\n")
        await asyncio.sleep(0.02)


def flood(data: bytes) -> Act:
    """The bytes again and again, as fast as the gateway reads them."""

    async def act(reply: Reply) -> None:
        while True:
            await reply.raw(data)
            await asyncio.sleep(0)

    return act


def flood_in_stream(data: bytes) -> Act:
    return flood(b"%x\r\n%s\r\n" % (len(data), data))


def status(code: int, body: bytes = b'{"error": {"message": "no"}}', head: str = "") -> Act:
    return lambda reply: reply.whole(code, body, head)


def pieces(*data: bytes) -> Act:
    async def act(reply: Reply) -> None:
        for each in data:
            await reply.piece(each)
        await reply.end()

    return act


def event(make: Callable[[Reply], Any]) -> Act:
    """One event that should not be, and then silence."""

    async def act(reply: Reply) -> None:
        await reply.event(make(reply))
        await hang(reply)

    return act


def so_far(reply: Reply, *more: Any, finish: Any = None, **meta: Any) -> dict[str, Any]:
    """The tokens that were sent, and further ids."""
    return reply.state([*reply.ids[: reply.made], *more], finish, **meta)


#: what goes wrong inside a stream, at its beginning or in its middle
IN_STREAM: dict[str, Act] = {
    "closes": nothing,
    "resets": reset,
    "hangs": hang,
    "pings for ever": ping,
    "comments without end": flood_in_stream(b": x\n" * 10_000),
    "empty lines without end": flood_in_stream(b"\n" * 60_000),
    "events without tokens": flood_in_stream(
        b'data: {"output_ids":[],"meta_info":{"finish_reason":null,"completion_tokens":0,'
        b'"prompt_tokens":3}}\n\n' * 500
    ),
    "ends": pieces(),
    "ends with [DONE]": pieces(b"data: [DONE]\n\n"),
    "garbage event": pieces(b"data: {{{\n\n"),
    "invalid UTF-8": pieces(b'data: "\xff\xfe"\n\n'),
    "deep JSON": pieces(b"data: " + b"[" * 100_000 + b"\n\n"),
    "event without end": pieces(*[b"x" * (1 << 20)] * 4),
    "no event": event(lambda reply: {"text": "x"}),
    "error event": event(lambda reply: {"error": {"message": "out of memory", "code": 500}}),
    "aborts": event(lambda reply: so_far(reply, finish={"type": "abort", "message": "no"})),
    "numbers break": event(
        lambda reply: so_far(reply, 1, finish={"type": "stop", "matched": "NaN happened"})
    ),
    "id out of range": event(lambda reply: so_far(reply, 1 << 20)),
    "negative id": event(lambda reply: so_far(reply, -1)),
    "lost tokens": event(lambda reply: so_far(reply, completion_tokens=1000)),
    "bad counts": event(lambda reply: so_far(reply, 1, prompt_tokens="x")),
    "unknown finish": event(lambda reply: so_far(reply, finish={"type": "whatever"})),
    "stops too early": event(lambda reply: so_far(reply, reply.ids[-1], finish={"type": "stop"})),
    "ignores the grammar": event(lambda reply: so_far(reply, reply.ids[1])),
}
WHOLE: dict[str, Act] = {
    **{f"status {code}": status(code) for code in (400, 401, 404, 413, 422, 429, 500, 503)},
    "redirects": status(302, b"", "location: http://127.0.0.1:9/\r\n"),
    "status 500, garbage": status(500, b"\xff" * 100),
    "closes at once": nothing,
    "never answers": hang,
    "not HTTP": lambda reply: reply.raw(b"\x00\xffgarbage\r\n\r\n"),
    "informational answers without end": flood(b"HTTP/1.1 102 Processing\r\n\r\n" * 400),
    "headers without end": flood(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 2000),
    "white space without end": flood(b"\r\n" * 5000),
    "half a head": lambda reply: reply.raw(b"HTTP/1.1 200 OK\r\ncontent-"),
    "a web page": status(200, b"<html>welcome</html>"),
    "200 with an error": status(200, b'{"error": {"message": "no"}}'),
    "empty": status(200, b""),
}


def _info(**changes: Any) -> Act:
    async def act(reply: Reply) -> None:
        await reply.whole(200, json.dumps(reply.worker.info | changes).encode())

    return act


HEALTH: dict[str, Act] = {
    "health hangs": hang,
    "health 500": status(500),
    "health closes": nothing,
    "health invalid UTF-8": status(200, b"\xff\xfe"),
    "health deep JSON": status(200, b"[" * 100_000),
    "health no object": status(200, b"[]"),
    "health endless": status(200, b"x" * (2 << 20)),
    "another backend": _info(grammar_backend="xgrammar"),
    "another vocabulary": _info(internal_states=[{PLUGIN: {"vocabulary": "x"}}]),
    "no plug-in": _info(internal_states=None),
}


def _within(act: Act, sent: int) -> Act:
    """The fault inside a stream, behind ``sent`` right tokens."""

    async def within(reply: Reply) -> None:
        await reply.begin()
        await reply.tokens(sent)
        reply.made = sent
        await act(reply)

    return within


_ALL = [
    Fault("refuses connections", "before", nothing, listens=False),
    *(Fault(name, "before", act) for name, act in WHOLE.items()),
    *(Fault(f"stream {name}", "before", _within(act, 0)) for name, act in IN_STREAM.items()),
    *(Fault(f"mid-answer {name}", "mid", _within(act, SENT)) for name, act in IN_STREAM.items()),
    *(Fault(name, "health", act) for name, act in HEALTH.items()),
]
FAULTS = {fault.name: fault for fault in _ALL}
