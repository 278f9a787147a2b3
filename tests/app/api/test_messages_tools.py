"""Tools of the Messages API: changes in the middle of a conversation, and who may call them."""

from typing import Any

import pytest

from app.common_form import common_message
from app.generation import ChosenTool, ToolChoice
from app.protocol import MessagesRequest
from tests.app.anthropic_messages import CITY, HELLO, WEATHER, create, post
from tests.app.gateway import Gateway, gateway_fixture

USER = {"role": "user", "content": "Hello"}
CLOCK = {"name": "clock", "description": "Tell the time.", "input_schema": CITY}
#: a tool that only programs of Anthropic's server may call
RESTRICTED = {**CLOCK, "allowed_callers": ["code_execution_20260120"]}
SEARCH = {"type": "web_search_20260318", "name": "web_search"}
ANY = {"type": "any", "disable_parallel_tool_use": True}

gateway = gateway_fixture(format="hermes", reasoning="off")


def addition(definition: Any) -> dict[str, Any]:
    return {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition}}


def change(kind: str, name: str) -> dict[str, Any]:
    return {"type": f"tool_{kind}", "tool": {"type": "tool_reference", "name": name}}


def after(*blocks: Any) -> list[Any]:
    return [USER, {"role": "system", "content": [*blocks]}]


def called(gateway: Gateway, **body: Any) -> set[str]:
    """Return the names of the tools that several answers call."""
    messages = [create(gateway, **body, seed=seed, max_tokens=4000) for seed in range(8)]
    uses = [block for message in messages for block in message["content"]]
    return {block["name"] for block in uses if block["type"] == "tool_use"}


@pytest.mark.parametrize(
    ("tools", "blocks", "names"),
    [
        ([], [addition(CLOCK)], {"clock"}),
        ([], [addition(CLOCK), addition(CLOCK)], {"clock"}),
        ([WEATHER], [addition(CLOCK)], {"clock", "weather"}),
        ([WEATHER, CLOCK], [change("removal", "clock")], {"weather"}),
        ([WEATHER, CLOCK], [change("removal", "clock")] * 2, {"weather"}),
        (
            [WEATHER, CLOCK],
            [change("removal", "clock"), change("addition", "clock")],
            {"clock", "weather"},
        ),
        ([WEATHER], [addition(CLOCK), change("removal", "weather")], {"clock"}),
        ([WEATHER, RESTRICTED, SEARCH], [], {"weather"}),
        (
            [WEATHER, {"type": "bash_20250124", "name": "bash"} | {"allowed_callers": ["x"]}],
            [],
            {"weather"},
        ),
    ],
)
def test_exactly_the_tools_that_are_left_may_be_called(
    gateway: Gateway, tools: Any, blocks: Any, names: set[str]
) -> None:
    assert called(gateway, tools=tools, messages=after(*blocks), tool_choice=ANY) == names


@pytest.mark.parametrize(
    ("removed", "choice"),
    [
        ([], None),
        (["clock"], ToolChoice("auto", (ChosenTool("weather", False, ("tools",)),))),
        (["clock", "weather"], ToolChoice("none")),
    ],
)
def test_without_a_choice_a_removed_tool_is_not_called(removed: list[str], choice: Any) -> None:
    blocks = [change("removal", name) for name in removed]
    body = HELLO | {"tools": [WEATHER, CLOCK], "messages": after(*blocks)}
    asked = common_message(MessagesRequest.model_validate(body), lambda sealed: None, 500)
    assert asked.tool_choice == choice


def test_changes_outlast_the_text_of_their_message(gateway: Gateway) -> None:
    messages = after(addition(CLOCK), change("removal", "weather"))
    messages[1]["clear_at"] = "next_user_message"
    body = {"tools": [WEATHER], "messages": [*messages, USER], "tool_choice": ANY}
    assert called(gateway, **body) == {"clock"}


def test_an_added_tool_enforces_its_input(gateway: Gateway) -> None:
    schema = {"properties": {"n": {"const": 7}}, "required": ["n"], "additionalProperties": False}
    first = {**CLOCK, "input_schema": {"type": "object", **schema}}
    messages = after(addition(CLOCK), addition(first))
    message = create(gateway, messages=messages, tool_choice=ANY, max_tokens=4000)
    assert [block["input"] for block in message["content"]] == [{"n": 7}]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            {"tools": [WEATHER, SEARCH], "tool_choice": {"type": "tool", "name": "web_search"}},
            "Invalid value for 'tool_choice.name': the tool 'web_search' cannot be called here.",
        ),
        (
            {"tools": [WEATHER, RESTRICTED], "tool_choice": {"type": "tool", "name": "clock"}},
            "Invalid value for 'tool_choice.name': the tool 'clock' cannot be called here.",
        ),
        (
            {
                "tools": [WEATHER, CLOCK],
                "tool_choice": {"type": "tool", "name": "clock"},
                "messages": after(change("removal", "clock")),
            },
            "Invalid value for 'tool_choice.name': the tool 'clock' cannot be called here.",
        ),
        (
            {"tools": [CLOCK], "tool_choice": ANY, "messages": after(change("removal", "clock"))},
            "Invalid value for 'tool_choice': it requires a call, but none of the tools can be "
            "called here.",
        ),
        (
            {"messages": after(addition({**CLOCK, "input_schema": {"type": "strin"}}))},
            "messages[1].content[0].tool.definition.input_schema: at /type",
        ),
        (
            {"messages": after(addition({"name": "clock"}))},
            "messages[1].content[0].tool.definition.input_schema",
        ),
    ],
)
def test_what_cannot_be_enforced_is_refused_by_name(gateway: Gateway, body: Any, told: str) -> None:
    answer = post(gateway, **HELLO | body)
    assert answer.status_code == 400
    assert told in answer.json()["error"]["message"]


def test_changes_of_unknown_tools_are_left_out_by_name(gateway: Gateway) -> None:
    mcp = {"type": "mcp_tool_reference", "server_name": "a", "name": "b"}
    blocks = [change("addition", "other"), {"type": "tool_removal", "tool": mcp}]
    answer = post(gateway, **HELLO | {"tools": [WEATHER], "messages": after(*blocks)})
    assert answer.headers["x-switchyard-ignored"] == (
        "messages/1/content/0 tool_addition, messages/1/content/1 tool_removal"
    )


@pytest.mark.parametrize("strictest", [{"parallel_tool_calls": False}, {"tool_choice": ANY}])
def test_the_stricter_of_two_bounds_on_calls_counts(gateway: Gateway, strictest: Any) -> None:
    loose = {
        "parallel_tool_calls": True,
        "tool_choice": {**ANY, "disable_parallel_tool_use": False},
    }
    for seed in range(8):
        body = {"tools": [WEATHER], **loose, **strictest, "seed": seed, "max_tokens": 4000}
        assert len(create(gateway, **body)["content"]) == 1


def test_commands_have_the_fields_that_they_need(gateway: Gateway) -> None:
    needs = {
        "view": {"path"},
        "create": {"path", "file_text"},
        "str_replace": {"path", "old_str", "new_str"},
        "insert": {"path", "insert_line", "insert_text"},
        "delete": {"path"},
        "rename": {"old_path", "new_path"},
    }
    memory = {"type": "memory_20250818", "name": "memory"}
    seen = set()
    for seed in range(12):
        body = {"tools": [memory], "tool_choice": ANY, "seed": seed, "max_tokens": 8000}
        message = create(gateway, **body)
        if message["stop_reason"] == "tool_use":
            given = message["content"][-1]["input"]
            assert given.keys() >= needs[given["command"]]
            seen.add(given["command"])
    assert len(seen) > 1
