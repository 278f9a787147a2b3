"""Custom tools of real gateways: the official client's types, streams, choices, refusals."""

import json
import re
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionMessageCustomToolCall as CustomCall

from app.generation.choice_decoder import ChoiceDeltas
from app.writers.chat_objects import MessageBuilder
from tests.app.examples import LIGHT, MESSAGES, body, tool
from tests.app.gateway import Gateway
from tests.app.messages import events

FORMATS = ("harmony", "llama4_pythonic", "plain", "qwen_coder")


@pytest.fixture(scope="module", params=FORMATS)
def gateway(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    """A gateway for each format: JSON arguments, Python literals, elements, channels."""
    with Gateway(format=request.param) as running:
        yield running


def custom(name: str, syntax: str = "", definition: str = "") -> dict[str, Any]:
    own: dict[str, Any] = {"name": name, "description": "Runs it"}
    if syntax == "text":
        own["format"] = {"type": "text"}
    elif syntax:
        grammar = {"syntax": syntax, "definition": definition}
        own["format"] = {"type": "grammar", "grammar": grammar}
    return {"type": "custom", "custom": own}


PATTERN = r'[a-c"\\]{2,5}\n(x|é)'
LARK = 'start: "SELECT" NAME ("," NAME)~0..2 ";"?\nNAME: /[a-c"<]{1,3}/\n%ignore " "~0..2'
#: what a text of the grammar looks like
LARK_TEXT = re.compile(r' *SELECT *[a-c"<]{1,3}( *, *[a-c"<]{1,3}){0,2} *;? *')
CUSTOM = {
    "regex": (custom("run", "regex", PATTERN), re.compile(PATTERN)),
    "lark": (custom("run", "lark", LARK), LARK_TEXT),
}
NAMED = {"type": "custom", "custom": {"name": "run"}}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("syntax", sorted(CUSTOM))
def test_the_official_client_reads_calls(client: openai.OpenAI, syntax: str, seed: int) -> None:
    """A call of a custom tool has the client's own type, and its input fits the grammar."""
    offered, pattern = CUSTOM[syntax]
    answer = client.chat.completions.create(
        model="noise", messages=MESSAGES, tools=[offered], tool_choice=NAMED, seed=seed,
        max_completion_tokens=8000,
    )  # fmt: skip
    (call,) = answer.choices[0].message.tool_calls or []
    assert isinstance(call, CustomCall)
    assert call.custom.name == "run"
    assert pattern.fullmatch(call.custom.input)


def test_the_official_client_reads_streams(client: openai.OpenAI) -> None:
    """The client keeps the fields of custom calls, for which its chunks have no types."""
    asked: dict[str, Any] = {"tools": [CUSTOM["lark"][0]], "tool_choice": NAMED, "seed": 1}
    stream = client.chat.completions.create(
        model="noise", messages=MESSAGES, max_completion_tokens=8000, stream=True, **asked
    )
    deltas = [call for chunk in stream for call in chunk.choices[0].delta.tool_calls or ()]
    assert [call.type for call in deltas[:2]] == ["custom", None]
    parts = [call.custom["input"] for call in deltas]  # type: ignore[attr-defined]
    assert LARK_TEXT.fullmatch("".join(parts))


def streamed_calls(chunks: list[Any]) -> list[dict[str, Any]]:
    """Add the deltas of a stream up to calls, and check their form."""
    calls: list[dict[str, Any]] = []
    for chunk in chunks:
        for delta in chunk["choices"][0]["delta"].get("tool_calls", []):
            if "id" in delta:
                assert (delta["type"], delta["custom"]["input"]) == ("custom", "")
                calls.append(dict(delta["custom"]))
            else:
                assert set(delta) == {"index", "custom"}
                assert set(delta["custom"]) == {"input"}
                calls[delta["index"]]["input"] += delta["custom"]["input"]
    return calls


@pytest.mark.parametrize("limit", [10, 40, 8000])
@pytest.mark.parametrize("syntax", ["text", *sorted(CUSTOM)])
def test_a_stream_adds_up_to_the_call(gateway: Gateway, syntax: str, limit: int) -> None:
    """A stream has the calls of the same answer, also of one that was cut off."""
    offered = CUSTOM[syntax][0] if syntax in CUSTOM else custom("run", "text")
    limit = min(limit, 200) if syntax == "text" else limit
    asked = body(tools=[offered], tool_choice="required", max_completion_tokens=limit)
    message = gateway.post(asked).json()["choices"][0]["message"]
    streamed = events(gateway.post({**asked, "stream": True}).text)
    wanted = [call["custom"] for call in message.get("tool_calls", ())]
    assert streamed_calls(streamed) == wanted


def test_a_custom_tool_beside_a_function(gateway: Gateway) -> None:
    """Calls of both kinds have their own forms; the choice may bar the tools of either kind."""
    tools = [tool("set_light", LIGHT), CUSTOM["regex"][0]]
    for kind, allowed in (
        ("custom", NAMED),
        ("function", {"type": "function", "function": {"name": "set_light"}}),
    ):
        choice = {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "required", "tools": [allowed]},
        }
        answer = gateway.post(body(tools=tools, tool_choice=choice, parallel_tool_calls=False))
        (call,) = answer.json()["choices"][0]["message"]["tool_calls"]
        assert (call["type"], set(call)) == (kind, {"id", "type", kind})
        assert answer.json()["choices"][0]["finish_reason"] == "tool_calls"


def test_a_history_with_calls_of_custom_tools(client: openai.OpenAI) -> None:
    """A client may send a call and its result back."""
    call: Any = {"id": "call_1", "type": "custom", "custom": {"name": "run", "input": 'a"\n'}}
    answer = client.chat.completions.create(
        model="noise", tools=[CUSTOM["regex"][0]], seed=1, max_completion_tokens=5,
        messages=[
            *MESSAGES,
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "done"},
        ],
    )  # fmt: skip
    assert answer.usage and answer.usage.prompt_tokens > 0


DEFINITION = "tools[0].custom.format.grammar.definition"
#: (syntax, definition, what the error says); a bomb is refused within the limits of compiles
REFUSED: dict[str, tuple[str, str, str]] = {
    "a mistake in Lark": ("lark", 'start: "a"\nb: )', "line 2, column 4"),
    "an unknown rule": ("lark", "start: b", "line 1, column 8: there is no rule 'b'"),
    "no start": ("lark", 'a: "x"', "there is no rule 'start'"),
    "a mistake in a pattern": ("lark", "start: /..(/", "line 1, column 8: pattern, position 3"),
    "left recursion": ("lark", 'start: a\na: b "x" | "y"\nb: a', "left recursion"),
    "no text": ("lark", 'start: "a" start', "nothing can satisfy this"),
    "a mistake in a regular expression": ("regex", "a(b", "position 3: missing )"),
    "a group that ends the anchors' group": ("regex", "a)|(?:b", "position 1: unmatched )"),
    "a back-reference": ("regex", r"(a)\1", "a back-reference"),
    "a regular expression without texts": ("regex", "a[]", "nothing can satisfy this"),
    "too many rules": ("lark", "start: A\n" + "".join(f'A{n}: "x"\n' for n in range(8_200)),
                       "grammar_rules: at most 8,192"),
    "too many parentheses": ("lark", f'start: {"(" * 200}"a"{")" * 200}', "spec_depth: at most"),
    "too long a pattern": ("regex", "a" * 20_001, "pattern_chars: at most 20,000"),
    "an intersection that explodes": (
        "lark", "start: A\nA: " + " & ".join(f"/(.|\\n)*a(.|\\n){{{n}}}/" for n in range(10, 19)),
        "pattern_states: at most 20,000",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_grammars_are_refused_with_their_place(gateway: Gateway, case: str) -> None:
    """An error names the field, and the place or the limit inside the grammar."""
    syntax, definition, message = REFUSED[case]
    answer = gateway.post(body(tools=[custom("run", syntax, definition)]))
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (
        400,
        DEFINITION,
        "invalid_grammar",
    )
    assert message in error["message"]
    assert error["message"].startswith(f"Invalid grammar for {DEFINITION}: ")


def test_a_grammar_beyond_the_budget_of_compiles(gateway: Gateway) -> None:
    """A grammar whose compile takes too many steps names the limit."""
    rules = "\n".join(f"r{n + 1}: r{n}" for n in range(4_000))
    definition = f'start: r4000\nr0: "x"?\n{rules}'
    answer = gateway.post(body(tools=[custom("run", "lark", definition)]))
    assert answer.status_code == 400
    assert "compile_steps" in answer.json()["error"]["message"]


#: (tool_choice, param) of choices that name no tool of the request
UNKNOWN_CHOICES: list[tuple[Any, str]] = [
    ({"type": "custom", "custom": {"name": "walk"}}, "tool_choice.custom.name"),
    ({"type": "function", "function": {"name": "run"}}, "tool_choice.function.name"),
    (
        {
            "type": "allowed_tools",
            "allowed_tools": {
                "mode": "auto",
                "tools": [NAMED, {"type": "custom", "custom": {"name": "set_light"}}],
            },
        },
        "tool_choice.allowed_tools.tools[1].custom.name",
    ),
]


@pytest.mark.parametrize(("choice", "param"), UNKNOWN_CHOICES)
def test_a_choice_names_a_tool_of_its_kind(gateway: Gateway, choice: Any, param: str) -> None:
    """A function cannot be chosen as a custom tool, nor the other way round."""
    tools = [CUSTOM["regex"][0], tool("set_light", LIGHT)]
    error = gateway.post(body(tools=tools, tool_choice=choice)).json()["error"]
    assert (error["param"], error["code"]) == (param, "invalid_value")


def test_names_are_unique_across_kinds(gateway: Gateway) -> None:
    """A custom tool cannot have the name of a function."""
    error = gateway.post(body(tools=[tool("run", {}), custom("run")])).json()["error"]
    assert (error["param"], error["code"]) == ("tools[1].custom.name", "duplicate_tool_name")


def test_a_warm_up_knows_custom_tools(gateway: Gateway) -> None:
    """The grammars of requests with custom tools can be compiled in advance."""
    from app.protocol.warmup_request import WarmupRequest

    request = WarmupRequest.model_validate({"tools": [CUSTOM["lark"][0], tool("f", {})]})
    choices = request.choices()
    assert [getattr(choice, "type", choice) for choice in choices] == [
        None,
        "required",
        "custom",
        "function",
    ]


def test_a_builder_keeps_the_kinds_of_calls_apart() -> None:
    """A message has a call's input where a function has arguments."""
    from adapters.formats import ToolArguments, ToolInput, ToolStart

    builder = MessageBuilder()
    begun = [ToolStart(0, "f", "a", is_custom=True), ToolInput(0, "x"), ToolInput(0, "y")]
    builder.add(ChoiceDeltas(begun))
    builder.add(ChoiceDeltas([ToolStart(1, "g", "b"), ToolArguments(1, json.dumps({}))]))
    assert builder.as_json()["tool_calls"] == [
        {"id": "a", "type": "custom", "custom": {"name": "f", "input": "xy"}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]
