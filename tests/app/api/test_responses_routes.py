"""Responses over HTTP, with the official client: create, stream, continue, read again."""

import json
import re
from typing import Any

import httpx
import openai
import pytest
from openai.types.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from tests.app.examples import ALARM, LIGHT
from tests.app.gateway import OPTIONS, Gateway, gateway_fixture
from tests.app.wire import check, check_event

TOOLS: list[Any] = [
    {"type": "function", "name": "set_alarm", "parameters": ALARM, "strict": True},
    {"type": "function", "name": "set_light", "parameters": LIGHT, "strict": True},
]


class Reading(BaseModel):
    model_config = ConfigDict(extra="forbid")

    city: str = Field(max_length=8)
    celsius: int


#: two clients by key; answers may have reasoning
gateway = gateway_fixture(format="hermes", reasoning="on", api_keys="one,two")


def client_of(gateway: Gateway, key: str = "one") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=key, max_retries=0)


@pytest.fixture
def client(gateway: Gateway) -> openai.OpenAI:
    return client_of(gateway)


def asked(seed: int = 7, **more: Any) -> dict[str, Any]:
    return {
        "model": "noise",
        "input": "Wake me. Answer in JSON.",
        "max_output_tokens": 8000,
        "extra_body": {"seed": seed},
        **more,
    }


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"max_output_tokens": 4},
        {"tools": TOOLS, "tool_choice": "required"},
        {"tools": TOOLS, "tool_choice": {"type": "function", "name": "set_light"}},
        {"tools": TOOLS, "text": {"format": {"type": "json_object"}}},
        {"input": "hi", "text": {"format": {"type": "json_object"}}, "max_output_tokens": 30},
    ],
    ids=["text", "cut", "required", "named", "json", "json without the word"],
)
def test_a_stream_adds_up_to_the_same_response(
    client: openai.OpenAI, seed: int, more: dict[str, Any]
):
    """Every event is one of the client's types, numbered; the client's own sum is the response."""
    whole = client.responses.create(**asked(seed, **more))
    check(Response, whole.to_dict())
    events = list(client.responses.create(**asked(seed, **more), stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
    for event in events:
        check_event(event.to_dict())
    last = events[-1]
    assert last.type == f"response.{whole.status}"
    done = [event.item for event in events if event.type == "response.output_item.done"]
    assert [each.to_dict() for each in done] == [each.to_dict() for each in last.response.output]
    assert alike(last.response) == alike(whole)
    if whole.status == "completed":
        with client.responses.stream(**asked(seed, **more)) as stream:
            assert alike(stream.get_final_response()) == alike(whole)


def alike(response: Response) -> dict[str, Any]:
    """Return a response without ids and times."""
    raw = json.loads(response.model_dump_json(exclude={"id", "created_at", "completed_at"}))
    for item in raw["output"]:
        for name in ("id", "call_id", "parsed_arguments"):
            item.pop(name, None)
        for part in item.get("content") or []:
            part.pop("parsed", None)
    return dict(raw)


def test_the_bytes_of_a_stream(gateway: Gateway):
    """Each event has its type as its name; nothing follows the last one."""
    body = {"model": "noise", "input": "hi", "seed": 1, "stream": True, "max_output_tokens": 9}
    key = {"Authorization": "Bearer one"}
    answer = httpx.post(f"{gateway.url}/v1/responses", json=body, headers=key, **OPTIONS)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    *events, end = answer.text.split("\n\n")
    assert end == ""
    for text in events:
        name, data = text.split("\n")
        assert name == f"event: {json.loads(data.removeprefix('data: '))['type']}"


def test_a_pydantic_type_is_parsed(client: openai.OpenAI):
    parsed = client.responses.parse(**asked(), text_format=Reading)
    assert isinstance(parsed.output_parsed, Reading)
    with client.responses.stream(**asked(), text_format=Reading) as stream:
        assert stream.get_final_response().output_parsed == parsed.output_parsed


def test_a_loop_of_calls(client: openai.OpenAI):
    """Own items may be sent back as they came, also without a store."""
    items: list[Any] = [{"role": "user", "content": "Wake me."}]
    for seed in range(3):
        choice: Any = "required" if seed < 2 else "none"
        response = client.responses.create(
            **asked(seed, input=items, tools=TOOLS, tool_choice=choice, store=False)
        )
        items += [item.to_dict() for item in response.output]
        calls = [item for item in response.output if item.type == "function_call"]
        assert bool(calls) == (seed < 2)
        for call in calls:
            assert json.loads(call.arguments)
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": "ok"})
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(response.id)


def test_a_chain_is_the_conversation(client: openai.OpenAI):
    """The prompt is the same as that of all items at once; instructions are not carried over."""
    first = client.responses.create(**asked(1, instructions="Be long.", max_output_tokens=9))
    second = client.responses.create(
        **asked(2, input="And then?", previous_response_id=first.id, max_output_tokens=9)
    )
    third = client.responses.create(
        **asked(3, input="So?", previous_response_id=second.id, instructions="x")
    )
    assert third.previous_response_id == second.id
    items: list[Any] = [{"role": "user", "content": asked()["input"]}, *first.output]
    items += [{"role": "user", "content": "And then?"}, *second.output]
    items.append({"role": "user", "content": "So?"})
    at_once = client.responses.create(**asked(3, input=items, instructions="x"))
    assert at_once.usage == third.usage
    assert at_once.output_text == third.output_text
    referred = [
        {"type": "item_reference", "id": each.id}
        for each in [
            *client.responses.input_items.list(second.id, order="asc").data,
            *second.output,
        ]
    ]
    first_items: list[Any] = [{"role": "user", "content": asked()["input"]}, *first.output]
    again = client.responses.create(
        **asked(3, input=[*first_items, *referred, items[-1]], instructions="x")
    )
    assert (again.usage, again.output_text) == (third.usage, third.output_text)


def test_a_stored_response_is_read_again_and_deleted(client: openai.OpenAI):
    response = client.responses.create(**asked(metadata={"a": "b"}, user="me", tools=TOOLS))
    assert client.responses.retrieve(response.id).to_dict() == response.to_dict()
    with pytest.raises(openai.BadRequestError, match="Cannot cancel a synchronous response"):
        client.responses.cancel(response.id)
    client.responses.delete(response.id)
    for use in (client.responses.retrieve, client.responses.delete, client.responses.cancel):
        with pytest.raises(openai.NotFoundError, match=response.id):
            use(response.id)
    with pytest.raises(openai.BadRequestError) as raised:
        client.responses.create(**asked(previous_response_id=response.id))
    assert raised.value.code == "previous_response_not_found"
    assert raised.value.param == "previous_response_id"
    assert f"Previous response with id '{response.id}' not found." in str(raised.value)


def test_a_deleted_response_ends_the_chains_through_it(client: openai.OpenAI):
    first = client.responses.create(**asked(max_output_tokens=5))
    second = client.responses.create(**asked(previous_response_id=first.id, max_output_tokens=5))
    client.responses.delete(first.id)
    assert client.responses.retrieve(second.id).id == second.id
    with pytest.raises(openai.BadRequestError, match="Previous response"):
        client.responses.create(**asked(previous_response_id=second.id))


def test_a_response_belongs_to_its_client(gateway: Gateway, client: openai.OpenAI):
    """Another key gets the error of an unknown id for everything, word for word."""
    other = client_of(gateway, "two")
    response = client.responses.create(**asked(max_output_tokens=5))
    uses: list[Any] = [
        lambda number: other.responses.retrieve(number),
        lambda number: other.responses.delete(number),
        lambda number: other.responses.cancel(number),
        lambda number: other.responses.input_items.list(number),
        lambda number: other.responses.create(**asked(previous_response_id=number)),
    ]
    unknown = "resp_" + "0" * 32
    for use in uses:
        messages = []
        for number in (response.id, unknown):
            with pytest.raises((openai.NotFoundError, openai.BadRequestError)) as raised:
                use(number)
            messages.append(str(raised.value).replace(number, "ID"))
        assert messages[0] == messages[1]
    with pytest.raises(openai.NotFoundError) as raised:
        other.responses.create(
            **asked(input=[{"type": "item_reference", "id": response.output[0].id}])
        )
    assert raised.value.param == "input[0].id"
    assert client.responses.retrieve(response.id).id == response.id


def test_pages_of_input_items(client: openai.OpenAI):
    texts = [str(number) for number in range(45)]
    items: Any = [{"role": "user", "content": text} for text in texts]
    response = client.responses.create(**asked(input=items, max_output_tokens=5))
    for order, limit in (("asc", 20), ("desc", 7), ("desc", 100)):
        pages = client.responses.input_items.list(response.id, order=order, limit=limit)  # type: ignore[arg-type]
        found = [item.content[0].text for item in pages]  # type: ignore[union-attr, index]
        assert found == (texts if order == "asc" else texts[::-1])
    newest = client.responses.input_items.list(response.id)
    assert (len(newest.data), newest.has_more) == (20, True)


#: (path after the id, param)
BAD_QUERIES = [
    ("/input_items?limit=0", "limit"),
    ("/input_items?limit=101", "limit"),
    ("/input_items?limit=many", "limit"),
    ("/input_items?limit=" + "9" * 5000, "limit"),
    ("/input_items?order=random", "order"),
    ("/input_items?after=msg_0", "after"),
    ("?stream=maybe", "stream"),
    ("?stream=true&starting_after=-1", "starting_after"),
    ("?stream=true&starting_after=" + "9" * 5000, "starting_after"),
]


@pytest.mark.parametrize(("path", "param"), BAD_QUERIES)
def test_a_bad_query_is_named(gateway: Gateway, client: openai.OpenAI, path: str, param: str):
    response = client.responses.create(**asked(max_output_tokens=5))
    key = {"Authorization": "Bearer one"}
    answer = gateway.get(f"/v1/responses/{response.id}{path}", headers=key)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


#: (fields, status, param, code)
BAD: dict[str, tuple[dict[str, Any], int, str | None, str | None]] = {
    "an unknown model": ({"model": "gpt-0"}, 404, "model", "model_not_found"),
    "no input": ({"input": []}, 400, "input", "missing_required_parameter"),
    "an unknown previous response": (
        {"previous_response_id": "resp_\n/../x"},
        400,
        "previous_response_id",
        "previous_response_not_found",
    ),
    "an unknown reference": (
        {"input": [{"type": "item_reference", "id": "msg_1"}]},
        404,
        "input[0].id",
        None,
    ),
    "a bad schema": (
        {"tools": [{"type": "function", "name": "f", "parameters": {"type": "array"}}]},
        400,
        "tools[0].parameters",
        "invalid_json_schema",
    ),
    "two tools of one name": (
        {"tools": [TOOLS[0], TOOLS[0]]},
        400,
        "tools[1].name",
        "duplicate_tool_name",
    ),
    "a bad format": (
        {"text": {"format": {"type": "json_schema", "name": "a", "schema": {"$ref": "#/x"}}}},
        400,
        "text.format",
        "invalid_json_schema",
    ),
    "no word of JSON": (
        {
            "input": "hi",
            "text": {"format": {"type": "json_object"}},
            "extra_body": {"include_schema_in_prompt": False},
        },
        400,
        "input",
        None,
    ),
    "an unknown named tool": (
        {"tools": TOOLS, "tool_choice": {"type": "function", "name": "nope"}},
        400,
        "tool_choice.name",
        "invalid_value",
    ),
    "an unknown allowed tool": (
        {
            "tools": TOOLS,
            "tool_choice": {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "function", "name": "nope"}],
            },
        },
        400,
        "tool_choice.tools[0].name",
        "invalid_value",
    ),
    "a choice between no tools": ({"tool_choice": "required"}, 400, "tool_choice", None),
    "too many tokens": (
        {"max_output_tokens": 32_769},
        400,
        "max_output_tokens",
        "invalid_value",
    ),
    "an unsupported sampling field": (
        {"extra_body": {"logit_bias": {"1": 5}}},
        400,
        "logit_bias",
        "unsupported_parameter",
    ),
}


@pytest.mark.parametrize(("fields", "status", "param", "code"), BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("stream", [False, True])
def test_bad_requests_are_answered_before_the_stream(
    client: openai.OpenAI,
    fields: dict[str, Any],
    status: int,
    param: str | None,
    code: str | None,
    stream: bool,
):
    with pytest.raises(openai.APIStatusError) as raised:
        client.responses.create(**asked(**fields), stream=stream)
    error = raised.value
    assert (error.status_code, error.param, error.code) == (status, param, code)
    assert "messages" not in error.message and "response_format" not in error.message


def test_a_gateway_without_redis_says_where_responses_are(gateway: Gateway):
    (ready,) = (line for line in gateway.lines() if line["event"] == "ready")
    assert ready["stored_responses"] == "memory"


QUERY = {
    "type": "custom",
    "name": "query",
    "format": {
        "type": "grammar",
        "syntax": "lark",
        "definition": 'start: "SELECT " /[a-z]{1,8}/ " FROM " /[a-z]{1,8}/',
    },
}


def test_a_call_of_a_custom_tool_fits_its_grammar_and_can_be_answered(client: openai.OpenAI):
    """The stream's events, its last response and the whole response have the same call."""
    wanted = asked(tools=[QUERY], tool_choice={"type": "custom", "name": "query"})
    whole = client.responses.create(**wanted)
    (call,) = [item for item in whole.output if item.type == "custom_tool_call"]
    assert re.fullmatch(r"SELECT [a-z]{1,8} FROM [a-z]{1,8}", call.input)
    events = list(client.responses.create(stream=True, **wanted))
    deltas = [
        event.delta for event in events if event.type == "response.custom_tool_call_input.delta"
    ]
    (done,) = [each for each in events if each.type == "response.custom_tool_call_input.done"]
    (last,) = [item for item in events[-1].response.output if item.type == "custom_tool_call"]
    assert "".join(deltas) == done.input == last.input == call.input
    result = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "3 rows"}
    after = client.responses.create(**asked(input=[result], previous_response_id=whole.id))
    assert after.status == "completed"
    listed = client.responses.input_items.list(after.id).data
    assert [(item.type, item.output) for item in listed] == [(result["type"], "3 rows")]


@pytest.mark.parametrize(
    ("changed", "param", "code"),
    [
        ({"format": {"type": "lark"}}, "tools[0].format.type", "invalid_value"),
        ({"format": {"type": "grammar", "syntax": "lark"}}, "tools[0].format.definition",
         "missing_required_parameter"),
        ({"format": {**QUERY["format"], "definition": "start: ("}}, "tools[0].format.definition",
         "invalid_grammar"),
        ({"parameters": {}}, "tools[0].parameters", "unknown_parameter"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_custom_tool_has_its_place(
    client: openai.OpenAI, changed: dict[str, Any], param: str, code: str
):
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(**asked(tools=[QUERY | changed]))
    assert (caught.value.param, caught.value.code) == (param, code)
