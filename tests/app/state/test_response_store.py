"""Stored responses in a memory with a bound: what no longer fits is missing, and says so."""

import pytest

from app.concurrency import Offload
from app.errors import ApiError
from app.protocol.responses.ids import new_response_id
from app.state.byte_store import MemoryStore
from app.state.response_store import Chain, ResponseStore

MEBIBYTE = 1 << 20
#: bytes of the memory, of an item, and items that are stored
ROOM, ITEM, ITEMS = 8 * MEBIBYTE, MEBIBYTE, 100


async def test_a_hundred_megabytes_of_items_stay_within_the_memory():
    """The newest responses are there. The others are unknown to reads and to conversations, and a
    chain through one of them is lost as a whole.
    """
    memory = MemoryStore(max_bytes=ROOM, ttl_s=100)
    store = ResponseStore(memory, Offload(), max_bytes=4 * MEBIBYTE)
    ids: list[str] = []
    for number in range(ITEMS):
        ids.append(new_response_id())
        response = {
            "id": ids[-1],
            "status": "completed",
            "output": [{"type": "message", "content": "x" * ITEM}],
        }
        before = Chain((ids[-2],), (), ITEM) if number % 10 == 9 else Chain()
        assert await store.save("me", response, [], before, size=ITEM)
        held = sum(len(name) + len(each.value) for name, each in memory._held.items())
        assert held <= ROOM
    assert (await store.response("me", ids[-1]))["output"][0]["content"] == "x" * ITEM
    assert (await store.chain("me", ids[-1])).ids == (ids[-2], ids[-1])
    with pytest.raises(ApiError) as unknown:
        await store.response("me", ids[0])
    assert unknown.value.status == 404
    with pytest.raises(ApiError) as lost:
        await store.chain("me", ids[9])
    assert (lost.value.status, lost.value.code) == (400, "previous_response_not_found")


async def test_the_earlier_part_of_a_chain_may_be_dropped_before_its_end():
    """A chain whose first turn is gone is an error, never a shorter chain."""
    memory = MemoryStore(max_bytes=ROOM, ttl_s=100)
    store = ResponseStore(memory, Offload(), max_bytes=4 * MEBIBYTE)
    first, second = new_response_id(), new_response_id()
    text = [{"type": "message", "content": "x" * 1000}]
    whole = {"status": "completed", "output": text}
    await store.save("me", {"id": first, **whole}, [], Chain(), size=0)
    await store.save("me", {"id": second, **whole}, [], Chain((first,), (), 1000), size=0)
    await memory.delete([name for name in memory._held if first in name])
    with pytest.raises(ApiError) as lost:
        await store.chain("me", second)
    assert lost.value.code == "previous_response_not_found"
