"""Custom tools: every family writes an input in its own notation, and the grammar constrains it."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from adapters.formats import (
    FORMATS,
    InputFormat,
    OutputSpec,
    PastCall,
    ToolInput,
    ToolStart,
    custom_tool,
    for_own_engine,
    for_reading_foreign,
    get_format,
)
from adapters.formats.reading.input_reader import InputReader
from adapters.formats.tags.notation import Elements
from engine import ParseDivergence, SpecError, Style
from engine.frontends.structural_tag.tag_styles import JSON_NAMES as TYPE_NAMES

from .cases import SPECIALS, Said
from .harness import compiled_as, compiler, encode, is_accepted, read

TEXT = InputFormat()
REGEX = InputFormat("regex", r'[a-z"<>/=\\]+( b)?\n?')
#: a rule, a literal, a class with characters that JSON escapes, and ignored text
LARK = InputFormat(
    "lark", 'start: list "!"\nlist: WORD ("," WORD)*\nWORD: /[a-zé"<\\\\\\n]+/\n%ignore " "'
)
#: what each format accepts, and what it refuses
INPUTS = {
    "text": (TEXT, 'say "hi"\n<b> \\ é😀', None),
    "regex": (REGEX, 'ab"</x=\\ b\n', "AB"),
    "lark": (LARK, 'ab"<, é\\\n !', "ab,,c!"),
}
DISTINCT = sorted({wire.name for wire in FORMATS.values()})


def output(wanted: InputFormat, choice: str = "required") -> OutputSpec:
    return OutputSpec((custom_tool("f", "Runs code", wanted),), tool_choice=choice)  # type: ignore[arg-type]


def call_text(name: str, text: str) -> str:
    """Return a call as history shows it, where an answer may begin with it."""
    number = "functions.f:0" if name == "kimi_k2" else "abcdef123"
    call = PastCall(number, "f", json.dumps({"input": text}, ensure_ascii=False))
    shown = get_format(name).calls_texts([call])[0]
    shown = shown.replace("f:functions.f:0", "f:0")
    if name == "lfm2":
        # strings between apostrophes have no escapes
        shown = shown.replace("input='", 'input="').replace("')", '")')
        shown = shown.replace(f'"{text}"', json.dumps(text, ensure_ascii=False))
        shown = f"<|tool_call_start|>[f(input={json.dumps(text, ensure_ascii=False)})]"
        shown += "<|tool_call_end|>"
    shown = shown.removeprefix(getattr(get_format(name), "start", ""))
    return shown + getattr(get_format(name), "tail", "")


def calls(name: str, wanted: InputFormat, text: str, *, longest: int = 1) -> list[object] | None:
    """Return the calls of an answer; None: the grammar refuses it."""
    plan, grammar = compiled_as(name, output(wanted), for_own_engine)
    ids = encode(name, text, longest)
    if not is_accepted(grammar, ids):
        return None
    return list(read(plan, grammar, ids).calls)


@pytest.mark.parametrize("syntax", sorted(INPUTS))
@pytest.mark.parametrize("name", DISTINCT)
def test_every_family_writes_an_input_in_the_notation_of_its_history(
    name: str, syntax: str
) -> None:
    """The text of a past call is accepted as an answer, and read as the same input."""
    wanted, accepted, refused = INPUTS[syntax]
    for longest in (1, 9):
        assert calls(name, wanted, call_text(name, accepted), longest=longest) == [("f", accepted)]
    if refused is not None:
        assert calls(name, wanted, call_text(name, refused)) is None


#: by format: the text around an input, and how it is written inside
BY_HAND = {
    "hermes": ('<tool_call>\n{"name": "f", "arguments": {"input": "', '"}}\n</tool_call>'),
    "mistral_v13": ('[TOOL_CALLS]f[ARGS]{ "input" :"', '"\n}'),
    "harmony": (
        '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"input":"',
        '"}<|call|>',
    ),
    "llama4_pythonic": ('[f(input="', '")]'),
    "qwen_coder": (
        "<tool_call>\n<function=f>\n<parameter=input>\n",
        "\n</parameter>\n</function>\n</tool_call>",
    ),
    "glm_45": (
        "<tool_call>f\n<arg_key>input</arg_key>\n<arg_value>",
        "</arg_value>\n</tool_call>",
    ),
    "gemma_4": ('<|tool_call>call:f{input:<|"|>', '<|"|>}<tool_call|>'),
    "deepseek_v32": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n'
        '<｜DSML｜parameter name="input" string="true">',
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    ),
    "minicpm_5": ('<function name="f"><param name="input">', "</param></function>"),
}
QUOTED = {"hermes", "mistral_v13", "harmony", "llama4_pythonic"}
#: a format, an input inside a JSON string and raw, and what it means; None: refused
WRITTEN: list[tuple[InputFormat, str, str | None, str | None]] = [
    (TEXT, r"a\n\"b\"", 'a\n"b"', 'a\n"b"'),
    (TEXT, r"\ud83d\ude00\u0041\/", None, "😀A/"),
    (TEXT, "", "", ""),
    (TEXT, 'a"b', None, None),
    (REGEX, r"ab\\", "ab\\", "ab\\"),
    (REGEX, r"\u0061b\n", None, "ab\n"),
    (REGEX, "ab c", "ab c", None),
    (REGEX, "", "", None),
    (LARK, "a, b!", "a, b!", "a, b!"),
    (LARK, r"\"\n!", '"\n!', '"\n!'),
    (LARK, r"\u0061\u0021", None, "a!"),
    (LARK, "a,!", "a,!", None),
    (LARK, "a", "a", None),
]


@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_inputs_by_hand(name: str) -> None:
    """A family accepts the inputs of the format with their meaning, and refuses others."""
    begin, end = BY_HAND[name]
    found = []
    for wanted, quoted, raw, means in WRITTEN:
        written = quoted if name in QUOTED else raw
        if written is not None:
            expected = None if means is None else [("f", means)]
            if calls(name, wanted, begin + written + end) != expected:
                found.append((wanted, written))
    assert found == []


def test_a_wrapped_input() -> None:
    """MiniCPM writes characters of XML in a wrap, which is no part of the input."""
    begin, end = BY_HAND["minicpm_5"]
    assert calls("minicpm_5", LARK, f'{begin}<![CDATA[a"<!]]>{end}') == [("f", 'a"<!')]


#: styles of elements whose strings are JSON
JSON_ELEMENTS = (
    Style("<p={key}>", "</p>", values="quoted"),
    Style("<k>{key}</k>\n<v>", "</v>", glue="\n", values="quoted"),
    Style("{key}({type}): ", "\n", TYPE_NAMES, values="quoted"),
    Style("<{key}>", "</{key}>", values="quoted"),
)


@pytest.mark.parametrize("style", JSON_ELEMENTS)
@pytest.mark.parametrize("syntax", sorted(INPUTS))
def test_an_input_in_an_element_that_is_json(style: Style, syntax: str) -> None:
    wanted, accepted, refused = INPUTS[syntax]
    family = replace(get_format("qwen_coder"), arguments=Elements(style))  # type: ignore[type-var]
    plan = for_own_engine(family.plan(output(wanted), SPECIALS["qwen_coder"]))
    grammar = compiler("qwen_coder").compile_structural_tag(plan.spec_json)

    def ids_of(text: str) -> list[int]:
        call = PastCall("", "f", json.dumps({"input": text}, ensure_ascii=False))
        return encode("qwen_coder", family.calls_texts([call])[0])

    assert is_accepted(grammar, ids_of(accepted))
    assert read(plan, grammar, ids_of(accepted)).calls == [("f", accepted)]
    assert refused is None or not is_accepted(grammar, ids_of(refused))


@pytest.mark.parametrize("syntax", sorted(INPUTS))
@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_a_stream_adds_up_to_the_whole_input(name: str, syntax: str) -> None:
    """The deltas of a call say that it is custom; each state of a stream begins the whole."""
    wanted, text, _ = INPUTS[syntax]
    plan, grammar = compiled_as(name, output(wanted), for_own_engine)
    parser, reader, deltas, states = grammar.parser(), plan.reader(), [], [Said()]
    for token in encode(name, call_text(name, text)):
        new = reader.feed(parser.feed(token))
        deltas += new
        states.append(Said().add(deltas))
    deltas += [*reader.feed(parser.finish()), *reader.finish()]
    whole = Said().add(deltas)
    assert whole.calls == [("f", text)]
    assert all(one.starts(two) for one, two in pairwise([*states, whole]))
    assert deltas[0] == ToolStart(0, "f", deltas[0].id, is_custom=True)  # type: ignore[union-attr]
    assert all(isinstance(each, ToolInput) for each in deltas[1:])
    if syntax == "text":
        # an input arrives while it is written, not at its end
        assert len(deltas) > len(text) // 2


@pytest.mark.parametrize("cut", range(40))
def test_a_truncated_answer_keeps_the_input_so_far(cut: int) -> None:
    """An answer that ends inside an input has the complete characters of it."""
    plan, grammar = compiled_as("hermes", output(LARK), for_own_engine)
    begin = BY_HAND["hermes"][0]
    inside = r"a\n\"\u00e9,é,\\b!"
    whole = 'a\n"é,é,\\b!'
    said = read(plan, grammar, encode("hermes", begin + inside[:cut]))
    assert said.calls[0][0] == "f"
    assert whole.startswith(said.calls[0][1])


def test_a_custom_tool_beside_functions_and_text() -> None:
    """Text, a call of a function and one of a custom tool keep their forms in one answer."""
    from adapters.formats import Tool

    spec = OutputSpec((Tool("g", {}), custom_tool("f", "", LARK)))
    plan, grammar = compiled_as("hermes", spec, for_own_engine)
    text = (
        'Hi.<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>\n'
        '<tool_call>\n{"name": "f", "arguments": {"input": "a!"}}\n</tool_call>'
    )
    ids = encode("hermes", text)
    assert is_accepted(grammar, ids)
    said = read(plan, grammar, ids)
    assert (said.content, said.calls) == ("Hi.", [("g", "{}"), ("f", "a!")])


@pytest.mark.parametrize("name", ["hermes", "qwen_coder"])
def test_text_inputs_of_a_foreign_engine(name: str) -> None:
    """An answer of a foreign engine is read as the same input."""
    plan, grammar = compiled_as(name, output(TEXT), for_reading_foreign)
    text = 'say "hi"\n'
    assert read(plan, grammar, encode(name, call_text(name, text))).calls == [("f", text)]


@pytest.mark.parametrize("wanted", [REGEX, LARK], ids=["regex", "lark"])
def test_the_description_shows_the_grammar(wanted: InputFormat) -> None:
    """The prompt's description of a tool contains its own text and the whole grammar."""
    tool = custom_tool("f", "Runs code", wanted)
    assert tool.description.startswith("Runs code\n\nThe input must match this ")
    assert tool.description.endswith(wanted.definition)


#: grammars that cannot constrain the inside of a JSON string, and the construct that errors name
REFUSED = [
    ("start: <[1]>", "a token inside a JSON string"),
    ("start: %json {}", "%json inside a JSON string"),
    ("start: a\na[max_tokens=3]: /.*/", "max_tokens inside a JSON string"),
]


@pytest.mark.parametrize(("definition", "construct"), REFUSED)
def test_constructs_without_characters_are_refused_inside_json(
    definition: str, construct: str
) -> None:
    """A construct that a JSON string cannot contain is named; raw values may contain it."""
    wanted = InputFormat("lark", definition)
    with pytest.raises(SpecError, match=construct):
        compiled_as("hermes", output(wanted), for_own_engine)
    compiled_as("qwen_coder", output(wanted), for_own_engine)


def test_a_regular_expression_is_matched_as_a_whole() -> None:
    """Alternatives and flags of an expression stay inside its anchors."""
    for pattern, accepted, refused in (
        ("a|b", "b", "ab"),
        ("(?i)a", "A", "B"),
        ("^a$", "a", "aa"),
    ):
        wanted = InputFormat("regex", pattern)
        assert calls("hermes", wanted, call_text("hermes", accepted)) == [("f", accepted)]
        assert calls("hermes", wanted, call_text("hermes", refused)) is None


ESCAPED = r'{ "input" : "a\n\u00e9\ud83d\ude00\\\"\/b" }'


@pytest.mark.parametrize("cut", range(len(ESCAPED) + 1))
def test_the_input_reader_takes_any_cuts(cut: int) -> None:
    """An input is decoded alike, wherever its arguments are cut."""
    reader = InputReader()
    assert reader.text(ESCAPED[:cut]) + reader.text(ESCAPED[cut:]) == 'a\né😀\\"/b'


def test_a_foreign_call_is_no_input() -> None:
    """A custom tool's call without the argument is refused."""
    plan, grammar = compiled_as("hermes", output(TEXT), for_own_engine)
    text = '<tool_call>\n{"name": "f", "arguments": {"other": ""}}\n</tool_call>'
    with pytest.raises(ParseDivergence):
        read(plan, grammar, encode("hermes", text))


@pytest.mark.parametrize("name", DISTINCT)
def test_the_prompt_shows_the_tool_with_its_grammar(name: str) -> None:
    """Prompts without a chat template show the name, the argument and the grammar."""
    wanted = InputFormat("regex", "[a-c]{3}")
    spec = OutputSpec((custom_tool("run", "Runs it", wanted),))
    prompt = get_format(name).render([{"role": "user", "content": "hi"}], spec.tools, spec)
    for text in ("run", "input", "Runs it", "[a-c]{3}"):
        assert text in prompt
