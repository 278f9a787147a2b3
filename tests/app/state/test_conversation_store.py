"""Changes of a conversation in a store that is slow."""

import asyncio

import pytest

from app.concurrency import Offload
from app.errors import ApiError
from app.state import ConversationStore, MemoryStore, conversation_store, new_conversation


async def test_a_change_ends_before_its_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """REGRESSION: a slow one saved, and ended the claim of the next one."""
    values = MemoryStore(max_bytes=1 << 20, ttl_s=60)
    store = ConversationStore(values, Offload(), max_bytes=1 << 20)
    conversation = new_conversation({})
    await store.save("one", conversation)

    async def stuck(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(conversation_store, "CHANGE_SECONDS", 0.01)
    with monkeypatch.context() as patch:
        patch.setattr(values, "set", stuck)
        with pytest.raises(ApiError) as caught:
            await store.change("one", conversation.id, lambda _: None)
    assert caught.value.code == "state_unavailable"
    assert await store.change("one", conversation.id, lambda _: None) == conversation
