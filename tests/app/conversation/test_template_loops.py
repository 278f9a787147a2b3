"""Tool loops of two turns through a gateway, with each model's own chat template.

The noise worker writes the answers: what it draws fits the grammar and nothing else.
"""

import json
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


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", TEMPLATES)
def test_a_loop_of_two_turns(name: str) -> None:
    has_thought, tokenizer = False, tokenizer_of(name)
    messages: list[dict[str, Any]] = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "What is it?"},
    ]
    with Gateway(tokenizer=folder_of(name), reasoning="on", model_name="m") as gateway:
        for turn in range(2):
            body = {"model": "m", "messages": messages, "tools": TOOLS, "tool_choice": "required"}
            answer = gateway.post(body | {"seed": turn, "max_tokens": 4000})
            assert answer.status_code == 200, answer.text
            (choice,) = answer.json()["choices"]
            message = choice["message"]
            has_thought = has_thought or bool(message.get("reasoning_content"))
            if choice["finish_reason"] == "length":
                return
            assert choice["finish_reason"] == "tool_calls"
            assert not message["content"]
            messages.append(message)
            for call in message["tool_calls"]:
                assert call["function"]["name"] == "look_up"
                jsonschema.validate(json.loads(call["function"]["arguments"]), PARAMETERS)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": "12"})
    if tokenizer.render([{"role": "user", "content": "x"}], (), OutputSpec()).thought == "open":
        assert has_thought
