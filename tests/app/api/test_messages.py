"""POST /v1/messages and its neighbours, judged by Anthropic's own types and client."""

import base64
from collections.abc import Iterator
from typing import Any, get_args

import anthropic
import httpx
import orjson
import pytest
from anthropic.types import BetaErrorResponse, ModelInfo
from anthropic.types.beta import (
    BetaContentBlockParam,
    BetaToolUnionParam,
    message_create_params,
)

from adapters.formats import ToolArguments, ToolStart
from app.protocol.anthropic import content, request, tools
from app.writers import MessageBlocks
from tests.app.anthropic_messages import (
    HELLO,
    WEATHER,
    assembled,
    create,
    events,
    post,
)
from tests.app.gateway import OPTIONS, Gateway
from tests.app.images.files import picture
from tests.app.wire import check


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """A gateway whose answers may have text and calls at once."""
    with Gateway(format="hermes", reasoning="on") as running:
        yield running


@pytest.fixture(scope="module")
def thinking() -> Iterator[Gateway]:
    """A gateway whose answers often begin with a thought."""
    with Gateway(format="harmony", reasoning="on") as running:
        yield running


def unnamed(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without what is random: ids and seals."""
    blocks = [
        {name: each for name, each in block.items() if name not in ("id", "signature")}
        for block in message["content"]
    ]
    return {**message, "id": "", "content": blocks}


# -- answers ---------------------------------------------------------------------------------------


def test_the_stop_string_that_ended_the_text_is_named(gateway: Gateway) -> None:
    message = create(gateway, seed=3, stop_sequences=["zzzz", "e", "a"])
    assert (message["stop_reason"], message["stop_sequence"]) in (
        ("stop_sequence", "e"),
        ("stop_sequence", "a"),
    )


def test_numbers_of_an_input_keep_their_digits(gateway: Gateway) -> None:
    exact = "123456789012345678901234567890.5"
    schema = {"type": "object", "properties": {"n": {"const": 123456789012345678901234567890}}}
    schema |= {"required": ["n"], "additionalProperties": False}
    answer = post(
        gateway,
        **HELLO,
        tools=[{"name": "f", "input_schema": schema}],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
    )
    assert exact.partition(".")[0] in answer.text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('{"n": 1e999}', '{"n": 1e999}'),
        ('{"n": ' + "1" * 5000 + "}", '{"n": ' + "1" * 5000 + "}"),
        ('{"n": NaN}', "{}"),
        ('{"n": 1', "{}"),
        ("[1]", "{}"),
    ],
)
def test_an_input_is_written_as_it_is_or_empty(text: str, written: str) -> None:
    """REGRESSION: the input of a call with a large number was empty."""
    blocks = MessageBlocks(str, shows_thoughts=True)
    list(blocks.add([ToolStart(0, "f", ""), ToolArguments(0, text)]))
    list(blocks.end())
    assert orjson.dumps(blocks.blocks[0]["input"]).decode() == written


# -- thoughts --------------------------------------------------------------------------------------


def thought(gateway: Gateway, **body: Any) -> tuple[int, dict[str, Any]]:
    """Return the seed and the message of an answer with a thought."""
    for seed in range(200):
        message = create(gateway, seed=seed, **body)
        if message["content"][0]["type"] == "thinking":
            return seed, message
    raise AssertionError("no answer had a thought")


@pytest.mark.parametrize("display", ["summarized", "updates"])
def test_a_thought_is_shown_unless_it_is_omitted(thinking: Gateway, display: str) -> None:
    """REGRESSION: "updates", with which Claude Code begins a stream of JSON, was refused."""
    seed, shown = thought(thinking)
    again = create(thinking, seed=seed, thinking={"type": "adaptive", "display": display})
    assert unnamed(again)["content"] == unnamed(shown)["content"]


def test_an_omitted_thought_comes_back_by_its_seal(thinking: Gateway) -> None:
    gateway = thinking
    seed, shown = thought(gateway)
    hidden = {"type": "adaptive", "display": "omitted"}
    omitted = create(gateway, seed=seed, thinking=hidden)
    block = omitted["content"][0]
    assert block["thinking"] == "" and block["signature"]
    streamed = assembled(
        events(gateway, seed=seed, thinking={"type": "auto", "display": "omitted"})
    )
    assert unnamed(streamed)["content"] == unnamed(omitted)["content"]

    def follow(*blocks: Any) -> httpx.Response:
        said = [*blocks, {"type": "text", "text": "Well."}]
        history = [*HELLO["messages"], {"role": "assistant", "content": said}, *HELLO["messages"]]
        return post(gateway, **{**HELLO, "messages": history})

    with_shown, with_seal = follow(shown["content"][0]), follow(block)
    assert with_shown.json()["usage"]["input_tokens"] == with_seal.json()["usage"]["input_tokens"]
    assert "x-switchyard-ignored" not in with_seal.headers
    for other in (
        {**block, "signature": "EqQBCkYIARgCKkBfb3JlaWdu"},
        {**block, "signature": "A" + block["signature"][1:][::-1]},
        {**block, "signature": ""},
        {**shown["content"][0], "thinking": "I never thought this."},
    ):
        dropped = follow(other)
        assert dropped.headers["x-switchyard-ignored"] == ("messages/1/content/0 thinking")


# -- histories -------------------------------------------------------------------------------------


def tokens(gateway: Gateway, **body: Any) -> int:
    counted = post(gateway, "/v1/messages/count_tokens", **{"model": "noise", **body})
    assert counted.status_code == 200, counted.text
    count: int = counted.json()["input_tokens"]
    return count


def test_the_block_that_changes_with_each_request_is_no_part_of_the_prompt(
    gateway: Gateway,
) -> None:
    messages = HELLO["messages"]
    blocks = [{"type": "text", "text": text} for text in ("x-anthropic-billing-header: 1;", "Be.")]
    assert tokens(gateway, messages=messages, system=blocks) == tokens(
        gateway, messages=messages, system="Be."
    )


def test_a_passing_instruction_ends_with_the_next_message_of_the_user(gateway: Gateway) -> None:
    user, passing = HELLO["messages"][0], {"role": "system", "content": "Only now."}
    passing |= {"clear_at": "next_user_message"}
    answer = {"role": "assistant", "content": "Well."}
    assert tokens(gateway, messages=[user, passing, answer, user]) == tokens(
        gateway, messages=[user, answer, user]
    )
    assert tokens(gateway, messages=[user, passing]) > tokens(gateway, messages=[user])


def test_a_failed_call_is_told_to_the_model(gateway: Gateway) -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no such city"}
    said = [*HELLO["messages"], {"role": "assistant", "content": [use]}]
    well = tokens(gateway, messages=[*said, {"role": "user", "content": [result]}])
    failed = [{**result, "is_error": True}]
    assert tokens(gateway, messages=[*said, {"role": "user", "content": failed}]) > well


@pytest.mark.parametrize("kind", content.LEFT_OUT)
def test_blocks_of_other_servers_are_left_out_by_name(gateway: Gateway, kind: str) -> None:
    blocks = [{"type": kind, "tool_use_id": "x", "content": []}, {"type": "text", "text": "Well."}]
    history = [*HELLO["messages"], {"role": "assistant", "content": blocks}, *HELLO["messages"]]
    answer = post(gateway, **{**HELLO, "max_tokens": 1, "messages": history})
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-switchyard-ignored"] == f"messages/1/content/0 {kind}"


#: sources of images, and why one is not seen; None: it is
SOURCES: list[tuple[dict[str, Any], str | None]] = [
    (
        {
            "type": "base64",
            "media_type": "image/png",
            "data": base64.b64encode(picture("PNG")).decode(),
        },
        None,
    ),
    (
        {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
        "its PNG file is cut",
    ),
    (
        {"type": "url", "url": "https://example.com/a.png"},
        "the host 'example.com' is not one of those",
    ),
    ({"type": "file", "file_id": "file_1"}, "it has no URL or data"),
]


@pytest.mark.parametrize(("source", "reason"), SOURCES)
def test_an_unseen_image_is_an_error_in_the_current_message_only(
    gateway: Gateway, source: Any, reason: str | None
) -> None:
    image = {"type": "image", "source": source}
    result = {"type": "tool_result", "tool_use_id": "x", "content": [image]}
    for block, status in ((image, 400), (result, 200)):
        answer = post(gateway, **HELLO | {"messages": [{"role": "user", "content": [block]}]})
        if reason is None:
            assert answer.status_code == 200, answer.text
            assert "x-switchyard-ignored" not in answer.headers
        elif status == 400:
            assert (answer.status_code, reason in answer.text) == (400, True), answer.text
            assert "'messages[0].content[0]'" in answer.text
        else:
            assert answer.status_code == 200, answer.text
            ignored = answer.headers["x-switchyard-ignored"]
            assert ignored == "messages/0/content/0/content/0 image"


def test_the_text_of_a_document_is_shown(gateway: Gateway) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "word " * 50}
    blocks = [{"type": "document", "title": "Words", "source": source}]
    assert tokens(gateway, messages=[{"role": "user", "content": blocks}]) > 50


# -- tools -----------------------------------------------------------------------------------------


def test_tools_of_the_server_are_left_out_unless_a_call_is_required(gateway: Gateway) -> None:
    search = {"type": "web_search_20260318", "name": "web_search"}
    answer = post(gateway, **HELLO, tools=[WEATHER, search])
    assert answer.headers["x-switchyard-ignored"] == "tools/1 web_search"
    refused = post(gateway, **HELLO, tools=[search], tool_choice={"type": "any"})
    assert refused.status_code == 400 and "none of the tools" in refused.text


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("bash_20250124", "bash"),
        ("text_editor_20250728", "str_replace_based_edit_tool"),
        ("memory_20250818", "memory"),
    ],
)
def test_tools_of_the_client_are_offered(gateway: Gateway, kind: str, name: str) -> None:
    choice = {"type": "tool", "name": name, "disable_parallel_tool_use": True}
    asked = [{"type": kind, "name": name}]
    message = create(gateway, seed=1, max_tokens=4000, tools=asked, tool_choice=choice)
    (use,) = [each for each in message["content"] if each["type"] == "tool_use"]
    assert use["name"] == name
    assert name == "bash" or "command" in use["input"]


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        (
            {"messages": [{"role": "user", "content": [{"text": "a"}]}]},
            "messages[0].content[0].type",
        ),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "content[0].text"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
        ({"tools": [{"name": "f"}]}, "tools[0].input_schema"),
        (
            {"tools": [{"name": "f", "input_schema": {"type": "strin"}}]},
            "tools[0].input_schema: at /type",
        ),
        ({"tools": [WEATHER, WEATHER]}, "tools[1].name"),
        ({"tools": [WEATHER], "tool_choice": {"type": "tool"}}, "tool_choice.name"),
        ({"tools": [WEATHER], "tool_choice": {"type": "tool", "name": "g"}}, "tool_choice.name"),
        ({"output_config": {"format": {"type": "json_schema", "schema": {"type": 3}}}}, "format"),
        ({"output_config": {"format": {"type": "xml"}}}, "output_config.format.type"),
        ({"output_config": {"fromat": None, "formats": {}}}, "output_config.formats"),
        ({"messages": []}, "messages"),
        ({"system": [{"text": "a"}]}, "system[0].type"),
        ({"system": 3}, "system"),
        ({"stop_sequences": ["a"] * 17}, "stop_sequences"),
        ({"tool_choice": {"type": "any"}}, "tool_choice"),
        ({"stop_sequence": ["x"]}, "stop_sequence"),
        ({"thinking": {"type": "on"}}, "thinking.type"),
        ({"model": "other"}, "other"),
    ],
)
def test_a_refusal_names_the_place(gateway: Gateway, change: Any, told: str) -> None:
    answer = post(gateway, **HELLO | change)
    assert answer.status_code in (400, 404), answer.text
    body = answer.json()
    check(BetaErrorResponse, body)
    assert told in body["error"]["message"]
    kind = "not_found_error" if answer.status_code == 404 else "invalid_request_error"
    assert body["error"]["type"] == kind
    assert body["request_id"] == answer.headers["request-id"]


def test_the_official_client_knows_the_errors() -> None:
    with Gateway(api_keys="k") as gateway:
        for key, error in (("k", anthropic.BadRequestError), ("x", anthropic.AuthenticationError)):
            client = anthropic.Anthropic(base_url=gateway.url, api_key=key, max_retries=0)
            with pytest.raises(error) as caught:
                client.messages.create(model="noise", max_tokens=-1, messages=[])
            assert caught.value.request_id
        bearer = anthropic.Anthropic(base_url=gateway.url, auth_token="k", api_key=None)
        hello = [{"role": "user", "content": "Hello"}]
        message = bearer.messages.create(model="noise", max_tokens=5, messages=hello)
        assert message.role == "assistant"


# -- models ----------------------------------------------------------------------------------------


def test_the_official_client_lists_models(gateway: Gateway) -> None:
    client = anthropic.Anthropic(base_url=gateway.url, api_key="k")
    (model,) = client.models.list()
    check(ModelInfo, model.to_dict(mode="json"))
    assert model == client.models.retrieve("noise") and model.id == "noise"


# -- the newest types ------------------------------------------------------------------------------


def types_of(union: Any) -> set[str]:
    """Return the types of the objects in a union of Anthropic's parameters."""
    found = set()
    for each in get_args(union):
        kind = getattr(each, "__annotations__", {}).get("type")
        found |= {str(kind)} if kind is not None else set()
    return {text.split("'")[1] for text in found if "'" in text}


def test_every_block_of_the_newest_types_is_known() -> None:
    known = {*content.BLOCKS, *content.LEFT_OUT}
    assert types_of(BetaContentBlockParam) - known == set()


def test_every_tool_of_the_newest_types_is_known() -> None:
    known = {*tools.CLIENT_TOOLS, *tools.SERVER_TOOLS, "custom"}
    assert {tools.tool_family(each) for each in types_of(BetaToolUnionParam)} - known == set()


def test_every_field_of_the_newest_types_is_known() -> None:
    official = set(message_create_params.MessageCreateParamsBase.__annotations__) | {"stream"}
    known = {*request.MessagesRequest.model_fields, *request.MESSAGES_IGNORED}
    assert official - known == set()


def test_the_greeting_needs_no_key() -> None:
    with Gateway(api_keys="k") as gateway:
        assert httpx.head(gateway.url + "/api/hello", **OPTIONS).status_code == 200
