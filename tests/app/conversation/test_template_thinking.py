"""Thinking models, each with its own chat template: thoughts come apart from calls, and end.

The noise worker writes the answers. `make conformance` asks every template with 50 seeds, other
runs ask those of ``SOME`` with a few.
"""

import json
import os
from typing import Any

import jsonschema
import pytest

from adapters.formats import OutputSpec
from tests.app.conversation.chat_templates import (
    FETCH,
    PARAMETERS,
    TEMPLATES,
    TOOLS,
    folder_of,
    tokenizer_of,
)
from tests.app.gateway import Gateway

#: one for each way in which a prompt ends
SOME = (
    "Qwen-QwQ-32B",
    "Qwen-Qwen3-0.6B",
    "deepseek-ai-DeepSeek-V3.1",
    "muse-glimmer",
    "openai-gpt-oss-120b",
)
#: formats that may write text before required calls
WITH_TEXT = ("harmony", "kimi_k3")
WHOLE = bool(os.environ.get("EVERY_TEMPLATE"))
SEEDS = 50 if WHOLE else 8
BUDGET = 40
ASKED: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "What is it?"}],
    "tools": TOOLS,
    "tool_choice": "required",
    "max_tokens": 16_000,
    "thinking_token_budget": BUDGET,
}


def thinks(name: str) -> bool:
    """Whether the template or the vocabulary has marks of thoughts."""
    wire: Any = tokenizer_of(name).wire
    return wire.name in ("harmony", "muse") or getattr(wire, "thinking", None) is not None


THINKING = [name for name in TEMPLATES if thinks(name)] if WHOLE else SOME


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", THINKING)
def test_thoughts_come_apart_from_the_calls_that_must_follow(name: str) -> None:
    thoughts = []
    with Gateway(tokenizer=folder_of(name), reasoning="on", model_name="m") as gateway:
        for seed in range(SEEDS):
            thoughts.append(check_answer(name, gateway, ASKED | {"seed": seed}))
        unasked = check_answer(name, gateway, ASKED | {"reasoning_effort": "none"})
    # each token of these tokenizers is a byte
    assert all(len(thought.encode()) <= BUDGET for thought in thoughts)
    if tokenizer_of(name).render(ASKED["messages"], (), OutputSpec()).thought == "open":
        assert any(thoughts)
    assert not unasked


def check_answer(name: str, gateway: Gateway, body: dict[str, Any]) -> str:
    """The reasoning of a valid answer."""
    answer = gateway.post(body)
    assert answer.status_code == 200, answer.text
    (choice,) = answer.json()["choices"]
    assert choice["finish_reason"] == "tool_calls"
    # some write text before calls; elsewhere nothing but calls was allowed
    assert not choice["message"]["content"] or tokenizer_of(name).wire.name in WITH_TEXT
    for call in choice["message"]["tool_calls"]:
        assert call["function"]["name"] == "look_up"
        jsonschema.validate(json.loads(call["function"]["arguments"]), PARAMETERS)
    return choice["message"].get("reasoning_content") or ""
