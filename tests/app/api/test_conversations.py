"""/v1/conversations with the official client, and responses in a conversation."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest
from openai.types.conversations import ConversationItem, ConversationItemList
from pydantic import TypeAdapter

from app.state import MAX_CHAIN_ITEMS
from tests.app.examples import LIGHT
from tests.app.gateway import Gateway, gateway_fixture
from tests.app.held_worker import HELD, let_go
from tests.app.official_types import check, check_events
from tests.campaigns.chains.conversations import replica
from tests.redis_server import RedisServer

__all__ = ["let_go"]
#: two clients by key
gateway = gateway_fixture(format="hermes", reasoning="on", api_keys="one,two")

ITEM: TypeAdapter[Any] = TypeAdapter(ConversationItem)
USER: Any = {"role": "user", "content": "Wake me."}
#: an item of each kind that a conversation may have
ITEMS: list[Any] = [
    {"role": "developer", "content": [{"type": "input_text", "text": "Be short."}]},
    USER,
    {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
    {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "1", "output": "done"},
    {"type": "custom_tool_call", "call_id": "2", "name": "g", "input": "x"},
    {"type": "custom_tool_call_output", "call_id": "2", "output": "done"},
    {"type": "shell_call", "call_id": "3", "action": {"commands": ["ls"]}, "status": "completed"},
    {"type": "shell_call_output", "call_id": "3", "output": []},
    {"role": "assistant", "content": "You will be woken."},
    {"type": "configuration_update", "reasoning": {"effort": "none"}},
]


def client_of(gateway: Gateway, key: str = "one") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=key, max_retries=0)


@pytest.fixture
def client(gateway: Gateway) -> openai.OpenAI:
    return client_of(gateway)


def listed(client: openai.OpenAI, number: str) -> list[dict[str, Any]]:
    return [item.to_dict() for item in client.conversations.items.list(number, order="asc")]


def answered(client: openai.OpenAI, **more: Any) -> Any:
    asked = {"model": "noise", "max_output_tokens": 60, "extra_body": {"seed": 1}, **more}
    return client.responses.create(**asked)


def test_a_conversation_is_made_read_changed_and_deleted(client: openai.OpenAI) -> None:
    made = client.conversations.create(metadata={"a": "b"}, items=[USER])
    check(made)
    assert made.id.startswith("conv_") and made.metadata == {"a": "b"}
    assert client.conversations.retrieve(made.id) == made
    changed = client.conversations.update(made.id, metadata={"c": "d"})
    assert changed.metadata == {"c": "d"} and changed.created_at == made.created_at
    assert client.conversations.update(made.id, metadata=None).metadata == {}
    deleted = client.conversations.delete(made.id)
    check(deleted)
    assert deleted.deleted and deleted.object == "conversation.deleted"
    with pytest.raises(openai.NotFoundError):
        client.conversations.retrieve(made.id)


def test_items_are_added_listed_read_and_deleted(client: openai.OpenAI) -> None:
    number = client.conversations.create().id
    empty = client.conversations.items.list(number)
    assert (empty.data, empty.has_more) == ([], False)
    added = client.conversations.items.create(number, items=ITEMS)
    check(added)
    ConversationItemList.model_validate(added.to_dict())
    shown = [item.to_dict() for item in added.data]
    for item in shown:
        check(ITEM.validate_python(item))
    assert listed(client, number) == shown
    newest = client.conversations.items.list(number, limit=3)
    assert [item.id for item in newest.data] == [item["id"] for item in shown[:-4:-1]]
    assert newest.has_more and newest.last_id == shown[-3]["id"]  # type: ignore[attr-defined]
    one = client.conversations.items.retrieve(shown[2]["id"], conversation_id=number)
    assert one.to_dict() == shown[2]
    left = client.conversations.items.delete(shown[2]["id"], conversation_id=number)
    check(left)
    assert listed(client, number) == [*shown[:2], *shown[3:]]
    with pytest.raises(openai.NotFoundError):
        client.conversations.items.retrieve(shown[2]["id"], conversation_id=number)
    again = client.conversations.items.create(number, items=[shown[0], ITEMS[2]]).data
    ids = [item.id for item in again]
    assert len({*ids, *(item["id"] for item in shown)}) == len(shown) + 2


def test_parts_that_are_not_served_are_left_out_by_name(client: openai.OpenAI) -> None:
    number = client.conversations.create().id
    items: list[Any] = [USER, {"type": "web_search_call", "id": "x", "status": "completed"}]
    answer = client.conversations.items.with_raw_response.create(number, items=items)
    assert answer.headers["x-switchyard-ignored"] == "items/1 web_search_call"
    assert len(answer.parse().data) == 1


@pytest.mark.parametrize("form", ["id", "object"])
def test_a_response_reads_and_extends_a_conversation(client: openai.OpenAI, form: str) -> None:
    number = client.conversations.create(items=ITEMS[:2]).id
    named: Any = number if form == "id" else {"id": number}
    first = answered(client, conversation=named, input="And?")
    check(first)
    assert first.conversation.id == number
    items = listed(client, number)
    assert [item["type"] for item in items[:3]] == ["message"] * 3
    assert items[3:] == [item.to_dict() for item in first.output]
    second = answered(client, conversation=named, input="Once more?")
    whole = answered(client, input=[*items, {"role": "user", "content": "Once more?"}])
    assert second.usage.input_tokens == whole.usage.input_tokens
    counted = client.responses.input_tokens.count(model="noise", conversation=named, input="x")
    assert counted.input_tokens > second.usage.input_tokens
    assert client.responses.retrieve(second.id).conversation == second.conversation


def test_ids_stay_unique(client: openai.OpenAI) -> None:
    """REGRESSION: a response added items under ids that the conversation had."""
    call = {"type": "local_shell_call", "id": "x", "call_id": "1", "status": "completed"}
    call |= {"action": {"type": "exec", "command": ["ls"], "env": {}}}  # type: ignore[dict-item]
    result = {"type": "local_shell_call_output", "id": "1", "output": "done"}
    conversation = client.conversations.create(items=[USER, call, result])  # type: ignore[list-item]
    items: list[Any] = listed(client, conversation.id)
    answered(client, conversation=conversation.id, input=items)
    ids = [item["id"] for item in listed(client, conversation.id)]
    assert len(ids) > 6 and len(set(ids)) == len(ids)
    more = {"role": "user", "content": "And?"}
    ask: dict[str, Any] = {"model": "noise", "input": [more]}
    tokens = client.responses.input_tokens.count(conversation=conversation.id, **ask).input_tokens
    history = listed(client, conversation.id)
    assert (
        tokens
        == client.responses.input_tokens.count(
            model="noise",
            input=[*history, more],  # type: ignore[list-item]
        ).input_tokens
    )


def test_streams_and_calls_extend_a_conversation(client: openai.OpenAI) -> None:
    number = client.conversations.create().id
    tools: list[Any] = [{"type": "function", "name": "set_light", "parameters": LIGHT}]
    asked: dict[str, Any] = {"tools": tools, "tool_choice": "required", "max_output_tokens": 3000}
    events = list(answered(client, conversation=number, input="Light!", stream=True, **asked))
    check_events(events)
    call = events[-1].response.output[-1]
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "on"}
    answered(client, conversation=number, input=[output], store=False)
    items = listed(client, number)
    assert call.to_dict() in items
    assert {"function_call_output"} == {
        item["type"] for item in items if item["type"].endswith("output")
    }
    for item in items:
        ITEM.validate_python(item)


def test_a_response_in_the_background_extends_a_conversation(
    client: openai.OpenAI, let_go: threading.Event
) -> None:
    """Its items come at its end; a cancelled one adds none."""
    number = client.conversations.create().id
    asked: dict[str, Any] = {"conversation": number, "input": "Hi", "background": True}
    one, other = (answered(client, **asked, extra_body={"seed": HELD}) for _ in range(2))
    client.responses.cancel(one.id)
    assert listed(client, number) == []
    let_go.set()
    while client.responses.retrieve(other.id).status in ("queued", "in_progress"):
        pass
    output = [item.to_dict() for item in client.responses.retrieve(other.id).output]
    assert listed(client, number)[1:] == output


def test_a_response_in_a_conversation_is_continued_there(client: openai.OpenAI) -> None:
    number = client.conversations.create().id
    response = answered(client, conversation=number, input="Hi")
    with pytest.raises(openai.BadRequestError, match="belongs to a conversation"):
        answered(client, previous_response_id=response.id, input="And?")
    with pytest.raises(openai.BadRequestError) as caught:
        answered(client, previous_response_id=response.id, conversation=number, input="And?")
    assert caught.value.param == "conversation"


def test_a_conversation_that_is_deleted_meanwhile_fails_the_response(
    client: openai.OpenAI, let_go: threading.Event
) -> None:
    """An answer that is not in the conversation is never delivered as if it were."""
    number = client.conversations.create().id
    body = {"seed": HELD}
    with ThreadPoolExecutor(1) as threads:
        made = threads.submit(answered, client, conversation=number, input="Hi", extra_body=body)
        while not made.running():
            pass
        stream = answered(client, conversation=number, input="Hi", extra_body=body, stream=True,
                          background=True)  # fmt: skip
        client.conversations.delete(number)
        let_go.set()
        with pytest.raises(openai.NotFoundError):
            made.result()
        last = list(stream)[-1]
    assert last.type == "response.failed" and "not found" in last.response.error.message


def test_a_client_finds_its_own_only(gateway: Gateway, client: openai.OpenAI) -> None:
    number = client.conversations.create(items=[USER]).id
    (item,) = listed(client, number)
    other = client_of(gateway, "two").conversations
    for each in (number, "conv_" + "0" * 32, "x" * 1024):
        for use in (
            lambda: other.retrieve(each),  # noqa: B023
            lambda: other.update(each, metadata={}),  # noqa: B023
            lambda: other.delete(each),  # noqa: B023
            lambda: other.items.list(each),  # noqa: B023
            lambda: other.items.create(each, items=[USER]),  # noqa: B023
            lambda: other.items.retrieve(item["id"], conversation_id=each),  # noqa: B023
            lambda: other.items.delete(item["id"], conversation_id=each),  # noqa: B023
        ):
            with pytest.raises(openai.NotFoundError):
                use()
    with pytest.raises(openai.NotFoundError):
        answered(client_of(gateway, "two"), conversation=number, input="Hi")
    with pytest.raises(openai.NotFoundError):
        client.conversations.items.retrieve("x" * 1024, conversation_id=number)
    assert listed(client, number) == [item]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a typo": ({"itmes": []}, "itmes"),
    "a wrong item": ({"items": [{"type": 5}]}, "items[0].type"),
    "too many items": ({"items": [USER] * (MAX_CHAIN_ITEMS + 1)}, "items"),
    "long metadata": ({"metadata": {"a": "x" * 513}}, "metadata.a"),
    "a reference to nothing": ({"items": [{"type": "item_reference", "id": "m"}]}, "items[0].id"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_named_with_its_place(gateway: Gateway, name: str) -> None:
    body, place = WRONG[name]
    key = {"Authorization": "Bearer one"}
    answer = gateway.post(body, path="/v1/conversations", headers=key)
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["param"] == place


@pytest.mark.parametrize("query", ["limit=0", "limit=x", "order=up", "after=msg_0"])
def test_a_wrong_query_is_refused(gateway: Gateway, client: openai.OpenAI, query: str) -> None:
    number = client.conversations.create().id
    key = {"Authorization": "Bearer one"}
    answer = gateway.get(f"/v1/conversations/{number}/items?{query}", headers=key)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, query.split("=")[0])


def test_a_conversation_has_bounds() -> None:
    with Gateway(responses_max_bytes=20_000) as small:
        client = client_of(small)
        number = client.conversations.create(items=[USER] * 20).id
        big: Any = {"role": "user", "content": "x" * 20_000}
        with pytest.raises(openai.BadRequestError) as caught:
            client.conversations.items.create(number, items=[big])
        assert caught.value.code == "conversation_too_large"
        assert len(listed(client, number)) == 20
    with Gateway() as large:
        client = client_of(large)
        number = client.conversations.create(items=[USER] * MAX_CHAIN_ITEMS).id
        for use in (
            lambda: client.conversations.items.create(number, items=[USER]),
            lambda: answered(client, conversation=number, input="Hi"),
        ):
            with pytest.raises(openai.BadRequestError) as caught:
                use()
            assert caught.value.code == "conversation_too_long"


def test_replicas_lose_no_item(redis_server: RedisServer) -> None:
    with replica(redis_server) as one, replica(redis_server) as other:
        clients = [client_of(one), client_of(other)]
        number = clients[0].conversations.create().id

        def add(at: int) -> None:
            item: Any = {"role": "user", "content": str(at)}
            clients[at % 2].conversations.items.create(number, items=[item])

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(add, range(24)))
        items = listed(clients[1], number)
        assert sorted(int(item["content"][0]["text"]) for item in items) == list(range(24))
        assert len({item["id"] for item in items}) == 24
        response = answered(clients[1], conversation=number, input="Hi")
        assert json.dumps(response.output[-1].to_dict()) == json.dumps(
            listed(clients[0], number)[-1]
        )
        redis_server.kill()
        with pytest.raises(openai.InternalServerError) as caught:
            clients[0].conversations.retrieve(number)
        assert caught.value.code == "state_unavailable"
        redis_server.start()
