"""Responses with scripted workers and stores: every way a response can go, and what is stored."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest
from pydantic_core import to_json

from adapters.formats import get_format
from adapters.workers import PromptTooLong
from app.concurrency import Offload
from app.errors import ApiError
from app.observability.request_record import RequestRecord
from app.protocol.responses.ids import item_id, new_response_id
from app.protocol.responses.request import ResponseRequest
from app.sealing import Seal
from app.service.responses_service import ResponsesService
from app.service.stored_responses import StoredResponses
from app.state.byte_store import MemoryStore, StateUnavailable
from app.state.response_store import BLOCK, MAX_CHAIN_ITEMS, Chain, ResponseStore
from tests.app.bodies import parse_as
from tests.app.examples import LIGHT
from tests.app.messages import payloads
from tests.app.service.backgrounds import background_of, conversations_of
from tests.app.service.scripted import Service, Step, context, error, script, tokens
from tests.pulling import written

END = "<|im_end|>"
CALL = '<tool_call>\n{"name": "set_light", "arguments": {"on": true}}\n</tool_call>'
ALL = f"<think>\nwhy\n</think>\n\nWell, é!\n{CALL}\n{CALL}{END}"
TOOLS: list[Any] = [{"type": "function", "name": "set_light", "parameters": LIGHT}]
MAX_BYTES = 1 << 20


class FaultyStore(MemoryStore):
    """A store that fails when a test says so."""

    def __init__(self) -> None:
        super().__init__(max_bytes=64 << 20, ttl_s=100)
        self.fails = False

    async def set(self, owner: str, values: Mapping[str, bytes]) -> None:
        self._check()
        await super().set(owner, values)

    async def get(self, names: Sequence[str]) -> list[bytes | None]:
        self._check()
        return await super().get(names)

    async def delete(self, names: Sequence[str]) -> None:
        self._check()
        await super().delete(names)

    def _check(self) -> None:
        if self.fails:
            raise StateUnavailable("as the test says")


class Responses:
    """A ResponsesService around scripts."""

    def __init__(self, *scripts: list[Step], **settings: Any) -> None:
        self.service = Service(*scripts, **settings)
        self.bytes = FaultyStore()
        self.store = ResponseStore(self.bytes, Offload(), max_bytes=MAX_BYTES)
        self.stored = StoredResponses(self.store, background_of(self.bytes, self.store))
        self.unstored = 0
        self.responses = ResponsesService(
            self.service.generation,
            self.store,
            conversations_of(self.bytes),
            Seal(None),
            on_unstored=self._count,
        )

    def _count(self) -> None:
        self.unstored += 1

    async def create(self, **asked: Any) -> dict[str, Any]:
        return (await self.responses.complete(request(**asked), context())).body

    async def stream(self, **asked: Any) -> list[dict[str, Any]]:
        stream = await self.responses.stream(request(**asked), context())
        whole = b"".join([data async for data in written(stream)]).decode()
        await stream.aclose()
        return list(map(json.loads, payloads(whole)))


def request(**asked: Any) -> ResponseRequest:
    body = {"model": "noise", "input": "Wake me.", **asked}
    return parse_as(ResponseRequest, json.dumps(body).encode())


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
async def test_whatever_the_chunking_the_output_is_the_same(size: int):
    made = Responses(script(ALL, size=size))
    response = await made.create(tools=TOOLS)
    thought, message, *calls = response["output"]
    assert thought["content"] == [{"type": "reasoning_text", "text": "why"}]
    assert message["content"][0]["text"].startswith("Well, é!")
    assert [(each["name"], each["arguments"]) for each in calls] == [
        ("set_light", '{"on": true}')
    ] * 2
    assert response["usage"]["output_tokens"] == len(tokens(ALL))
    assert response["status"] == "completed"
    events = await made.stream(tools=TOOLS)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    for streamed, whole in zip(events[-1]["response"]["output"], response["output"], strict=True):
        assert {**streamed, "id": 0, "call_id": 0} == {**whole, "id": 0, "call_id": 0}


async def test_an_empty_output_is_a_message_with_a_part():
    """REGRESSION: OpenAI's client failed at the end of a part that had not begun."""
    types = [event["type"] for event in await Responses(script(END)).stream()]
    assert types[2:-1] == [
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ]


async def test_a_tool_with_the_name_of_another_names_both_places():
    """REGRESSION: the first one was counted among the tools that are served."""
    tool = {"type": "function", "name": "f"}
    with pytest.raises(ApiError) as caught:
        await Responses().create(tools=[HOSTED_TOOL, tool, tool])
    assert caught.value.param == "tools[2].name"
    assert "tools[1] has it already" in caught.value.message


@pytest.mark.parametrize("content", ["as text", ""])
async def test_json_objects_must_be_mentioned(content: str):
    """An input of which prompts show nothing mentions nothing."""
    items = [{"role": "user", "content": content}] if content else [
        {"type": "reasoning", "summary": []}
    ]  # fmt: skip
    with pytest.raises(ApiError, match="'input' must contain the word 'json'") as caught:
        await Responses().create(
            input=items,
            text={"format": {"type": "json_object"}},
            include_schema_in_prompt=False,
        )
    assert caught.value.param == "input"


#: (text that the output limit cuts, types and statuses of the items)
CUT: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "a thought": ("<think>\nwh", [("reasoning", "incomplete")]),
    "text": ("<think>\nwhy\n</think>\n\nWe", [
        ("reasoning", "completed"), ("message", "incomplete"),
    ]),
    "a call": (f"a{CALL}{CALL[:60]}", [
        ("message", "completed"), ("function_call", "completed"), ("function_call", "incomplete"),
    ]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "items"), CUT.values(), ids=CUT.keys())
async def test_a_cut_off_response_is_incomplete(text: str, items: list[tuple[str, str]]):
    made = Responses(script(text, finish="length"))
    response = await made.create(tools=TOOLS)
    assert response["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert [(each["type"], each["status"]) for each in response["output"]] == items
    last = (await made.stream(tools=TOOLS))[-1]
    assert last["type"] == "response.incomplete"
    assert (await made.stored.retrieve(response["id"], "me")).body == response


#: error of the worker, code of the failed response
FAILURES: dict[str, tuple[Exception, str]] = {
    "a broken worker": (error(500), "server_error"),
    "a slow worker": (TimeoutError(), "server_error"),
    "a full worker": (ApiError(429, "Too many."), "rate_limit_exceeded"),
    "a bug": (KeyError("secret"), "server_error"),
}


@pytest.mark.parametrize(("failure", "code"), FAILURES.values(), ids=FAILURES.keys())
async def test_a_failure_after_the_first_event_is_a_failed_response(failure: Exception, code: str):
    """The item that was cut off is incomplete; the response is not stored."""
    made = Responses([*script("Well, what", size=1)[:-1], failure])
    events = await made.stream()
    assert [event["type"] for event in events[-2:]] == [
        "response.output_item.done",
        "response.failed",
    ]
    response = events[-1]["response"]
    assert (response["status"], response["error"]["code"]) == ("failed", code)
    assert "secret" not in json.dumps(response)
    assert [each["status"] for each in response["output"]] == ["incomplete"]
    assert response["store"] is False
    with pytest.raises(ApiError):
        await made.stored.retrieve(response["id"], "me")


async def test_a_worker_that_is_silent_for_long_has_begun_the_stream():
    made = Responses([None], stream_comment_seconds=0.01)
    stream = await made.responses.stream(request(), context())
    first = (await anext(written(stream))).decode()
    assert first.count("event: ") == 2
    await stream.aclose()
    assert made.service.worker.open == 0


async def test_a_client_that_leaves_ends_the_generation_and_stores_nothing():
    made = Responses([*script("Well", size=1)[:-1], None])
    task = asyncio.create_task(made.create())
    while not made.service.worker.open:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert made.service.worker.open == 0
    assert made.bytes._held == {}


async def test_a_response_that_cannot_be_stored_is_delivered_and_says_so():
    made = Responses(script(f"Well{END}"))
    made.bytes.fails = True
    response = await made.create()
    assert (response["status"], response["store"], made.unstored) == ("completed", False, 1)
    (*_, last) = await made.stream()
    assert (last["type"], last["response"]["store"]) == ("response.completed", False)
    made.bytes.fails = False
    for number in (response["id"], last["response"]["id"]):
        with pytest.raises(ApiError) as raised:
            await made.stored.retrieve(number, "me")
        assert raised.value.status == 404


async def test_a_response_that_is_too_large_is_delivered_and_says_so():
    made = Responses(script(f"Well{END}"))
    response = await made.create(input="x" * MAX_BYTES)
    assert (response["store"], made.unstored) == (False, 1)
    assert (await made.create(input="x" * (MAX_BYTES // 2)))["store"] is True


async def test_large_numbers_and_deep_schemas_are_stored():
    """REGRESSION: a number of more than 64 bits in a schema failed the whole answer."""
    made = Responses(script(f"Well{END}"))
    deep: dict[str, Any] = {"type": "integer", "maximum": 10**40}
    for _ in range(60):
        deep = {"anyOf": [deep]}
    parameters = {"type": "object", "properties": {"a": deep}}
    tools = [{"type": "function", "name": "f", "parameters": parameters}]
    response = await made.create(tools=tools, tool_choice="none")
    assert response["store"] is True
    assert (await made.stored.retrieve(response["id"], "me")).body == response


async def test_without_store_nothing_is_stored():
    made = Responses(script(f"Well{END}"))
    assert (await made.create(store=False))["store"] is False
    assert (made.bytes._held, made.unstored) == ({}, 0)


async def test_while_the_store_fails_reading_is_a_503():
    made = Responses(script(f"Well{END}"))
    response = await made.create()
    number = response["id"]
    made.bytes.fails = True
    uses = (
        made.stored.retrieve(number, "me"),
        made.stored.delete(number, "me"),
        made.stored.cancel(number, "me"),
        made.create(previous_response_id=number),
        made.stream(previous_response_id=number),
        made.create(input=[{"type": "item_reference", "id": response["output"][0]["id"]}]),
    )
    for use in uses:
        with pytest.raises(ApiError) as raised:
            await use
        assert (raised.value.status, raised.value.code) == (503, "state_unavailable")
        assert raised.value.headers["Retry-After"]


@pytest.mark.parametrize("value", [b"", b"{}", b"[", b'{"before":[],"input":[3],"output":[]}'])
async def test_a_damaged_value_counts_as_missing(value: bytes):
    made = Responses(script(f"Well{END}"))
    number = (await made.create())["id"]
    await made.bytes.set("me", dict.fromkeys(list(made.bytes._held), value))
    for use, status in (
        (made.stored.retrieve(number, "me"), 404),
        (made.create(previous_response_id=number), 400),
    ):
        with pytest.raises(ApiError) as raised:
            await use
        assert raised.value.status == status


async def test_damaged_items_count_as_missing():
    made = Responses(script(f"Well{END}"))
    number = (await made.create())["id"]
    turn = {"before": [], "input": [{"type": "robot"}], "output": []}
    await made.bytes.set("me", dict.fromkeys(list(made.bytes._held), to_json(turn)))
    with pytest.raises(ApiError) as raised:
        await made.create(previous_response_id=number)
    assert (raised.value.status, raised.value.code) == (400, "previous_response_not_found")


#: sides of a response, and who speaks there
SIDES: tuple[tuple[Literal["i", "o"], str], ...] = (("i", "user"), ("o", "assistant"))


async def chain(made: Responses, length: int, text: str = "") -> list[str]:
    """Store a chain whose responses have one input and one output item; return its ids."""
    ids: list[str] = []
    size = 0
    for at in range(length):
        number = new_response_id()
        asked, told = (
            {"id": item_id("message", number, side, 0), "type": "message", "role": role}
            for side, role in SIDES
        )
        response = {
            "id": number,
            "status": "completed",
            "output": [{**told, "content": f"ok{text}"}],
        }
        inputs = [{**asked, "content": f"{at}"}]
        before = Chain(tuple(ids), (), size)
        assert await made.store.save("me", response, inputs, before, size=0)
        size += len(to_json({"input": inputs, "output": response["output"]}))
        ids.append(number)
    return ids


async def test_a_chain_of_a_thousand_responses_is_continued_in_order():
    made = Responses(script(f"Well{END}"))
    ids = await chain(made, 1000)
    response = await made.create(previous_response_id=ids[-1], input="last")
    prompt = made.service.prompt(0)
    places = [prompt.index(f"user\n{at}<") for at in range(1000)]
    assert places == sorted(places) and prompt.index("last") > places[-1]
    again = await made.create(previous_response_id=response["id"])
    assert again["status"] == "completed"


@pytest.mark.parametrize("length", [1, 2, BLOCK, BLOCK + 1, BLOCK + 2, 2 * BLOCK + 1, 200])
async def test_a_chain_of_any_length_is_whole(length: int):
    made = Responses(script(f"Well{END}"))
    ids = await chain(made, length)
    found = await made.store.chain("me", ids[-1])
    assert list(found.ids) == ids
    assert [item["content"] for item in found.items[::2]] == [str(at) for at in range(length)]


async def test_a_chain_that_leads_to_itself_is_missing():
    """A store without a key could hold one."""
    made = Responses(script(f"Well{END}"))
    ids = await chain(made, 2)
    for name in list(made.bytes._held):
        if name.endswith("chain"):
            await made.bytes.set("me", {name: to_json({"before": ids, "size": 1})})
    with pytest.raises(ApiError) as raised:
        await made.create(previous_response_id=ids[-1])
    assert raised.value.status == 400


async def test_a_chain_has_a_bound_on_items():
    """At the bound it is continued, one item beyond it is refused by name."""
    made = Responses(script(f"Well{END}"))
    number = (await chain(made, MAX_CHAIN_ITEMS // 2))[-1]
    with pytest.raises(ApiError) as raised:
        await made.create(previous_response_id=number)
    assert (raised.value.param, raised.value.code) == (
        "previous_response_id",
        "conversation_too_long",
    )
    assert "2,048" in raised.value.message
    assert (await made.create(previous_response_id=number, input=[]))["status"] == "completed"


async def test_a_chain_has_a_bound_on_bytes():
    """Each response may be stored, all of them together are too large to be continued."""
    made = Responses(script(f"Well{END}"))
    ids = await chain(made, 5, "x" * (MAX_BYTES // 4))
    assert (await made.create(previous_response_id=ids[2], store=False))["status"] == "completed"
    with pytest.raises(ApiError) as raised:
        await made.create(previous_response_id=ids[-1])
    assert (raised.value.status, raised.value.code) == (400, "conversation_too_large")


async def test_too_many_references_have_the_same_bound_on_bytes():
    made = Responses(script(f"Well{END}"))
    ids = await chain(made, 5, "x" * (MAX_BYTES // 4))
    items = [{"type": "item_reference", "id": item_id("message", each, "o", 0)} for each in ids]
    with pytest.raises(ApiError) as raised:
        await made.create(input=items)
    assert (raised.value.status, raised.value.code) == (400, "conversation_too_large")
    assert (await made.create(input=items[:2]))["status"] == "completed"


async def test_a_prompt_that_is_too_long_names_the_input():
    made = Responses([PromptTooLong(10, 5)])
    with pytest.raises(ApiError) as raised:
        await made.create()
    assert (raised.value.param, raised.value.code) == ("input", "context_length_exceeded")
    assert "messages" not in raised.value.message


SPACE: dict[str, Any] = {
    "type": "namespace",
    "name": "home",
    "description": "The house.",
    "tools": [{"type": "function", "name": "set_light", "parameters": LIGHT}],
}
HOSTED_TOOL = {"type": "web_search", "external_web_access": True}
FLAT_CALL = CALL.replace("set_light", "home__set_light")


async def test_a_call_in_a_namespace_comes_back_with_it():
    """REGRESSION: tools of these types were refused. A replayed call has the prompt's name."""
    made = Responses(script(f"{FLAT_CALL}{END}"))
    asked: dict[str, Any] = {"tools": [HOSTED_TOOL, SPACE], "reasoning": {"effort": "none"}}
    response = await made.create(**asked)
    (call,) = response["output"]
    assert (call["name"], call["namespace"]) == ("set_light", "home")
    assert [tool["type"] for tool in response["tools"]] == ["namespace"]
    events = await made.stream(**asked)
    items = [event["item"] for event in events if "item" in event]
    assert {(each["name"], each["namespace"]) for each in items} == {("set_light", "home")}
    (done,) = [e for e in events if e["type"] == "response.function_call_arguments.done"]
    assert done["name"] == "set_light"
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "ok"}
    await made.create(**asked, input=[{"role": "user", "content": "on"}, call, output])
    assert made.service.prompt().count('"name": "home__set_light"') == 2
    after = await made.create(**asked, input=[output], previous_response_id=response["id"])
    assert after["status"] == "completed"


async def test_what_is_left_out_is_in_the_header_the_record_and_the_metric():
    made = Responses(script(f"Well{END}"))
    image = {"type": "input_image", "image_url": "x"}
    items = [
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "function_call", "call_id": "c", "name": "set_light", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [image]},
        {"role": "user", "content": "And?"},
    ]
    record = RequestRecord("req_1")
    asked = request(tools=[HOSTED_TOOL, SPACE], input=items)
    answer = await made.responses.complete(asked, context(record=record))
    named = "input/0 web_search_call, tools/0 web_search, input/2/output/0 input_image"
    assert answer.headers["x-switchyard-ignored"] == named
    assert record.facts()["ignored"] == named.split(", ")
    assert made.service.count("ignored_parts_total", kind="web_search") == 1
    listed = await made.stored.input_items(
        answer.body["id"], "me", limit=9, after=None, newest_first=False
    )
    assert [each["type"] for each in listed["data"]] == [
        "function_call", "function_call_output", "message",
    ]  # fmt: skip
    plain = await made.responses.complete(request(), context())
    assert "x-switchyard-ignored" not in plain.headers


#: (tool choice beside a hosted tool and a namespace, names that may be called; None: refused)
CHOICES: dict[str, tuple[Any, str | None]] = {
    "by both names": ({"type": "function", "name": "set_light", "namespace": "home"}, "named"),
    "by its own name": ({"type": "function", "name": "set_light"}, "named"),
    "by its name in prompts": ({"type": "function", "name": "home__set_light"}, "named"),
    "a hosted tool": ({"type": "allowed_tools", "mode": "required", "tools": [HOSTED_TOOL]}, None),
    "of a namespace": (
        {
            "type": "allowed_tools",
            "mode": "required",
            "tools": [{"type": "web_search"}, {"type": "namespace", "name": "home"}],
        },
        "required",
    ),
    "no tool is left": (
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]},
        "none",
    ),
}


@pytest.mark.parametrize(("choice", "mode"), CHOICES.values(), ids=CHOICES.keys())
async def test_a_choice_is_enforced_or_refused(choice: Any, mode: str | None):
    """A choice is a constraint, so a tool that is left out never satisfies it."""
    text = f"Well{END}" if mode == "none" else f"{FLAT_CALL}{END}"
    made = Responses(script(text), reasoning="off")
    if mode is None:
        with pytest.raises(ApiError) as raised:
            await made.create(tools=[HOSTED_TOOL, SPACE], tool_choice=choice)
        assert raised.value.param == "tool_choice"
    else:
        output = (await made.create(tools=[HOSTED_TOOL, SPACE], tool_choice=choice))["output"]
        assert [each["type"] for each in output] == [
            "message" if mode == "none" else "function_call"
        ]


async def test_required_with_hosted_tools_alone_is_refused():
    made = Responses(script(f"Well{END}"))
    with pytest.raises(ApiError) as raised:
        await made.create(tools=[HOSTED_TOOL], tool_choice="required")
    assert raised.value.param == "tool_choice"
    assert (await made.create(tools=[HOSTED_TOOL], tool_choice="auto"))["status"] == "completed"


async def test_errors_and_headers_name_tools_of_namespaces_by_their_place():
    made = Responses(script(f"Well{END}"))
    schema = {**LIGHT, "properties": {"on": {"type": "string", "pattern": r"(a*)b\1"}}}
    space = {**SPACE, "tools": [{"type": "function", "name": "f", "parameters": schema}]}
    answer = await made.responses.complete(request(tools=[HOSTED_TOOL, space]), context())
    place = "tools/1/tools/0/parameters#/properties/on/pattern"
    assert answer.headers["x-switchyard-relaxed"] == place
    space["tools"][0]["strict"] = True  # type: ignore[index]
    with pytest.raises(ApiError) as raised:
        await made.create(tools=[HOSTED_TOOL, space])
    assert raised.value.param == "tools[1].tools[0].parameters"


async def test_the_relaxed_header_is_there():
    """A keyword that cannot be enforced is relaxed and named, as with chat completions."""
    made = Responses(script(f"Well{END}"))
    schema = {**LIGHT, "properties": {"on": {"type": "string", "pattern": r"(a*)b\1"}}}
    tool = {"type": "function", "name": "f", "parameters": schema}
    asked = request(tools=[tool])
    answer = await made.responses.complete(asked, context())
    place = "tools/0/parameters#/properties/on/pattern"
    assert answer.headers["x-switchyard-relaxed"] == place
    stream = await made.responses.stream(asked, context())
    assert stream.headers == answer.headers
    await stream.aclose()
    wanted = {"type": "json_schema", "name": "a", "schema": schema}
    asked = request(text={"format": wanted})
    answer = await Responses(script("{" + END)).responses.stream(asked, context())
    relaxed = answer.headers["x-switchyard-relaxed"]
    assert relaxed == "text/format/schema#/properties/on/pattern"
    await answer.aclose()
    with pytest.raises(ApiError) as raised:
        await made.create(tools=[{**tool, "strict": True}])
    assert raised.value.param == "tools[0].parameters"


@pytest.mark.parametrize("setting", ["template", "false"])
@pytest.mark.parametrize("asked", [None, True, False])
async def test_a_response_shows_whether_it_may_have_several_calls(asked: bool | None, setting: str):
    made = Responses(script(END), parallel_tool_calls=setting)
    response = await made.create(tools=TOOLS, parallel_tool_calls=asked)
    spec = made.service.worker.asked[-1].spec
    # the built-in tokenizer has no template, and its family writes several calls
    several = setting == "template" if asked is None else asked
    assert response["parallel_tool_calls"] is several
    assert f'"stop_after_first":{str(not several).lower()}' in str(spec)


async def test_a_response_of_a_format_with_one_call_shows_it():
    """REGRESSION: it showed the request's word, which does not hold there."""
    made = Responses(script(END))
    made.service.tokenizer.wire = get_format("gigachat_3")
    response = await made.create(tools=TOOLS, parallel_tool_calls=True)
    assert response["parallel_tool_calls"] is False
