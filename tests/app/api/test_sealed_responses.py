"""Texts that responses seal for their client, and read when they come back."""

from typing import Any

import httpx
import openai
import pytest

from tests.app.gateway import OPTIONS, Gateway, gateway_fixture

#: two clients by key; answers often begin with a thought
gateway = gateway_fixture(format="harmony", reasoning="on", api_keys="one,two")

USER = {"role": "user", "content": "Hello"}
SEALED: dict[str, Any] = {
    "model": "noise",
    "input": "Hello",
    "max_output_tokens": 200,
    "store": False,
    "include": ["reasoning.encrypted_content"],
}


def client_of(gateway: Gateway, key: str = "one") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=key, max_retries=0)


@pytest.fixture
def client(gateway: Gateway) -> openai.OpenAI:
    return client_of(gateway)


def post(gateway: Gateway, body: Any, *, key: str = "one") -> httpx.Response:
    keys = {"Authorization": f"Bearer {key}"}
    answer = httpx.post(f"{gateway.url}/v1/responses", json=body, headers=keys, **OPTIONS)
    assert answer.status_code == 200, answer.text
    return answer


def thought(gateway: Gateway, **more: Any) -> tuple[int, dict[str, Any]]:
    """Return the seed and the reasoning item of an answer that has one."""
    for seed in range(200):
        item: dict[str, Any] = post(gateway, {**SEALED, "seed": seed, **more}).json()["output"][0]
        if item["type"] == "reasoning":
            return seed, item
    raise AssertionError("no answer had a thought")


def following(gateway: Gateway, item: dict[str, Any], *, key: str = "one") -> tuple[int, str]:
    """Return the tokens of a prompt with the item, and what it left out."""
    said = {"role": "assistant", "content": "Well."}
    calls = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "1", "output": "x"}
    body = {**SEALED, "input": [USER, item, said, calls, output], "max_output_tokens": 1}
    answer = post(gateway, body, key=key)
    return answer.json()["usage"]["input_tokens"], answer.headers.get("x-switchyard-ignored", "")


def test_a_thought_comes_back_by_its_seal(gateway: Gateway) -> None:
    _, item = thought(gateway)
    sealed = {name: item[name] for name in ("type", "id", "encrypted_content")}
    whole = following(gateway, item)
    without, name = following(gateway, {**sealed, "encrypted_content": "foreign"})
    assert (whole[0] > without, name) == (True, "input/1 encrypted_content")
    for summary in ({"summary": []}, {"summary": [], "content": None}, {"content": []}, {}):
        assert following(gateway, {**sealed, **summary}) == whole


@pytest.mark.parametrize("other", ["altered", "of another client", "no text"])
def test_other_seals_are_left_out_by_name(gateway: Gateway, other: str) -> None:
    _, item = thought(gateway)
    sealed, key = item["encrypted_content"], "one"
    if other == "altered":
        sealed = "A" + sealed[1:][::-1]
    elif other == "no text":
        sealed = {"sealed": sealed}
    else:
        key = "two"
    dropped = {"type": "reasoning", "summary": [], "encrypted_content": sealed}
    assert following(gateway, dropped, key=key)[1] == "input/1 encrypted_content"
    beside = {**dropped, "content": item["content"]}
    assert following(gateway, beside, key=key) == following(gateway, item)


def test_only_clients_that_ask_for_seals_get_them(gateway: Gateway, client: openai.OpenAI) -> None:
    seed, item = thought(gateway)
    assert set(thought(gateway, include=[])[1]) == item.keys() - {"encrypted_content"}
    stream = client.responses.create(**SEALED, extra_body={"seed": seed}, stream=True)
    items = [
        event.item.to_dict()
        for event in stream
        if event.type in ("response.output_item.added", "response.output_item.done")
    ]
    begun, ended = items[:2]
    assert "encrypted_content" not in begun
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": ended["encrypted_content"]}
    assert following(gateway, sealed) == following(gateway, item)


def test_a_chain_keeps_a_sealed_thought(gateway: Gateway) -> None:
    """It is listed as it came, and read again with each response that continues the first one."""
    _, item = thought(gateway)
    sealed = {"type": "reasoning", "encrypted_content": item["encrypted_content"]}
    call = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}

    def tokens(thinking: dict[str, Any]) -> int:
        body = {"model": "noise", "input": [USER, thinking, call], "max_output_tokens": 1}
        first = post(gateway, {**body, "seed": 1}).json()
        output = {"type": "function_call_output", "call_id": "1", "output": "x"}
        more = {"input": [output], "previous_response_id": first["id"]}
        used: int = post(gateway, {**body, **more}).json()["usage"]["input_tokens"]
        return used

    assert tokens(sealed) == tokens({**item, "encrypted_content": None})
