"""The GitHub Copilot CLI over the APIs that it does not use by default: a loop with a tool."""

from pathlib import Path

import pytest

from ..snippets import ADDRESS
from . import sandbox
from .agents import AGENTS, MESSAGES, RESPONSES, check_loop

pytestmark = pytest.mark.skipif(bool(sandbox.missing()), reason=sandbox.missing() or "a sandbox")

COPILOT = AGENTS["GitHub Copilot CLI"]


def test_the_responses_api(tmp_path: Path) -> None:
    check_loop(COPILOT, tmp_path, RESPONSES, COPILOT_PROVIDER_WIRE_API="responses")


def test_the_messages_api(tmp_path: Path) -> None:
    variables = {"COPILOT_PROVIDER_TYPE": "anthropic", "COPILOT_PROVIDER_BASE_URL": ADDRESS}
    check_loop(COPILOT, tmp_path, MESSAGES, **variables)
