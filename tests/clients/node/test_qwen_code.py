"""Qwen Code over the APIs that it does not use by default: a loop with a tool."""

from pathlib import Path

import pytest

from ..snippets import ADDRESS
from . import sandbox
from .agents import AGENTS, MESSAGES, RESPONSES, check_loop

pytestmark = pytest.mark.skipif(bool(sandbox.missing()), reason=sandbox.missing() or "a sandbox")

QWEN = AGENTS["Qwen Code"]


def test_the_responses_api(tmp_path: Path) -> None:
    check_loop(QWEN, tmp_path, RESPONSES, "--auth-type", "openai-responses")


def test_the_messages_api(tmp_path: Path) -> None:
    own = {"ANTHROPIC_BASE_URL": ADDRESS, "ANTHROPIC_API_KEY": "none", "ANTHROPIC_MODEL": "noise"}
    check_loop(QWEN, tmp_path, MESSAGES, "--auth-type", "anthropic", **own)
