"""Harmony's prompt is the reference library's (openai-harmony); reasoning in history is dropped."""

import json
from random import Random
from typing import Any

import pytest
from openai_harmony import DeveloperContent, Message, Role, ToolNamespaceConfig

from adapters.formats import FormatError, OutputSpec, Tool, get_format
from adapters.formats.harmony.builtin_tools import builtin_namespaces
from adapters.formats.harmony.typescript_types import Namespace, tools_section

from .harmony_library import encoding, library_namespace, library_prompt

WEATHER = Tool(
    "weather",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "City name"},
            "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
            "days": {"type": "array", "items": {"type": "integer"}},
            "exact": {"type": "boolean", "default": True},
            "note": {"type": ["string", "null"], "description": "Any note"},
        },
        "required": ["city"],
    },
    "Tells the weather\nof a city",
)
TOOLS = (WEATHER, Tool("ping", {}, "Pings"))


def call(identity: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": identity, "function": {"name": name, "arguments": arguments}}


def assistant(content: str, reasoning: str = "", *calls: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "reasoning_content": reasoning}
    return {**message, "tool_calls": [*calls]} if calls else message


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def result(identity: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content}


NICE = {"role": "system", "content": "Be nice."}
CALL = call("c1", "weather", '{"city":"Oslo"}')
LOOKING = assistant("Looking.", "I need the tool.", CALL)
SUN = result("c1", '{"sun": true}')
MESSAGES = [NICE, user("Earlier?"), assistant("Yes."), user("Oslo?"), LOOKING, SUN]

#: the whole text of one prompt; the library is the judge of all others
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
unit?: "c" | "f", // default: c
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


def render(messages: list[dict[str, Any]], output: OutputSpec = OutputSpec()) -> str:  # noqa: B008
    return get_format("harmony").render(messages, output.prompt_tools, output)


def test_the_text_of_a_conversation_with_a_tool() -> None:
    assert render(MESSAGES, OutputSpec(TOOLS)) == GOLDEN


SCHEMA = {"type": "object", "properties": {"größe": {"type": "number"}}}
BROWSER = OutputSpec(builtin_tools=("browser",))
BOTH = OutputSpec(TOOLS, builtin_tools=("python", "browser"))
SEARCH = call("s1", "browser.search", '{"query": "x"}')
CODE = "print(1)\nprint('<')"
RUN = call("p1", "python", json.dumps({"code": CODE}))

CONVERSATIONS: dict[str, tuple[list[dict[str, Any]], OutputSpec]] = {
    "nothing": ([], OutputSpec()),
    "a user": ([user("Hi <b>\n\n漢字 😀")], OutputSpec()),
    "instructions": ([NICE, user("Hi")], OutputSpec()),
    "empty instructions": ([{"role": "system", "content": ""}, user("Hi")], OutputSpec()),
    "two instructions": (
        [NICE, {"role": "developer", "content": "Be short.\n"}, user("Hi")],
        OutputSpec(),
    ),
    "low effort": ([user("Hi")], OutputSpec(effort="low")),
    "medium effort": ([user("Hi")], OutputSpec(effort="medium")),
    "high effort": ([user("Hi")], OutputSpec(TOOLS, effort="high")),
    "a tool loop": (MESSAGES, OutputSpec(TOOLS)),
    "a tool loop without a preamble": (
        [user("Oslo?"), assistant("", "Hm.", CALL), SUN],
        OutputSpec(TOOLS),
    ),
    "two rounds of calls": (
        [
            user("Oslo?"),
            LOOKING,
            SUN,
            assistant("", "And now?", call("c2", "ping", "{}")),
            result("c2", "pong"),
        ],
        OutputSpec(TOOLS),
    ),
    "two calls in a turn": (
        [user("Oslo?"), assistant("", "", CALL, call("c2", "ping", "{}")), SUN, result("c2", "")],
        OutputSpec(TOOLS),
    ),
    "calls of tools that are gone": (MESSAGES, OutputSpec()),
    "a response format": ([NICE, user("Hi")], OutputSpec(response_schema=SCHEMA)),
    "a response format alone": ([user("Hi")], OutputSpec(response_schema=SCHEMA)),
    "a described response format": (
        [NICE, user("Hi")],
        OutputSpec(
            TOOLS,
            response_schema=SCHEMA,
            response_name="reading",
            response_description="Of a\nmeter",
        ),
    ),
    "a browser": ([NICE, user("Hi")], BROWSER),
    "Python": ([user("Hi")], OutputSpec(builtin_tools=("python",))),
    "builtin tools beside functions": ([NICE, user("Hi")], BOTH),
    "a builtin tool loop": (
        [
            user("Hi"),
            assistant("", "Search.", SEARCH),
            result("s1", "[0] x"),
            assistant("", "Compute.", RUN),
            result("p1", "1\n"),
            assistant("Now the weather.", "", CALL),
            SUN,
        ],
        BOTH,
    ),
    # some clients send the code itself
    **{
        f"arguments of Python: {text}": (
            [user("Hi"), assistant("", "", call("p1", "python", text)), result("p1", "x")],
            BOTH,
        )
        for text in ("1 + 1", "[1]", '{"code": 1}', "{")
    },
    "functions named like builtin tools": (
        [user("Hi"), assistant("", "", call("p1", "python", "{}")), result("p1", "x")],
        OutputSpec((Tool("python", {}, "A function"),)),
    ),
}


def check_prompt(messages: list[dict[str, Any]], output: OutputSpec, *, drops: bool) -> None:
    """The text is the library's, and its ids are, except around a response format: the library
    gets that as a text of its own.
    """
    ours, ids = render(messages, output), library_prompt(messages, output, drops=drops)
    assert ours == encoding().decode(ids)
    if output.response_schema is None:
        assert encoding().encode(ours, allowed_special="all") == ids


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_prompt_is_the_librarys(name: str) -> None:
    check_prompt(*CONVERSATIONS[name], drops=False)


# -- history ---------------------------------------------------------------------------------------

THANKS = [user("Hi"), assistant("Hello.", "A greeting."), user("Thanks")]
DONE = [*MESSAGES, assistant("Sun.", "So there is sun."), user("Thanks")]


@pytest.mark.parametrize("messages", [THANKS, [user("Oslo?"), LOOKING, SUN, *DONE[-2:]]])
def test_reasoning_before_the_only_final_message_is_dropped_as_in_the_library(
    messages: list[dict[str, Any]],
) -> None:
    check_prompt(messages, OutputSpec(TOOLS), drops=True)


#: the library keeps reasoning between two final messages; the documentation drops it
HISTORIES = [
    (THANKS, []),
    (MESSAGES, ["I need the tool."]),
    (DONE, []),
    ([*THANKS, assistant("You're welcome.", "Be polite."), user("Bye")], []),
    ([*THANKS, LOOKING, SUN], ["I need the tool."]),
    (
        [*THANKS, LOOKING, SUN, assistant("", "Again.", CALL), SUN],
        ["I need the tool.", "Again."],
    ),
    ([*DONE, LOOKING, SUN], ["I need the tool."]),
]


@pytest.mark.parametrize(("messages", "kept"), HISTORIES)
def test_only_reasoning_after_the_last_final_message_is_kept(
    messages: list[dict[str, Any]], kept: list[str]
) -> None:
    prompt = render(messages, OutputSpec(TOOLS))
    texts = prompt.split("<|start|>assistant<|channel|>analysis<|message|>")[1:]
    assert [text.partition("<|end|>")[0] for text in texts] == kept


def test_past_answers_end_as_messages_and_past_calls_as_calls() -> None:
    prompt = render(DONE, OutputSpec(TOOLS))
    assert "<|return|>" not in prompt
    assert "<|channel|>final<|message|>Sun.<|end|><|start|>user" in prompt
    assert prompt.count("<|call|>") == 1


def test_without_reasoning_the_effort_is_low() -> None:
    assert "\n\nReasoning: low\n\n" in render([user("Hi")], OutputSpec(reasoning="off"))


def test_a_prompt_shows_no_tools_if_none_may_be_called() -> None:
    silent = OutputSpec(TOOLS, "none", builtin_tools=("browser", "python"))
    assert render([user("Hi")], silent) == render([user("Hi")])


def test_a_later_system_message_is_one_of_the_developer() -> None:
    late = "<|start|>developer<|message|># Instructions\n\nBe nice.<|end|><|start|>assistant"
    assert render([user("Hi"), NICE]).endswith(late)


def test_names_in_history_are_words() -> None:
    with pytest.raises(FormatError):
        render([assistant("", "", call("c1", "a<|message|>b", "{}"))])
    with pytest.raises(FormatError):
        render([result("unknown", "x")])


# -- types -----------------------------------------------------------------------------------------


def library_section(space: Any) -> str:
    """Return the library's text of a developer message with these tools."""
    content = DeveloperContent.new().with_tools(space)
    ids = encoding().render(Message.from_role_and_content(Role.DEVELOPER, content))
    text = encoding().decode(ids).removeprefix("<|start|>developer<|message|>")
    return text.removesuffix("<|end|>")


def check(description: str, *tools: Tool) -> None:
    ours = tools_section([Namespace("functions", description, tools)])
    assert ours == library_section(library_namespace("functions", description, tools))


def test_the_builtin_tools_are_the_librarys() -> None:
    browser, python = builtin_namespaces(("python", "browser"))
    configured = ToolNamespaceConfig.browser()
    assert browser.description == configured.description
    assert [(t.name, t.description, t.parameters) for t in browser.tools] == [
        (t.name, t.description, t.parameters) for t in configured.tools
    ]
    assert tools_section([python]) == library_section(ToolNamespaceConfig.python())


DEFAULTS = (
    *(None, True, "x", 'q"\n', "é😀", [], {}, [1, {"a": "\x01\x7f"}], 0, -5, 1 << 64, -(1 << 63)),
    *(-(1 << 70), 1.0, -0.0, 0.1, 1e-4, 1e-5, -1.25e-5, 1e-6, 1e15, 1e16, 1e22, {"a": [1e-7]}),
)
SCHEMAS: list[Any] = [
    *({"type": kind} for kind in ("string", "integer", "number", "boolean", "null", "array", "x")),
    *({"type": kind} for kind in (7, [], [7], [7, "string"], ["integer", "null"], ["array"])),
    *({"type": "number", "default": default} for default in DEFAULTS),
    {"type": "string", "nullable": True},
    {"type": ["string", "null"], "nullable": True},
    {"type": "string", "enum": ["a", 'b"', 3], "default": "a"},
    {"type": "string", "enum": [1]},
    {"type": "string", "enum": [], "default": "a"},
    {"enum": ["a"], "default": "a"},
    {"const": 1},
    {"anyOf": [{"type": "string"}, {"type": "null"}]},
    {"$ref": "#"},
    {},
    True,
    {"type": "string", "title": "T", "description": "l1\nl2\n", "examples": ["e", 1]},
    {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
    {"type": "array", "items": True},
    {"type": "object"},
    {"type": "object", "properties": []},
    {"type": "object", "description": "d", "properties": {"y z": {}}, "required": ["y z", 3]},
    {"oneOf": []},
    {"oneOf": 3, "description": "d", "default": 1, "type": "string"},
    {"oneOf": [{"type": "string", "description": "d"}, {"type": "null"}], "description": "d"},
    {
        "oneOf": [
            {"type": "string", "description": "first", "default": "x"},
            {"type": "string", "enum": ["a"], "default": "a", "description": "second"},
            {"type": "object", "nullable": True, "properties": {"k": {"type": "integer"}}},
            {"oneOf": [{"type": "string", "enum": ["a"], "default": "a"}, True]},
        ],
        "description": "of all",
        "default": 1,
    },
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_types_are_the_librarys(schema: Any) -> None:
    inner = {"type": "object", "properties": {"x": schema, "y": schema}, "required": ["y"]}
    outer = schema if isinstance(schema, dict) else {}
    check("", Tool("f", {"type": "object", "properties": {"in": inner}}), Tool("g", outer, "G"))


_TEXTS = ("", "a", "two words", "l1\nl2\n", 'é"q', "x\r\ny\n\nz")
_TYPES = (
    *("object", "object", "array", "string", "string", "integer", "number", "boolean", "null"),
    *(["string", "null"], ["integer", "number"], [], None),
)
_REMARKS: dict[str, tuple[Any, ...]] = {
    "description": (*_TEXTS, 3),
    "title": (*_TEXTS, None),
    "default": (*_TEXTS, *DEFAULTS),
    "nullable": (True, False),
    "enum": (["a", "b"], [], [1, 'é"'], "z"),
    "examples": (["a", 1], [], "z"),
}


def random_schema(chance: Random, depth: int = 3) -> Any:
    if chance.random() < 0.05:
        return chance.choice([True, False, [], "s", None])
    schema: dict[str, Any] = {"type": chance.choice(_TYPES)}
    for key, values in _REMARKS.items():
        if chance.random() < 0.25:
            schema[key] = chance.choice(values)
    if depth:
        inner = [random_schema(chance, depth - 1) for _ in range(4)]
        if schema["type"] == "object":
            keys = chance.sample(["a", "b", "c-d", 'e f"'], chance.randrange(5))
            schema["properties"] = dict(zip(keys, inner, strict=False))
            schema["required"] = chance.choice([["a"], ["a", "b", 3], [], "a"])
        if schema["type"] == "array" and chance.random() < 0.9:
            schema["items"] = inner[0]
        if chance.random() < 0.15:
            schema["oneOf"] = inner[: chance.randrange(4)]
    return dict(chance.sample([*schema.items()], len(schema)))


@pytest.mark.parametrize("group", range(8))
def test_types_of_random_schemas_are_the_librarys(group: int) -> None:
    for seed in range(group, 800, 8):
        chance = Random(seed)
        schemas = [random_schema(chance) for _ in range(chance.randrange(1, 4))]
        tools = [
            Tool(f"f{number}", schema if isinstance(schema, dict) else {}, chance.choice(_TEXTS))
            for number, schema in enumerate(schemas)
        ]
        check(chance.choice(_TEXTS), *tools)


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"k": schema}}
    return schema


def test_deep_types_end() -> None:
    check("", Tool("f", nested(50)))
    assert "string" in tools_section([Namespace("n", "", (Tool("f", nested(127)),))])
    assert "k?: any" in tools_section([Namespace("n", "", (Tool("f", nested(2000)),))])
