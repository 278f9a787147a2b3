"""Agents of the command line, each set up by the code below its heading in docs/clients.md.

Each runs in the sandbox with a home of its own and its default settings. The prompt asks for a file
of the scratch folder, which an agent's tool for reading may read without asking its user.
"""

import json
import os
import random
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..served import ROOT, WIRES, Served
from ..snippets import ADDRESS, snippet
from . import sandbox
from .scripted import Call, answers, scripted

PACKAGES = Path(os.environ.get("NODE_PACKAGES", Path(__file__).parent))
#: seconds for a turn of an agent on a slow machine
PATIENCE = 180.0
PROMPT = "Read note.txt"
NOTE = "note.txt"
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"


@dataclass(frozen=True)
class Agent:
    """An agent as docs/clients.md sets it up.

    ``heading``      there, of lines of a shell, the last of which is an example, or of the file
                     ``config`` in the home.
    ``program``      its path in node_modules.
    ``options``      before the prompt; ``again``: in later turns of a session.
    ``route``        of the API.
    ``tool``         with ``arguments``, a call that reads NOTE.
    """

    heading: str
    package: str
    program: str
    options: tuple[str, ...]
    route: str
    tool: str
    arguments: Mapping[str, Any]
    config: str | None = None
    again: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return PACKAGES / "node_modules" / self.program

    def turns(self, count: int) -> list[tuple[str, ...]]:
        """The arguments of the turns of one session; of the first, if it has no later ones."""
        options = [self.options, *[self.again] * (count - 1 if self.again else 0)]
        return [(*each, PROMPT) for each in options]

    def call(self, place: Path) -> Call:
        """The call that reads NOTE; some agents need absolute paths."""
        arguments = json.dumps(self.arguments).replace(NOTE, str(place / "work" / NOTE))
        return {"name": self.tool, "arguments": json.loads(arguments)}

    def run(
        self,
        served: Served,
        place: Path,
        *arguments: str,
        standard_input: str = "/dev/null",
        **variables: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run one turn in ``place / "work"``; ``variables`` replace those of the document, whose
        address may also be in ``arguments``. ``standard_input``: a file.
        """
        setup = snippet(self.heading, served)
        lines = setup.splitlines()[:-1]
        if self.config is not None:
            file = place / "home" / self.config
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(setup)
            lines = []
        settings = (f"{name}={value}" for name, value in variables.items())
        program = ["env", *settings, self.path.name, *arguments]
        script = "\n".join([*lines, f'exec "$@" < {standard_input}'])
        program = [part.replace(ADDRESS, served.address) for part in program]
        command = ["sh", "-ec", script, "sh", *program]
        path = f"{self.path.parent}:{os.environ['PATH']}"
        port = int(served.address.rpartition(":")[2])
        return sandbox.run(command, place, port, [PACKAGES, ROOT], PATIENCE, PATH=path)


def check_loop(agent: Agent, place: Path, route: str, *options: str, **variables: str) -> None:
    """Run a loop with the agent's tool over an API that it does not use by default.

    ``options``: before its own; ``variables``: see ``Agent.run``.
    """
    (place / "work").mkdir()
    (place / "work" / NOTE).write_text("4711\n")
    text = "The tool says: "
    with scripted(place, [agent.call(place)], text) as served:
        done = agent.run(served, place, *options, *agent.options, PROMPT, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4711" in done.stdout.partition(text)[2], done.stdout
    assert {line["status"] for line in answers(place)} == {200}
    reasons = [line["finish_reasons"] for line in answers(place, route)]
    assert reasons == [["tool_calls"], ["stop"]]


def check_noise(agent: Agent, place: Path, turns: Sequence[Sequence[str]]) -> None:
    """Random calls, arguments, texts and thoughts: no request is refused, and each turn ends."""
    seed = random.randrange(1 << 32)
    settings = WIRES["harmony"] | {"noise_seed": str(seed), "default_completion_tokens": "4096"}
    with Served("harmony", place / "log", settings) as served:
        ends = [agent.run(served, place, *arguments) for arguments in turns]
        assert served.faults() == []
    printed = "\n".join(
        [f"seed {seed}", *(end.stdout[-1000:] + end.stderr[-1000:] for end in ends)]
    )
    lines = answers(place)
    assert [line for line in lines if line["status"] != 200] == [], printed
    assert len(lines) >= len(ends), printed


#: of Codex, whose own sandbox does not start inside another one
LOOSE = ("--skip-git-repo-check", "--sandbox", "danger-full-access")
AGENTS = {
    agent.heading: agent
    for agent in (
        Agent(
            "Codex CLI", "@openai/codex", ".bin/codex", ("exec", *LOOSE),
            RESPONSES, "exec_command", {"cmd": f"cat {NOTE}"}, ".codex/config.toml",
            again=("exec", *LOOSE, "resume", "--last"),
        ),
        Agent(
            "Claude Code", "@anthropic-ai/claude-code", ".bin/claude", ("-p",),
            MESSAGES, "Read", {"file_path": NOTE},
            again=("-p", "--continue"),
        ),
        Agent(
            "opencode", "opencode-linux-x64", "opencode-linux-x64/bin/opencode", ("run",),
            CHAT, "read", {"filePath": NOTE}, ".config/opencode/opencode.json",
            again=("run", "--continue"),
        ),
        Agent(
            "Kilo CLI", "@kilocode/cli-linux-x64", "@kilocode/cli-linux-x64/bin/kilo", ("run",),
            CHAT, "read", {"filePath": NOTE}, ".config/kilo/kilo.json",
            again=("run", "--continue"),
        ),
        Agent(
            "Cline CLI", "@cline/cli-linux-x64", ".bin/cline", (),
            CHAT, "read_files", {"files": [{"path": NOTE}]},
        ),
        Agent(
            "GitHub Copilot CLI", "@github/copilot-linux-x64", "@github/copilot-linux-x64/copilot",
            ("-p",), CHAT, "view", {"path": NOTE},
            again=("--continue", "-p"),
        ),
        Agent(
            "Qwen Code", "@qwen-code/qwen-code", ".bin/qwen", (),
            CHAT, "read_file", {"file_path": NOTE},
            again=("--continue",),
        ),
        Agent(
            "Continue CLI", "@continuedev/cli", ".bin/cn", ("-p",),
            CHAT, "Read", {"filepath": NOTE}, ".continue/config.yaml",
            again=("-p", "--resume"),
        ),
    )
}  # fmt: skip
