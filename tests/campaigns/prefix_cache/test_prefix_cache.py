"""Turns of agents with two formats and two chat templates, and that losses are found."""

import pytest

from app.common_form.anthropic import messages
from tests.app.conversation.chat_templates import FETCH, TEMPLATES
from tests.campaigns.prefix_cache.campaign import complaints, run
from tests.campaigns.prefix_cache.clients import CLIENTS

#: templates that drop the thoughts before a message of the user, or show tools before it only
STRICT = ["Qwen3.5-4B", "Mistral-Small-3.2-24B-Instruct-2506"]
#: templates that show one system message, gather all at the beginning, or show none
INSTRUCTED = ["MiniMax-M2", "deepseek-ai-DeepSeek-V3.1", "google-gemma-2-2b-it"]


@pytest.mark.parametrize("name", ["hermes", "harmony"])
def test_no_prompt_loses_what_a_worker_has_kept(name: str) -> None:
    losses = run([name], list(CLIENTS), {}, 1)
    assert sum(loss.prompt for loss in losses.values()) == 0
    assert list(complaints(losses)) == []
    kinds = {(client, kind) for _, client, kind in losses}
    assert kinds == {
        (client, kind)
        for client in CLIENTS
        for kind in ("results", "reminder", "instructions", "question")
    }


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_a_reminder_of_claude_code_begins_no_turn() -> None:
    """REGRESSION: each one cost the cache of all steps of its turn."""
    losses = run(STRICT, ["Claude Code"], {}, 1)
    for (model, _, kind), loss in losses.items():
        assert loss.turns and (kind == "question" or loss.prompt == 0), (model, kind, loss.texts)


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_late_instructions_stay_where_they_are() -> None:
    """REGRESSION: they moved to the beginning, and each one cost the whole cache."""
    losses = run(INSTRUCTED, ["Claude Code"], {}, 1)
    for (model, _, kind), loss in losses.items():
        assert loss.turns and (kind == "question" or loss.prompt == 0), (model, kind, loss.texts)


def test_a_loss_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the block that changes with each request stays in the prompt."""
    monkeypatch.setattr(messages, "_BILLING", "another text")
    losses = run(["hermes"], ["Claude Code", "chat"], {}, 1)
    found = list(complaints(losses))
    assert any("hermes, Claude Code, results" in text for text in found), found
    assert not any("hermes, chat" in text for text in found)
