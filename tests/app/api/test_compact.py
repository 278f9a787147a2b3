"""POST /v1/responses/compact, and the items that it makes, with the official client."""

from typing import Any

import openai
import pytest
from openai.types.responses import CompactedResponse

from tests.app.gateway import Gateway, gateway_fixture

#: two clients by key
gateway = gateway_fixture(format="hermes", reasoning="on", api_keys="one,two")

CALL = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
HISTORY: list[Any] = [
    {"role": "developer", "content": "Be short."},
    {"role": "user", "content": "Wake me at seven."},
    CALL,
    {"type": "function_call_output", "call_id": "1", "output": "done " * 5000},
    {"role": "assistant", "content": "You will be woken."},
    {"role": "user", "content": "Thanks."},
]


def client_of(gateway: Gateway, key: str = "one") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=key, max_retries=0)


@pytest.fixture
def client(gateway: Gateway) -> openai.OpenAI:
    return client_of(gateway)


def compacted(client: openai.OpenAI, **asked: Any) -> CompactedResponse:
    return client.responses.compact(model="noise", **asked)


def counted(client: openai.OpenAI, items: list[Any]) -> tuple[int, str]:
    """Return the tokens of a prompt, and what it left out."""
    answer = client.responses.input_tokens.with_raw_response.count(model="noise", input=items)
    return answer.parse().input_tokens, answer.headers.get("x-switchyard-ignored", "")


def test_messages_of_users_are_kept_and_the_rest_is_sealed(client: openai.OpenAI) -> None:
    response = compacted(client, input=HISTORY)
    assert response.object == "response.compaction"
    *messages, compaction = [item.to_dict(warnings=False) for item in response.output]
    kept = [(each["role"], each["content"][0]["text"]) for each in messages]  # type: ignore[index]
    assert kept == [
        ("developer", "Be short."),
        ("user", "Wake me at seven."),
        ("user", "Thanks."),
    ]
    assert compaction["type"] == "compaction" and "woken" not in str(compaction)
    assert response.usage.total_tokens == 0


def test_a_compaction_is_read_again(client: openai.OpenAI) -> None:
    """The model sees the text as a message of the user, far shorter than the conversation."""
    output: list[Any] = [
        item.to_dict(warnings=False) for item in compacted(client, input=HISTORY).output
    ]
    text = (
        "The conversation so far, shortened:\ndeveloper: Be short.\nuser: Wake me at seven.\n"
        f"call f: {{}}\nresult: {('done ' * 5000)[:500]} [24,000 characters] {('done ' * 100)}\n"
        "assistant: You will be woken.\nuser: Thanks."
    )
    plain = [HISTORY[0], HISTORY[1], HISTORY[5], {"role": "user", "content": text}]
    assert counted(client, output) == counted(client, plain)
    assert counted(client, output)[0] < counted(client, HISTORY)[0] / 4
    again = compacted(client, input=[*output, {"role": "assistant", "content": "Well."}])
    assert counted(client, [again.output[-1].to_dict()])[0] > counted(client, [output[-1]])[0]


def test_a_stored_conversation_is_compacted_and_continued(client: openai.OpenAI) -> None:
    first = client.responses.create(model="noise", input=HISTORY, max_output_tokens=5)
    short = compacted(client, previous_response_id=first.id)
    assert len(short.output) == 4
    items: list[Any] = [item.to_dict(warnings=False) for item in short.output]
    asked: dict[str, Any] = {"model": "noise", "max_output_tokens": 5}
    second = client.responses.create(**asked, input=items)
    listed = client.responses.input_items.list(second.id, order="asc").data
    assert listed[-1].to_dict() == {**items[-1], "id": listed[-1].id}
    third = client.responses.create(**asked, input="And?", previous_response_id=second.id)
    output = [item.to_dict() for item in second.output]
    more = [*items, *output, {"role": "user", "content": "And?"}]
    assert third.usage and third.usage.input_tokens == counted(client, more)[0]


@pytest.mark.parametrize("other", ["altered", "of another client", "a thought"])
def test_other_compactions_are_left_out_by_name(
    gateway: Gateway, client: openai.OpenAI, other: str
) -> None:
    item: dict[str, Any] = compacted(client, input=HISTORY).output[-1].to_dict()
    if other == "of another client":
        client = client_of(gateway, "two")
    elif other == "altered":
        item["encrypted_content"] = item["encrypted_content"][::-1]
    else:
        item = {"type": "reasoning", "encrypted_content": item["encrypted_content"]}
    user = {"role": "user", "content": "hi"}
    kind = "encrypted_content" if other == "a thought" else "compaction"
    assert counted(client, [item, user]) == (counted(client, [user])[0], f"input/0 {kind}")
    if kind == "compaction":
        answer = client.responses.with_raw_response.compact(model="noise", input=[item, user])  # type: ignore[list-item]
        assert answer.headers["x-switchyard-ignored"] == "input/0 compaction"


def test_nothing_cannot_be_compacted(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        compacted(client, input=[])
    assert caught.value.param == "input"
