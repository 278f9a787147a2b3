"""The table of agents in docs/clients.md has a row for each tested agent, and names its tests."""

import ast
import json
import re
from pathlib import Path

from .clients.node.agents import AGENTS, CHAT, MESSAGES, RESPONSES, Agent

ROOT = Path(__file__).parents[1]
NODE = ROOT / "tests" / "clients" / "node"
APIS = {CHAT: "chat completions", RESPONSES: "responses", MESSAGES: "messages"}


def checks_of(file: Path) -> list[str]:
    """The names of a file's tests, as words."""
    body = ast.parse(file.read_text()).body
    names = [each.name for each in body if isinstance(each, ast.FunctionDef)]
    words = [name[5:].replace("_", " ") for name in names if name.startswith("test_")]
    return [each.replace(" api", " API").replace("mcp", "MCP") for each in words]


def agents_of(file: Path) -> list[str]:
    """The headings of the agents that a file alone tests."""
    return re.findall(r'= AGENTS\["([^"]+)"\]', file.read_text())


def row(agent: Agent) -> str:
    packages = json.loads((NODE / "package.json").read_text())
    versions = packages["dependencies"] | packages["optionalDependencies"]
    own = [file for file in NODE.glob("test_*.py") if agent.heading in agents_of(file)]
    checked = [name for file in [NODE / "test_agents.py", *own] for name in checks_of(file)]
    cells = (
        f"[{agent.heading}](#{agent.heading.lower().replace(' ', '-')})",
        f"`{agent.package}` {versions[agent.package]}",
        APIS[agent.route],
        f"`~/{agent.config}`" if agent.config else "shell",
        ", ".join(checked),
    )
    return f"| {' | '.join(cells)} |"


def test_the_table_of_agents() -> None:
    head = ["| agent | package | API | set up in | tests |", "|---|---|---|---|---|"]
    table = "\n".join([*head, *map(row, AGENTS.values())])
    assert table in (ROOT / "docs" / "clients.md").read_text(), f"docs/clients.md needs:\n{table}"
