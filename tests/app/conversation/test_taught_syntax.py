"""Models whose chat templates show calls in a syntax that no format has: prompts teach another one.

The template gets no tools and no calls, so the prompt shows one syntax only, which the grammar
enforces.
"""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from adapters.formats import OutputSpec, Tool, for_own_engine
from app.conversation.profile import shown_answers
from app.conversation.tokenizer import HuggingFaceTokenizer
from engine import Compiler
from tests.app.conversation.calls_in_prompts import closers, history, read
from tests.app.gateway import Gateway
from tests.app.small_tokenizer import INVENTED, folder
from tests.formats.harness import walk

TOOL = Tool(
    "look_up",
    {
        "type": "object",
        "properties": {"city": {"type": "string", "pattern": "^[a-z]{1,6}$"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": TOOL.parameters}}]
USER: list[Any] = [{"role": "user", "content": "hi"}]


def shown(tokenizer: HuggingFaceTokenizer, messages: Any, tools: tuple[Tool, ...]) -> str:
    return tokenizer.decode(tokenizer.render(messages, tools, OutputSpec(tools)).prompt)


def test_the_prompt_teaches_the_syntax_and_the_template_gets_no_tools(tmp_path: Path) -> None:
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, INVENTED))
    assert (tokenizer.wire.name, tokenizer.evidence.basis) == ("plain", "taught")
    assert "[[call" in tokenizer.evidence.shown
    profile = tokenizer.profile
    assert profile is not None
    assert (profile.tools, profile.calls, profile.results) == (False, False, True)
    prompt = shown(tokenizer, USER, (TOOL,))
    system, _, rest = prompt.partition("<|im_end|>")
    assert '<tool_call>{"name": "get_weather", ' in system
    assert "look_up" in system
    # as the template writes a conversation without tools
    assert rest == "\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    assert "[[call" not in prompt
    assert "look_up" not in shown(tokenizer, USER, ())


def test_calls_are_read_back_and_shown_in_the_taught_syntax(tmp_path: Path) -> None:
    """A drawn answer is read as calls, which the next prompt shows as they were written."""
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, INVENTED))
    rules = shown_answers(tokenizer.wire, tokenizer.profile).json_rules
    output = OutputSpec((TOOL,), "required", reasoning="off", json_rules=rules)
    plan = for_own_engine(tokenizer.wire.plan(output, tokenizer.special_texts))
    grammar = Compiler(tokenizer.vocabulary).compile_structural_tag(plan.spec_json)
    several = 0
    for seed in range(12):
        chance, ends = Random(seed), closers(tokenizer.vocabulary.tokens)
        ids = walk(grammar, chance, ends, patience=30, limit=300)
        if len(ids) == 300:
            continue
        calls = read(plan, grammar, ids)
        several += len(calls) > 1
        prompt = shown(tokenizer, history(calls, "q"), (TOOL,))
        assert calls
        written = "\n".join(
            f'<tool_call>{{"name": "{name}", "arguments": {json.dumps(values)}}}</tool_call>'
            for name, values in calls
        )
        assert f"<|im_start|>assistant\n{written}<|im_end|>\n" in prompt
        results = "<|im_start|>tool\nwordresult<|im_end|>\n" * len(calls)
        assert prompt.endswith(f"{results}<|im_start|>assistant\n")
    assert several


@pytest.mark.parametrize("format", ["auto", "plain"])
def test_a_gateway_names_the_taught_syntax(tmp_path: Path, format: str) -> None:
    """The log, /v1/models and the answers with tools; a format of the operator's is not named."""
    taught = format == "auto"
    body = {"model": "m", "messages": USER, "max_tokens": 5}
    with Gateway(tokenizer=folder(tmp_path, INVENTED), model_name="m", format=format) as gateway:
        warnings = [line for line in gateway.lines() if "unknown syntax" in line["event"]]
        assert [line["format"] for line in warnings] == ["plain"] * taught
        model = gateway.get("/v1/models/m").json()
        assert model["format"] == "plain"
        assert model["format_evidence"]["basis"] == ("taught" if taught else "setting")
        header = "x-switchyard-taught"
        with_tools = body | {"tools": TOOLS}
        for each in (with_tools, with_tools | {"stream": True}):
            answer = gateway.post(each)
            assert answer.status_code == 200
            assert answer.headers.get(header) == ("plain" if taught else None)
        for each in (body, with_tools | {"tool_choice": "none"}):
            assert header not in gateway.post(each).headers


def test_tools_are_refused_if_the_operator_wants_it(tmp_path: Path) -> None:
    source = folder(tmp_path, INVENTED)
    body = {"model": "m", "messages": USER, "max_tokens": 5}
    with Gateway(tokenizer=source, model_name="m", unknown_syntax="refuse") as gateway:
        (warning,) = [line for line in gateway.lines() if "unknown syntax" in line["event"]]
        assert "[[call" in warning["shown"]
        model = gateway.get("/v1/models/m").json()
        assert (model["format"], model["format_evidence"]["basis"]) == ("unknown", "unknown")
        assert gateway.post(body).status_code == 200
        refused = gateway.post(body | {"tools": TOOLS})
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "tools"
    assert "SWITCHYARD_UNKNOWN_SYNTAX" in refused.json()["error"]["message"]
