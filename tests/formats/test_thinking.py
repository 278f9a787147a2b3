"""An answer begins where its prompt ends: inside a thought, behind one, or free to begin one."""

import re

import pytest

from adapters.formats import (
    ContentDelta,
    OutputSpec,
    ReasoningDelta,
    ThinkingMarks,
    Tool,
    ToolStart,
    get_format,
    with_thinking,
)
from engine import Compiler, Matcher, ParseDivergence, Vocabulary

MARKS = ThinkingMarks(begin="<think>", end="</think>", inner_newlines=1, outer_newlines=2)
STOP = "<|im_end|>"
SPECIALS = ["<|im_start|>", STOP, "<tool_call>", "</tool_call>"]
TOOLS = (Tool("f", {"type": "object", "properties": {"x": {"type": "integer"}}}),)
CALL = '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>'


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    tokens = [bytes([byte]) for byte in range(256)] + [text.encode() for text in SPECIALS]
    specials = range(256, len(tokens))
    return Compiler(Vocabulary(tokens, stop_token_ids=[257], special_token_ids=specials))


def read(compiler: Compiler, output: OutputSpec, text: str) -> tuple[str, str, int]:
    """(reasoning, content, calls) of an answer. Raises ParseDivergence: it can't be written."""
    plan = with_thinking(get_format("hermes"), MARKS).plan(output, SPECIALS)
    parser, reader = compiler.compile_structural_tag(plan.spec_json).parser(), plan.reader()
    deltas = [d for byte in text.encode() for d in reader.feed(parser.feed(byte))]
    deltas += reader.feed(parser.feed(257)) + reader.feed(parser.finish()) + reader.finish()
    return (
        "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)),
        "".join(d.text for d in deltas if isinstance(d, ContentDelta)),
        sum(isinstance(d, ToolStart) for d in deltas),
    )


ANSWERS = {
    "inside": (OutputSpec(thought="open"), "hmm\n</think>\n\nwell", ("hmm", "well", 0)),
    "inside, behind the mark": (
        OutputSpec(thought="open"), "\nhmm</think>well", ("hmm", "well", 0)
    ),
    "a call": (OutputSpec(TOOLS, thought="open"), f"hmm</think>\n\n{CALL}", ("hmm", "", 1)),
    "a call that must be": (
        OutputSpec(TOOLS, "required", thought="open"), f"\nhmm\n</think>\n\n{CALL}", ("hmm", "", 1)
    ),
    "a value": (
        OutputSpec(response_schema={"type": "integer"}, thought="open"),
        "</think>\n\n12", ("", "12", 0),
    ),
    "behind": (OutputSpec(thought="closed"), "well", ("", "well", 0)),
    "off, and the prompt began": (
        OutputSpec(reasoning="off", thought="open"), "</think>\n\nwell", ("", "well", 0)
    ),
    "free, with a thought": (OutputSpec(), "<think>\nhmm\n</think>\n\nwell", ("hmm", "well", 0)),
    "free, without": (OutputSpec(), "well", ("", "well", 0)),
    "as long as the budget": (
        OutputSpec(thought="open", thinking_tokens=3), "hmm</think>well", ("hmm", "well", 0)
    ),
    "a budget, and free": (
        OutputSpec(TOOLS, "required", thinking_tokens=4),
        f"<think>hmm\n</think>{CALL}", ("hmm", "", 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_read_from_where_the_prompt_ends(compiler: Compiler, name: str) -> None:
    output, text, said = ANSWERS[name]
    assert read(compiler, output, text) == said


WRONG = {
    "an open thought that never ends": (OutputSpec(TOOLS, "required", thought="open"), CALL),
    "a second thought": (OutputSpec(thought="open"), "hmm</think><think>again</think>well"),
    "a thought behind a closed one": (OutputSpec(thought="closed"), "<think>hmm</think>well"),
    "a thought that is off": (OutputSpec(reasoning="off", thought="open"), "hmm</think>well"),
    "one token over the budget": (
        OutputSpec(thought="open", thinking_tokens=3),
        "hmm\n</think>well",
    ),
    "a call in a thought": (OutputSpec(TOOLS, thought="open"), f"{CALL}</think>"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_would_be_read_two_ways_can_not_be_written(compiler: Compiler, name: str) -> None:
    with pytest.raises(ParseDivergence):
        read(compiler, *WRONG[name])


HARMONY_TEXTS = get_format("harmony").own_tokens
THOUGHT = "<|channel|>analysis<|message|>{}<|end|><|start|>assistant"
FINAL = "<|channel|>final<|message|>well<|return|>"


@pytest.mark.parametrize(
    ("answer", "is_allowed"),
    [
        (FINAL, True),
        (THOUGHT.format("hmm") + FINAL, True),
        (THOUGHT.format("hmm!") + FINAL, False),
        (THOUGHT.format("h") * 2 + FINAL, False),
    ],
)
def test_the_budget_of_harmony_counts_in_one_thought(answer: str, is_allowed: bool) -> None:
    tokens = [bytes([byte]) for byte in range(256)] + [text.encode() for text in HARMONY_TEXTS]
    ids = {text: 256 + number for number, text in enumerate(HARMONY_TEXTS)}
    stops = [ids["<|return|>"]]
    vocabulary = Vocabulary(tokens, stop_token_ids=stops, special_token_ids=list(ids.values()))
    pieces = re.split(f"({'|'.join(map(re.escape, HARMONY_TEXTS))})", answer)
    written = [t for piece in pieces for t in ([ids[piece]] if piece in ids else piece.encode())]
    plan = get_format("harmony").plan(OutputSpec(thinking_tokens=3), HARMONY_TEXTS)
    matcher = Matcher(Compiler(vocabulary).compile_structural_tag(plan.spec_json))
    assert all(matcher.accept_token(token) for token in written) is is_allowed
