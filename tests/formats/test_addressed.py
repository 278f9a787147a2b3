"""Messages with recipients: bounds of thoughts, names of recipients, and marks in text."""

from dataclasses import replace
from typing import Any

import pytest

from adapters.formats import FormatError, OutputSpec, Tool, get_format

from .cases import AUTO, FREE, REQUIRED, SPECIALS, Said
from .harness import compiled, encode, is_accepted, read

THOUGHT = " to=self<|message|>{}<|eom|><|start|>assistant"
CALL = (
    ' to=ff<|message|><atem:function_calls>\n<atem:invoke name="ff">\n'
    "</atem:invoke>\n</atem:function_calls>"
)
TEXT = " to=user<|message|>Hi"
NEXT = "<|eom|><|start|>assistant"


@pytest.mark.parametrize(
    ("changes", "text", "is_allowed"),
    [
        ({}, THOUGHT.format("hmm") + CALL, True),
        ({}, CALL, True),
        ({}, THOUGHT.format("hmm!") + CALL, False),
        ({}, THOUGHT.format("h") * 2 + CALL, False),
        ({}, TEXT + NEXT + CALL, True),
        ({}, TEXT + NEXT + THOUGHT.format("h") + CALL, False),
        ({"thought": "open"}, "hmm" + NEXT + CALL, True),
        ({"thought": "open"}, "hmm!" + NEXT + CALL, False),
        ({"thought": "open"}, "h" + NEXT + THOUGHT.format("h") + CALL, False),
        ({"thought": "closed"}, THOUGHT.format("h") + CALL, False),
    ],
)
def test_the_budget_of_thoughts_counts_in_one_message(
    changes: dict[str, Any], text: str, is_allowed: bool
) -> None:
    _, grammar = compiled("muse", replace(AUTO, thinking_tokens=3, **changes))
    assert is_accepted(grammar, encode("muse", text)) is is_allowed


@pytest.mark.parametrize(
    ("changes", "text", "means"),
    [
        ({}, THOUGHT.format("a") * 2 + CALL, Said("", "aa", [("ff", "{}")])),
        ({}, TEXT + NEXT + THOUGHT.format("a") + CALL, Said("Hi", "a", [("ff", "{}")])),
        ({"thought": "open"}, f"a{NEXT}{THOUGHT.format('b')}{TEXT}", Said("Hi", "ab")),
    ],
)
def test_thoughts_may_precede_every_message(
    changes: dict[str, Any], text: str, means: Said
) -> None:
    plan, grammar = compiled("muse", replace(AUTO, **changes))
    ids = encode("muse", text)
    assert is_accepted(grammar, ids)
    assert read(plan, grammar, ids) == means


def test_the_prompt_of_beam_has_its_messages() -> None:
    """Only a tokenizer without a chat template needs it."""
    prompt = get_format("beam").render(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "Bye"},
        ],
        (),
        OutputSpec(),
    )
    assert prompt == (
        "<|start|>system<|message|>Be brief.<|end|><|start|>user<|message|>Hi<|end|>"
        "<|start|>assistant<|channel|>final<|message|>Hello.<|end|>"
        "<|start|>user<|message|>Bye<|end|><|start|>assistant"
    )


@pytest.mark.parametrize("output", [AUTO, FREE])
@pytest.mark.parametrize("text", [">>> f\n", ">>>f(x)\n", ">>>fff\n", ">>> import os\n", ">>>"])
def test_a_prompt_of_python_is_text(output: OutputSpec, text: str) -> None:
    plan, grammar = compiled("functionary_v32", output)
    ids = encode("functionary_v32", f"all\n{text}")
    assert is_accepted(grammar, ids)
    assert read(plan, grammar, ids) == Said(text)


@pytest.mark.parametrize("output", [AUTO, FREE])
def test_text_cannot_open_another_text(output: OutputSpec) -> None:
    _, grammar = compiled("functionary_v32", output)
    assert not is_accepted(grammar, encode("functionary_v32", "all\nHi>>>all\nHi"))


@pytest.mark.parametrize(
    ("format_name", "name"),
    [("functionary_v32", "all"), ("muse", "user"), ("muse", "self"), ("muse", "a b")],
)
def test_a_tool_cannot_have_the_name_of_another_recipient(format_name: str, name: str) -> None:
    with pytest.raises(FormatError, match="cannot spell the name"):
        get_format(format_name).plan(
            replace(REQUIRED, tools=(Tool(name, {}),)), SPECIALS[format_name]
        )
