"""Content that may stand between marks, behind a thought in any of a model's pairs of marks."""

import json
from dataclasses import replace

import pytest

from adapters.formats import (
    ContentDelta,
    OutputSpec,
    ReasoningDelta,
    TagFamily,
    TextMarks,
    ThinkingMarks,
    Tool,
    ToolArguments,
    for_own_engine,
    get_format,
)
from engine import Compiler, ParseDivergence, Vocabulary

MARKED = TextMarks(
    begin="<response>\n", end="\n</response>", is_beside_calls=True, is_optional=True
)
THINK = "<think>\nHm.\n</think>\n\n"
CALL = '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>'
SAID = "<response>\nYes.\n\nNo.\n</response>"
STOP = "<|im_end|>"
TOKENS = (STOP, "<tool_call>", "</tool_call>")
TOOLS = (Tool("f", {"type": "object", "properties": {"x": {"type": "integer"}}}),)
AUTO, NONE = OutputSpec(TOOLS), OutputSpec()
REQUIRED = replace(AUTO, tool_choice="required")
VALUE = OutputSpec(response_schema={"type": "integer"})

#: what is required, an answer, and its content and calls; None: it is refused
ANSWERS = {
    "marked": (NONE, SAID, ("Yes.\n\nNo.", 0)),
    "marked, with a line feed": (NONE, f"{SAID}\n", ("Yes.\n\nNo.", 0)),
    "plain": (NONE, "Yes.\n", ("Yes.\n", 0)),
    "beside tools": (AUTO, SAID, ("Yes.\n\nNo.", 0)),
    "plain beside tools": (AUTO, "Yes.", ("Yes.", 0)),
    "before a call": (AUTO, f"{SAID}\n{CALL}", ("Yes.\n\nNo.", 1)),
    "plain before a call": (AUTO, f"Yes.\n{CALL}", ("Yes.\n", 1)),
    "a call": (AUTO, CALL, ("", 1)),
    "a required call": (REQUIRED, CALL, ("", 1)),
    "no text before a required call": (REQUIRED, f"{SAID}\n{CALL}", None),
    "a value": (VALUE, "12", ("12", 0)),
    "a marked value": (VALUE, "<response>\n12\n</response>", ("12", 0)),
    "no other value": (VALUE, "<response>\nx\n</response>", None),
    "marks in text": (NONE, f"So: {SAID}", None),
    "text behind the marks": (NONE, f"{SAID} So.", None),
}


def family(marks: TextMarks) -> TagFamily:
    hermes = get_format("hermes")
    assert isinstance(hermes, TagFamily)
    return replace(hermes, text=marks)


def read(output: OutputSpec, text: str, wire: TagFamily | None = None) -> tuple[str, str, int]:
    """Return reasoning, content and the number of calls. Raises ParseDivergence."""
    tokens = [*(bytes([byte]) for byte in range(256)), *(text.encode() for text in TOKENS)]
    vocabulary = Vocabulary(tokens, stop_token_ids=[256], special_token_ids=[256, 257, 258])
    plan = for_own_engine((wire or family(MARKED)).plan(output, TOKENS))
    grammar = Compiler(vocabulary).compile_structural_tag(plan.spec_json)
    parser, reader = grammar.parser(), plan.reader()
    ids, rest = [], text
    while rest:
        number = next((n for n in (257, 258) if rest.startswith(TOKENS[n - 256])), None)
        size = len(TOKENS[number - 256]) if number else 1
        ids += [number] if number else [*rest[0].encode()]
        rest = rest[size:]
    deltas = [delta for each in [*ids, 256] for delta in reader.feed(parser.feed(each))]
    deltas += [*reader.feed(parser.finish()), *reader.finish()]
    arguments = "".join(d.text for d in deltas if isinstance(d, ToolArguments))
    calls = arguments.count("{")
    assert not calls or json.loads(arguments) == {"x": 1}
    return (
        "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)),
        "".join(d.text for d in deltas if isinstance(d, ContentDelta)),
        calls,
    )


@pytest.mark.parametrize("thought", ["", THINK])
@pytest.mark.parametrize("name", ANSWERS)
def test_content_that_may_stand_between_marks(name: str, thought: str) -> None:
    output, text, means = ANSWERS[name]
    if means is None:
        with pytest.raises(ParseDivergence):
            read(output, thought + text)
    else:
        assert read(output, thought + text) == ("Hm." if thought else "", *means)


def test_marks_that_content_has_only_beside_tools() -> None:
    marks = family(TextMarks(begin="Assistant: ", end="", only_with_tools=True))
    assert read(NONE, "Yes.", marks) == ("", "Yes.", 0)
    assert read(AUTO, "Assistant: Yes.", marks) == ("", "Yes.", 0)
    with pytest.raises(ParseDivergence):
        read(AUTO, "Yes.", marks)


@pytest.mark.parametrize("mark", ["think", "think_fast"])
@pytest.mark.parametrize("output", [NONE, AUTO, REQUIRED])
def test_a_thought_between_any_pair_of_marks(mark: str, output: OutputSpec) -> None:
    """The mark at the end is that of the beginning, where the answer has both."""
    pairs = ThinkingMarks(
        begin="<think>",
        end="</think>",
        inner_newlines=1,
        outer_newlines=2,
        others=(("<think_fast>", "</think_fast>"),),
    )
    written = replace(family(MARKED), thinking=pairs)
    answer, means = (CALL, ("Hm.", "", 1)) if output is REQUIRED else ("Yes.", ("Hm.", "Yes.", 0))
    thought = f"<{mark}>\nHm.\n</{mark}>\n\n"
    assert read(output, thought + answer, written) == means
    opened = replace(output, thought="open")
    assert read(opened, thought.removeprefix(f"<{mark}>") + answer, written) == means
    other = "think" if mark == "think_fast" else "think_fast"
    with pytest.raises(ParseDivergence):
        read(output, thought.replace(f"</{mark}", f"</{other}") + answer, written)
