"""Marks of thoughts: found in templates and vocabularies, at the end of prompts, and in answers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.formats import OutputSpec, TextMarks
from app.conversation.thinking import (
    answer_marks_of,
    marks_of,
    named_marks,
    thought_apart,
    thought_at_end,
)
from app.conversation.tokenizer import HuggingFaceTokenizer
from tests.app.conversation.chat_templates import FETCH, TEMPLATES, saved, tokenizer_of
from tests.app.conversation.test_derivation import ARGUMENTS, CALLS, FRAMES, template_of
from tests.app.gateway import Gateway

#: by model: the marks that open and close its thoughts
PAIRS = {
    "Qwen 3": ("<think>", "</think>"),
    "MiniMax M3": ("<mm:think>", "</mm:think>"),
    "K2-Horizon": ("<ifm|think>", "</ifm|think>"),
    "LongCat": ("<longcat_think>", "</longcat_think>"),
    "PLaMo 3": ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    "Apertus": ("<|inner_prefix|>", "<|inner_suffix|>"),
    "Hunyuan 3": ("<think:opensource>", "</think:opensource>"),
    "Hunyuan 4": ("<think:6124c78e>", "</think:6124c78e>"),
    "Kimi-VL": ("◁think▷", "◁/think▷"),
    "MiniCPM 3": ("<|thought_start|>", "<|thought_end|>"),
    "slash behind the bar": ("<|thinking|>", "<|/thinking|>"),
}
EFFORTS = ("<ifm|think>", "<ifm|think_fast>", "<ifm|think_faster>")


def closed(begin: str) -> str:
    return f"</{begin[1:]}"


@pytest.mark.parametrize("where", ["template", "vocabulary"])
@pytest.mark.parametrize("model", PAIRS)
def test_the_marks_of_a_model(model: str, where: str) -> None:
    begin, end = PAIRS[model]
    text = f"{{% if x %}}{{{{ '{begin}\\n' }}}}{{% endif %}}\\n{end}"
    marks = marks_of(text, ()) if where == "template" else marks_of("", ["<a>", end, begin])
    assert marks is not None
    assert marks.pairs == ((begin, end),)


@pytest.mark.parametrize(
    "template",
    [
        "{{ message['thinking'] }}",
        "<think>",
        "</x_think>",
        "{% if a<think and b>'</think>' %}",
        "'<think{}>'.format(x) '</think{}>'.format(x)",
        "<|think|> <|end|>",
    ],
)
def test_texts_that_are_no_marks(template: str) -> None:
    assert marks_of(template, ()) is None


def test_a_model_with_a_pair_for_each_effort() -> None:
    marks = marks_of("", [*map(closed, EFFORTS), *EFFORTS])
    assert marks is not None
    assert marks.pairs == tuple((begin, closed(begin)) for begin in EFFORTS)
    for begin in EFFORTS:
        assert thought_at_end(f"<|assistant|>{begin}\n", marks) == "open"
        assert thought_at_end(f"<|assistant|>{begin}\n{closed(begin)}\n", marks) == "closed"
        message = {"role": "assistant", "content": f"{begin}\nHm.\n{closed(begin)}\n\nYes."}
        apart = {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}
        assert thought_apart(message, marks) == apart
    assert thought_at_end("<|assistant|>", marks) == "free"


def test_named_marks_at_the_beginning_of_a_text() -> None:
    assert [marks.end for marks in named_marks("<a_think>")] == ["</a_think>"]
    assert [marks.end for marks in named_marks("<|thought_start|>...")] == ["<|thought_end|>"]
    assert [(m.begin, m.end) for m in named_marks("</a_think>x")] == [("", "</a_think>")]
    assert [*named_marks("x <a_think>")] == []


#: prompts of the model end with its mark
OPENED = template_of(FRAMES["chatml"], CALLS["name in a tag"], ARGUMENTS["json"])
PROPERTIES = {"n": {"type": "integer", "minimum": 0, "maximum": 9}}
PARAMETERS = {
    "type": "object",
    "properties": PROPERTIES,
    "required": ["n"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": PARAMETERS}}]


def opened_by(path: Path, begin: str, others: tuple[str, ...]) -> str:
    """The folder of a model whose prompts end inside of a thought."""
    return saved(f"{OPENED}{begin}\n", str(path), (begin, *others))


@pytest.mark.parametrize("choice", ["required", "auto", "none"])
@pytest.mark.parametrize(
    ("begin", "others"),
    [
        *((begin, (end,)) for begin, end in PAIRS.values()),
        *((begin, (*map(closed, EFFORTS), *EFFORTS)) for begin in EFFORTS),
    ],
)
def test_an_answer_that_begins_inside_a_thought(
    begin: str, others: tuple[str, ...], choice: str, tmp_path: Path
) -> None:
    """Reasoning and calls come apart, and nothing of a mark is in either."""
    folder = opened_by(tmp_path, begin, others)
    tokenizer = HuggingFaceTokenizer(folder)
    assert tokenizer.evidence.basis == "derived"
    messages = [{"role": "user", "content": "hi"}]
    assert tokenizer.render(messages, (), OutputSpec()).thought == "open"
    body = {
        "model": "m",
        "messages": messages,
        "tools": TOOLS,
        "tool_choice": choice,
        "max_tokens": 4_000,
        "thinking_token_budget": 20,
    }
    thoughts = []
    with Gateway(tokenizer=folder, reasoning="on", model_name="m") as gateway:
        for seed in range(3):
            answer = gateway.post(body | {"seed": seed})
            assert answer.status_code == 200, answer.text
            message = answer.json()["choices"][0]["message"]
            thoughts.append(message.get("reasoning_content") or "")
            texts = thoughts[-1] + (message["content"] or "")
            assert not any(mark in texts for mark in (begin, *others))
            assert bool(message.get("tool_calls")) or choice != "required"
    assert any(thoughts)


def test_a_template_that_shows_only_the_mark_that_begins_a_thought(tmp_path: Path) -> None:
    """REGRESSION: OLMo 3 Think's template ends prompts with <think>, and its vocabulary has no
    such token, so thoughts were content.
    """
    tokenizer = HuggingFaceTokenizer(saved(f"{OPENED}<think>", str(tmp_path)))
    messages = [{"role": "user", "content": "hi"}]
    assert tokenizer.render(messages, (), OutputSpec()).thought == "open"


@pytest.mark.parametrize(
    ("template", "special", "begin"),
    [
        ("", ("<response>", "</response>"), "<response>\n"),
        ("", ("<answer>", "</answer>"), "<answer>\n"),
        ("content.split('<answer>')[-1].split('</answer>')[0]", (), "<answer>\n"),
        ("<response>{{ result }}</response>", (), None),
        ("<answer>", ("</answer>",), None),
    ],
)
def test_marks_around_the_text_behind_a_thought(
    template: str, special: tuple[str, ...], begin: str | None
) -> None:
    marks = answer_marks_of(template, special)
    assert (marks and marks.begin) == begin


#: as ERNIE 4.5 writes calls
ERNIE = template_of(
    FRAMES["chatml"],
    ("", '<tool_call>\n{"name": "', '", "arguments": ', "}\n</tool_call>", "\n", ""),
    ARGUMENTS["json"],
)


def test_a_known_format_whose_model_writes_marks_around_its_text(tmp_path: Path) -> None:
    special = ("<think>", "</think>", "<response>", "</response>")
    folder = saved(f"{ERNIE}<think>\n", str(tmp_path), special)
    wire = HuggingFaceTokenizer(folder).wire
    assert wire.name == "hermes"
    assert getattr(wire, "text", None) == answer_marks_of("", special)
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 400}
    with Gateway(tokenizer=folder, reasoning="on", model_name="m") as gateway:
        for seed in range(6):
            asked = body | {"seed": seed, "tools": TOOLS, "thinking_token_budget": 9}
            answer = gateway.post(asked)
            assert answer.status_code == 200, answer.text
            message = answer.json()["choices"][0]["message"]
            texts = (message["content"] or "") + (message.get("reasoning_content") or "")
            assert not any(mark in texts for mark in special)


def test_a_format_with_marks_of_its_own_keeps_them(tmp_path: Path) -> None:
    """A known format that writes the same calls, but no marks around text, is not taken."""
    special = ("<think>", "</think>", "<answer>", "</answer>")
    marked = ERNIE.replace("{{ m.content or '' }}", "<|text|>{{ m.content or '' }}<|/text|>")
    # the prompt ends with a line feed
    folder = saved(f"{marked}{{{{ '' }}}}", str(tmp_path), special)
    wire = HuggingFaceTokenizer(folder).wire
    assert wire.name == "derived"
    assert getattr(wire, "text", None) == TextMarks(
        begin="<|text|>", end="<|/text|>", is_beside_calls=True
    )


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize(
    ("variables", "thought"),
    [
        ({}, "free"),
        ({"reasoning_effort": "high"}, "free"),
        ({"reasoning_effort": "minimal"}, "closed"),
    ],
)
@pytest.mark.parametrize("past", [None, "Hm."])
def test_the_end_of_a_thought_that_is_the_end_of_a_turn(
    variables: Mapping[str, Any], thought: str, past: str | None
) -> None:
    """REGRESSION: <|end|><|begin|>assistant follows Solar's thoughts, but also each question, so
    no answer was allowed to begin with a thought.
    """
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Yes.", "reasoning_content": past},
        {"role": "user", "content": "hi"},
    ]
    tokenizer = tokenizer_of("upstage-Solar-Open-100B")
    assert tokenizer.render(messages, (), OutputSpec(), variables).thought == thought
