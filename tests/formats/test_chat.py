"""Prompts of formats for tokenizers without a chat template: the families' own layouts."""

import json
from dataclasses import replace
from typing import Any

import pytest

from adapters.formats import FormatError, OutputSpec, Tool, get_format
from adapters.formats.optional_keys import optional_keys

from .cases import SPECIALS, STOPS
from .harness import compiled, encode, is_accepted

NAMES = sorted(SPECIALS)
WEATHER = Tool("weather", {"type": "object", "properties": {"city": {"type": "string"}}}, "Tells")
SHOWN = (
    '{"type": "function", "function": {"name": "weather", "description": "Tells", '
    '"parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}'
)
OUTLINED = 'weather: Tells\narguments: {"city": string (optional)}'
EXAMPLE = Tool(
    "get_weather",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"],
        "additionalProperties": False,
    },
)
HISTORY: list[dict[str, Any]] = [
    {"role": "system", "content": "Be nice."},
    {
        "role": "developer",
        "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "short."}],
    },
    {"role": "user", "content": "Oslo and Rome?"},
    {
        "role": "assistant",
        "content": "Looking.",
        "tool_calls": [
            {"id": "1", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}},
            {"id": "2", "function": {"name": "weather", "arguments": ""}},
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": "rain"},
    {"role": "tool", "tool_call_id": "2", "content": "sun"},
    {"role": "assistant", "content": "Rain and sun.", "reasoning_content": "hidden"},
    {"role": "user", "content": None},
]


def render(name: str, messages: list[dict[str, Any]], *tools: Tool, **output: Any) -> str:
    return get_format(name).render(messages, tools, OutputSpec(tools, **output))


def test_hermes_is_qwens_template() -> None:
    assert render("hermes", HISTORY, WEATHER) == (
        "<|im_start|>system\nBe nice.\n\nBe short.\n\n# Tools\n\n"
        "You may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n"
        f"<tools>\n{SHOWN}\n</tools>\n\n"
        "For each function call, return a json object with function name and arguments within "
        "<tool_call></tool_call> XML tags:\n<tool_call>\n"
        '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\nOslo and Rome?<|im_end|>\n"
        "<|im_start|>assistant\nLooking.\n"
        '<tool_call>\n{"name": "weather", "arguments": {"city":"Oslo"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "weather", "arguments": {}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\nrain\n</tool_response>\n"
        "<tool_response>\nsun\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\nRain and sun.<|im_end|>\n"
        "<|im_start|>user\n<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_llama3_json_history() -> None:
    prompt = render("llama3_json", HISTORY)
    assert prompt == (
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe nice.\n\nBe short."
        "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nOslo and Rome?<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
        'Looking.{"name": "weather", "parameters": {"city":"Oslo"}}; '
        '{"name": "weather", "parameters": {}}<|eot_id|>'
        "<|start_header_id|>ipython<|end_header_id|>\n\nrain<|eot_id|>"
        "<|start_header_id|>ipython<|end_header_id|>\n\nsun<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\nRain and sun.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\n<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )
    assert "Respond in the format" in render("llama3_json", HISTORY, WEATHER)


def test_llama3_function_shows_tools_as_its_prompt_did_in_training() -> None:
    prompt = render("llama3_function", HISTORY, WEATHER)
    assert "Use the function 'weather' to 'Tells':\n" + SHOWN[33:-1] in prompt.replace(
        '{"type": "function", "function": ', ""
    )
    assert 'Looking.<function=weather>{"city":"Oslo"}</function><function=weather>{}' in prompt


def test_plain_is_role_lines() -> None:
    assert render("plain", [{"role": "user", "content": "Hi"}]) == "user:\nHi\n\nassistant:\n"
    assert (
        'Looking.\n<tool_call>{"name": "weather", "arguments": {"city":"Oslo"}}</tool_call>\n'
        in render("plain", HISTORY, WEATHER)
    )


#: families whose own text about tools their models were trained with: Qwen2.5's template, Meta's
#: documents of Llama 3.1, Mistral's and openai-harmony's prompts
TRAINED = {
    "hermes": "# Tools\n\nYou may call one or more functions to assist with the user query.",
    "llama3_json": "You have access to the following functions. To call a function,",
    "llama3_function": "You have access to the following functions:\n\nUse the function",
    "mistral_v3": "[AVAILABLE_TOOLS][",
    "mistral_v11": "[AVAILABLE_TOOLS][",
    "mistral_v13": "[AVAILABLE_TOOLS][",
    "olmo_3": "You are provided with function signatures within <functions></functions> XML tags.",
    "harmony": "# Tools\n\n## functions\n\nnamespace functions {",
}
UNTRAINED = sorted({*NAMES} - {*TRAINED})
REQUIRED = {"tool_choice": "required", "parallel_tool_calls": False}


def told(name: str, *tools: Tool, **output: Any) -> str:
    return get_format(name).instructions(tools, OutputSpec(tools, **output))


@pytest.mark.parametrize("name", TRAINED)
def test_trained_texts_about_tools_stay_as_they_are(name: str) -> None:
    assert told(name, WEATHER).startswith(TRAINED[name])
    assert get_format(name).choice_text(OutputSpec((WEATHER,), "required")) == ""
    assert render(name, HISTORY, WEATHER) == render(name, HISTORY, WEATHER, **REQUIRED)


@pytest.mark.parametrize("name", UNTRAINED)
def test_the_text_about_tools_has_a_whole_call_as_its_example(name: str) -> None:
    """REGRESSION: models copied the placeholders of the example: the name "the function's name",
    the arguments {...}.
    """
    head = "A call of a function is written like this:\n"
    tail = f"\n\nYou can call these functions:\n{OUTLINED}"
    text = told(name, WEATHER)
    assert text.startswith(head)
    assert text.endswith(tail)
    example = text.removeprefix(head).removesuffix(tail)
    assert "Oslo" in example
    grammar = compiled(name, OutputSpec((EXAMPLE,), **REQUIRED))[1]
    end = getattr(get_format(name), "tail", "") + STOPS[name][0]
    assert is_accepted(grammar, encode(name, example + end)), example


def test_an_untrained_family_can_show_tools_and_schemas_as_json() -> None:
    shown = told("plain", WEATHER, response_schema=WEATHER.parameters, schema_style="json_schema")
    assert f"You can call these functions:\n{SHOWN}\n\n" in shown
    assert "fits this JSON Schema:" in shown
    assert json.dumps(WEATHER.parameters) in shown


def test_tools_without_an_outline_or_a_description_are_shown_all_the_same() -> None:
    unsaid = Tool("a", {"type": "object", "patternProperties": {}})
    shown = told("plain", unsaid, Tool("b", {}))
    functions = shown.partition("these functions:\n")[2].split("\n")
    assert functions[0].startswith('{"type": "function", "function": {"name": "a"')
    assert functions[1:] == ["b", "arguments: {}"]


def test_the_example_is_no_tool_of_the_request() -> None:
    assert '{"name": "get_weather", "arguments": {"city": "Oslo"' in told("plain", WEATHER)
    own = told("plain", replace(WEATHER, name="get_weather"))
    assert '{"name": "add_event", "arguments": {"title": "Lunch"' in own


#: (output, what the end of the conversation says)
CHOICES: dict[str, tuple[dict[str, Any], str]] = {
    "auto": ({}, ""),
    "none": ({"tool_choice": "none"}, ""),
    "required": ({"tool_choice": "required"}, "Call one of the functions now."),
    "named": ({"tool_choice": "named", "tool_name": "tool2"}, "Call the function tool2 now."),
    "allowed": (
        {"tool_choice": "required", "barred": ("tool1",)},
        "Call one of these functions now: tool0, tool2.",
    ),
    "one allowed": (
        {"tool_choice": "required", "barred": ("tool0", "tool1")},
        "Call the function tool2 now.",
    ),
}
THREE = tuple(replace(WEATHER, name=f"tool{n}") for n in range(3))


@pytest.mark.parametrize("choice", CHOICES)
def test_the_end_of_a_prompt_says_that_a_call_is_required(choice: str) -> None:
    output, text = CHOICES[choice]
    behind = f"\n\n{text}" if text else ""
    asked = [{"role": "user", "content": "Oslo?"}]
    calls = [*asked, *HISTORY[3:5]]
    for messages, last in ((asked, "Oslo?"), (calls, "rain")):
        begin, end = render("plain", messages, *THREE).rsplit(last, 1)
        assert render("plain", messages, *THREE, **output) == f"{begin}{last}{behind}{end}"
        late = [*messages, {"role": "system", "content": "Late."}]
        assert f"Late.{behind}\n\n" in render("plain", late, *THREE, **output)
    if text:
        for message in ({"role": "assistant", "content": "Well?"}, HISTORY[0]):
            prompt = render("plain", [message], *THREE, **output)
            assert prompt.endswith(f"\n\nuser:\n{text}\n\nassistant:\n")


def test_names_that_may_be_called_are_listed_up_to_a_bound() -> None:
    tools = tuple(replace(WEATHER, name=f"tool{n}") for n in range(18))
    for barred, text in (
        (("tool0", "tool1"), f"now: {', '.join(f'tool{n}' for n in range(2, 18))}."),
        (("tool0",), "Call one of the functions now."),
    ):
        output = OutputSpec(tools, "required", barred=barred)
        assert get_format("plain").choice_text(output).endswith(text)


@pytest.mark.parametrize("name", NAMES)
def test_a_history_can_hold_what_looks_like_a_templates_marks(name: str) -> None:
    text = "{role} {text} {tools} {schema} {name} {effort}"
    messages = [{"role": role, "content": text} for role in ("system", "user", "assistant")]
    tool = Tool("t", {"type": "object"}, text)
    assert render(name, messages, tool, response_schema={"const": text}).count(text) == (
        6 if name == "llama3_function" else 5  # it shows descriptions twice
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_response_schema_is_shown(name: str) -> None:
    schema = {"type": "object", "properties": {"é": {"type": "null"}}}
    prompt = render(name, [{"role": "user", "content": "Hi"}], response_schema=schema)
    trained = {"harmony": '{"type":"object","properties":{"é":{"type":"null"}}}'}
    assert trained.get(name, '{"é": null (optional)}') in prompt


#: whatever a client says to the model, in the schema and beside it
DESCRIBED: dict[str, Any] = {
    "response_name": "reading",
    "response_description": "What the\nsky does",
    "response_schema": {
        "description": "wordschema",
        "type": "object",
        "properties": {"a": {"description": "worda", "$ref": "#/$defs/b"}},
        "$defs": {"b": {"description": "wordb", "enum": [1]}},
    },
}


@pytest.mark.parametrize("name", NAMES)
def test_what_the_client_says_of_the_response_format_is_shown(name: str) -> None:
    prompt = render(name, [{"role": "user", "content": "Hi"}], **DESCRIBED)
    comment = "// " if name == "harmony" else ""
    for word in ("reading", f"What the\n{comment}sky does", "wordschema", "worda", "wordb"):
        assert word in prompt
    assert get_format(name).instructions((), OutputSpec(**DESCRIBED)) in prompt


#: (schema, the keys that the prompt lists as optional)
KEYS: list[tuple[Any, str]] = [
    ({"allOf": [{"type": "object"}]}, ""),
    ({"properties": {"a": {}}, "required": ["a"]}, ""),
    ({"properties": {"a": {}, "b": {}, "c": {}}, "required": ["b"]}, "a, c"),
    ({"properties": {"a": {}}}, "a"),
    ({"properties": {"a": {}}, "required": [["a"], 3]}, "a"),
    ({"properties": {"a": {}}, "required": "a"}, "a"),
    ({"items": {"anyOf": [{"type": "null"}, {"properties": {"a": {}}}]}}, "a"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"b": True}}}}, "b"),
    ({"properties": {"a": {"properties": {"b": {}, "a": {}}, "required": ["a"]}}}, "b"),
    (
        {"properties": {"properties": {"type": "string"}, "enum": {"properties": {"b": {}}}}},
        "properties, enum, b",
    ),
    ({"const": {"properties": {"a": {}}}, "properties": 3}, ""),
    ({"properties": dict.fromkeys("abcdefghijklmnop", {})}, ", ".join("abcdefghijklmnop")),
    ({"properties": dict.fromkeys("abcdefghijklmnopq", {})}, ""),
]


@pytest.mark.parametrize(("schema", "keys"), KEYS)
def test_a_schema_without_an_outline_is_shown_with_its_optional_keys(
    schema: Any, keys: str
) -> None:
    head = "Your final answer must be JSON only, one value that fits this JSON Schema:\n"
    end = f"\nOptional keys: {keys}." if keys else ""
    assert told("plain", response_schema=schema) == head + json.dumps(schema) + end


def test_a_schema_is_shown_as_its_outline_with_its_name_and_description() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "title": "Order"}
    shown = told(
        "plain", response_schema=schema, response_name="order", response_description="One order"
    )
    assert shown == (
        "Your final answer must be JSON only, one value that has this form:\n"
        'order: One order\n{"a": string (optional)}'
    )


def test_a_deep_or_long_schema_is_searched_in_linear_time() -> None:
    deep: Any = {"properties": {"a": True}}
    for _ in range(10_000):
        deep = {"items": deep}
    names = [str(number) for number in range(10_000)]
    long = {"properties": dict.fromkeys(names, True), "required": names}
    assert (optional_keys(deep), optional_keys(long)) == (["a"], [])


@pytest.mark.parametrize("name", NAMES)
def test_a_response_schema_that_is_not_for_the_prompt_is_not_shown(name: str) -> None:
    user = {"role": "user", "content": "Hi"}
    assert render(name, [user], **DESCRIBED, schema_in_prompt=False) == render(name, [user])
    assert get_format(name).instructions((), OutputSpec(**DESCRIBED, schema_in_prompt=False)) == ""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("message", "param"),
    [
        ({"role": "wizard", "content": ""}, "messages[1].role"),
        ({"role": "user", "content": [{"type": "image_url"}]}, "messages[1].content[0]"),
        ({"role": "assistant", "tool_calls": [{"id": "x"}]}, "messages[1].tool_calls[0]"),
    ],
)
def test_what_is_no_text_is_refused_with_its_place(
    name: str, message: dict[str, Any], param: str
) -> None:
    with pytest.raises(FormatError) as caught:
        render(name, [{"role": "user", "content": "Hi"}, message])
    assert caught.value.location.param == param
