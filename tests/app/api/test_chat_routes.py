"""The main job through the official client: what was asked for is what comes back."""

import json
from typing import Any, Literal

import jsonschema
import openai
import pytest
from openai.types import CompletionUsage
from pydantic import BaseModel

from tests.app.examples import ALARM, LIGHT, MESSAGES, TOOLS, body, json_schema, tool
from tests.app.gateway import Gateway

SCHEMAS = {"set_alarm": ALARM, "set_light": LIGHT}
LIMIT = 8000


def check_calls(calls: Any) -> None:
    """Every call names an offered tool, and its arguments fit."""
    assert calls
    for call in calls:
        assert call.id.startswith("call_")
        jsonschema.validate(json.loads(call.function.arguments), SCHEMAS[call.function.name])


@pytest.mark.parametrize("seed", range(10))
def test_a_required_call_is_made_and_its_arguments_fit(client: openai.OpenAI, seed: int):
    answer = client.chat.completions.create(
        model="noise", messages=MESSAGES, tools=TOOLS, tool_choice="required", seed=seed,
        max_completion_tokens=LIMIT, parallel_tool_calls=False,
    )  # fmt: skip
    choice = answer.choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    assert len(choice.message.tool_calls or []) == 1
    check_calls(choice.message.tool_calls)


def test_a_named_tool_is_the_one_that_is_called_and_ends_with_stop(client: openai.OpenAI):
    for name in SCHEMAS:
        answer = client.chat.completions.create(
            model="noise", messages=MESSAGES, tools=TOOLS, max_completion_tokens=LIMIT,
            tool_choice={"type": "function", "function": {"name": name}},
        )  # fmt: skip
        choice = answer.choices[0]
        assert choice.finish_reason == "stop"
        assert [call.function.name for call in choice.message.tool_calls or []] == [name]
        check_calls(choice.message.tool_calls)


@pytest.mark.parametrize("seed", range(10))
def test_only_allowed_tools_are_called(client: openai.OpenAI, seed: int):
    allowed: Any = {
        "type": "allowed_tools",
        "allowed_tools": {
            "mode": "required",
            "tools": [{"type": "function", "function": {"name": "set_light"}}],
        },
    }
    answer = client.chat.completions.create(
        model="noise", messages=MESSAGES, tools=TOOLS, tool_choice=allowed, seed=seed,
        max_completion_tokens=LIMIT, parallel_tool_calls=False,
    )  # fmt: skip
    assert [c.function.name for c in answer.choices[0].message.tool_calls or []] == ["set_light"]


def test_none_means_text_even_when_there_are_tools(client: openai.OpenAI):
    answer = client.chat.completions.create(
        model="noise", messages=MESSAGES, tools=TOOLS, tool_choice="none", seed=1,
        max_completion_tokens=200,
    )  # fmt: skip
    assert answer.choices[0].message.tool_calls is None
    assert answer.choices[0].message.content


def test_a_tools_result_is_sent_back(client: openai.OpenAI):
    asked: Any = {"model": "noise", "tools": TOOLS, "max_completion_tokens": LIMIT, "seed": 3}
    first = client.chat.completions.create(messages=MESSAGES, tool_choice="required", **asked)
    message = first.choices[0].message
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": '{"ok": true}'}
        for call in message.tool_calls or []
    ]
    history: Any = [*MESSAGES, message, *results]
    second = client.chat.completions.create(messages=history, **asked)
    assert second.usage
    assert first.usage
    assert second.usage.prompt_tokens > first.usage.prompt_tokens


class Alarm(BaseModel):
    hour: Literal[7, 8, 9]
    repeat: bool
    days: list[Literal["mon", "tue"]] | None


def test_parse_gives_back_the_model(client: openai.OpenAI):
    answer = client.chat.completions.parse(
        model="noise", messages=MESSAGES, response_format=Alarm, seed=5, max_completion_tokens=LIMIT
    )
    assert answer.choices[0].finish_reason == "stop"
    assert isinstance(answer.choices[0].message.parsed, Alarm)


async def test_parse_works_with_the_async_client(async_client: openai.AsyncOpenAI):
    answer = await async_client.chat.completions.parse(
        model="noise", messages=MESSAGES, response_format=Alarm, seed=6, max_completion_tokens=LIMIT
    )
    assert isinstance(answer.choices[0].message.parsed, Alarm)


def test_parse_gives_back_a_tools_arguments(client: openai.OpenAI):
    made = openai.pydantic_function_tool(Alarm, name="set_alarm")
    answer = client.chat.completions.parse(
        model="noise", messages=MESSAGES, tools=[made], tool_choice="required", seed=2,
        max_completion_tokens=LIMIT, parallel_tool_calls=False,
    )  # fmt: skip
    calls = answer.choices[0].message.tool_calls
    assert calls
    assert isinstance(calls[0].function.parsed_arguments, Alarm)


@pytest.mark.parametrize("strict", [None, False, True])
def test_a_schema_is_enforced_whatever_strict_says(client: openai.OpenAI, strict: bool | None):
    wanted: Any = json_schema(ALARM) if strict is None else json_schema(ALARM, strict=strict)
    answer = client.chat.completions.create(
        model="noise", messages=MESSAGES, response_format=wanted, max_completion_tokens=LIMIT
    )
    content = answer.choices[0].message.content
    assert content
    jsonschema.validate(json.loads(content), ALARM)


def test_json_object_is_an_object(client: openai.OpenAI):
    for seed in range(20):
        answer = client.chat.completions.create(
            model="noise", messages=MESSAGES, response_format={"type": "json_object"}, seed=seed,
            max_completion_tokens=LIMIT,
        )  # fmt: skip
        choice = answer.choices[0]
        if choice.finish_reason == "stop":
            assert choice.message.content
            assert isinstance(json.loads(choice.message.content), dict)
            return
    raise AssertionError("noise finished no object of twenty")


def test_tools_and_a_schema_go_together(client: openai.OpenAI):
    """Calls and answers of the noise worker are always valid."""
    seen = set()
    for seed in range(40):
        answer = client.chat.completions.create(
            model="noise", messages=MESSAGES, tools=TOOLS, response_format=json_schema(LIGHT),  # type: ignore[arg-type]
            seed=seed, max_completion_tokens=LIMIT,
        )  # fmt: skip
        choice = answer.choices[0]
        seen.add(choice.finish_reason)
        if choice.finish_reason == "tool_calls":
            check_calls(choice.message.tool_calls)
        elif choice.finish_reason == "stop":
            assert choice.message.content
            jsonschema.validate(json.loads(choice.message.content), LIGHT)
    assert "stop" in seen


def test_several_choices_differ_and_are_counted_together(client: openai.OpenAI):
    answer = client.chat.completions.create(
        model="noise", messages=MESSAGES, n=3, seed=1, max_completion_tokens=20
    )
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in answer.choices}) == 3
    assert answer.usage
    assert 3 <= answer.usage.completion_tokens <= 60
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_one_seed_gives_one_answer(client: openai.OpenAI):
    asked: Any = {"model": "noise", "messages": MESSAGES, "max_completion_tokens": 50}
    contents = [
        client.chat.completions.create(seed=seed, **asked).choices[0].message.content
        for seed in (1, 1, 2)
    ]
    assert contents[0] == contents[1] != contents[2]


def test_the_limit_cuts_off_and_says_so(client: openai.OpenAI):
    for name in ("max_tokens", "max_completion_tokens"):
        answer = client.chat.completions.create(
            model="noise", messages=MESSAGES, tools=TOOLS, tool_choice="required", seed=1,
            **{name: 3},
        )  # fmt: skip
        assert answer.choices[0].finish_reason == "length"
        assert answer.usage
        assert answer.usage.completion_tokens == 3


def test_a_stop_string_ends_the_answer_and_is_not_part_of_it(client: openai.OpenAI):
    asked: Any = {"model": "noise", "messages": MESSAGES, "max_completion_tokens": 400, "seed": 4}
    whole = client.chat.completions.create(**asked).choices[0].message.content or ""
    stop = whole[len(whole) // 2 :][:2]
    answer = client.chat.completions.create(stop=stop, **asked)
    assert answer.choices[0].finish_reason == "stop"
    assert answer.choices[0].message.content == whole[: whole.index(stop)]


@pytest.mark.parametrize("seed", range(5))
def test_a_stop_string_never_cuts_a_call(client: openai.OpenAI, seed: int):
    """REGRESSION: every one of these calls was cut, and said to be whole."""
    answer = client.chat.completions.create(
        model="noise", messages=MESSAGES, tools=TOOLS, tool_choice="required", seed=seed,
        max_completion_tokens=LIMIT, parallel_tool_calls=False, stop=["}", '"'],
    )  # fmt: skip
    assert answer.choices[0].finish_reason == "tool_calls"
    (call,) = answer.choices[0].message.tool_calls or []
    json.loads(call.function.arguments)


def test_a_tool_without_parameters_takes_none(client: openai.OpenAI):
    answer = client.chat.completions.create(
        model="noise", messages=MESSAGES, max_completion_tokens=LIMIT, parallel_tool_calls=False,
        tools=[{"type": "function", "function": {"name": "ping"}}], tool_choice="required",
    )  # fmt: skip
    calls = answer.choices[0].message.tool_calls or []
    assert [json.loads(call.function.arguments) for call in calls] == [{}]


def test_the_shape_of_an_answer(gateway: Gateway):
    answer = gateway.post(
        {"model": "noise", "messages": MESSAGES, "tools": [tool("set_light", LIGHT)], "seed": 1,
         "tool_choice": "required", "parallel_tool_calls": False, "max_completion_tokens": LIMIT}
    ).json()  # fmt: skip
    keys = ["id", "object", "created", "model", "choices", "usage", "system_fingerprint"]
    assert list(answer) == keys
    assert answer["id"].startswith("chatcmpl-")
    assert (answer["object"], answer["model"]) == ("chat.completion", "noise")
    assert answer["system_fingerprint"].startswith("fp_")
    usage = CompletionUsage.model_validate(answer["usage"], strict=True)
    assert usage.model_extra == {} and usage.to_dict() == answer["usage"]
    (choice,) = answer["choices"]
    assert set(choice) == {"index", "message", "logprobs", "finish_reason"}
    message = choice["message"]
    reasoning = {"reasoning_content", "reasoning"}
    assert set(message) == {"role", "content", "refusal", "annotations", "tool_calls"} | reasoning
    assert set(message["tool_calls"][0]) == {"id", "type", "function"}


def test_models_are_listed(client: openai.OpenAI):
    (card,) = client.models.list().data
    assert (card.id, card.object, card.owned_by) == ("noise", "model", "switchyard")
    assert client.models.retrieve("noise").id == "noise"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("other")


def test_a_setting_that_changes_the_prompt_changes_the_system_fingerprint() -> None:
    seen = {}
    for style in ("outline", "json_schema"):
        with Gateway(schema_style=style) as running:
            wanted = {"response_format": json_schema(LIGHT), "max_completion_tokens": 1}
            answer = running.post(body(**wanted)).json()
        seen[style] = answer["usage"]["prompt_tokens"], answer["system_fingerprint"]
    assert seen["outline"][0] < seen["json_schema"][0]
    assert seen["outline"][1] != seen["json_schema"][1]


@pytest.mark.parametrize("setting", [True, False])
def test_the_prompt_tells_the_schema_unless_someone_says_otherwise(setting: bool):
    def tokens(running: Gateway, **fields: Any) -> int:
        answer = running.post(body(max_completion_tokens=1, **fields))
        return int(answer.json()["usage"]["prompt_tokens"])

    wanted = {"response_format": json_schema(LIGHT)}
    with Gateway(include_schema_in_prompt=setting) as running:
        untold = tokens(running)
        assert tokens(running, **wanted, include_schema_in_prompt=False) == untold
        told = tokens(running, **wanted, include_schema_in_prompt=True)
        assert told > untold
        assert tokens(running, **wanted) == (told if setting else untold)
