"""Tools that the client runs, with scripted workers: choices, histories, answers that are cut."""

import json
from typing import Any

import pytest

from adapters.formats import Delta, ToolArguments, ToolStart
from app.concurrency import Offload
from app.errors import ApiError
from app.observability.request_record import RequestRecord
from app.protocol.responses.client_tools import CLIENT_TOOLS
from app.protocol.responses.request import ResponseRequest
from app.sealing import Seal
from app.service.generation_service import Completion
from app.service.responses_service import ResponsesService
from app.service.stored_responses import StoredResponses
from app.state.byte_store import MemoryStore
from app.state.response_store import ResponseStore
from app.writers.response_items import OutputItems
from tests.app.bodies import parse_as
from tests.app.service.backgrounds import background_of, conversations_of
from tests.app.service.scripted import Service, Step, context, script

END = "<|im_end|>"
SHELL = {"type": "shell", "environment": {"type": "local"}}
PATCH = {"type": "apply_patch"}
CONTAINER = {"type": "shell", "environment": {"type": "container_auto"}}
SAME_NAME = {"type": "function", "name": "shell"}
COMMANDS = '{"commands": ["ls -l", "pwd"]}'
RUN = f'<tool_call>\n{{"name": "shell", "arguments": {COMMANDS}}}\n</tool_call>'


class Responses:
    """A ResponsesService around scripts."""

    def __init__(self, *scripts: list[Step], **settings: Any) -> None:
        self.service = Service(*scripts, **{"reasoning": "off", **settings})
        values = MemoryStore(max_bytes=1 << 20, ttl_s=100)
        store = ResponseStore(values, Offload(), max_bytes=1 << 20)
        self.stored = StoredResponses(store, background_of(values, store))
        self.responses = ResponsesService(
            self.service.generation, store, conversations_of(values), Seal(None)
        )

    async def answer(self, **asked: Any) -> Completion:
        body = {"model": "noise", "input": "Do it.", **asked}
        request = parse_as(ResponseRequest, json.dumps(body).encode())
        return await self.responses.complete(request, context(record=RequestRecord("r")))

    async def output(self, **asked: Any) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = (await self.answer(**asked)).body["output"]
        return items


async def test_a_call_has_the_members_of_its_item():
    (call,) = await Responses(script(f"{RUN}{END}")).output(tools=[SHELL])
    assert call["type"] == "shell_call"
    assert call["action"] == {
        "commands": ["ls -l", "pwd"],
        "timeout_ms": None,
        "max_output_length": None,
    }
    assert call["environment"] == {"type": "local"}


HISTORY: list[Any] = [
    {"role": "user", "content": "Fix it."},
    {"type": "shell_call", "id": "sh_1", "call_id": "a", "status": "completed",
     "action": {"commands": ["cat x"], "timeout_ms": None}, "environment": {"type": "local"}},
    {"type": "local_shell_call", "id": "b", "call_id": "b", "status": "completed",
     "action": {"type": "exec", "command": ["ls"], "env": {}}},
    {"type": "apply_patch_call", "call_id": "c", "status": "completed",
     "operation": {"type": "delete_file", "path": "x"}},
    {"type": "shell_call_output", "call_id": "a", "max_output_length": 9,
     "output": [{"stdout": "one\n", "stderr": "bad", "outcome": {"type": "exit", "exit_code": 3}},
                {"stdout": "two", "stderr": "", "outcome": {"type": "timeout"}}]},
    {"type": "local_shell_call_output", "id": "b", "output": '{"output": "y"}'},
    {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "no file"},
    {"role": "user", "content": "And?"},
]  # fmt: skip


async def test_the_model_sees_past_calls_and_their_results():
    """REGRESSION: they were left out. A stored conversation shows the same, and lists its items."""
    made = Responses(script(f"Well{END}"))
    first = await made.answer(tools=[SHELL, PATCH], input=HISTORY)
    assert "x-switchyard-ignored" not in first.headers
    prompt = made.service.prompt()
    for text in (
        '{"name": "shell", "arguments": {"commands": ["cat x"]}}',
        '{"name": "local_shell", "arguments": {"type": "exec", "command": ["ls"], "env": {}}}',
        '{"name": "apply_patch", "arguments": {"type": "delete_file", "path": "x"}}',
        "stdout:\none\n\nstderr:\nbad\nexit code: 3\nstdout:\ntwo\nThe command timed out.",
        '{"output": "y"}',
        "failed: no file",
    ):
        assert text in prompt
    assert "no result" not in prompt
    number = first.body["id"]
    listed = await made.stored.input_items(number, "me", limit=9, after=None, newest_first=False)
    for shown, sent in zip(listed["data"][1:7], HISTORY[1:7], strict=True):
        kept = {name: each for name, each in sent.items() if each is not None}
        assert {"id": shown["id"], "status": "completed", **kept} == shown
    body = {"previous_response_id": number, "input": "Go on.", "tools": [SHELL, PATCH]}
    await made.answer(**body)
    shown = prompt[prompt.index("Fix it.") : prompt.index("And?")]
    assert shown in made.service.prompt()


#: items that cannot be read, each of a tool of the client
BROKEN: list[dict[str, Any]] = [
    *({"type": each.call} for each in CLIENT_TOOLS.values()),
    *({"type": each.result} for each in CLIENT_TOOLS.values()),
    *({"type": each.call, "call_id": "c", each.field: "x"} for each in CLIENT_TOOLS.values()),
    {"type": "shell_call", "call_id": 3, "action": {"commands": []}},
    {"type": "local_shell_call_output", "id": "x" * 129, "output": ""},
]
#: items that are odd, and read
ODD: list[dict[str, Any]] = [
    {"type": "shell_call", "call_id": "c", "id": "", "status": 3, "action": {"commands": None}},
    {"type": "shell_call_output", "call_id": "z", "id": 3, "output": [3, {"stdout": [1]}, None]},
    {"type": "shell_call_output", "call_id": "z", "output": "text"},
    {"type": "apply_patch_call_output", "call_id": "z", "output": {"a": 1}},
    {"type": "apply_patch_call_output", "call_id": "z"},
]


@pytest.mark.parametrize("item", [*BROKEN, *ODD], ids=lambda item: json.dumps(item)[:60])
async def test_no_item_of_the_past_ends_a_session(item: dict[str, Any]):
    made = Responses(script(f"Well{END}"))
    answer = await made.answer(input=[{"role": "user", "content": "hi"}, item])
    assert answer.body["status"] == "completed"
    ignored = f"input/1 {item['type']}" if item in BROKEN else None
    assert answer.headers.get("x-switchyard-ignored") == ignored
    again = await made.answer(input="on", previous_response_id=answer.body["id"])
    assert again.body["status"] == "completed"


def allowed(mode: str, *kinds: str) -> dict[str, Any]:
    return {"type": "allowed_tools", "mode": mode, "tools": [{"type": kind} for kind in kinds]}


#: (tools, choice, item of the answer; None: refused)
CHOICES: dict[str, tuple[list[Any], Any, str | None]] = {
    "named": ([PATCH, SHELL], {"type": "shell"}, "shell_call"),
    "the whole tool": ([SHELL], SHELL, "shell_call"),
    "allowed": ([SHELL, PATCH], allowed("required", "shell", "web_search"), "shell_call"),
    "required": ([SHELL], "required", "shell_call"),
    "one that is not there": ([PATCH], {"type": "shell"}, None),
    "OpenAI's container": ([CONTAINER], {"type": "shell"}, None),
    "required, a container": ([CONTAINER], "required", None),
    "allowed, a container": ([CONTAINER], allowed("required", "shell"), None),
    "a function of that name": ([CONTAINER, SAME_NAME], allowed("required", "shell"), None),
}


@pytest.mark.parametrize(("tools", "choice", "kind"), CHOICES.values(), ids=CHOICES.keys())
async def test_a_choice_is_enforced_or_refused(tools: list[Any], choice: Any, kind: str | None):
    made = Responses(script(f"{RUN}{END}"))
    if kind is None:
        with pytest.raises(ApiError) as raised:
            await made.answer(tools=tools, tool_choice=choice)
        assert raised.value.status == 400
        assert str(raised.value.param).startswith("tool_choice")
    else:
        assert [each["type"] for each in await made.output(tools=tools, tool_choice=choice)] == [
            kind
        ]


async def test_a_shell_of_a_container_is_left_out_by_name():
    answer = await Responses(script(f"Well{END}")).answer(tools=[PATCH, CONTAINER, PATCH])
    assert answer.headers["x-switchyard-ignored"] == "tools/1 shell, tools/2 apply_patch"


async def test_a_function_may_have_the_name_of_a_client_tool():
    """The function keeps its name, and the calls of both find back."""
    made = Responses(script(f"{RUN.replace(COMMANDS, '{}')}{END}"))
    asked: dict[str, Any] = {"tools": [SHELL, SAME_NAME], "input": HISTORY[:2]}
    (call,) = await made.output(**asked)
    assert (call["type"], call["name"]) == ("function_call", "shell")
    assert '{"name": "shell_' in made.service.prompt()


async def test_the_prompt_has_the_skills_of_the_environment():
    made = Responses(script(f"Well{END}"))
    skill = {"name": "pdf", "description": "Reads PDF.", "path": "/s/pdf"}
    environment = {"type": "local", "skills": [skill]}
    await made.answer(tools=[{"type": "shell", "environment": environment}])
    assert "Skill pdf in /s/pdf: Reads PDF." in made.service.prompt()


LOADED: list[Any] = [
    {"type": "function", "name": "f"},
    {"type": "namespace", "name": "n", "description": "d", "tools": [
        {"type": "function", "name": "old"}, {"type": "function", "name": "new"}]},
    {"type": "shell"},
    {"type": "web_search"},
    {"type": "brand_new"},
    {"type": "function", "name": "g", "parameters": 3},
    7,
]  # fmt: skip


@pytest.mark.parametrize("kind", ["tool_search_output", "additional_tools"])
async def test_tools_that_an_item_brings_are_offered(kind: str):
    """Once each, and also when the conversation goes on; those that cannot be read are named."""
    made = Responses(script(f"Well{END}"), script(f"{RUN}{END}"))
    own = [
        {"type": "function", "name": "f"},
        {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "old"}]},
    ]
    items = [{"role": "user", "content": "hi"}, {"type": kind, "id": "", "tools": LOADED}]
    answer = await made.answer(tools=own, input=[*items, items[1]])
    left_out = ("3 web_search", "4 brand_new unknown_tool", "5 function", "6 tool")
    assert answer.headers["x-switchyard-ignored"] == ", ".join(
        f"input/{at}/tools/{each}" for at in (1, 2) for each in left_out
    )
    prompt = made.service.prompt()
    for name in ("f", "n__old", "n__new", "shell"):
        assert prompt.count(f'"name": "{name}"') == 1
    number = answer.body["id"]
    asked: dict[str, Any] = {"input": "on", "tool_choice": "required"}
    (call,) = await made.output(previous_response_id=number, **asked)
    assert call["type"] == "shell_call"
    listed = await made.stored.input_items(number, "me", limit=9, after=None, newest_first=False)
    assert listed["data"][1]["tools"] == LOADED


async def test_loaded_tools_that_are_no_array_are_left_out():
    item = {"type": "tool_search_output", "tools": None}
    answer = await Responses(script(f"Well{END}")).answer(
        input=[{"role": "user", "content": "hi"}, item]
    )
    assert answer.headers["x-switchyard-ignored"] == "input/1 tool_search_output"


def output(kind: str, arguments: str, *, size: int = 3, is_cut: bool = False) -> list[Any]:
    """Return the items of a call with these arguments; checks the events' own sum."""
    items = OutputItems("resp_0", lambda name: CLIENT_TOOLS[name])
    deltas: list[Delta] = [ToolStart(0, kind, "c", False)]
    deltas += [ToolArguments(0, arguments[at : at + size]) for at in range(0, len(arguments), size)]
    events: list[Any] = [*items.add(deltas), *items.end("incomplete" if is_cut else "completed")]
    assert [each["item"] for each in events if each["type"].endswith("item.done")] == items.items
    added = [each["item"]["type"] for each in events if each["type"].endswith("item.added")]
    assert added == [each["type"] for each in items.items]
    return list(items.items)


def test_half_a_command_never_comes_back():
    """A cut shell call has its whole commands; a cut patch is the call of a function."""
    (call,) = output("shell", '{"commands": ["a", "rm -rf /', is_cut=True)
    assert (call["status"], call["action"]["commands"]) == ("incomplete", ["a"])
    text = '{"type": "create_file", "path": "x", "diff": "+'
    (call,) = output("apply_patch", text, is_cut=True)
    assert (call["type"], call["status"]) == ("function_call", "incomplete")
    assert (call["name"], call["arguments"]) == ("apply_patch", text)


@pytest.mark.parametrize("size", [1, 2, 5, 99])
def test_commands_are_decoded_whatever_the_chunking(size: int):
    commands = ["", 'a "b" \\', "é\n😀", "[x]", "]"]
    for text in (json.dumps(commands), json.dumps(commands, ensure_ascii=False)):
        whole = f'{{"timeout_ms": 3, "commands": {text}, "max_output_length": 5}}'
        (call,) = output("shell", whole, size=size)
        assert call["action"] == {"commands": commands, "timeout_ms": 3, "max_output_length": 5}
        (call,) = output("shell", whole[:-1], size=size, is_cut=True)
        assert call["action"]["commands"] == commands


@pytest.mark.parametrize("kind", CLIENT_TOOLS)
@pytest.mark.parametrize("arguments", ["{}", "[]", "", '{"commands": 3}', '{"type": "other"}'])
def test_arguments_of_another_shape_make_no_broken_item(kind: str, arguments: str):
    """A worker without a grammar may write anything; the official types stay kept."""
    (call,) = output(kind, arguments)
    if kind == "shell":
        assert call["action"]["commands"] == []
    else:
        assert (call["type"], call["arguments"]) == ("function_call", arguments)
