"""Responses that their input configures or compacts, and those without generation."""

import json
from typing import Any

import openai
import pytest
from openai.types.responses import Response

from tests.app.gateway import Gateway, gateway_fixture
from tests.app.official_types import check, check_events

#: two clients by key
gateway = gateway_fixture(format="hermes", reasoning="on", api_keys="one,two")

TRIGGER: Any = {"type": "compaction_trigger"}
CALL = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
HISTORY: list[Any] = [
    {"role": "user", "content": "Wake me at seven."},
    CALL,
    {"type": "function_call_output", "call_id": "1", "output": "done " * 5000},
    {"role": "assistant", "content": "You will be woken."},
]
SCHEMA = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]}
SCHEMA["additionalProperties"] = False
UPDATE: Any = {
    "type": "configuration_update",
    "reasoning": {"effort": "none"},
    "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}},
}
PLAIN: Any = {"type": "configuration_update", "text": {"format": {"type": "text"}}}


@pytest.fixture
def client(gateway: Gateway) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="one", max_retries=0)


def counted(client: openai.OpenAI, **asked: Any) -> int:
    return client.responses.input_tokens.count(model="noise", **asked).input_tokens


def made(client: openai.OpenAI, items: list[Any], **more: Any) -> Response:
    asked = {"max_output_tokens": 900, "extra_body": {"seed": 1}, **more}
    return client.responses.create(model="noise", input=items, **asked)


def test_a_trigger_is_answered_with_one_compaction(client: openai.OpenAI) -> None:
    response = made(client, [*HISTORY, TRIGGER])
    check(response)
    (item,) = response.output
    assert (response.status, item.type) == ("completed", "compaction")
    assert response.usage and response.usage.total_tokens == 0
    compacted = client.responses.compact(model="noise", input=HISTORY).output[-1]
    items: list[Any] = [[each.to_dict(), HISTORY[0]] for each in (item, compacted)]
    assert counted(client, input=items[0]) == counted(client, input=items[1])


def test_a_trigger_is_streamed(client: openai.OpenAI) -> None:
    stream = client.responses.create(model="noise", input=[*HISTORY, TRIGGER], stream=True)
    events = list(stream)
    check_events(events)
    assert [event.type.removeprefix("response.") for event in events] == [
        *("created", "in_progress", "output_item.added", "compaction.compacting"),
        *("output_item.done", "completed"),
    ]
    last: Any = events[-1]
    assert list(client.responses.retrieve(last.response.id, stream=True)) == events


def test_a_triggered_response_is_continued_in_short(client: openai.OpenAI) -> None:
    long = made(client, HISTORY, max_output_tokens=5)
    short = made(client, [TRIGGER], previous_response_id=long.id)
    assert [item.type for item in short.output] == ["compaction"]
    kept = [HISTORY[0], *(item.to_dict() for item in short.output)]
    more = {"role": "user", "content": "And?"}
    assert counted(client, input=[more], previous_response_id=short.id) == counted(
        client, input=[*kept, more]
    )
    unstored = made(client, [*HISTORY, TRIGGER], store=False)
    assert unstored.store is False  # type: ignore[attr-defined]
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(unstored.id)


@pytest.mark.parametrize("form", ["trigger", "compact"])
def test_an_update_outlives_a_compaction(client: openai.OpenAI, form: str) -> None:
    """REGRESSION: later responses were free of its schema."""
    user = {"role": "user", "content": "Answer in JSON."}
    asked: dict[str, Any] = {"items": [user]}
    if form == "trigger":
        asked["previous_response_id"] = made(client, [UPDATE, *HISTORY, TRIGGER]).id
    else:
        short = client.responses.compact(model="noise", input=[UPDATE, *HISTORY])
        asked["items"] = [*(item.to_dict(warnings=False) for item in short.output), user]
    assert json.loads(made(client, **asked).output_text)["n"] in (1, 2)


def test_a_trigger_of_an_earlier_turn_is_left_out_by_name(client: openai.OpenAI) -> None:
    items = [*HISTORY, TRIGGER, {"role": "user", "content": "And?"}]
    answer = client.responses.with_raw_response.create(
        model="noise", input=items, max_output_tokens=5
    )
    assert answer.headers["x-switchyard-ignored"] == "input/4 compaction_trigger"
    assert answer.parse().output[0].type != "compaction"


def test_a_trigger_needs_a_conversation(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        made(client, [TRIGGER])
    assert caught.value.param == "input"


def test_an_update_is_enforced_and_stays_in_effect(client: openai.OpenAI) -> None:
    user = {"role": "user", "content": "Answer in JSON."}
    first = made(client, [UPDATE, user], text={"format": {"type": "text"}})
    second = made(client, [user], previous_response_id=first.id)
    for response in (first, second):
        assert [item.type for item in response.output] == ["message"]
        assert json.loads(response.output_text)["n"] in (1, 2)
        assert response.text and response.text.format and response.text.format.type == "json_schema"
        assert response.reasoning and response.reasoning.effort == "none"
    third = made(client, [PLAIN, user], previous_response_id=second.id, max_output_tokens=50)
    assert third.text and third.text.format and third.text.format.type == "text"
    assert third.reasoning and third.reasoning.effort == "none"
    listed = client.responses.input_items.list(first.id, order="asc").data[0]
    check(listed)
    update = {**UPDATE, "text": {"format": {**UPDATE["text"]["format"]}}}
    assert listed.to_dict() == {**update, "id": listed.id}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a typo": ({"txt": UPDATE["text"]}, "input[0].txt"),
    "a typo inside": ({"text": {"format": {"type": "text"}, "fromat": 1}}, "input[0].text.fromat"),
    "an unknown effort": ({"reasoning": {"effort": "huge"}}, "input[0].reasoning.effort"),
    "an unknown format": ({"text": {"format": {"type": "xml"}}}, "input[0].text.format"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_update_that_cannot_be_read_is_refused_by_its_place(
    client: openai.OpenAI, name: str
) -> None:
    fields, place = WRONG[name]
    with pytest.raises(openai.BadRequestError) as caught:
        made(client, [{"type": "configuration_update", **fields}, HISTORY[0]])
    assert caught.value.param and caught.value.param.startswith(place)


def test_a_response_without_generation(client: openai.OpenAI) -> None:
    """The next one continues its input, and all before it."""
    first = made(client, HISTORY, max_output_tokens=5)
    later: list[Any] = [{"role": "user", "content": "And?"}]
    ready = client.responses.create(
        model="noise", input=later, previous_response_id=first.id, extra_body={"generate": False}
    )
    check(ready)
    assert (ready.status, ready.output, ready.error) == ("completed", [], None)
    assert client.responses.retrieve(ready.id) == ready
    (item,) = client.responses.input_items.list(ready.id).data
    assert item.to_dict()["content"] == [{"type": "input_text", "text": "And?"}]
    items = [*HISTORY, *(item.to_dict() for item in first.output), *later, *later]
    assert counted(client, input=later, previous_response_id=ready.id) == counted(
        client, input=items
    )
