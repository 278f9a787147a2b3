"""Replayed conversations of agents: damaged ones are served, too, and no answer is lost.

Agents send their whole history on every turn, so that one refused block would end a session.
"""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.app.anthropic_messages import HELLO, create, post
from tests.app.gateway import Gateway, gateway_fixture
from tests.campaigns.replayed_histories import shapes

RECORDED = Path(__file__).parents[4] / "shared" / "data" / "agent-requests"

READ = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/a"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "text"}
USER = {"role": "user", "content": "Hello"}


def text(said: str | None) -> dict[str, Any]:
    return {"type": "text", "text": said}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": [*blocks]}


def said(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [*blocks]}


#: recorded requests have images of hosts from which nothing is fetched
gateway = gateway_fixture(format="hermes", reasoning="on", unseen_media="text")


def recorded() -> list[dict[str, Any]]:
    """Return the bodies of recorded requests; those of this file if there are no records."""
    bodies: list[dict[str, Any]] = [{"messages": shapes.MESSAGES}]
    for path in sorted(RECORDED.glob("claude-code-*.json")):
        requests = json.loads(path.read_text())["requests"]
        bodies += [each["body"] for each in requests if each["body"]]
    return bodies


@pytest.mark.parametrize("body", recorded(), ids=lambda body: str(len(str(body))))
def test_recorded_requests_are_served_and_their_answers_sent_back(
    gateway: Gateway, body: dict[str, Any]
) -> None:
    asked = body | {"stream": False, "max_tokens": 50}
    for seed in range(3):
        answer = create(gateway, **asked, seed=seed)
        calls = [block for block in answer["content"] if block["type"] == "tool_use"]
        results = [{**RESULT, "tool_use_id": call["id"]} for call in calls] or [text("go on")]
        asked["messages"] = [*asked["messages"], said(*answer["content"]), user(*results)]
    assert create(gateway, **asked)["role"] == "assistant"


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user"}],
        [{"role": "user", "content": None}],
        [USER, said(), USER],
        [user(text(None))],
        [USER, said({**READ, "input": None}), user(RESULT)],
        [USER, said({**READ, "input": '{"file_p'}), user(RESULT)],
        [USER, said({**READ, "input": {}}), USER],
        [user(RESULT)],
        [user({**RESULT, "content": None})],
        [USER, said(READ, READ), user(RESULT, RESULT, RESULT)],
        [user({"type": "image"})],
        [{"role": "system", "content": "Rules."}],
    ],
)
def test_what_is_missing_is_no_error(gateway: Gateway, messages: Any) -> None:
    answer = post(gateway, **HELLO | {"max_tokens": 1, "messages": messages})
    assert answer.status_code == 200, answer.text


def ignored(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return answer.headers["x-switchyard-ignored"]


@pytest.mark.parametrize("block", [READ, {"type": "thinking", "thinking": "so", "signature": ""}])
def test_blocks_of_the_assistant_are_left_out_elsewhere(gateway: Gateway, block: Any) -> None:
    answer = post(gateway, **HELLO | {"messages": [user(text("Hello"), block)]})
    assert ignored(answer) == f"messages/0/content/1 {block['type']}"


def test_a_reminder_behind_results_is_a_part_of_the_last_one(gateway: Gateway) -> None:
    """Any other text is a message of the user."""
    reminder = "<system-reminder>\nThe list is empty.\n</system-reminder>"

    def prompt(*blocks: Any) -> int:
        history = [USER, said(READ), user(*blocks)]
        answer = post(gateway, **HELLO | {"max_tokens": 1, "messages": history})
        count: int = answer.json()["usage"]["input_tokens"]
        return count

    joined = {**RESULT, "content": f"text\n\n{reminder}\n\n{reminder}"}
    assert prompt(RESULT, text(reminder), text(reminder)) == prompt(joined)
    assert prompt(RESULT, text(f"Go on. {reminder}")) > prompt(
        {**RESULT, "content": f"text\n\nGo on. {reminder}"}
    )
    first = prompt(text(reminder), RESULT)
    assert first > prompt(RESULT, text(reminder))


def test_an_effort_of_a_turn_is_left_out_by_name(gateway: Gateway) -> None:
    effort = {"role": "system", "content": "Rules.", "output_config": {"effort": "low"}}
    answer = post(gateway, **HELLO | {"messages": [USER, effort]})
    assert ignored(answer) == "messages/1/output_config field"


@pytest.mark.parametrize("content", ["word " * 50, [text("word " * 25), text("word " * 25)]])
def test_a_document_of_blocks_is_shown(gateway: Gateway, content: Any) -> None:
    document = {"type": "document", "source": {"type": "content", "content": content}}
    answer = post(gateway, **HELLO | {"messages": [user(document)]})
    assert answer.json()["usage"]["input_tokens"] > 50
    assert "x-switchyard-ignored" not in answer.headers


def test_more_tokens_than_the_server_writes_are_no_error() -> None:
    with Gateway(max_completion_tokens=7, default_completion_tokens=5) as gateway:
        for tokens, name in ((7, None), (8, "max_tokens excess"), (64_000, "max_tokens excess")):
            answer = post(gateway, **HELLO | {"max_tokens": tokens, "seed": 1})
            assert answer.status_code == 200, answer.text
            assert answer.headers.get("x-switchyard-ignored") == name
            assert answer.json()["usage"]["output_tokens"] <= 7
            assert answer.json()["stop_reason"] == "max_tokens"
