"""Tool loops of two turns through a gateway, with each model's own chat template.

The noise worker writes the answers: what it draws fits the grammar and nothing else.
"""

import json
from collections.abc import Iterator
from pathlib import Path
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

MODEL = """
[[models]]
name = {0}
tokenizer = {1}
reasoning = "on"
noise_seed = 1
"""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One gateway with a model of each template."""
    file: Path = tmp_path_factory.mktemp("models") / "gateway.toml"
    quoted = ((json.dumps(name), json.dumps(folder_of(name))) for name in TEMPLATES)
    file.write_text("".join(MODEL.format(*pair) for pair in quoted))
    with Gateway(config_file=file) as running:
        yield running


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", TEMPLATES)
def test_a_loop_of_two_turns(gateway: Gateway, name: str) -> None:
    has_thought, tokenizer = False, tokenizer_of(name)
    messages: list[dict[str, Any]] = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "What is it?"},
    ]
    for turn in range(2):
        body = {"model": name, "messages": messages, "tools": TOOLS, "tool_choice": "required"}
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
