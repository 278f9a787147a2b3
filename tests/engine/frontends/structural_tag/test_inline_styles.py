"""Styles given as objects: read like the named ones, and refused where they are ambiguous."""

from typing import Any

import pytest

import engine
from engine import STYLES, SpecError, Style, UnsupportedSchema, read_style, style_field
from engine.frontends.structural_tag.style_reader import (
    MAX_ESCAPES,
    MAX_STYLE_TEXT,
    style_object,
)
from tests.vocabularies import small_vocabulary

XML: dict[str, Any] = {"open": "<p={key}>", "close": "</p>"}
TYPED = {"open": '<p n="{key}" t="{type}">', "close": "</p>"}
TYPES = {
    kind: kind for kind in ("string", "integer", "number", "boolean", "null", "object", "array")
}
TREE = {"open": "<{key}>", "close": "</{key}>", "nested": True, "item": "<item>"}
LISTS = {"open": '<p n="{key}">', "close": "</p>", "nested": True, "item": "<p>"}
PYTHON = {"open": "{key}=", "close": "", "values": "python", "separator": ","}
GEMMA = {"open": "{key}:", "close": "", "values": "gemma", "separator": ",", "quote": '"'}


@pytest.mark.parametrize("name", STYLES)
def test_each_named_style_is_the_same_as_an_object(name: str) -> None:
    style = STYLES[name]
    assert read_style(style_object(style), "/style") == read_style(name, "/style") == style
    assert style_field(style) == style_field(name) == name


GOOD = [
    XML,
    {**XML, "guard": "/p>", "constants": ["True", "False", "None"]},
    {**XML, "constants": [], "escapes": {}, "types": {}},
    {**XML, "escapes": {"&": "&amp;", '"': "&quot;", ">": "&gt;"}},
    {**XML, "wrap": ["<![CDATA[", "]]>"]},
    {"open": "<k>{key}</k>\n<v>", "close": "</v>", "glue": "\n"},
    {"open": "{key}: ", "close": "\n"},
    {"open": "<{key}>", "close": "</{key}>"},
    {**TYPED, "types": TYPES},
    {**TYPED, "types": {**TYPES, "open integer": "int"}},
    TREE,
    LISTS,
    {**TYPED, "types": TYPES, "nested": True, "item": '<item t="{type}">'},
    {**XML, "any_order": True},
    {**XML, "values": "quoted", "constants": ["True", "False", "None"]},
    {**TREE, "values": "quoted"},
    {**TYPED, "types": {**TYPES, "open integer": "int"}, "values": "quoted"},
    PYTHON,
    {**PYTHON, "any_order": True},
    {**PYTHON, "constants": ["true", "false", "null"]},
    GEMMA,
    {**GEMMA, "quote": "<|'|>", "constants": ["", "", "None"]},
    {**XML, "open": "<" * (MAX_STYLE_TEXT - 6) + "{key}>"},
    {**XML, "escapes": {"&": "&&amp"} | {chr(0x100 + k): f"&{k:02}" for k in range(MAX_ESCAPES - 1)}},
]  # fmt: skip
GOOD[-1]["escapes"]["&"] = "&amp"


@pytest.mark.parametrize("value", GOOD)
def test_a_style_as_an_object_compiles(value: dict[str, Any]) -> None:
    style = read_style(value, "/style")
    field = style_field(style)
    assert read_style(field, "/style") == style
    compile_style(value)


def compile_style(style: Any, schema: Any = None) -> engine.Compiled:
    schema = schema or {
        "type": "object",
        "properties": {"a": {}, "b<c": {"type": ["string", "integer"]}, "d": {"type": "array"}},
    }
    node = {"type": "json_schema", "json_schema": schema, "style": style}
    document = {"type": "structural_tag", "format": node}
    return engine.Compiler(small_vocabulary()).compile_structural_tag(document)


#: (style, the field of the error, a part of its message)
BAD: list[tuple[Any, str, str]] = [
    ({"close": "</p>"}, "", "'open' is missing"),
    ({"open": "<p={key}>"}, "", "'close' is missing"),
    ({**XML, "open": 5}, "/open", "a string"),
    ({**XML, "close": ["</p>"]}, "/close", "a string"),
    ({**XML, "close": "\ud800"}, "/close", "surrogate"),
    ({**XML, "open": "<p={key}>" + "x" * (MAX_STYLE_TEXT - 8)}, "/open", "at most 256 characters"),
    ({**XML, "nested": 1}, "/nested", "true or false"),
    ({**XML, "any_order": "yes"}, "/any_order", "true or false"),
    ({**XML, "types": ["string"]}, "/types", "an object"),
    ({**XML, "types": None}, "/types", "an object"),
    ({**XML, "escapes": {"&": ""}}, "/escapes/&", "empty"),
    ({**XML, "escapes": {"&": "&a", "/": 7}}, "/escapes/~1", "a string"),
    ({**XML, "constants": ["True"]}, "/constants", "list of 3"),
    ({**XML, "constants": ["yes", "no", "None"]}, "/constants", "'True', 'False', 'None'"),
    ({**XML, "constants": ["True", "False", 0]}, "/constants/2", "a string"),
    ({**XML, "wrap": "[]"}, "/wrap", "list of 2"),
    ({**XML, "wrap": ["", "x"]}, "/wrap", "neither of which is empty"),
    ({**XML, "values": "yaml"}, "/values", "json, quoted, python, gemma"),
    ({**XML, "values": "quoted", "wrap": ["<", ">"]}, "/wrap", "'quoted'"),
    ({**XML, "open": "<p>"}, "/open", "{key} once, got 0"),
    ({**XML, "open": "<{key} n={key}>"}, "/open", "{key} once, got 2"),
    ({**XML, "open": "<p={key}"}, "/open", "behind {key}"),
    ({**XML, "open": "<{key}s>"}, "/open", "no letter, digit or _"),
    ({**XML, "open": "<{type} {key}>"}, "/open", "before {key}"),
    ({**XML, "open": "<{key} {type}>"}, "/open", "only with types"),
    ({**XML, "close": ""}, "/close", "empty"),
    ({**XML, "close": "{key}>"}, "/close", "begin with {key}"),
    ({**XML, "close": "</{key}"}, "/close", "behind {key}"),
    ({**XML, "close": "</{key}/{key}>"}, "/close", "at most once, got 2"),
    ({**XML, "close": "<{type}>"}, "/close", "not contain {type}"),
    ({**XML, "close": ".</p>"}, "/close", "numbers"),
    ({**XML, "close": "aba"}, "/close", "ambiguous"),
    ({**XML, "close": '"""'}, "/close", "ambiguous"),
    ({**XML, "guard": "</q>"}, "/guard", "'</p>'"),
    ({**XML, "close": "|\n|", "guard": "\n|"}, "/guard", "ambiguous"),
    ({**XML, "close": "</{key}>", "guard": "</{key}>"}, "/guard", "'</'"),
    ({**XML, "wrap": ["<", ">x>"]}, "/wrap", "ambiguous"),
    ({**XML, "types": TYPES}, "/open", "{type} once with types, got 0"),
    ({**TYPED, "types": {"string": "s"}}, "/types", "string, integer"),
    ({**TYPED, "types": {**TYPES, "text": "s"}}, "/types", "string, integer"),
    ({**TYPED, "types": {**TYPES, "null": 'a"'}}, "/types/null", "'\"'"),
    ({"open": "<{key}{type}>", "close": "<", "types": TYPES}, "/open", "behind {key}"),
    ({"open": "<{key}={type}", "close": "<", "types": TYPES}, "/open", "behind {type}"),
    ({**XML, "escapes": {"&&": "&amp"}}, "/escapes/&&", "one character"),
    ({**XML, "escapes": {"a": "a1"}}, "/escapes/a", "no letter"),
    ({**XML, "escapes": {'"': "&quot;"}}, '/escapes/"', "first escape"),
    ({**XML, "escapes": {"&": "&"}}, "/escapes/&", "first escape"),
    ({**XML, "escapes": {"&": "&a<", "<": "&lt"}}, "/escapes/&", "first escape"),
    ({**XML, "escapes": {"&": "&a", "<": "&ab"}}, "/escapes/&", "another escape"),
    ({**XML, "escapes": {chr(0x100 + k): "&" for k in range(MAX_ESCAPES + 1)}}, "/escapes",
     "at most 16 members, got 17"),
    ({**XML, "glue": "-"}, "/glue", "white space"),
    ({**XML, "glue": "\n"}, "/glue", "between > and <"),
    ({**XML, "open": "<p n={key}>", "glue": " "}, "/glue", "between > and <"),
    ({"open": "<k>{key}</k>\n<v>", "close": "\n</v>", "glue": "\n"}, "/close", "glue"),
    ({**XML, "item": "<p>"}, "/item", "unless"),
    ({**XML, "nested": True}, "/item", "a text"),
    ({**TREE, "item": "<{key}>"}, "/item", "without {key}"),
    ({**TREE, "item": "<li>"}, "/item", "open with 'item'"),
    ({**LISTS, "item": "<p"}, "/item", "end as open"),
    ({**LISTS, "item": '<p n="x">'}, "/item", "another key"),
    ({**LISTS, "open": "<p>{key}>", "item": "<p>"}, "/item", "another key"),
    ({**XML, "separator": ","}, "/separator", "''"),
    ({**XML, "quote": "'"}, "/quote", "''"),
    ({**PYTHON, "open": "{key}:"}, "/open", "{key}="),
    ({**PYTHON, "separator": ";"}, "/separator", "','"),
    ({**PYTHON, "quote": "'"}, "/quote", "''"),
    ({**PYTHON, "constants": ["True", "False", "None"]}, "/constants", "'true', 'false', 'null'"),
    ({**PYTHON, "guard": "x"}, "/guard", "combined"),
    ({**GEMMA, "open": "{key}="}, "/open", "{key}:"),
    ({**GEMMA, "quote": ""}, "/quote", "empty"),
    ({**GEMMA, "quote": "tt"}, "/quote", "outside of strings"),
    ({**GEMMA, "quote": "''"}, "/quote", "ambiguous"),
    ({**GEMMA, "nested": True}, "/nested", "combined"),
    ({**GEMMA, "constants": ["True", "False", "None"]}, "/constants", "'None'"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "field", "message"), BAD)
def test_an_ambiguous_style_is_refused_at_its_field(value: Any, field: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        compile_style(value)
    assert caught.value.pointer == f"/format/style{field}"
    assert message in caught.value.message


@pytest.mark.parametrize("value", ["yaml", 5, ["json"], None, True])
def test_a_style_is_a_name_or_an_object(value: Any) -> None:
    with pytest.raises(UnsupportedSchema, match="or an object") as caught:
        compile_style(value)
    assert (caught.value.pointer, caught.value.keyword) == ("/format", "style")


def test_an_unknown_field_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedSchema, match="no field 'closing'; it has open, close") as caught:
        compile_style({**XML, "closing": "x"})
    assert (caught.value.pointer, caught.value.keyword) == ("/format/style", "closing")


def accepts(compiled: engine.Compiled, text: str) -> bool:
    matcher = engine.Matcher(compiled)
    return matcher.accept_bytes(text.encode()) and matcher.can_stop()


def test_styles_of_one_document_and_of_one_compiler_stay_apart() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    other = {**XML, "open": "<q={key}>"}
    nodes = [{"type": "json_schema", "json_schema": schema, "style": s} for s in (XML, other)]
    compiler = engine.Compiler(small_vocabulary())
    alone = [
        compiler.compile_structural_tag({"type": "structural_tag", "format": node})
        for node in nodes
    ]
    both = compiler.compile_structural_tag(
        {"type": "structural_tag", "format": {"type": "sequence", "elements": nodes}}
    )
    texts = ["<p=a>x</p>", "<q=a>x</p>"]
    assert [[accepts(made, text) for text in texts] for made in alone] == [
        [True, False],
        [False, True],
    ]
    assert accepts(both, "".join(texts))
    assert not accepts(both, "".join(reversed(texts)))


def test_each_style_of_a_document_is_checked() -> None:
    node = {"type": "json_schema", "json_schema": {"type": "object"}}
    styles = [XML, XML, "qwen_xml", XML, {**XML, "nested": 1}]
    nodes = [{**node, "style": style} for style in styles]
    tag = {"type": "structural_tag", "format": {"type": "sequence", "elements": nodes}}
    with pytest.raises(SpecError, match="true or false") as caught:
        engine.Compiler(small_vocabulary()).compile_structural_tag(tag)
    assert caught.value.pointer == "/format/elements/4/style/nested"


def test_a_flat_element_may_repeat_its_key() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {"type": "integer"}}}
    made = compile_style({"open": "<{key}>", "close": "</{key}>"}, schema)
    assert accepts(made, "<a>x < y</a>\n<b>7</b><other>[1]</other>")
    for text in ("<a>x</b>", "<a>x</</a>", "<b>x</b>", "<b>7</a>"):
        assert not accepts(made, text)


def test_strings_may_be_json_in_elements() -> None:
    properties = {"a": {"type": "string"}, "b": {"enum": ["x</p>", 5]}, "c": {}}
    schema = {"type": "object", "properties": properties}
    made = compile_style({**XML, "values": "quoted"}, schema)
    for text in (
        '<p=a>"x\\n"</p><p=b>"x</p>"</p>', '<p=a> "" </p>', "<p=b>5</p><p=c>null</p>",
        '<p=c>"x"</p><p=d>["x"]</p>',
    ):  # fmt: skip
        assert accepts(made, text)
    for text in ("<p=a>x</p>", "<p=b>x</p></p>", "<p=c>x</p>", "<p=a></p>"):
        assert not accepts(made, text)
    both = {"type": "object", "properties": {"a": {"type": ["string", "integer"]}}}
    typed = {**TYPED, "types": {**TYPES, "open integer": "int"}, "values": "quoted"}
    made = compile_style(typed, both)
    begin, end = '<p n="a" t="', "</p>"
    assert all(
        accepts(made, f"{begin}{text}{end}") for text in ('string">"5"', 'integer">5', 'int">5')
    )
    assert not any(
        accepts(made, f"{begin}{text}{end}") for text in ('string">5', 'integer">"5"', 'number">5')
    )


def test_relaxing_knows_styles_that_are_objects() -> None:
    schema = {"type": "object", "properties": {"a": {"enum": ["x</p>", "y"]}}}
    relaxed = engine.relax(schema, style=Style(**XML))
    assert [each.pointer for each in relaxed.places] == ["/properties/a/enum/0"]
    assert relaxed.schema["properties"]["a"]["enum"] == ["y"]


@pytest.mark.parametrize(
    ("text", "fits"), [("exact=true, none=null", True), ("exact=True, none=None", False)]
)
def test_python_arguments_may_have_the_constants_of_json(text: str, fits: bool) -> None:
    schema = {
        "type": "object",
        "properties": {"exact": {"type": "boolean"}, "none": {"type": "null"}},
        "required": ["exact", "none"],
    }
    style = {**PYTHON, "constants": ["true", "false", "null"]}
    assert accepts(compile_style(style, schema), text) is fits
