"""Claude Code, an agent that speaks Anthropic's API: sessions, schemas and counts of tokens.

The worker follows a script.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.app.pictures import base64_of, png

from . import sandbox
from .agents import AGENTS, NOTE, PROMPT
from .scripted import Call, answers, scripted

pytestmark = pytest.mark.skipif(bool(sandbox.missing()), reason=sandbox.missing() or "a sandbox")

CLAUDE = AGENTS["Claude Code"]
TEXT = "The tool says: "


def turns(
    place: Path,
    calls: Sequence[Call],
    *arguments: Sequence[str],
    sees_images: bool = False,
    **variables: str,
) -> list[dict[str, Any]]:
    """Return the results of turns. No request is refused."""
    results: list[dict[str, Any]] = []
    with scripted(place, calls, TEXT, sees_images=sees_images) as served:
        for each in arguments:
            done = CLAUDE.run(served, place, "-p", "--output-format", "json", *each, **variables)
            assert done.returncode == 0, done.stdout + done.stderr
            results.append(json.loads(done.stdout))
    assert [result["subtype"] for result in results] == ["success"] * len(results)
    assert {line["status"] for line in answers(place)} == {200}
    return results


def reasons(place: Path) -> list[list[str]]:
    """The finish reasons of the messages."""
    return [line["finish_reasons"] for line in answers(place, "/v1/messages")]


def test_a_resumed_session(tmp_path: Path) -> None:
    """The model sees the file and what a command printed, in the second turn, too."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / NOTE).write_text("4711\n")
    command = {"name": "Bash", "arguments": {"command": "expr 6 '*' 7", "description": "d"}}
    calls = [CLAUDE.call(tmp_path), command]
    begin = ("--allowedTools", "Read,Bash(expr *)", "--", PROMPT)
    first, second = turns(tmp_path, calls, begin, ("--continue", PROMPT))
    assert (first["num_turns"], first["result"]) == (3, f"{TEXT}42")
    assert (second["session_id"], second["result"]) == (first["session_id"], f"{TEXT}42")
    assert reasons(tmp_path) == [["tool_calls"], ["tool_calls"], ["stop"], ["stop"]]


@pytest.mark.parametrize(
    ("sees_images", "shown"),
    [(True, "seen: data:image/png;base64,"), (False, "[image: not shown")],
)
def test_a_picture_and_later_turns(tmp_path: Path, sees_images: bool, shown: str) -> None:
    """The tool that reads files returns an image, which the model sees in later turns, too."""
    (tmp_path / "work").mkdir()
    picture = tmp_path / "work" / "picture.png"
    picture.write_bytes(png(60))
    call = {"name": "Read", "arguments": {"file_path": str(picture)}}
    begin = ("--allowedTools", "Read", "--", PROMPT)
    results = turns(tmp_path, [call], begin, ("--continue", PROMPT), sees_images=sees_images)
    assert [shown in each["result"] for each in results] == [True, True], results
    assert reasons(tmp_path) == [["tool_calls"], ["stop"], ["stop"]]


def test_a_picture_of_the_user_that_is_refused(tmp_path: Path) -> None:
    """Claude Code leaves it out at once, since it knows the error, and the session goes on."""
    (tmp_path / "work").mkdir()
    blocks = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png"}},
        {"type": "text", "text": PROMPT},
    ]
    blocks[0]["source"]["data"] = base64_of(png(60))
    asked = {"type": "user", "message": {"role": "user", "content": blocks}}
    (tmp_path / "work" / "asked.jsonl").write_text(json.dumps(asked))
    streamed = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    with scripted(tmp_path, [], TEXT) as served:
        first = CLAUDE.run(served, tmp_path, "-p", *streamed, standard_input="asked.jsonl")
        again = CLAUDE.run(served, tmp_path, "-p", "--continue", PROMPT)
    assert (first.returncode, TEXT in first.stdout) == (0, True), first.stdout + first.stderr
    assert (again.returncode, TEXT in again.stdout) == (0, True), again.stdout + again.stderr
    assert [line["status"] for line in answers(tmp_path, "/v1/messages")] == [400, 200, 200]


def test_a_schema(tmp_path: Path) -> None:
    """The answer is the input of a tool."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    call = {"name": "StructuredOutput", "arguments": {"n": 42}}
    (result,) = turns(tmp_path, [call], ("--json-schema", json.dumps(schema), PROMPT))
    assert result["structured_output"] == {"n": 42}


def test_compaction(tmp_path: Path) -> None:
    """The model writes a summary of the session, which goes on."""
    turns(tmp_path, [], (PROMPT,), ("--continue", "/compact"), ("--continue", PROMPT))
    assert len(reasons(tmp_path)) > 3


@pytest.mark.parametrize("model", ["opus", "sonnet", "haiku", "fable"])
def test_a_sub_agent(tmp_path: Path, model: str) -> None:
    """The model may choose another one for it by Claude Code's own names."""
    asked = {"description": "d", "prompt": "p", "subagent_type": "general-purpose", "model": model}
    call = {"name": "Agent", "arguments": {**asked, "run_in_background": False}}
    (result,) = turns(tmp_path, [call], ("--allowedTools", "Agent", "--", PROMPT))
    assert result["result"].startswith(TEXT)
    assert reasons(tmp_path).count(["stop"]) > 1


def test_counts_of_tokens(tmp_path: Path) -> None:
    """/context asks how many tokens each part of a prompt has, and shows the context's length."""
    (result,) = turns(tmp_path, [], ("/context",), CLAUDE_CODE_MAX_CONTEXT_TOKENS="100000")
    assert "/ 100k" in result["result"]
    assert answers(tmp_path, "/v1/messages/count_tokens")
