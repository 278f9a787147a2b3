"""Responses in the background whose process is gone, and stores that lose parts of them."""

import json
import time
import zlib
from typing import Any

import pytest

from app.concurrency import Offload
from app.errors import ApiError
from app.service import background_responses
from app.state import EVENTS_RATIO, Chain, MemoryStore, ResponseStore, RunState, RunStore
from app.state.response_store import value_name
from tests.app.service.backgrounds import background_of

NUMBER = "resp_" + "1" * 32
MAX_BYTES = 1 << 20


class Replica:
    """A gateway's part of the stores; ``begin``: stores a response that another one runs."""

    def __init__(self) -> None:
        self.bytes = MemoryStore(max_bytes=MAX_BYTES, ttl_s=60)
        self.store = ResponseStore(self.bytes, Offload(), max_bytes=MAX_BYTES)
        self.runs = RunStore(self.bytes, max_bytes=1000)
        self.background = background_of(self.bytes, self.store)

    async def begin(self, lease_s: float, status: str = "in_progress") -> None:
        response: dict[str, Any] = {"id": NUMBER, "status": status, "background": True}
        response |= {"output": [], "error": None}
        assert await self.store.save("one", response, [], Chain(), size=0)
        await self.runs.put("one", NUMBER, RunState(until=time.time() + lease_s, streams=True))

    async def events(self, **more: Any) -> str:
        followed = self.background.follow(NUMBER, "one", **more)
        return b"".join([events async for events in followed]).decode()


@pytest.fixture
def replica(monkeypatch: pytest.MonkeyPatch) -> Replica:
    monkeypatch.setattr(background_responses, "TICK_SECONDS", 0.001)
    return Replica()


@pytest.mark.parametrize("status", ["queued", "in_progress"])
async def test_a_response_whose_process_is_gone_has_failed(replica: Replica, status: str) -> None:
    await replica.begin(30, status)
    response, _ = await replica.background.current(NUMBER, "one")
    assert response["status"] == status
    await replica.begin(-1, status)
    response, _ = await replica.background.current(NUMBER, "one")
    assert response["status"] == "failed" and "has stopped" in response["error"]["message"]
    assert await replica.store.response("one", NUMBER) == response
    assert await replica.background.cancel(NUMBER, "one") == response


async def test_a_response_without_a_lease_has_failed(replica: Replica) -> None:
    await replica.begin(30)
    await replica.runs.delete("one", NUMBER)
    response, run = await replica.background.current(NUMBER, "one")
    assert (response["status"], run) == ("failed", None)


async def test_a_stream_whose_process_is_gone_ends_with_the_failure(replica: Replica) -> None:
    await replica.begin(-1)
    await replica.runs.add_events("one", NUMBER, 0, b"event: a\ndata: 0\n\nevent: b\ndata: 1\n\n")
    text = await replica.events(after=0)
    assert text.startswith("event: b\ndata: 1\n\nevent: response.failed\n")
    assert text.endswith('"sequence_number":2}\n\n')


async def test_a_stream_whose_response_is_deleted_ends_with_an_error(replica: Replica) -> None:
    assert '"type":"error"' in (text := await replica.events()) and "not found" in text


async def test_an_order_is_given_once_to_the_process_that_runs(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not obey in time: the client gets the response as it is."""
    monkeypatch.setattr(background_responses, "ORDER_SECONDS", 0.01)
    await replica.begin(30)
    assert (await replica.background.cancel(NUMBER, "one"))["status"] == "in_progress"
    assert await replica.runs.order("one", NUMBER) == "cancel"
    with pytest.raises(ApiError, match="not found"):
        await replica.background.cancel(NUMBER, "two")


async def test_damaged_values_are_missing(replica: Replica) -> None:
    await replica.begin(30)
    await replica.runs.add_events("one", NUMBER, 0, b"x")
    values = replica.bytes._held
    for name in [name for name in values if name.endswith(("run", "events/0"))]:
        await replica.bytes.set("one", {name: b"damaged"})
    assert await replica.runs.get("one", NUMBER) is None
    assert await replica.runs.events("one", NUMBER, 0) is None
    await replica.runs.delete("one", NUMBER)
    assert not [name for name in values if name.endswith(("run", "events/0"))]


#: zeros for more memory than a block may have
BOMB = zlib.compress(bytes(EVENTS_RATIO * 1000 + 1))


@pytest.mark.parametrize(
    "block", [BOMB, zlib.compress(b""), zlib.compress(b"x"), zlib.compress(b"x")[:-1]]
)
async def test_a_damaged_block_of_events_ends_no_stream(replica: Replica, block: bytes) -> None:
    """REGRESSION: one without an event was an internal error."""
    await replica.begin(-1)
    await replica.bytes.set("one", {value_name("one", NUMBER, "events/0"): block})
    assert "response.failed" in await replica.events()


@pytest.mark.parametrize(
    "headers",
    [
        {"set-cookie": "a"},
        {"x-switchyard-ignored": "a\r\nb: c"},
        {"x-switchyard-ignored": "\u2028"},
    ],
)
async def test_headers_that_no_gateway_wrote_are_damage(
    replica: Replica, headers: dict[str, str]
) -> None:
    """REGRESSION: they went into answers."""
    state = {"until": time.time() + 30, "streams": True, "headers": headers}
    await replica.bytes.set("one", {value_name("one", NUMBER, "run"): json.dumps(state).encode()})
    assert await replica.runs.get("one", NUMBER) is None


@pytest.mark.parametrize("value", [b"{}", b"[]", b'{"status": "x"}', b'{"status": []}'])
async def test_a_response_without_a_status_is_missing(replica: Replica, value: bytes) -> None:
    """REGRESSION: it was an internal error."""
    await replica.begin(30)
    await replica.bytes.set("one", {value_name("one", NUMBER, "object"): value})
    with pytest.raises(ApiError, match="not found"):
        await replica.background.current(NUMBER, "one")
