"""POST /v1/responses with ``background``: runs that go on after the client has left."""

import threading
import time
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from openai.types.responses import Response

from app.service import background_responses
from app.state import ResponseStore, RunStore, StateUnavailable
from tests.app.access.entries import entry
from tests.app.examples import LIGHT
from tests.app.gateway import OPTIONS, PATIENCE, Gateway, gateway_fixture
from tests.app.held_worker import CUT_OFF, HELD, let_go
from tests.app.official_types import check, check_events
from tests.campaigns.chains.conversations import replica
from tests.redis_server import RedisServer

__all__ = ["let_go"]
#: two clients by key
gateway = gateway_fixture(format="hermes", reasoning="on", api_keys="one,two")

TOOLS: list[Any] = [{"type": "function", "name": "set_light", "parameters": LIGHT}]
#: an answer that reaches every output limit
ONES = {"type": "array", "items": {"const": 1}, "minItems": 1000}
LONG = {"format": {"type": "json_schema", "name": "a", "schema": ONES}}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_responses, "TICK_SECONDS", 0.01)


def client_of(gateway: Gateway, key: str = "one") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=key, max_retries=0)


@pytest.fixture
def client(gateway: Gateway) -> openai.OpenAI:
    return client_of(gateway)


def begun(client: openai.OpenAI, seed: int = 1, **more: Any) -> Any:
    asked = {"input": "Hello", "max_output_tokens": 60, "background": True, **more}
    if seed == CUT_OFF:
        asked["text"] = LONG
    return client.responses.create(model="noise", extra_body={"seed": seed}, **asked)


def ended(client: openai.OpenAI, number: str) -> Response:
    """Poll a response until it has ended."""
    until = time.monotonic() + PATIENCE
    while (response := client.responses.retrieve(number)).status in ("queued", "in_progress"):
        assert time.monotonic() < until
        time.sleep(0.01)
    check(response)
    return response


def has_status(client: openai.OpenAI, number: str, status: str) -> bool:
    return client.responses.retrieve(number).status == status


def error_of(gateway: Gateway) -> str | None:
    """Return the error in the log line of the last run."""
    lines = [line for line in gateway.lines() if line["event"] == "background response"]
    return lines[-1].get("error")


def alike(response: Response) -> dict[str, Any]:
    """Return a response without ids and times."""
    raw = response.model_dump(exclude={"id", "created_at", "completed_at", "background"})
    for item in raw["output"]:
        del item["id"]
        item.pop("call_id", None)
    return raw


@pytest.mark.parametrize(
    "more",
    [{}, {"max_output_tokens": 4}, {"tools": TOOLS, "tool_choice": "required"}],
    ids=["text", "cut", "calls"],
)
def test_the_answer_is_that_of_a_response_in_the_foreground(
    client: openai.OpenAI, more: dict[str, Any]
) -> None:
    response = begun(client, **{"max_output_tokens": 2000, **more})
    check(response)
    assert (response.status, response.background, response.output) == ("queued", True, [])
    whole = begun(client, **{"max_output_tokens": 2000, "background": False, **more})
    assert alike(ended(client, response.id)) == alike(whole)
    (item,) = client.responses.input_items.list(response.id).data
    assert item.to_dict()["content"] == [{"type": "input_text", "text": "Hello"}]
    second = begun(client, previous_response_id=response.id, background=False)
    third = begun(client, previous_response_id=whole.id, background=False)
    assert second.usage.input_tokens == third.usage.input_tokens


def test_a_stream_is_left_and_resumed(
    gateway: Gateway, client: openai.OpenAI, let_go: threading.Event
) -> None:
    first = []
    with begun(client, CUT_OFF, stream=True) as stream:
        for event in stream:
            first.append(event)
            if event.type.endswith(".delta"):
                break
    assert [event.type.removeprefix("response.") for event in first[:3]] == [
        *("created", "queued", "in_progress"),
    ]
    number = first[0].response.id
    assert client.responses.retrieve(number).status == "in_progress"
    let_go.set()
    rest = list(client.responses.retrieve(number, stream=True, starting_after=len(first) - 1))
    check_events([*first, *rest])
    assert rest[-1].type in ("response.completed", "response.incomplete")
    assert list(client.responses.retrieve(number, stream=True)) == [*first, *rest]
    assert rest[-1].response.to_dict() == ended(client, number).to_dict()
    gateway.eventually(lambda: gateway.metric("switchyard_background", what="running") == 0)
    lines = [line for line in gateway.lines() if line["event"] == "background response"]
    assert lines[-1]["completion_tokens"] == rest[-1].response.usage.output_tokens


def test_a_response_without_a_stream_is_streamed_only_at_its_end(
    client: openai.OpenAI, let_go: threading.Event
) -> None:
    number = begun(client, HELD).id
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.retrieve(number, stream=True)
    assert caught.value.param == "stream"
    let_go.set()
    ended(client, number)
    check_events(list(client.responses.retrieve(number, stream=True)))


@pytest.mark.parametrize("seed", [HELD, CUT_OFF], ids=["silent", "answering"])
def test_a_run_is_cancelled(
    gateway: Gateway, client: openai.OpenAI, let_go: threading.Event, seed: int
) -> None:
    with begun(client, seed, stream=True) as stream:
        number = next(iter(stream)).response.id
    gateway.eventually(lambda: has_status(client, number, "in_progress") or seed == HELD)
    response = client.responses.cancel(number)
    check(response)
    assert response.status == "cancelled"
    assert client.responses.cancel(number) == client.responses.retrieve(number) == response
    events = list(client.responses.retrieve(number, stream=True))
    check_events(events)
    last: Any = events[-1]
    assert (last.type, last.response) == ("response.incomplete", response)
    gateway.eventually(lambda: gateway.metric("switchyard_background", what="running") == 0)
    assert error_of(gateway) == "cancelled"
    with pytest.raises(openai.BadRequestError) as caught:
        begun(client, previous_response_id=number)
    assert caught.value.code == "previous_response_not_usable"
    assert "it is cancelled" in caught.value.message


def test_a_response_in_the_foreground_cannot_be_cancelled(client: openai.OpenAI) -> None:
    response = begun(client, background=False)
    with pytest.raises(openai.BadRequestError, match="synchronous"):
        client.responses.cancel(response.id)


def test_a_response_that_runs_is_not_continued(
    client: openai.OpenAI, let_go: threading.Event
) -> None:
    number = begun(client, HELD).id
    with pytest.raises(openai.BadRequestError) as caught:
        begun(client, previous_response_id=number, background=False)
    assert caught.value.param == "previous_response_id"
    let_go.set()
    ended(client, number)
    assert begun(client, previous_response_id=number, background=False).output


def test_a_response_that_runs_is_deleted(
    gateway: Gateway, client: openai.OpenAI, let_go: threading.Event
) -> None:
    with begun(client, CUT_OFF, stream=True) as stream:
        number = next(iter(stream)).response.id
    client.responses.delete(number)
    let_go.set()
    gateway.eventually(lambda: gateway.metric("switchyard_background", what="running") == 0)
    for use in (client.responses.retrieve, client.responses.cancel, client.responses.delete):
        with pytest.raises(openai.NotFoundError):
            use(number)


def test_a_client_finds_its_own_only(
    gateway: Gateway, client: openai.OpenAI, let_go: threading.Event
) -> None:
    number, other = begun(client, HELD).id, client_of(gateway, "two")
    for use in (
        other.responses.retrieve,
        other.responses.cancel,
        other.responses.delete,
        lambda each: other.responses.retrieve(each, stream=True),
    ):
        for each in (number, "x" * 1024):
            with pytest.raises(openai.NotFoundError):
                use(each)
    let_go.set()
    assert ended(client, number).status in ("completed", "incomplete")


def test_it_needs_a_store(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        begun(client, store=False)
    assert caught.value.param == "store"


def test_a_mistake_is_an_error_at_once(client: openai.OpenAI) -> None:
    """Nothing runs, and nothing takes a place."""
    for more in (
        {"previous_response_id": "resp_0"},
        {"input": [{"type": "item_reference", "id": "msg_0"}]},
    ):
        with pytest.raises((openai.BadRequestError, openai.NotFoundError)):
            begun(client, **more)


def test_a_failure_is_stored(let_go: threading.Event) -> None:
    """The second one waits in the queue until its time is over."""
    with Gateway(max_running=1, queue_seconds=0.05) as gateway:
        client = client_of(gateway)
        first = begun(client, HELD)
        gateway.eventually(lambda: gateway.metric("switchyard_background", what="running") == 1)
        time.sleep(0.05)
        with begun(client, stream=True) as stream:
            events = list(stream)
        check_events(events)
        failed: Any = events[-1]
        assert failed.type == "response.failed"
        gateway.eventually(lambda: gateway.metric("switchyard_background", what="running") == 1)
        # REGRESSION: the line of a run had no error
        assert error_of(gateway) == "overloaded"
        again = client.responses.retrieve(failed.response.id)
        assert again.error and "overloaded" in again.error.message
        assert again.to_dict() == failed.response.to_dict()
        let_go.set()
        assert ended(client, first.id).error is None


def test_runs_are_limited_for_each_client_and_for_all(let_go: threading.Event) -> None:
    limits = {"max_background": 3, "max_background_of_client": 2}
    with Gateway(api_keys="one,two", **limits) as gateway:
        one, two = client_of(gateway), client_of(gateway, "two")
        made = [begun(one, HELD), begun(one, HELD)]
        with pytest.raises(openai.RateLimitError, match="API key: at most 2") as caught:
            begun(one)
        assert caught.value.code == "too_many_background_responses"
        made.append(begun(two, HELD))
        with pytest.raises(openai.RateLimitError, match="background: at most 3"):
            begun(two)
        let_go.set()
        for client, response in zip((one, one, two), made, strict=True):
            ended(client, response.id)
        gateway.eventually(lambda: gateway.metric("switchyard_background", what="running") == 0)
        assert ended(one, begun(one).id).output


def test_a_run_counts_for_the_limit_of_its_key(let_go: threading.Event, tmp_path: Path) -> None:
    keys = tmp_path / "keys.jsonl"
    keys.write_text(f"{entry('k', max_running=1)}\n{entry('other')}")
    with Gateway(keys_file=keys, max_queued=0) as gateway:
        one, other = client_of(gateway, "k"), client_of(gateway, "other")
        number = begun(one, HELD).id
        gateway.eventually(lambda: gateway.metric("switchyard_admission", what="running") == 1)
        for background in (False, True):
            with pytest.raises(openai.RateLimitError, match="at most 1 answers"):
                begun(one, background=background)
        with one.responses.connect() as connection:
            connection.send({"type": "response.create", "model": "noise", "input": "Hi"})
            event: Any = connection.recv()
            assert (event.status, event.error.code) == (429, "rate_limit_exceeded")
        assert begun(other, background=False).output
        let_go.set()
        ended(one, number)
        gateway.eventually(lambda: gateway.metric("switchyard_background", what="running") == 0)
        assert begun(one, background=False).output


def test_another_replica_polls_streams_cancels_and_deletes(
    redis_server: RedisServer, let_go: threading.Event
) -> None:
    with replica(redis_server) as one, replica(redis_server) as other:
        here, there = client_of(one), client_of(other)
        numbers = []
        for _ in range(3):
            with begun(here, CUT_OFF, stream=True) as stream:
                numbers.append(next(iter(stream)).response.id)
        assert there.responses.retrieve(numbers[0]).status in ("queued", "in_progress")
        response = there.responses.cancel(numbers[0])
        assert response.status == "cancelled"
        assert here.responses.retrieve(numbers[0]) == response
        there.responses.delete(numbers[1])
        one.eventually(lambda: one.metric("switchyard_background", what="running") == 1)
        for client in (here, there):
            with pytest.raises(openai.NotFoundError):
                client.responses.retrieve(numbers[1])
        stream = there.responses.retrieve(numbers[2], stream=True)
        events = [next(iter(stream))]
        let_go.set()
        events += stream
        check_events(events)
        assert list(here.responses.retrieve(numbers[2], stream=True)) == events
        assert ended(there, numbers[2]).to_dict() == events[-1].response.to_dict()  # type: ignore[union-attr]


def test_the_end_of_a_shutdown_fails_what_runs(
    redis_server: RedisServer, let_go: threading.Event
) -> None:
    with replica(redis_server) as other:
        with replica(redis_server, shutdown_seconds=0.2) as one:
            number = begun(client_of(one), CUT_OFF).id
            other.eventually(lambda: has_status(client_of(other), number, "in_progress"))
        response = ended(client_of(other), number)
        assert response.status == "failed" and response.error
        assert "shutting down" in response.error.message
        assert one.lines()[-1]["event"] == "stopped"
        assert [line for line in one.lines() if line["level"] == "error"] == []


def test_a_redis_that_is_down_is_an_error_at_once(redis_server: RedisServer) -> None:
    with replica(redis_server) as gateway:
        redis_server.kill()
        with pytest.raises(openai.InternalServerError) as caught:
            begun(client_of(gateway))
        assert (caught.value.status_code, caught.value.code) == (503, "state_unavailable")
        redis_server.start()


def test_a_run_that_cannot_begin_frees_its_place(
    gateway: Gateway, client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REGRESSION: it took a place for ever."""

    async def put(*_: object) -> None:
        raise StateUnavailable

    monkeypatch.setattr(RunStore, "put", put)
    with pytest.raises(openai.InternalServerError) as caught:
        begun(client)
    assert caught.value.code == error_of(gateway) == "state_unavailable"
    assert gateway.metric("switchyard_background", what="running") == 0


def test_an_unexpected_exception_fails_the_response(
    gateway: Gateway, client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REGRESSION: nothing was logged, and the response ran until its lease had ended."""

    async def mark(*_: object) -> None:
        raise LookupError("a secret")

    monkeypatch.setattr(ResponseStore, "mark", mark)
    response = ended(client, begun(client).id)
    assert response.error and "had an error" in response.error.message
    gateway.eventually(lambda: gateway.metric("switchyard_background", what="running") == 0)
    assert error_of(gateway) == "internal_error"
    assert "LookupError" in gateway.log.getvalue()


def test_headers_of_the_answer_come_with_the_response(client: openai.OpenAI) -> None:
    """Relaxed keywords are known only when the response runs."""
    relaxed = {"type": "object", "properties": {"a": {"pattern": r"(a)\1"}}}
    tool: Any = {"type": "function", "name": "f", "parameters": relaxed}
    asked: dict[str, Any] = {"input": "Hello", "background": True, "max_output_tokens": 5}
    answer = client.responses.with_raw_response.create(
        model="noise", tools=[tool, {"type": "web_search"}], **asked
    )
    # REGRESSION: the first answer did not name them
    assert answer.headers["x-switchyard-ignored"] == "tools/1 web_search"
    number = answer.parse().id
    ended(client, number)
    headers = client.responses.with_raw_response.retrieve(number).headers
    assert "pattern" in headers["x-switchyard-relaxed"]
    assert headers["x-switchyard-ignored"] == "tools/1 web_search"


def test_a_trigger_is_answered_at_once(client: openai.OpenAI) -> None:
    items = [{"role": "user", "content": "hi"}, {"type": "compaction_trigger"}]
    response = begun(client, input=items)
    assert (response.status, response.background) == ("completed", True)
    assert client.responses.cancel(response.id) == response


def test_the_bytes_of_the_first_answer(gateway: Gateway) -> None:
    body = {"model": "noise", "input": "hi", "background": True, "max_output_tokens": 5}
    key = {"Authorization": "Bearer one"}
    answer = httpx.post(f"{gateway.url}/v1/responses", json=body, headers=key, **OPTIONS)
    assert answer.status_code == 200
    assert answer.json()["status"] == "queued"
