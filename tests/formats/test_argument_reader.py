"""Arguments in the styles of families are read as the JSON that they were written from.

The whole way: a notation writes the arguments, the engine's grammar accepts the text, and the
reader returns the same value, however the text is cut.
"""

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.formats.reading.argument_reader import PythonReader, argument_reader
from adapters.formats.tags.notation import (
    Elements,
    GemmaArguments,
    Notation,
    PythonArguments,
)
from engine import (
    STYLES,
    Compiled,
    Compiler,
    Matcher,
    SpecError,
    StyleRegion,
    Vocabulary,
)

NOTATIONS: dict[str, Notation] = {
    **{style: Elements(style) for style in STYLES if STYLES[style].values == "json"},
    "python": PythonArguments(),
    "gemma": GemmaArguments(),
    "functiongemma": GemmaArguments("functiongemma"),
}
SCHEMA: Any = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "part": {"type": "number"},
        "flag": {"type": "boolean"},
        "none": {"type": "null"},
        "list": {"type": "array", "items": {"type": ["string", "integer", "boolean", "null"]}},
        "inner": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
    "additionalProperties": False,
}
SCHEMA["properties"]["inner"]["additionalProperties"] = False
#: no text that ends a value in some style
letters = st.text(alphabet=st.sampled_from("ab \n\"'\\;=,é漢😀:{}[]0"), max_size=6)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "text": letters,
        "count": st.integers(-99, 99),
        "part": st.sampled_from([0.5, -2.25, 1e-3]),
        "flag": st.booleans(),
        "none": st.none(),
        # in a nested style, "0" in a list is read as a number
        "list": st.lists(
            letters.filter(lambda text: text.strip() != "0")
            | st.integers(0, 9)
            | st.booleans()
            | st.none(),
            max_size=3,
        ),
        "inner": st.fixed_dictionaries({}, optional={"text": letters}),
    },
)


@cache
def compiled(style: str) -> Compiled:
    vocabulary = Vocabulary([*(bytes([b]) for b in range(256)), b"</s>"], stop_token_ids=[256])
    node = {"type": "json_schema", "style": style, "json_schema": SCHEMA}
    return Compiler(vocabulary).compile_structural_tag({"type": "structural_tag", "format": node})


def read(style: str, data: bytes) -> str:
    return read_with(compiled(style), style, data)


def read_with(grammar: Compiled, style: str, data: bytes) -> str:
    """Return the arguments as the reader's JSON text; one call of the reader for each event."""
    parser, reader = grammar.parser(), argument_reader(style)
    regions = {f"/format{region.value}": region for region in StyleRegion}
    made, pending = reader.begin(), {}
    for event in [event for byte in data for event in parser.feed(byte)] + parser.finish():
        region = regions.get(event.node)
        if event.kind == "open":
            made += reader.open(regions[event.node])
        elif event.kind == "close":
            made += reader.close(regions[event.node])
        else:
            pending[region] = pending.get(region, b"") + event.bytes
            try:
                text = pending[region].decode()
            except UnicodeDecodeError:
                continue
            made += reader.text(region, text)
            pending[region] = b""
    assert parser.is_whole()
    return made + reader.end()


def in_order(value: dict[str, Any]) -> dict[str, Any]:
    return {key: value[key] for key in SCHEMA["properties"] if key in value}


@pytest.mark.parametrize("style", NOTATIONS)
@settings(max_examples=60)
@given(ARGUMENTS)
def test_written_arguments_are_read_back(style: str, arguments: dict[str, Any]) -> None:
    arguments = in_order(arguments)
    text = NOTATIONS[style].written(json.dumps(arguments, ensure_ascii=False))
    assert json.loads(read(style, text.encode())) == arguments, text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a='it', b=\"it's\"", {"a": "it", "b": "it's"}),
        ("a=True, b=[None, {'True': True}]", {"a": True, "b": [None, {"True": True}]}),
        ("a='say \"x\"'", {"a": 'say "x"'}),
        (r"a='it\'s', b='\x41\n'", {"a": "it's", "b": "A\n"}),
        ("a=-1.5e3, b=(1, 2)", {"a": -1500.0, "b": [1, 2]}),
        ("a='x=True, y'", {"a": "x=True, y"}),
        # REGRESSION: keys that are no names
        ("Content-Type='x', a/b=[1]", {"Content-Type": "x", "a/b": [1]}),
        ("\"é\" c=True, d=''", {'"é" c': True, "d": ""}),

        # REGRESSION: only the last word of a key was quoted
        ('two words="x", a-b=[1] ,\n $x.y=True', {"two words": "x", "a-b": [1], "$x.y": True}),
        ("ключ=1,b={'c': 2},d=3", {"ключ": 1, "b": {"c": 2}, "d": 3}),
        ("", {}),
    ],
)  # fmt: skip
def test_pythons_literals(text: str, expected: dict[str, Any]) -> None:
    for size in (1, 3, 100):
        reader = PythonReader()
        made = reader.begin()
        for at in range(0, len(text), size):
            made += reader.text(None, text[at : at + size])
        assert json.loads(made + reader.end()) == expected


@pytest.mark.parametrize("style", ["gemma", "functiongemma"])
def test_gemmas_marks_may_be_cut_anywhere(style: str) -> None:
    quote = STYLES[style].quote
    text = (
        f"a:{quote}x<|y:1{quote},b:[{quote}{quote},true],c:{{d:1}}, Content-Type:{{ }},a/b:[{{}}]"
    )
    for size in range(1, len(text) + 1):
        reader = argument_reader(style)
        made = reader.begin()
        for at in range(0, len(text), size):
            made += reader.text(None, text[at : at + size])
        expected = {"a": "x<|y:1", "b": ["", True], "c": {"d": 1}, "Content-Type": {}, "a/b": [{}]}
        assert json.loads(made + reader.end()) == expected


@pytest.mark.parametrize("style", NOTATIONS)
@pytest.mark.parametrize("text", ['{"a": 1', "[1]", "5", '"x"'])
def test_text_that_is_no_object_stays_as_it_is(style: str, text: str) -> None:
    assert NOTATIONS[style].written(text) == text


#: texts that are both a raw string and JSON of another allowed type
EITHER: list[tuple[Any, str, Any]] = [
    ({"type": ["string", "integer"]}, "5", 5),
    ({"type": ["string", "integer"]}, "5x", "5x"),
    ({"type": ["string", "integer"]}, "null", "null"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "null", None),
    ({"type": ["string", "array"]}, "[1]", [1]),
    ({"type": ["string", "array"]}, "[1", "[1"),
    ({}, "true", True),
    ({}, "Oslo", "Oslo"),
    ({"type": "string"}, "5", "5"),
    ({"enum": ["5", 5]}, "5", 5),
]


@pytest.mark.parametrize(("schema", "text", "expected"), EITHER)
def test_json_is_preferred_to_a_raw_string(schema: Any, text: str, expected: Any) -> None:
    vocabulary = Vocabulary([*(bytes([b]) for b in range(256)), b"</s>"], stop_token_ids=[256])
    properties = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    node = {"type": "json_schema", "style": "qwen_xml", "json_schema": properties}
    made = Compiler(vocabulary).compile_structural_tag({"type": "structural_tag", "format": node})
    whole = read_with(made, "qwen_xml", f"<parameter=a>{text}</parameter>".encode())
    assert json.loads(whole) == {"a": expected}


NULLABLE = {"type": ["boolean", "null"]}
#: constants as chat templates write them; None: the schema allows none of them
CONSTANTS: list[tuple[str, Any, str, Any]] = [
    *(
        (style, schema, text, expected)
        for style in ("qwen_xml", "qwen_coder_xml", "minicpm_xml")
        for schema, text, expected in (
            (NULLABLE, "True", True),
            (NULLABLE, "False", False),
            (NULLABLE, "None", None),
            (NULLABLE, "none", ...),
            ({"type": "boolean"}, "None", ...),
            ({"const": False}, "False", False),
            ({"const": False}, "True", ...),
            ({"enum": [1, None]}, "None", None),
            ({"type": "integer"}, "True", ...),
            ({"type": ["string", "null"]}, "None", None),
            ({"type": "string"}, "None", "None"),
            ({"type": "array"}, "[True]", ...),
        )
    ),
    ("gemma", NULLABLE, "None", None),
    ("gemma", {"type": "array"}, "[None,null,{b:None}]", [None, None, {"b": None}]),
    ("gemma", NULLABLE, "True", ...),
    ("gemma", {"type": "boolean"}, "None", ...),
    ("functiongemma", NULLABLE, "None", ...),
]


@pytest.mark.parametrize(("style", "schema", "text", "expected"), CONSTANTS)
def test_constants_have_a_second_spelling_in_some_styles(
    style: str, schema: Any, text: str, expected: Any
) -> None:
    """REGRESSION: chat templates show True and None, which the grammar did not allow."""
    vocabulary = Vocabulary([*(bytes([b]) for b in range(256)), b"</s>"], stop_token_ids=[256])
    properties = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    node = {"type": "json_schema", "style": style, "json_schema": properties}
    made = Compiler(vocabulary).compile_structural_tag({"type": "structural_tag", "format": node})
    begin, end = (part.replace("{key}", "a") for part in STYLES[style][:2])
    data = f"{begin}{text}{end}".encode()
    if expected is ...:
        matcher = Matcher(made)
        assert not all(map(matcher.accept_token, data)) or not matcher.can_stop()
    else:
        assert json.loads(read_with(made, style, data)) == {"a": expected}


M3 = "]<]minimax[>["
#: texts of an element that several types allow, where objects and arrays are elements, too
EITHER_NESTED: list[tuple[Any, str, Any]] = [
    ({}, "", []),
    ({}, " ", []),
    ({}, "x", "x"),
    ({}, "5", 5),
    ({}, "[1]", "[1]"),
    ({}, f"{M3}<item>x{M3}</item>", ["x"]),
    ({}, f"{M3}<item>x{M3}</item>{M3}<item>y{M3}</item>", ["x", "y"]),
    ({"type": "object"}, f"{M3}<item>x{M3}</item>", {"item": "x"}),
    ({"type": ["string", "object"]}, "", {}),
    ({"type": ["string", "array"]}, "", []),
    ({"type": ["array", "object"]}, "", []),
    ({"type": ["string", "null"]}, "", ""),
    ({"type": ["string", "object"], "required": ["a"]}, "", ""),
    ({"type": ["string", "array"], "minItems": 1}, "", ""),
    ({"type": ["string", "array"]}, f"{M3}<item>x{M3}</item>", ["x"]),
    ({"enum": ["", []]}, "", []),
    ({"enum": ["", {}]}, "\n", {}),
]


@pytest.mark.parametrize(("schema", "text", "expected"), EITHER_NESTED)
def test_arrays_are_preferred_to_objects_and_these_to_strings(
    schema: Any, text: str, expected: Any
) -> None:
    vocabulary = Vocabulary([*(bytes([b]) for b in range(256)), b"</s>"], stop_token_ids=[256])
    properties = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    node = {"type": "json_schema", "style": "minimax_m3_xml", "json_schema": properties}
    made = Compiler(vocabulary).compile_structural_tag({"type": "structural_tag", "format": node})
    whole = read_with(made, "minimax_m3_xml", f"{M3}<a>{text}{M3}</a>".encode())
    assert json.loads(whole) == {"a": expected}


def test_nested_items_of_any_type_are_read_in_one_way() -> None:
    """REGRESSION: an item that could be a member, too, doubled the readings at every level."""
    vocabulary = Vocabulary([*(bytes([b]) for b in range(256)), b"</s>"], stop_token_ids=[256])
    node = {"type": "json_schema", "style": "minimax_m3_xml", "json_schema": {"type": "object"}}
    made = Compiler(vocabulary).compile_structural_tag({"type": "structural_tag", "format": node})
    text, expected = "x", "x"
    for _ in range(30):
        text, expected = f"{M3}<item>{text}{M3}</item>", [expected]  # type: ignore[assignment]
    whole = read_with(made, "minimax_m3_xml", f"{M3}<a>{text}{M3}</a>".encode())
    assert json.loads(whole) == {"a": expected}


@pytest.mark.parametrize("style", ["gemma", "functiongemma"])
def test_gemmas_keys_are_any_text(style: str) -> None:
    """REGRESSION: only the last word of a key was quoted."""
    quote = STYLES[style].quote
    text = f"two words:1, a-b:{{c d:{{}},$e:[{{f.g:null}},{{}}]}} ,\n ключ:{quote}a:b,c{quote}"
    for size in range(1, len(text) + 1):
        reader = argument_reader(style)
        made = reader.begin()
        for at in range(0, len(text), size):
            made += reader.text(None, text[at : at + size])
        inner = {"c d": {}, "$e": [{"f.g": None}, {}]}
        expected = {"two words": 1, "a-b": inner, "ключ": "a:b,c"}
        assert json.loads(made + reader.end()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<![CDATA[a\n<b> & c]]>", "a\n<b> & c"),
        ("<![CDATA[]]>", ""),
        ("<![CDATA[<![CDATA[x]]>", "<![CDATA[x"),
        ("a]]>", "a]]>"),
        ("<![CDATA", "<![CDATA"),
        ("a < b &amp; c", "a < b &amp; c"),
    ],
)
def test_minicpms_strings_may_be_wrapped(text: str, expected: str) -> None:
    """REGRESSION: clients got <![CDATA[ and ]]>, which MiniCPM writes around text with <, & or line
    feeds.
    """
    written = f'<param name="text">{text}</param>'
    assert json.loads(read("minicpm_xml", written.encode())) == {"text": expected}


def test_past_strings_of_minicpm_are_wrapped_where_its_template_wraps_them() -> None:
    written = Elements("minicpm_xml").written(
        json.dumps({"a": "x", "b": "x<y", "c": "&]]>", "d": 1})
    )
    assert written == (
        '<param name="a">x</param><param name="b"><![CDATA[x<y]]></param>'
        '<param name="c">&]]></param><param name="d">1</param>'
    )


@pytest.mark.parametrize(
    ("style", "key"),
    [
        ("python", "a=b"),
        ("python", " a"),
        ("gemma", "a:b"),
        ("gemma", "}a"),
        ("functiongemma", "a:b"),
        ("functiongemma", "\na"),
    ],
)
def test_bare_keys_that_could_be_misread_are_not_written(style: str, key: str) -> None:
    """REGRESSION: the reader cut such a key at its end mark, or mistook its first character."""
    end = STYLES[style].open.removeprefix("{key}")
    schema = {"type": "object", "properties": {key: {"type": "integer"}, "z": {"type": "integer"}}}
    node = {"type": "json_schema", "style": style, "json_schema": schema}
    tag = {"type": "structural_tag", "format": node}
    compiler = Compiler(compiled(style).vocabulary)
    assert Matcher(compiler.compile_structural_tag(tag)).accept_bytes(f"z{end}1".encode())
    assert not Matcher(compiler.compile_structural_tag(tag)).accept_bytes(f"{key}{end}1".encode())
    schema["required"] = [key]
    with pytest.raises(SpecError):
        compiler.compile_structural_tag(tag)
