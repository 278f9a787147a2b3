"""Stored responses: what a client can read again, and the conversation that it continues.

    object   the response without its output
    turn     its input items and its output items
    chain    whether it can be continued, the bytes of all turns up to its own, and ids of
             responses before it: those since the last anchor, a response whose number in its chain
             is a multiple of ``BLOCK``; an anchor has those since the anchor before it

Representation   JSON, one value each, as pydantic writes it: schemas of tools may have numbers
                 beyond 64 bits, which orjson refuses. A conversation reads turns and the chains of
                 its anchors: one of 1,000 responses takes 17 round trips, and tools and
                 instructions, which every object repeats, do not make it longer.
Invariants       I1 a response belongs to the client that made it: its name in the store depends on
                    both, so that the id of another client is unknown.
                 I2 a conversation with a missing or damaged value is missing.
                 I3 a conversation has at most ``MAX_CHAIN_ITEMS`` items and ``max_bytes`` bytes, a
                    stored response ``max_bytes``.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json

from ..concurrency import LARGE_BYTES, Offload
from ..errors import ApiError, bad_request, unavailable
from ..protocol import MAX_ITEMS, is_response_id
from .byte_store import ByteStore, StateUnavailable

Result = TypeVar("Result")
Value = TypeVar("Value", bound=BaseModel)

#: items of a conversation, as many as chat completions may have messages
MAX_CHAIN_ITEMS = MAX_ITEMS
#: of stored responses
STATUSES = ("queued", "in_progress", "completed", "incomplete", "failed", "cancelled")
#: responses between two anchors
BLOCK = 64
#: seconds in which a conversation must have been read
CHAIN_SECONDS = 10.0


class Turn(BaseModel):
    """One response's part of a conversation."""

    input: list[dict[str, Any]]
    output: list[dict[str, Any]]

    @property
    def items(self) -> list[dict[str, Any]]:
        return [*self.input, *self.output]


class Link(BaseModel):
    """A response's value ``chain``."""

    before: list[str]
    size: int
    #: why no other response can continue it
    obstacle: str | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """A conversation so far: ``ids`` of its responses, their items, and the bytes of its turns."""

    ids: tuple[str, ...] = ()
    items: tuple[dict[str, Any], ...] = ()
    size: int = 0


class ResponseStore:
    """The stored responses of one app."""

    def __init__(self, store: ByteStore, offload: Offload, *, max_bytes: int) -> None:
        self._store = store
        self._offload = offload
        self._max_bytes = max_bytes

    @property
    def place(self) -> str:
        """Where responses are stored, for the log."""
        return self._store.place

    async def save(
        self,
        client: str,
        response: Mapping[str, Any],
        inputs: list[dict[str, Any]],
        before: Chain,
        *,
        size: int,
    ) -> bool:
        """Store a response; return whether it was stored. ``before``: the conversation that it
        continues; ``size``: bytes of the request.
        """
        step = partial(_encoded, client, response, inputs, before, self._max_bytes)
        try:
            values = await self._run(client, size, step)
            if values is None:
                return False
            await self._store.set(client, values)
        except (ApiError, StateUnavailable):
            return False
        return True

    def unsaved(self, inputs: list[dict[str, Any]]) -> ApiError:
        """Return the error of a response that had to be stored."""
        if not are_longer(inputs, self._max_bytes):
            return state_unavailable()
        return bad_request(
            f"The input is too large to be stored: at most {self._max_bytes:,} bytes are.",
            "input",
            "response_too_large",
        )

    async def mark(self, client: str, response: Mapping[str, Any]) -> None:
        """Replace a stored response, but not its output. Raises ApiError 503."""
        names = value_names(client, response["id"])
        with store_needed():
            await self._store.set(client, {names[0]: to_json({**response, "output": []})})

    async def response(self, client: str, number: str) -> dict[str, Any]:
        """Return a response. Raises ApiError 404 or 503."""
        if not is_response_id(number):
            raise response_not_found(number)
        with store_needed():
            found, turn, _ = await self._store.get(value_names(client, number))
        if found is None or turn is None:
            raise response_not_found(number)
        response = await self._run(client, len(found) + len(turn), partial(_response, found, turn))
        if response is None:
            raise response_not_found(number)
        return response

    async def input_items(self, client: str, number: str) -> list[dict[str, Any]]:
        """Return the input items of a response. Raises ApiError 404 or 503."""
        (turn,) = await self.turns(client, [number])
        if turn is None:
            raise response_not_found(number)
        return turn.input

    async def delete(self, client: str, number: str) -> None:
        """Delete a response. Raises ApiError 404 or 503."""
        await self.input_items(client, number)
        with store_needed():
            await self._store.delete(value_names(client, number))

    async def chain(self, client: str, number: str) -> Chain:
        """Return the conversation that ends with a response. Raises ApiError 400 or 503."""
        try:
            async with asyncio.timeout(CHAIN_SECONDS):
                ids, size = await self._links(client, number)
                if size > self._max_bytes:
                    raise _too_large(size, self._max_bytes)
                turns = await self._turns(client, ids, size)
        except (StateUnavailable, TimeoutError):
            raise state_unavailable() from None
        items: list[dict[str, Any]] = []
        for turn in turns:
            if turn is None:
                raise previous_not_found(number)
            items += turn.items
        return Chain(tuple(ids), tuple(items), size)

    async def _links(self, client: str, number: str) -> tuple[list[str], int]:
        """Return the ids of a chain, the first response first, and the bytes of its turns."""
        ids, size, anchor = [number], 0, number
        while anchor:
            known = is_response_id(anchor) and len(ids) <= MAX_CHAIN_ITEMS
            (value,) = (
                await self._store.get([value_name(client, anchor, "chain")]) if known else [None]
            )
            link = None if value is None else _decoded(Link, value)
            if link is None:
                raise previous_not_found(number)
            if link.obstacle and anchor == number:
                raise _not_continued(number, link.obstacle)
            ids, size = [*link.before, *ids], max(size, link.size)
            anchor = link.before[0] if link.before else ""
        return ids, size

    async def turns(self, client: str, numbers: Sequence[str]) -> list[Turn | None]:
        """Return turns; None: missing. Raises ApiError 400 if they are too large together."""
        if not numbers or not all(map(is_response_id, numbers)):
            return [None] * len(numbers)
        with store_needed():
            size = sum(
                await self._store.sizes([value_name(client, each, "turn") for each in numbers])
            )
            if size > self._max_bytes:
                raise _too_large(size, self._max_bytes)
            return await self._turns(client, numbers, size)

    async def _turns(self, client: str, numbers: Sequence[str], size: int) -> list[Turn | None]:
        """Return turns, which have ``size`` bytes together."""
        values = await self._store.get([value_name(client, number, "turn") for number in numbers])
        return await self._run(client, size, partial(_decoded_turns, values))

    async def aclose(self) -> None:
        """Close the store."""
        await self._store.aclose()

    async def _run(self, client: str, size: int, step: Callable[[], Result]) -> Result:
        """Return the result of a step, which runs in a thread if its data is large."""
        return step() if size < LARGE_BYTES else await self._offload.run(client, size, step)


def _decoded_turns(values: Sequence[bytes | None]) -> list[Turn | None]:
    return [None if value is None else _decoded(Turn, value) for value in values]


def _decoded(kind: type[Value], value: bytes) -> Value | None:
    """Return a value; None: it is damaged, which counts as missing."""
    try:
        return kind.model_validate_json(value)
    except ValidationError:
        return None


def _response(found: bytes, value: bytes) -> dict[str, Any] | None:
    """Return a whole response; None: a part of it is damaged."""
    try:
        response = from_json(found)
    except ValueError:
        return None
    turn = _decoded(Turn, value)
    if turn is None or not isinstance(response, dict) or response.get("status") not in STATUSES:
        return None
    return {**response, "output": turn.output}


def _encoded(
    client: str, response: Mapping[str, Any], inputs: list[dict[str, Any]], before: Chain, most: int
) -> dict[str, bytes] | None:
    """Return the values of a response by name; None: they have more than ``most`` bytes."""
    if are_longer(inputs, most):
        return None
    found = to_json({**response, "output": []})
    turn = to_json({"input": inputs, "output": response["output"]})
    ids = before.ids[max(0, len(before.ids) - 1) // BLOCK * BLOCK :]
    link = {"before": ids, "size": before.size + len(turn), "obstacle": _obstacle(response)}
    values = found, turn, to_json(link)
    if sum(map(len, values)) > most:
        return None
    return dict(zip(value_names(client, response["id"]), values, strict=True))


def are_longer(items: Any, most: int) -> bool:
    """Whether the texts of items have more characters, and their JSON more bytes: writing 32 MB of
    images as JSON stops all threads for 50 ms.
    """
    left, size = [items], 0
    while left and size <= most:
        each = left.pop()
        if isinstance(each, str):
            size += len(each)
        elif isinstance(each, dict):
            left += each.values()
        elif isinstance(each, list):
            left += each
    return size > most


def _obstacle(response: Mapping[str, Any]) -> str | None:
    """Return why a response cannot be continued."""
    if response.get("conversation"):
        return "it belongs to a conversation; use 'conversation'"
    status: str = response["status"]
    return None if status in ("completed", "incomplete") else f"it is {status.replace('_', ' ')}"


def value_name(client: str, number: str, part: str) -> str:
    """Return the name of a part of a response. A digest has the client: names do not reveal it."""
    owner = sha256(f"{number}/{client}".encode()).hexdigest()[:32]
    return f"response/{number}/{owner}/{part}"


def value_names(client: str, number: str) -> list[str]:
    return [value_name(client, number, part) for part in ("object", "turn", "chain")]


def response_not_found(number: str) -> ApiError:
    """Return a 404 in OpenAI's words."""
    return ApiError(404, f"Response with id '{number[:100]}' not found.")


def previous_not_found(number: str) -> ApiError:
    """Return a 400, as OpenAI does: the id is unknown, or a part of its chain is lost."""
    return bad_request(
        f"Previous response with id '{number[:100]}' not found.",
        "previous_response_id",
        "previous_response_not_found",
    )


def _not_continued(number: str, obstacle: str) -> ApiError:
    return bad_request(
        f"Previous response with id '{number}' cannot be continued: {obstacle}.",
        "previous_response_id",
        "previous_response_not_usable",
    )


def _too_large(size: int, most: int) -> ApiError:
    return bad_request(
        f"The conversation is too large: at most {most:,} bytes of earlier responses are read for "
        f"one request, got {size:,}.",
        "previous_response_id",
        "conversation_too_large",
    )


@contextmanager
def store_needed() -> Iterator[None]:
    """Turn StateUnavailable into the 503 of clients."""
    try:
        yield
    except StateUnavailable:
        raise state_unavailable() from None


def state_unavailable() -> ApiError:
    """Return the 503 of stored responses that cannot be read or written."""
    return unavailable("Stored responses cannot be read at the moment.", "state_unavailable")
