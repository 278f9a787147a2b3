"""Answers that nothing constrained: whole calls are calls, and all other text is content."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.formats import (
    FORMATS,
    ContentDelta,
    InputFormat,
    OutputSpec,
    PastCall,
    ReasoningDelta,
    ResponseGrammar,
    Tool,
    ToolArguments,
    ToolInput,
    ToolStart,
    custom_tool,
    get_format,
)
from app.constraints.free_text import FreeParser, FreeText, TolerantParser
from app.conversation.tokenizer import BuiltinTokenizer
from app.generation.foreign_parser import token_node_ids
from engine import Compiler, WorkBudget

TOKENIZER = BuiltinTokenizer()
VOCABULARY = TOKENIZER.vocabulary
COMPILER = Compiler(VOCABULARY)
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "s": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
TOOLS = (Tool("f", SCHEMA, strict=True), Tool("g", {}))


def read(wire: str, output: OutputSpec, ids: "list[int]", size: int = 1) -> list[str]:
    """Return the message of an answer as lines; check that no byte is lost."""
    free = FreeText(COMPILER, get_format(wire), TOKENIZER.special_texts)
    plan, compiled = free.compile(output, WorkBudget())
    tolerant = TolerantParser(
        compiled.parser(), plan.roles, VOCABULARY.tokens, VOCABULARY.stop_token_ids
    )
    parser = FreeParser(tolerant, VOCABULARY, token_node_ids(plan.spec, VOCABULARY))
    reader = plan.reader()
    lines: list[str] = []
    data = b""
    for at in range(0, len(ids), size):
        events = [event for number in ids[at : at + size] for event in parser.feed(number)]
        data += b"".join(event.bytes for event in events)
        for delta in reader.feed(events):
            add(lines, delta)
    events = parser.finish()
    data += b"".join(event.bytes for event in events)
    for delta in [*reader.feed(events), *reader.finish()]:
        add(lines, delta)
    assert parser.is_whole()
    text = b"".join(VOCABULARY.tokens[n] for n in ids if n not in VOCABULARY.stop_token_ids)
    with_stops = b"".join(VOCABULARY.tokens[n] for n in ids)
    assert data in (text, with_stops) or not text.isascii()
    return lines


def add(lines: list[str], delta: object) -> None:
    match delta:
        case ToolStart():
            lines.append(f"call {delta.name}:")
        case ToolArguments() | ToolInput():
            lines[-1] += delta.text
        case ContentDelta() | ReasoningDelta():
            kind = "content" if isinstance(delta, ContentDelta) else "reasoning"
            if not lines or not lines[-1].startswith(kind):
                lines.append(f"{kind} ")
            lines[-1] += delta.text


CALL = '<tool_call>\n{"name": "f", "arguments": %s}\n</tool_call>'
LOST = '<tool_call>\n{"name": "h", "arguments": {}}\n</tool_call>'
#: (what, answer, lines)
ANSWERS = [
    ("text", "hello", ["content hello"]),
    ("empty", "", []),
    ("call", CALL % '{"a": 1}', ['call f:{"a": 1}']),
    ("wrong arguments", CALL % '{"a": "x", "b": []}', ['call f:{"a": "x", "b": []}']),
    ("other spelling", CALL % '{\n  "a" :1\n}', ['call f:{\n  "a" :1\n}']),
    (
        "text and calls",
        "so " + CALL % "{}" + "\n" + CALL % "{}",
        ["content so ", "call f:{}", "call f:{}"],
    ),
    ("unknown tool", LOST, ["content " + LOST]),
    ("no JSON", CALL % "{a}", ["content " + CALL % "{a}"]),
    ("call behind one that is lost", LOST + CALL % "{}", ["content " + LOST + CALL % "{}"]),
    (
        "call that does not end",
        CALL % "{}" + '<tool_call>\n{"name": "f", "arguments": {"a',
        ["call f:{}", 'content <tool_call>\n{"name": "f", "arguments": {"a'],
    ),
    (
        "reasoning",
        "<think>\nhm\n</think>\n\n" + CALL % "{}",
        ["reasoning hm", "call f:{}"],
    ),
    (
        "reasoning that names marks",
        "<think>\nno <tool_call> <|start|>\n</think>\n\nhi",
        ["reasoning no <tool_call> <|start|>", "content hi"],
    ),
    ("a second thought", "hi <think>x</think>", ["content hi <think>x</think>"]),
]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "lines"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS]
)
def test_whole_calls_are_calls_and_the_rest_is_content(text: str, lines: list[str], size: int):
    assert read("hermes", OutputSpec(tools=TOOLS), list(VOCABULARY.encode(text)), size) == lines


#: output specs that the format may be unable to write, or that the engine cannot enforce
SPECS = {
    "named": OutputSpec(tools=TOOLS, tool_choice="named", tool_name="g"),
    "schema": OutputSpec(response_schema={"type": "array", "uniqueItems": 7}),
    "grammar": OutputSpec(response_grammar=ResponseGrammar("ebnf", "root ::= (", "structured")),
    "no schema": OutputSpec(tools=(Tool("f", {"type": "strin"}), Tool("g", {"type": "array"}))),
    "pattern": OutputSpec(tools=(custom_tool("c", "", InputFormat("lark", "start: (")),)),
    "name": OutputSpec(tools=(Tool("<tool_call>", {}), Tool("f", {}))),
    "builtin": OutputSpec(tools=TOOLS, builtin_tools=("python",)),
    "none": OutputSpec(tools=TOOLS, tool_choice="none"),
    "twice": OutputSpec(tools=(Tool("f", {}), Tool("f", {}))),
}


@pytest.mark.parametrize("name", sorted(SPECS))
@pytest.mark.parametrize("wire", sorted(FORMATS))
def test_every_format_reads_text_for_every_request(wire: str, name: str):
    """A request that enforcing would refuse is answered, and text is content in every format."""
    lines = read(wire, SPECS[name], list(VOCABULARY.encode("hello, 5 < 6")))
    assert "".join(lines).removeprefix("content ").strip() == "hello, 5 < 6"


@settings(max_examples=60, deadline=None)
@given(
    wire=st.sampled_from(sorted(FORMATS)),
    ids=st.lists(st.integers(0, VOCABULARY.size - 1), max_size=60),
)
def test_no_tokens_end_the_reading_and_no_byte_is_lost(wire: str, ids: list[int]):
    """Broken characters become U+FFFD, whose number depends on the tokens around them."""
    read(wire, OutputSpec(tools=TOOLS), ids)
    read(wire, OutputSpec(tools=TOOLS), [n for n in ids if VOCABULARY.tokens[n].isascii()])


#: the begin of a turn, which the prompt has written
TURNS = {
    "functionary_v32": ">>>",
    "muse": "<|start|>assistant",
    "beam": "<|start|>assistant",
}
#: where history shows a call in another order than answers do
CALLS = {"harmony": '<|channel|>commentary to=functions.f<|message|>{"a": 1}<|call|>'}


@pytest.mark.parametrize("wire", sorted(FORMATS))
def test_the_text_of_a_format_s_own_call_is_a_call(wire: str):
    """The text is what the format's history shows for a call."""
    call = PastCall("a1b2c3d4e", "f", '{"a": 1}')
    text = get_format(wire).calls_texts([call])[-1].removeprefix(TURNS.get(wire, ""))
    text = CALLS.get(wire, text)
    lines = read(wire, OutputSpec(tools=TOOLS), list(VOCABULARY.encode(text)))
    assert any(line.startswith("call f:") for line in lines), (text, lines)


@pytest.mark.parametrize("wire", sorted(FORMATS))
def test_the_text_of_a_call_that_is_lost_is_content(wire: str):
    """Nothing of it is hidden but the token that stops: the marks of its section are content."""
    call = PastCall("a1b2c3d4e", "h", '{"a": 1}')
    text = get_format(wire).calls_texts([call])[-1].removeprefix(TURNS.get(wire, ""))
    lines = read(wire, OutputSpec(tools=TOOLS), list(VOCABULARY.encode(text)))
    assert lines == ["content " + text.removesuffix("<|call|>")]
