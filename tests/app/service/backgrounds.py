"""Responses in the background, and conversations, around a store of a test."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.concurrency import Offload
from app.observability import Metrics, make_logger
from app.service.background_responses import BackgroundResponses
from app.service.faults import Faults
from app.state import ByteStore, ConversationStore, ResponseStore, RunStore


@asynccontextmanager
async def enclosed() -> AsyncIterator[None]:
    """Enclose a run as a gateway that never shuts down does."""
    yield


def background_of(values: ByteStore, store: ResponseStore) -> BackgroundResponses:
    """Return responses in the background without runs."""
    limits = {"most": 1, "most_of_client": 1, "max_bytes": 1 << 20}
    faults = Faults(Metrics(), make_logger("info", io.StringIO()))
    return BackgroundResponses(
        store, RunStore(values, max_bytes=1 << 20), enclosed, faults, **limits
    )


def conversations_of(values: ByteStore) -> ConversationStore:
    """Return the conversations of a store."""
    return ConversationStore(values, Offload(), max_bytes=1 << 20)
