"""Agents of the command line with their default settings: a loop with a tool, and noise.

The worker of a loop follows a script: it calls the agent's tool for reading, then says a text.
"""

from pathlib import Path

import pytest

from . import sandbox
from .agents import AGENTS, NOTE, Agent, check_noise
from .scripted import answers, scripted

TEXT = "The note says: "
NUMBER = "4711"

pytestmark = pytest.mark.skipif(bool(sandbox.missing()), reason=sandbox.missing() or "a sandbox")


@pytest.fixture(params=AGENTS.values(), ids=lambda agent: agent.heading)
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Agent:
    chosen: Agent = request.param
    if not chosen.path.exists():
        pytest.skip(f"npm has no {chosen.package} for this machine")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / NOTE).write_text(f"{NUMBER}\n")
    return chosen


def test_a_loop_with_a_tool(agent: Agent, tmp_path: Path) -> None:
    """The model sees the tool's result, in the session's next turn, too, and the user its text."""
    with scripted(tmp_path, [agent.call(tmp_path)], TEXT) as served:
        for arguments in agent.turns(2):
            done = agent.run(served, tmp_path, *arguments)
            assert done.returncode == 0, done.stdout + done.stderr
            assert NUMBER in done.stdout.partition(TEXT)[2], done.stdout
    assert {line["status"] for line in answers(tmp_path)} == {200}
    reasons = [line["finish_reasons"] for line in answers(tmp_path, agent.route)]
    assert reasons.count(["tool_calls"]) == 1


def test_noise(agent: Agent, tmp_path: Path) -> None:
    check_noise(agent, tmp_path, agent.turns(2))
