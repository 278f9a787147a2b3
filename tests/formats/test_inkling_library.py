"""Inkling's prompt equals that of its makers' program, which reads answers as the reader does.

RECORDED has texts that tml-renderers 0.2.1 wrote, so that they are compared without it. Where it is
installed (`make judge-vllm`), they are written again, and so are prompts of random conversations.
"""

import json
import re
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest

from adapters.formats import OutputSpec, Tool, get_format

from .foreign_judging import IS_LONG, answers, is_same
from .inkling_library import IS_THERE, library_answer, library_prompt

CONVERSATIONS = 1000 if IS_LONG else 100
NEEDS_PROGRAM = pytest.mark.skipif(not IS_THERE, reason="needs tml-renderers (make judge-vllm)")

CITY = Tool(
    "get_weather",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}, "a": {"type": "number", "default": 1e16}},
        "required": ["city"],
    },
    "Gets the weather",
)


def said(role: str, text: str | None, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **more}


def call(number: int, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": f"c{number}", "type": "function", "function": function}


def result(number: int, text: str) -> dict[str, Any]:
    return said("tool", text, tool_call_id=f"c{number}")


LOOP = [
    said("system", "Be brief."),
    said("user", "Weather?"),
    said(
        "assistant",
        "Let me see.",
        reasoning_content="Two cities.",
        tool_calls=[
            call(1, "get_weather", '{"city": "Oslo", "a": [1.50, {"z": "é\\n", "b": 1E5}]}'),
            call(2, "get_weather", '{"city": "Rome"}'),
        ],
    ),
    result(1, "sun"),
    result(2, ""),
    said("assistant", "Sun."),
]
RECORDED: dict[str, tuple[list[dict[str, Any]], OutputSpec, str]] = {
    "a question": (
        [said("user", "Hi")],
        OutputSpec(),
        "<|message_system|><|content_text|>Thinking effort level: 0.9<|end_message|>"
        "<|message_user|><|content_text|>Hi<|end_message|>",
    ),
    "a tool loop": (
        LOOP,
        OutputSpec((CITY, Tool("now", {}))),
        "<|message_system|><|content_text|>Be brief.<|end_message|>"
        '<|message_system|>tool_declare<|content_xml|>[{"description":"Gets the weather","name":'
        '"get_weather","parameters":{"properties":{"a":{"default":1e+16,"type":"number"},"city":'
        '{"type":"string"}},"required":["city"],"type":"object"},"type":"function"},{"description":'
        '"","name":"now","parameters":{},"type":"function"}]<|end_message|>'
        "<|message_system|><|content_text|>Thinking effort level: 0.9<|end_message|>"
        "<|message_user|><|content_text|>Weather?<|end_message|>"
        "<|message_model|><|content_thinking|>Two cities.<|end_message|>"
        "<|message_model|><|content_text|>Let me see.<|end_message|>"
        "<|message_model|>get_weather<|content_invoke_tool_json|>"
        '{"name":"get_weather","args":{"a":[1.5,{"z":"é\\n","b":100000.0}],"city":"Oslo"}}'
        "<|end_message|><|message_model|>get_weather<|content_invoke_tool_json|>"
        '{"name":"get_weather","args":{"city":"Rome"}}<|end_message|>'
        "<|content_model_end_sampling|>"
        "<|message_tool|>get_weather<|content_text|>sun<|end_message|>"
        "<|message_tool|>get_weather<|content_text|><|end_message|>"
        "<|message_model|><|content_text|>Sun.<|end_message|><|content_model_end_sampling|>",
    ),
    "instructions in between, without thoughts": (
        [said("user", "Hi"), said("assistant", ""), said("system", "Be nice."), said("user", "So")],
        OutputSpec(reasoning="off"),
        "<|message_system|><|content_text|>Thinking effort level: 0<|end_message|>"
        "<|message_user|><|content_text|>Hi<|end_message|>"
        "<|message_model|><|content_text|><|end_message|><|content_model_end_sampling|>"
        "<|message_system|><|content_text|>Be nice.<|end_message|>"
        "<|message_user|><|content_text|>So<|end_message|>",
    ),
}


def prompt(messages: list[dict[str, Any]], output: OutputSpec) -> str:
    return get_format("inkling").render(messages, output.prompt_tools, output)


@pytest.mark.parametrize("name", RECORDED)
def test_the_prompt_is_the_recorded_one(name: str) -> None:
    messages, output, text = RECORDED[name]
    assert prompt(messages, output) == text


def test_without_thoughts_there_is_no_effort() -> None:
    """REGRESSION: the prompt asked for thoughts that the grammar forbids."""
    text = prompt([said("user", "Hi")], OutputSpec(reasoning="off", effort="high"))
    assert "Thinking effort level: 0<|end_message|>" in text


@NEEDS_PROGRAM
@pytest.mark.parametrize("name", RECORDED)
def test_the_program_still_writes_what_was_recorded(name: str) -> None:
    messages, output, text = RECORDED[name]
    assert library_prompt(messages, output) == text


@NEEDS_PROGRAM
def test_prompts_of_random_conversations_are_the_programs() -> None:
    for seed in range(CONVERSATIONS):
        messages, output = conversation(Random(seed))
        assert prompt(messages, output) == library_prompt(messages, output), seed


@NEEDS_PROGRAM
def test_the_program_reads_random_answers_as_the_reader_does() -> None:
    judged = 0
    for seed, _, answer in answers("inkling", CONVERSATIONS):
        # marks in values, which text cannot tell from tokens, and floats that it rounds otherwise
        if "<|" in json.dumps(answer.calls) or re.search(r"\d[eE]", answer.text):
            continue
        calls, content = library_answer(answer.text)
        assert is_same(answer.calls, calls), (seed, answer)
        assert content == answer.content, (seed, answer)
        judged += 1
    assert judged > CONVERSATIONS / 2


# -- random conversations --------------------------------------------------------------------------

TEXTS = ("Hi", "", " two  words\n", "é漢😀", '{"a": 1}', "a\tb \\n", "\u2028\x7f", "<b>&amp;")
#: without integers of more than 64 bits, which the program rounds to another float than Python
VALUES: tuple[Any, ...] = (
    *TEXTS,
    *(None, True, False, 0, -5, (1 << 64) - 1, -(1 << 63), 1.0, -0.0, 1e-4, 1e-5, 1.25e-5),
    *(1e-7, 1e15, 1e16, -1e22, 1.5e300, 5e-324, 123456789.125),
)
KEYS = ("b", "a", "Z", "é", "a b", "_", "properties", "type")


def value(chance: Random, depth: int = 3) -> Any:
    if depth and chance.random() < 0.3:
        return [value(chance, depth - 1) for _ in range(chance.randrange(3))]
    if depth and chance.random() < 0.4:
        return members(chance, depth - 1)
    return chance.choice(VALUES)


def members(chance: Random, depth: int) -> dict[str, Any]:
    keys = chance.sample(KEYS, chance.randrange(len(KEYS)))
    return {key: value(chance, depth) for key in keys}


def turns(chance: Random) -> Iterator[Mapping[str, Any]]:
    """Yield messages; results follow their calls in the same order, or in another one."""
    number = 0
    for _ in range(chance.randrange(7)):
        role = chance.choice(("user", "user", "system", "assistant", "calls"))
        text = chance.choice(TEXTS)
        if role not in ("assistant", "calls"):
            yield said(role, text)
            continue
        thought = chance.choice(("", "", "Hm.\n"))
        calls = []
        for _ in range(chance.randrange(1, 4) if role == "calls" else 0):
            number += 1
            arguments = json.dumps(members(chance, 3), ensure_ascii=chance.random() < 0.5)
            calls.append(call(number, chance.choice(("f", "g-2", "h_h")), arguments))
        more = {"tool_calls": calls} if calls else {}
        yield said("assistant", text, reasoning_content=thought, **more)
        yield from chance.sample(
            [result(int(each["id"][1:]), chance.choice(TEXTS)) for each in calls], len(calls)
        )


def conversation(chance: Random) -> tuple[list[dict[str, Any]], OutputSpec]:
    tools = tuple(
        Tool(name, members(chance, 3), chance.choice(TEXTS))
        for name in chance.sample(("f", "g-2", "h_h"), chance.randrange(4))
    )
    output = OutputSpec(
        tools,
        chance.choice(("auto", "none")),
        reasoning=chance.choice(("auto", "off")),
        effort=chance.choice((None, "low", "medium", "high")),
    )
    return [dict(each) for each in turns(chance)], output
