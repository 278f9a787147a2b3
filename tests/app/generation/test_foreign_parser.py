"""Any output of a stock engine is read as text and never ends as an error."""

from collections.abc import Iterator
from io import StringIO

import pytest

from adapters.formats import (
    ContentDelta,
    InputFormat,
    OutputSpec,
    ReasoningDelta,
    ResponseGrammar,
    Tool,
    ToolArguments,
    ToolInput,
    custom_tool,
)
from app.constraints.constraint_plan import ConstraintPlan
from app.conversation.tokenizer import BuiltinTokenizer
from app.errors import ApiError
from app.generation.foreign_parser import ForeignParser
from app.observability.logs import make_logger
from app.observability.metrics import Metrics
from engine import Compiler, Event, ParseDivergence, Parser
from tests.app.planners import make_planner

CALL = '<tool_call>\n{"name": "f", "arguments": %s}\n</tool_call><|im_end|>'
HARMONY = (
    "<|channel|>commentary to=functions.f <|constrain|>json<|message|>%s<|call|>",
    "<|channel|>analysis<|message|>%s<|end|><|start|>assistant",
)
TOKENIZERS = {name: BuiltinTokenizer(name) for name in ("hermes", "harmony")}


async def constraint(
    name: str, *, backend: str, output: OutputSpec | None = None
) -> ConstraintPlan:
    tokenizer = TOKENIZERS[name]
    compiler = Compiler(tokenizer.vocabulary)
    planner = make_planner(
        compiler,
        tokenizer.wire,
        tokenizer.special_texts,
        Metrics(),
        make_logger("info", StringIO()),
        backend=backend,
    )
    tools = (Tool("f", {"type": "object"}),)
    return await planner.plan(output or OutputSpec(tools, "required"), "me")


def ids(text: str | bytes) -> Iterator[int]:
    """Single bytes, and special tokens where their text stands."""
    tokens = TOKENIZERS["hermes"].vocabulary.tokens
    special = TOKENIZERS["hermes"].vocabulary.special_token_ids
    rest = text.encode() if isinstance(text, str) else text
    while rest:
        number = next((n for n in special if rest.startswith(tokens[n])), rest[0])
        yield number
        rest = rest[len(tokens[number]) :]


def feed(parser: Parser | ForeignParser, text: str | bytes) -> list[Event]:
    return [event for number in ids(text) for event in parser.feed(number)]


def said(plan: ConstraintPlan, text: str | bytes) -> dict[type, str]:
    """Texts of the deltas, by kind."""
    parser, reader = plan.parser(), plan.format_plan.reader()
    deltas = [*reader.feed(feed(parser, text))]
    deltas += [*reader.feed(parser.finish()), *reader.finish()]
    assert parser.is_whole()
    found: dict[type, str] = {}
    for delta in deltas:
        if isinstance(delta, ContentDelta | ReasoningDelta | ToolArguments | ToolInput):
            found[type(delta)] = found.get(type(delta), "") + delta.text
    return found


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        (b'{"a": "<|im_start|>"}', '{"a": "<|im_start|>"}'),
        (b'{"a": "<tool_call>"}', '{"a": "<tool_call>"}'),
        (b'{"a": "\xc3\xa9\xc3 \xff"}', '{"a": "é\ufffd \ufffd"}'),
        (b'{      \n\n  "a" :\t1}', '{      \n\n  "a" :\t1}'),
    ],
)
async def test_arguments_hold_whatever_text_holds(arguments: bytes, read: str) -> None:
    plan = await constraint("hermes", backend="xgrammar")
    text = CALL.encode().replace(b"%s", arguments)
    assert said(plan, text) == {ToolArguments: read}


async def test_thoughts_may_be_broken_utf_8() -> None:
    plan = await constraint("hermes", backend="xgrammar")
    text = b"<think>\n\xcd hm \xe2\x82</think>\n\n" + (CALL % "{}").encode()
    assert said(plan, text) == {ReasoningDelta: "\ufffd hm \ufffd", ToolArguments: "{}"}


async def test_tokens_that_the_spec_names_stay_tokens() -> None:
    call, thought = HARMONY
    plan = await constraint("harmony", backend="xgrammar")
    text = thought % "hm" + call % '{"a": "<tool_call>"}'
    assert said(plan, text) == {ReasoningDelta: "hm", ToolArguments: '{"a": "<tool_call>"}'}


@pytest.mark.parametrize("name", ["hermes", "harmony"])
async def test_a_cut_off_answer_loses_nothing_but_broken_bytes(name: str) -> None:
    plan = await constraint(name, backend="xgrammar")
    begin = (CALL if name == "hermes" else HARMONY[0]).split("%s")[0].encode()
    parser, reader = plan.parser(), plan.format_plan.reader()
    deltas = [*reader.feed(feed(parser, begin + b'{"a": "\xe2\x82'))]
    deltas += [*reader.feed(parser.finish()), *reader.finish()]
    text = "".join(delta.text for delta in deltas if isinstance(delta, ToolArguments))
    assert text == '{"a": "\ufffd'
    assert not parser.is_whole()


@pytest.mark.parametrize("wrong", ["x", "<tool_call>\n{]", CALL.replace('"f"', '"g"') % "{}"])
async def test_what_no_engine_may_let_pass_is_still_an_error(wrong: str) -> None:
    plan = await constraint("hermes", backend="xgrammar")
    parser = plan.parser()
    with pytest.raises(ParseDivergence):
        feed(parser, wrong)


@pytest.mark.parametrize("text", [b'{"a": "<|im_start|>"}', b'{"a": "\xff"}', b'{      "a": 1}'])
async def test_behind_our_own_engine_all_of_it_is_an_error(text: bytes) -> None:
    plan = await constraint("hermes", backend="switchyard")
    parser = plan.parser()
    with pytest.raises(ParseDivergence):
        feed(parser, CALL.encode().replace(b"%s", text))


@pytest.mark.parametrize("wanted", [InputFormat(), InputFormat("regex", "[a-c\\n]+")], ids=str)
async def test_inputs_of_custom_tools_are_read_in_any_spelling(wanted: InputFormat) -> None:
    """A stock engine enforces texts and regular expressions; its JSON may have any spelling."""
    output = OutputSpec((custom_tool("f", "", wanted),), "required")
    plan = await constraint("hermes", backend="xgrammar", output=output)
    assert said(plan, CALL % '{ "input" :"a\\u0062\\n" }') == {ToolInput: "ab\n"}


GRAMMARS = [
    ResponseGrammar("regex", "[ab]+", "regex"),
    ResponseGrammar("choice", ["a", "b"], "guided_choice"),
    ResponseGrammar("ebnf", 'root ::= "a"', "ebnf"),
    ResponseGrammar(
        "structural_tag", {"format": {"type": "const_string", "value": "a"}}, "response_format"
    ),
]


@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda grammar: grammar.kind)
async def test_content_in_a_grammar_is_read_as_text(grammar: ResponseGrammar) -> None:
    """A stock engine has a dialect of its own, so all of its text is content."""
    output = OutputSpec(response_grammar=grammar)
    plan = await constraint("hermes", backend="xgrammar", output=output)
    assert plan.spec is not None
    assert "switchyard" not in plan.spec
    text = "<think>\nhm</think>\n\nAny tex\u0074.<|im_end|>"
    assert said(plan, text) == {ReasoningDelta: "hm", ContentDelta: "Any text."}


@pytest.mark.parametrize(
    ("output", "backend", "param"),
    [
        (
            OutputSpec((custom_tool("f", "", InputFormat("lark", 'start: "a"')),)),
            "xgrammar",
            "tools[0].custom.format.grammar.definition",
        ),
        (
            OutputSpec(response_grammar=ResponseGrammar("lark", 'start: "a"', "guided_grammar")),
            "xgrammar",
            "guided_grammar",
        ),
        (OutputSpec(response_grammar=GRAMMARS[0]), "llguidance", "regex"),
    ],
    ids=["custom tool", "Lark", "no structural tags"],
)
async def test_grammars_that_a_stock_engine_lacks_are_refused(
    output: OutputSpec, backend: str, param: str
) -> None:
    """A constraint that the workers' engine cannot enforce is refused with its field."""
    with pytest.raises(ApiError) as caught:
        await constraint("hermes", backend=backend, output=output)
    assert (caught.value.param, caught.value.code) == (param, "unsupported_by_backend")


async def test_a_schema_in_a_structural_tag_is_enforced_or_refused() -> None:
    """A keyword that the workers' engine drops is named with its place in the tag."""
    schema = {"type": "object", "properties": {"a": {"not": {"type": "null"}}}}
    elements = [
        {"type": "const_string", "value": "a"},
        {"type": "json_schema", "json_schema": schema},
    ]
    tag = {"format": {"type": "sequence", "elements": elements}}
    output = OutputSpec(response_grammar=ResponseGrammar("structural_tag", tag, "response_format"))
    with pytest.raises(ApiError) as caught:
        await constraint("hermes", backend="xgrammar", output=output)
    place = "/format/elements/1/json_schema/properties/a/not"
    assert caught.value.code == "invalid_structural_tag"
    assert f"at {place}: " in caught.value.message
