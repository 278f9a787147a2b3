"""Stored conversations: items that a client adds, and those of responses in a conversation.

Representation   one JSON value for each, named like the parts of a response.
Invariants       I1 a conversation belongs to the client that made it, as responses do.
                 I2 a conversation has at most ``max_bytes`` bytes.
                 I3 changes of one conversation follow each other, also those of several replicas:
                    each holds a claim, for ``CLAIM_SECONDS`` at most.
"""

import asyncio
import re
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from pydantic import BaseModel, ValidationError

from ..concurrency import LARGE_BYTES, Offload
from ..errors import ApiError, bad_request
from .byte_store import ByteStore, StateUnavailable
from .response_store import are_longer, state_unavailable, store_needed, value_name

#: seconds after which a claim ends by itself, and in which its change must be done: together with
#: the call that claims, less than that
CLAIM_SECONDS, CHANGE_SECONDS = 10.0, 5.0
#: seconds that a change waits for a claim, and between two tries
WAIT_SECONDS, RETRY_SECONDS = 2.0, 0.02

_ID = re.compile(r"conv_[0-9a-f]{32}")


class StoredConversation(BaseModel):
    """``added``: items that were ever added, for ids of new ones."""

    id: str
    created_at: int
    metadata: dict[str, str]
    items: list[dict[str, Any]] = []
    added: int = 0


#: changes a conversation; raises ApiError
Change = Callable[[StoredConversation], None]


def new_conversation(metadata: dict[str, str]) -> StoredConversation:
    """Return an empty conversation."""
    number = f"conv_{uuid.uuid4().hex}"
    return StoredConversation(id=number, created_at=int(time.time()), metadata=metadata)


class ConversationStore:
    """The conversations of one app."""

    def __init__(self, store: ByteStore, offload: Offload, *, max_bytes: int) -> None:
        self._store = store
        self._offload = offload
        self._max_bytes = max_bytes

    async def save(self, client: str, conversation: StoredConversation) -> None:
        """Store a conversation. Raises ApiError 400 if it is too large, or 503."""
        if are_longer(conversation.items, self._max_bytes):
            raise _too_large(self._max_bytes)
        # its size is known only then
        value = (
            await self._offload.run(client, LARGE_BYTES, conversation.model_dump_json)
        ).encode()
        if len(value) > self._max_bytes:
            raise _too_large(self._max_bytes, len(value))
        with store_needed():
            await self._store.set(client, {_name(client, conversation.id): value})

    async def read(self, client: str, number: str) -> tuple[StoredConversation, int]:
        """Return a conversation and its bytes. Raises ApiError 404 or 503."""
        if not _ID.fullmatch(number):
            raise conversation_not_found(number)
        with store_needed():
            (value,) = await self._store.get([_name(client, number)])
        if value is None:
            raise conversation_not_found(number)
        step = partial(StoredConversation.model_validate_json, value)
        is_small = len(value) < LARGE_BYTES
        try:
            found = step() if is_small else await self._offload.run(client, len(value), step)
        except ValidationError:
            raise conversation_not_found(number) from None
        return found, len(value)

    async def change(self, client: str, number: str, change: Change) -> StoredConversation:
        """Change a conversation, and return it. Raises ApiError 400, 404 or 503."""
        await self.read(client, number)  # unknown ones need no claim
        claim = await self._claim(client, number)
        try:
            async with asyncio.timeout(CHANGE_SECONDS):
                conversation, _ = await self.read(client, number)
                change(conversation)
                await self.save(client, conversation)
                return conversation
        except TimeoutError:
            raise state_unavailable() from None
        finally:
            await self._release(claim)

    async def delete(self, client: str, number: str) -> None:
        """Delete a conversation. Raises ApiError 400, 404 or 503."""
        await self.read(client, number)
        claim = await self._claim(client, number)
        try:
            with store_needed():
                await self._store.delete([_name(client, number)])
        finally:
            await self._release(claim)

    async def _claim(self, client: str, number: str) -> str:
        """Return the name of a claim that is held. Raises ApiError 400 or 503."""
        name, until = value_name(client, number, "claim"), time.monotonic() + WAIT_SECONDS
        with store_needed():
            while not await self._store.claim(name, CLAIM_SECONDS):
                if time.monotonic() > until:
                    raise _locked()
                await asyncio.sleep(RETRY_SECONDS)
        return name

    async def _release(self, claim: str) -> None:
        with suppress(StateUnavailable):  # it ends by itself
            await self._store.release(claim)


def _name(client: str, number: str) -> str:
    return value_name(client, number, "conversation")


def conversation_not_found(number: str) -> ApiError:
    """Return a 404 in OpenAI's words."""
    return ApiError(404, f"Conversation with id '{number[:100]}' not found.")


def _locked() -> ApiError:
    return bad_request(
        "Another request changes this conversation. Please try again in a few seconds.",
        "conversation",
        "conversation_locked",
    )


def _too_large(most: int, size: int | None = None) -> ApiError:
    got = "more" if size is None else f"{size:,}"
    return bad_request(
        f"The conversation is too large: at most {most:,} bytes are stored, got {got}.",
        "conversation",
        "conversation_too_large",
    )
