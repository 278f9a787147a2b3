"""Harmony's prompt is what the reference library (openai-harmony) renders; history rules."""

from typing import Any

import pytest

from adapters.formats import FormatError, OutputSpec, Tool, get_format
from adapters.formats.families.typescript_types import namespace

WEATHER = Tool(
    "weather",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "City name"},
            "unit": {"type": "string", "enum": ["c", "f"]},
            "days": {"type": "array", "items": {"type": "integer"}},
            "exact": {"type": "boolean", "default": True},
            "note": {"type": ["string", "null"], "description": "Any note"},
        },
        "required": ["city"],
    },
    "Tells the weather\nof a city",
)
TOOLS = (WEATHER, Tool("ping", {}, "Pings"))
CALL = {"id": "c1", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be nice."},
    {"role": "user", "content": "Earlier?"},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": "Oslo?"},
    {
        "role": "assistant",
        "content": "Looking.",
        "reasoning_content": "I need the tool.",
        "tool_calls": [CALL],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"sun": true}'},
]

#: as openai-harmony renders the same conversation
GOLDEN = """\
<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.
Knowledge cutoff: 2024-06

Reasoning: medium

# Valid channels: analysis, commentary, final. Channel must be included for every message.
Calls to these tools must go to the commentary channel: 'functions'.<|end|>\
<|start|>developer<|message|># Instructions

Be nice.

# Tools

## functions

namespace functions {

// Tells the weather
// of a city
type weather = (_: {
// City name
city: string,
unit?: "c" | "f",
days?: number[],
exact?: boolean, // default: true
// Any note
note?: string | null,
}) => any;

// Pings
type ping = () => any;

} // namespace functions<|end|>\
<|start|>user<|message|>Earlier?<|end|>\
<|start|>assistant<|channel|>final<|message|>Yes.<|end|>\
<|start|>user<|message|>Oslo?<|end|>\
<|start|>assistant<|channel|>analysis<|message|>I need the tool.<|end|>\
<|start|>assistant<|channel|>commentary<|message|>Looking.<|end|>\
<|start|>assistant to=functions.weather<|channel|>commentary <|constrain|>json<|message|>\
{"city":"Oslo"}<|call|>\
<|start|>functions.weather to=assistant<|channel|>commentary<|message|>{"sun": true}<|end|>\
<|start|>assistant"""


def render(messages: list[dict[str, Any]], *tools: Tool, **output: Any) -> str:
    return get_format("harmony").render(messages, tools, OutputSpec(tools, **output))


def test_a_conversation_with_tools_is_the_reference_librarys() -> None:
    assert render(MESSAGES, *TOOLS) == GOLDEN


def test_reasoning_before_the_last_final_message_is_dropped() -> None:
    final = {"role": "assistant", "content": "Sun.", "reasoning_content": "So there is sun."}
    prompt = render([*MESSAGES, final, {"role": "user", "content": "Thanks"}], *TOOLS)
    assert "analysis<|message|>" not in prompt
    assert "<|channel|>final<|message|>Sun.<|end|><|start|>user<|message|>Thanks<|end|>" in prompt


def test_without_instructions_and_tools_there_is_no_developer_message() -> None:
    prompt = render([{"role": "user", "content": "Hi"}], reasoning="off")
    assert prompt == (
        "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"
        "Knowledge cutoff: 2024-06\n\nReasoning: low\n\n"
        "# Valid channels: analysis, commentary, final. "
        "Channel must be included for every message.<|end|>"
        "<|start|>user<|message|>Hi<|end|><|start|>assistant"
    )


def test_a_response_format_ends_the_developer_message() -> None:
    prompt = render([{"role": "system", "content": "X"}], response_schema={"type": "object"})
    assert 'X\n\n# Response Formats\n\n## answer\n\n{"type": "object"}<|end|>' in prompt


def test_a_response_format_has_its_name_and_its_description() -> None:
    prompt = render(
        [{"role": "system", "content": "X"}],
        response_schema={"type": "object"},
        response_name="reading",
        response_description="Of a\nmeter",
    )
    shown = '## reading\n\n// Of a\n// meter\n{"type": "object"}<|end|>'
    assert f"# Response Formats\n\n{shown}" in prompt


def test_names_in_history_are_words() -> None:
    bad = {**CALL, "function": {"name": "a<|message|>b", "arguments": "{}"}}
    with pytest.raises(FormatError):
        render([{"role": "assistant", "tool_calls": [bad]}])
    with pytest.raises(FormatError):
        render([{"role": "tool", "tool_call_id": "unknown", "content": "x"}])


TREE = {
    "type": "object",
    "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}},
}


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "string"}, "string"),
        ({"type": "integer"}, "number"),
        ({"type": ["integer", "number", "null"]}, "number | null"),
        ({"type": "string", "nullable": True}, "string | null"),
        ({"const": "k"}, '"k"'),
        ({"enum": [1, "é", None]}, '1 | "é" | null'),
        ({"anyOf": [{"type": "string"}, {"type": "number"}]}, "string | number"),
        ({"type": "array"}, "Array<any>"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"$ref": "#/$defs/T"}, "boolean"),
        ({"$ref": "#/nowhere"}, "any"),
        ({}, "any"),
        (True, "any"),
        ({"type": 7}, "any"),
        (
            {"properties": {"a-b": {"type": "null"}}, "required": ["a-b"]},
            '{\n    "a-b": null,\n    }',
        ),
        ({"type": "object"}, "{\n    }"),
    ],
)
def test_types(schema: Any, shown: str) -> None:
    parameters = {
        "type": "object",
        "properties": {"x": schema},
        "$defs": {"T": {"type": "boolean"}},
    }
    lines = f"type t = (_: {{\nx?: {shown},\n}}) => any;"
    assert lines in namespace("n", [Tool("t", parameters)])


def test_recursive_types_end() -> None:
    assert namespace("n", [Tool("t", TREE)]).count("kids") == 2
    assert namespace("n", [Tool("t", {"$ref": "#"})]).count("any") == 2
