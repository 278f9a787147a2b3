"""One HTTP request and its answer, which routes find in the state of its scope."""

import os
import re
import time
from collections.abc import Callable, Coroutine, MutableMapping
from contextlib import ExitStack
from typing import Any, TypeVar

from fastapi import Request
from starlette.types import Message, Send

from ..access import Client
from ..errors import ApiError, client_left
from ..observability import IGNORED_HEADER, RequestRecord, header_listing
from ..server import EVENT_STREAM, Disconnected, Drain, run_until_disconnect
from ..service import RequestContext
from .surfaces import ANTHROPIC_HEADER, surface_of

Result = TypeVar("Result")

_ANTHROPIC = ANTHROPIC_HEADER.encode()
_USABLE_ID = re.compile(rb"[\x21-\x7e]{1,200}\Z")


class Exchange:
    """One request and its answer: what middleware, routes and error handlers know of it.

    ``at_end``          callbacks for the end of the request.
    ``answer_headers``  go with the answer, whatever it is.
    ``is_framed_twice`` whether two headers say where the request's body ends.
    ``media_bytes``     of the request's body, if it is large.
    ``failed``          writes the last events of a stream that has begun.
    ``surface``         the API whose form errors have; None: OpenAI's.
    """

    def __init__(self, scope: MutableMapping[str, Any], send: Send, drain: Drain) -> None:
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        self.id = (
            given.decode("ascii") if _USABLE_ID.match(given) else f"req_{os.urandom(16).hex()}"
        )
        self.record = RequestRecord(self.id)
        self.is_framed_twice = b"transfer-encoding" in headers and b"content-length" in headers
        self.status = 0
        #: whether an event stream has begun and not ended
        self.streams = False
        self.at_end = ExitStack()
        self.answer_headers: dict[str, str] = {}
        self.media_bytes = 0
        self.failed: Callable[[ApiError], bytes] = lambda error: b""
        self._client: Client | None = None
        self.surface = surface_of(scope["path"], is_anthropic=_ANTHROPIC in headers)
        own_errors = None if self.surface is None else self.surface.own_errors
        self._id_header = None if own_errors is None else own_errors.id_header
        self._send = send
        self._drain = drain
        scope.setdefault("state", {})["exchange"] = self

    @property
    def client(self) -> Client:
        """Whose request it is. Routes without a key have none."""
        if self._client is None:
            raise RuntimeError("no key was checked for this route")
        return self._client

    @client.setter
    def client(self, client: Client) -> None:
        self._client = client
        self.record.key = client.name

    def context(self, model: str, size: int, adapter: str | None = None) -> RequestContext:
        """Return the context of a use case. ``model``: its id; ``size``: bytes of the body."""
        return RequestContext(
            client=self.client.id,
            priority=self.client.urgency,
            model=model,
            size=size,
            record=self.record,
            adapter=adapter,
        )

    def name_ignored(self) -> None:
        """Name what the request's use case left out in a header of the answer."""
        self.answer_headers |= header_listing(IGNORED_HEADER, self.record.ignored)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.record.started

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", []))
            headers.append((b"x-request-id", self.id.encode()))
            if self._id_header is not None:
                headers.append((self._id_header.encode(), self.id.encode()))
            headers.append((b"openai-processing-ms", str(round(self.seconds * 1000)).encode()))
            headers += (
                (name.encode(), value.encode()) for name, value in self.answer_headers.items()
            )
            if self._drain.draining:
                # a client that keeps its connection would send its next request to a closed socket
                headers.append((b"connection", b"close"))
            self.streams = dict(headers).get(b"content-type", b"").startswith(EVENT_STREAM)
            message = {**message, "headers": headers}
        elif not message.get("more_body", False):
            self.streams = False
        await self._send(message)


def exchange_of(request: Request) -> Exchange:
    """Return the exchange of a request."""
    exchange: Exchange = request.scope["state"]["exchange"]
    return exchange


async def until_client_leaves(work: Coroutine[Any, Any, Result], request: Request) -> Result:
    """Return the result of ``work``; cancel it if the client leaves. Raises ApiError 499."""
    try:
        return await run_until_disconnect(work, request.receive, request.scope)
    except Disconnected:
        raise client_left() from None
