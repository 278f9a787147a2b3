"""The GitHub Copilot CLI over the APIs that it does not use by default: a loop with a tool."""

from pathlib import Path

import pytest

from ..snippets import ADDRESS
from . import sandbox
from .agents import AGENTS, MESSAGES, NOTE, PROMPT, RESPONSES
from .scripted import answers, scripted

pytestmark = pytest.mark.skipif(bool(sandbox.missing()), reason=sandbox.missing() or "a sandbox")

COPILOT = AGENTS["GitHub Copilot CLI"]
TEXT = "The tool says: "


def loop(place: Path, route: str, **variables: str) -> None:
    (place / "work").mkdir()
    (place / "work" / NOTE).write_text("4711\n")
    with scripted(place, [COPILOT.call(place)], TEXT) as served:
        done = COPILOT.run(served, place, *COPILOT.options, PROMPT, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4711" in done.stdout.partition(TEXT)[2]
    assert {line["status"] for line in answers(place)} == {200}
    reasons = [line["finish_reasons"] for line in answers(place, route)]
    assert reasons == [["tool_calls"], ["stop"]]


def test_the_responses_api(tmp_path: Path) -> None:
    loop(tmp_path, RESPONSES, COPILOT_PROVIDER_WIRE_API="responses")


def test_the_messages_api(tmp_path: Path) -> None:
    loop(tmp_path, MESSAGES, COPILOT_PROVIDER_TYPE="anthropic", COPILOT_PROVIDER_BASE_URL=ADDRESS)
