"""The Codex CLI, an agent of OpenAI that speaks the Responses API only: its default configuration.

The worker follows a script.
"""

import base64
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ..snippets import ADDRESS
from . import mcp_weather, sandbox
from .agents import AGENTS, PROMPT, RESPONSES, check_noise
from .scripted import Call, answers, scripted

pytestmark = pytest.mark.skipif(bool(sandbox.missing()), reason=sandbox.missing() or "a sandbox")

CODEX = AGENTS["Codex CLI"]
EXEC, RESUME = CODEX.options, CODEX.again
BUILT_IN = ("-c", 'model_provider="openai"', "-c", f'openai_base_url="{ADDRESS}/v1"')
#: the MCP server
WEATHER = (
    "-c", f"mcp_servers.weather.command={json.dumps(sys.executable)}",
    "-c", f"mcp_servers.weather.args={json.dumps([mcp_weather.__file__])}",
)  # fmt: skip
TEXT = "The tool says: "
#: one pixel
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)


def turns(
    place: Path,
    calls: Sequence[Call],
    *options: Sequence[str],
    sees_images: bool = False,
    **variables: str,
) -> list[str]:
    """Return what the turns print; each has options."""
    printed = []
    with scripted(place, calls, TEXT, sees_images=sees_images) as served:
        for each in options:
            done = CODEX.run(served, place, *each, PROMPT, **variables)
            assert done.returncode == 0, done.stdout + done.stderr
            printed.append(done.stdout)
    return printed


def reasons(place: Path) -> list[list[str]]:
    """The finish reasons of the requests, none of which is refused; none if no model was asked."""
    assert {line["status"] for line in answers(place)} == {200}
    return [line.get("finish_reasons", []) for line in answers(place, RESPONSES)]


def compacted(place: Path) -> list[list[str]]:
    """The types of the items in each history of the session that replaced a longer one."""
    (record,) = (place / "home" / ".codex" / "sessions").rglob("*.jsonl")
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    histories = (line["payload"] for line in lines if line["type"] == "compacted")
    return [[item["type"] for item in each["replacement_history"]] for each in histories]


def test_a_tool_of_an_mcp_server(tmp_path: Path) -> None:
    """Its namespace comes back with the call, and the model sees the result."""
    call = {"name": "mcp__weather__get_weather", "arguments": {"city": "Oslo"}}
    (printed,) = turns(tmp_path, [call], (*EXEC, *WEATHER))
    assert mcp_weather.WEATHER in printed.rpartition(TEXT)[2]
    assert reasons(tmp_path) == [["tool_calls"], ["stop"]]


def test_noise_with_an_mcp_server(tmp_path: Path) -> None:
    check_noise(CODEX, tmp_path, [(*each, *WEATHER, PROMPT) for each in (EXEC, RESUME)])


def picture_in(place: Path) -> str:
    """Return the path of a picture that the agent may read."""
    (place / "work").mkdir()
    picture = place / "work" / "picture.png"
    picture.write_bytes(base64.b64decode(PICTURE))
    return str(picture)


@pytest.mark.parametrize(
    ("sees_images", "shown"),
    [(True, f"seen: data:image/png;base64,{PICTURE}"), (False, "input_image: not shown")],
)
def test_a_picture_and_later_turns(tmp_path: Path, sees_images: bool, shown: str) -> None:
    """The model sees it, or a line of text stands for it, in the session's later turns, too."""
    call = {"name": "view_image", "arguments": {"path": picture_in(tmp_path)}}
    printed = turns(tmp_path, [call], EXEC, RESUME, sees_images=sees_images)
    assert [shown in each.rpartition(TEXT)[2] for each in printed] == [True] * 2
    assert reasons(tmp_path) == [["tool_calls"], ["stop"], ["stop"]]


def test_a_picture_of_the_user(tmp_path: Path) -> None:
    """The model sees it in the message and in later turns."""
    picture = ("--image", picture_in(tmp_path), "--")
    printed = turns(tmp_path, [], (*EXEC, *picture), RESUME, sees_images=True)
    shown = f"seen: data:image/png;base64,{PICTURE}"
    assert [shown in each.rpartition(TEXT)[2] for each in printed] == [True] * 2
    assert reasons(tmp_path) == [["stop"], ["stop"]]


def test_a_picture_of_the_user_that_is_refused(tmp_path: Path) -> None:
    """The session goes on, although it sends the refused message again.

    REGRESSION: each later turn was refused, too.
    """
    picture = ("--image", picture_in(tmp_path), "--")
    with scripted(tmp_path, [], TEXT) as served:
        refused = CODEX.run(served, tmp_path, *EXEC, *picture, PROMPT)
        assert refused.returncode != 0 and "this model reads text only" in refused.stderr
        again = CODEX.run(served, tmp_path, *RESUME, PROMPT)
    assert (again.returncode, TEXT in again.stdout) == (0, True), again.stderr
    assert [line["status"] for line in answers(tmp_path, RESPONSES)] == [400, 200]


def test_a_resumed_session(tmp_path: Path) -> None:
    """The model sees the result of the first turn again, and calls in the second one."""
    call = {"name": "exec_command", "arguments": {"cmd": "echo 4711"}}
    printed = turns(tmp_path, [call], EXEC, RESUME)
    assert ["4711" in each.rpartition(TEXT)[2] for each in printed] == [True, True]
    assert reasons(tmp_path) == [["tool_calls"], ["stop"], ["stop"]]


def test_compaction(tmp_path: Path) -> None:
    """A history that is too long is replaced by a summary that the model writes."""
    low = ("-c", "model_auto_compact_token_limit=10")
    turns(tmp_path, [], EXEC, (*RESUME, *low), RESUME)
    assert reasons(tmp_path) == [["stop"]] * 4


def test_the_built_in_provider(tmp_path: Path) -> None:
    """It opens a WebSocket, begins with a request without generation, and continues it."""
    call = {"name": "exec_command", "arguments": {"cmd": "echo 4711"}}
    options = (*EXEC, *BUILT_IN), (*RESUME, *BUILT_IN)
    printed = turns(tmp_path, [call], *options, OPENAI_API_KEY="none")
    assert ["4711" in each.rpartition(TEXT)[2] for each in printed] == [True, True]
    assert reasons(tmp_path) == [[], ["tool_calls"], ["stop"], [], ["stop"]]


def test_remote_compaction(tmp_path: Path) -> None:
    """The built-in provider has the gateway compact a history, and sends its item back."""
    low = ("-c", "model_auto_compact_token_limit=10")
    options = (*EXEC, *BUILT_IN), (*RESUME, *BUILT_IN, *low), (*RESUME, *BUILT_IN)
    turns(tmp_path, [], *options, OPENAI_API_KEY="none")
    assert [types[-1] for types in compacted(tmp_path)] == ["compaction"]
    assert reasons(tmp_path) == [[], ["stop"], [], [], ["stop"], [], ["stop"]]
