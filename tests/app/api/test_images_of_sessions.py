"""Images in stored responses, conversations, runs in the background, sockets and counts."""

import json
import time
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai.types.conversations import ConversationItem
from openai.types.responses import ResponseItem
from openai.types.responses.responses_server_event import ResponsesServerEvent
from pydantic import TypeAdapter
from websockets.sync.client import connect

from adapters.workers import Generation
from tests.app.gateway import PATIENCE, Gateway, gateway_fixture
from tests.app.image_requests import (
    APIS,
    PLACES,
    Clients,
    data_of,
    image,
    pictures,
    request,
    text,
    urls_of,
)
from tests.app.official_types import check as check_object
from tests.app.wire import check
from tests.campaigns.three_apis.campaign import recorded

gateway = gateway_fixture(format="hermes")

RED, BLUE = pictures(2)
EVENT: TypeAdapter[Any] = TypeAdapter(ResponsesServerEvent)


@pytest.fixture
def generations() -> Iterator[list[Generation]]:
    with recorded() as some:
        yield some


@pytest.fixture
def client(gateway: Gateway) -> openai.OpenAI:
    return Clients.of(gateway).openai


def user(file: bytes) -> Any:
    """Return an item of the user with an image."""
    parts = [text("responses", "Look."), image("responses", *urls_of([file]))]
    return {"role": "user", "content": parts}


def asked(client: openai.OpenAI, **more: Any) -> Any:
    return client.responses.create(model="noise", max_output_tokens=16, **more)


def seen(generation: Generation) -> list[str]:
    return [each.image.data for each in generation.images]


def urls_in(items: Any) -> list[str]:
    """Return the URLs of the images in items as the server sends them."""
    parts = (part for item in items for part in item.to_dict().get("content") or ())
    return [part["image_url"] for part in parts if part["type"] == "input_image"]


def test_a_chain_shows_the_images_of_all_its_turns(
    client: openai.OpenAI, generations: list[Generation]
):
    first = asked(client, input=[user(RED)])
    second = asked(client, input=[user(BLUE)], previous_response_id=first.id)
    assert seen(generations[-1]) == data_of([RED, BLUE])
    for response, file in ((first, RED), (second, BLUE)):
        items = client.responses.input_items.list(response.id, order="asc").data
        for item in items:
            check(ResponseItem, item.to_dict())
        assert urls_in(items) == urls_of([file])


def test_a_conversation_keeps_images(client: openai.OpenAI, generations: list[Generation]):
    made = client.conversations.create(items=[user(RED)])
    asked(client, input=[user(BLUE)], conversation=made.id)
    assert seen(generations[-1]) == data_of([RED, BLUE])
    items = client.conversations.items.list(made.id, order="asc").data
    for item in items:
        check(ConversationItem, item.to_dict())
    assert urls_in(items) == urls_of([RED, BLUE])


def test_a_run_in_the_background_sees_images(client: openai.OpenAI, generations: list[Generation]):
    response = asked(client, input=[user(RED)], background=True)
    until = time.monotonic() + PATIENCE
    while (response := client.responses.retrieve(response.id)).status in ("queued", "in_progress"):
        assert time.monotonic() < until
        time.sleep(0.01)
    check_object(response)
    assert response.status in ("completed", "incomplete")
    assert seen(generations[-1]) == data_of([RED])


def test_a_socket_takes_images(gateway: Gateway, generations: list[Generation]):
    address = gateway.url.replace("http", "ws") + "/v1/responses"
    last: dict[str, Any] = {}
    with connect(address, open_timeout=PATIENCE) as socket:
        for file in (RED, BLUE):
            body = {"model": "noise", "max_output_tokens": 16, "input": [user(file)]}
            if last:
                body["previous_response_id"] = last["response"]["id"]
            socket.send(json.dumps({"type": "response.create", **body}))
            kinds = ("response.completed", "response.incomplete", "response.failed", "error")
            while (last := json.loads(socket.recv(PATIENCE)))["type"] not in kinds:
                check_object(EVENT.validate_python(last))
            assert last["type"] in kinds[:2], last
    assert seen(generations[-1]) == data_of([RED, BLUE])


def test_a_compacted_conversation_keeps_the_images_of_messages(
    client: openai.OpenAI, generations: list[Generation]
):
    body = request("responses", "result", urls_of([BLUE]))
    raw = client.responses.with_raw_response.compact(
        model="noise", input=[user(RED), *body["input"]]
    )
    output = json.loads(raw.text)["output"]
    asked(client, input=[*output, {"role": "user", "content": "And now?"}])
    assert seen(generations[-1]) == data_of([RED])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("api", APIS[1:])
def test_counts_of_tokens_are_those_that_are_used(gateway: Gateway, api: str, place: str):
    clients, body = Clients.of(gateway), request(api, place, urls_of(pictures(2)))
    if api == "responses":
        used: Any = clients.openai.responses.create(**body).usage
        counted = {name: body[name] for name in ("model", "input")}
        count: Any = clients.openai.responses.input_tokens.count(**counted)
    else:
        used = clients.anthropic.messages.create(**body).usage
        counted = {name: body[name] for name in ("model", "messages")}
        count = clients.anthropic.messages.count_tokens(**counted)
    assert count.input_tokens == used.input_tokens
