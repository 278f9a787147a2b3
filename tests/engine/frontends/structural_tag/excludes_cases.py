"""Texts that json_schema nodes with ``excludes`` accept; see tag_specs for the notation."""

from typing import Any

from .tag_specs import (
    KEYWORDS,
    NUMBER_NAMES,
    TOGETHER,
    UNSPELLED,
    A,
    Case,
    Spec,
    seq,
    tag,
    text,
)

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
DATE = {"type": "string", "format": "date"}


def json(schema: Any, *excludes: str, **more: Any) -> Spec:
    return {"type": "json_schema", "json_schema": schema, "excludes": list(excludes), **more}


def of(properties: dict[str, Any], required: list[str] | None = None, extra: Any = False) -> Any:
    required = list(properties) if required is None else required
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": extra,
    }


def styled(style: str, schema: Any, *excludes: str) -> Spec:
    return json(schema, *excludes, style=style)


P, E = "<parameter=", "</parameter>"
ARG, S, C = "<|open|>argument key=", "<|sep|>", "<|close|>argument<|sep|>"
MARKS = ("<|open|>", "<|close|>", "<|sep|>")


def argument(kind: str, value: str, key: str = "s") -> str:
    return f'{ARG}"{key}" type="{kind}"{S}{value}{C}'


STRINGS = (
    Case("excludes of a string", json(STRING, "<x>"), ('""', '"a"', '"<x"', '"x>"', '"<<x"', r'"\u003cx>"', '"<é>"', '"<😀x>"', r'"<\ud83d\ude00x>"'), ('"<x>"', '"a<<x>b"', r'"\n<x>"', '"<x>')),
    Case("excludes that overlap", json(STRING, "aab", "ab", "bb"), ('"aaa"', '"ba"', '"a-b"'), ('"aab"', '"ab"', '"bb"', '"cabc"')),
    Case("excludes that are said twice", json(STRING, "a", "a"), ('"b"',), ('"a"',)),
    Case("an exclude beyond ASCII", json(STRING, "é😀"), ('"é"', '"😀é"', r'"é\ud83d\ude00"', r'"\u00e9😀"'), ('"é😀"', '"aé😀b"')),
    Case("an exclude within escapes", json(STRING, "u003"), ('"u00"', '"u0003"', r'"\u0041"', r'"\u0103"'), (r'"\u003c"', '"u003"', r'"\u003C"', r'"\u0030"')),
    Case("an exclude that begins with an escape's end", json(STRING, "cx>", "nb"), (r'"\u003dx>"', r'"\tb"', r'"\u003Cx>"'), (r'"\u003cx>"', r'"\nb"', '"cx>"')),
    Case("an exclude of surrogates", json(STRING, "ude"), ('"😀"', '"ud"'), (r'"\ud83d\ude00"', '"ude"')),
    Case("an exclude of a backslash", json(STRING, "\\"), ('"a"', '"/"'), (r'"\\"', r'"\n"', r'"\u0041"')),
    Case("an exclude of an escaped quote", json(STRING, '\\"', '"'), (r'"\\"', '"a"'), (r'"\""', r'"a\"b"')),
    Case("an exclude across a closing quote", json({"type": "array", "items": STRING}, '", "', 'b"'), ('["a", "b"]', r'["a\", \"b"]'), ('["a"", "b"]',)),
    Case("excludes leave other values alone", json(True, "1", "ru", "x"), ("1", "[11, true]", '{"a": 1}'), ('"1"', '{"x": 1}', '["trust"]', '{"1": true}')),
    Case("excludes and a special token", json(STRING, "<|a|>"), ('"<|b|>"', '"<|a|"'), ('"<|a|>"', ('"', A, '"')), theirs=(('"', 258, '"'),), reason=UNSPELLED),
    Case("excludes and lengths", json({"type": "string", "minLength": 2, "maxLength": 4}, "<x>"), ('"ab"', '"a<xb"', r'"\n\u0041"', '"😀é"'), ('"<x>"',), theirs=('"a"', '"abcde"', r'"\n\n\n\n\n"'), reason=TOGETHER),
    Case("excludes and a least length", json({"type": "string", "minLength": 3}, "ab"), ('"aaa"', '"baa"'), ('"abc"', '"aaab"'), theirs=('"a"', '""'), reason=TOGETHER),
    Case("excludes and a great length", json({"type": "string", "maxLength": 30}, "ab"), ('""', f'"{"a" * 30}"'), ('"ab"',), theirs=(f'"{"a" * 31}"',), reason=TOGETHER),
    Case("excludes and a pattern", json({"type": "string", "pattern": "^<[xy]>$"}, "<x>"), ('"<x>"', '"<y>"'), ('"<z>"',)),
    Case("excludes and a format", json(DATE, "20", "-"), ('"2020-02-01"',), ('"20"',)),
    Case("excludes and what is not a pattern", json({"allOf": [STRING, {"not": {"pattern": "^q"}}]}, "<x>"), ('"a"',), ('"<x>"',), theirs=('"q"',), reason="xgrammar drops not"),
)  # fmt: skip

VALUES = (
    Case("excludes of an enum", json({"enum": ["<x>", "a", 1, ["<x>"], ["b"]]}, "<x>"), ('"a"', "1", '["b"]'), ('"<x>"', '["<x>"]', r'"\u003cx>"')),
    Case("excludes of constants' spellings", json({"enum": ["é", "b", "n\n"]}, "\\u"), ('"é"', '"b"', r'"n\n"'), (r'"\u00e9"', r'"\u0062"')),
    Case("an excluded constant", json({"anyOf": [{"const": "a<x>"}, {"const": "a"}]}, "<x>"), ('"a"',), ('"a<x>"',)),
    Case("excludes and different items", json({"type": "array", "items": {"enum": ["<x>", "a", "b"]}, "uniqueItems": True, "minItems": 2, "maxItems": 2}, "<x>"), ('["a", "b"]',), ('["a", "<x>"]',), theirs=('["a", "a"]',), reason="xgrammar drops uniqueItems"),
)  # fmt: skip

KEYS = (
    Case("excludes of listed keys", json(of({"<x>": STRING, "b": STRING}, []), "<x>"), ("{}", '{"b": "a"}'), ('{"<x>": "a"}', '{"b": "<x>"}')),
    Case("excludes of additional keys", json(of({"a": STRING, "<y": STRING}, [], INTEGER), "<x>"), ('{"a": "b", "<": 1}', '{"<y": "k"}', '{"<x": 1}'), ('{"<x>": 1}', '{"a": 1}', '{"k<x>": 1}')),
    Case("excludes of an additional key that an escape spells", json(of({"a<": STRING}, [], INTEGER), "<x>"), ('{"<": 1}', '{"a": 1}', r'{"\u0061<x": 1}', r'{"a\u003cx>": 1}', r'{"\u003c": 1}'), ('{"a<x>": 1}',), theirs=(r'{"a\u003c": 1}',), reason="an additional key is none of the listed ones, however spelled; xgrammar spells it in one way"),
    Case("excludes of keys with a pattern", json({"type": "object", "patternProperties": {"^<": INTEGER}, "additionalProperties": False}, "<x>"), ('{"<": 1}',), ('{"<x>": 1}', '{"a": 1}'), ours=('{"<y": 1, "<x": 2}',), reason=KEYWORDS),
    Case("excludes of keys' names", json({"type": "object", "propertyNames": {"maxLength": 3}}, "<x>"), ('{"<x": 1}', '{"ab": 1}'), ('{"<x>": 1}',), theirs=('{"abcd": 1}',), reason=TOGETHER),
    Case("excludes of counted members", json({"type": "object", "minProperties": 2, "maxProperties": 2, "additionalProperties": INTEGER}, "<x>"), ('{"a": 1, "<": 2}',), ('{"a": 1}', '{"a": 1, "<x>": 2}')),
    Case("excludes in nested values", json(of({"a": {"type": "array", "items": of({"k": STRING}, [], True)}}), "<x>"), ('{"a": [{"k": "<"}, {"z": ["<x"]}]}',), ('{"a": [{"k": "<x>"}]}', '{"a": [{"z": ["<x>"]}]}', '{"a": [{"<x>": 1}]}')),
    Case("excludes in any order", json(of({"a": STRING, "<x>": STRING, "b": STRING}, ["a"]), "<x>", any_order=True), ('{"a": "1"}', '{"b": "1", "a": "2"}'), ('{"<x>": "1", "a": "2"}', '{"a": "<x>"}')),
)  # fmt: skip

STYLES = (
    Case("excludes in qwen", styled("qwen_xml", of({"s": STRING, "l": {"type": "array", "items": STRING}}, ["s"]), "<x>", "</p"), (f"{P}s><x{E}", f'{P}s>a{E}{P}l>["<"]{E}'), (f"{P}s><x>{E}", f"{P}s></p{E}", f'{P}s>a{E}{P}l>["<x>"]{E}')),
    Case("excludes of keys in qwen", styled("qwen_xml", of({"a<x>": STRING, "b": STRING}, [], STRING), "<x>", "cd"), ("", f"{P}b>a{E}", f"{P}c>a{E}"), (f"{P}a<x>>b{E}", f"{P}acd>b{E}", f"{P}c>cd{E}")),
    Case("excludes and lengths in qwen", styled("qwen_xml", of({"s": {"type": "string", "minLength": 2, "maxLength": 3}}), "ab"), (f"{P}s>aa{E}", f"{P}s>aéé{E}"), (f"{P}s>ab{E}",), theirs=(f"{P}s>a{E}", f"{P}s>aaaa{E}"), reason=TOGETHER),
    Case("excludes and a pattern in qwen", styled("qwen_xml", of({"s": {"type": "string", "pattern": "^[ab]+$"}}), "ab"), (f"{P}s>aab{E}",), (f"{P}s>c{E}",)),
    Case("excludes of an enum in qwen", styled("qwen_xml", of({"s": {"enum": ["ab", "ba", 7]}}), "ab", "7"), (f"{P}s>ba{E}", f"{P}s>7{E}"), (f"{P}s>ab{E}",)),
    Case("excludes in minimax", styled("minimax_xml", of({"s": STRING}), "para"), ('<parameter name="s">par</parameter>',), ('<parameter name="s">para</parameter>',)),
    Case("excludes in glm", styled("glm_xml", of({"s": STRING}), "arg"), ("<arg_key>s</arg_key><arg_value>ar</arg_value>",), ("<arg_key>s</arg_key><arg_value>arg</arg_value>",)),
    Case("excludes in kimi", styled("kimi_k3_xml", of({"s": STRING, "l": {"type": "array", "items": STRING}}, ["s"]), *MARKS), (argument("string", "<|open<sep|>"), argument("string", "a") + argument("array", '["<|open|"]', "l")), (*(argument("string", mark) for mark in MARKS), argument("string", "a") + argument("array", '["<|sep|>"]', "l"))),
    Case("free-form arguments in kimi", styled("kimi_k3_xml", {"type": "object"}, *MARKS), (argument("integer", "7"), argument("number", "7"), argument("number", "7.5"), argument("string", "7"), argument("array", '["a"]')), (argument("array", '["<|open|>"]'), argument("int", "7")), theirs=(argument("integer", "x"), argument("integer", "7.5"), argument("null", "7")), reason=NUMBER_NAMES),
    Case("open types in kimi", styled("kimi_k3_xml", of({"s": {"anyOf": [INTEGER, STRING]}, "t": {"enum": [7, "x"]}}, [])), (argument("integer", "7"), argument("number", "7"), argument("integer", "7", "t"), argument("string", "x", "t")), (argument("integer", "8", "t"),), theirs=(argument("integer", "x"),), reason=NUMBER_NAMES),
    Case("a type in kimi", styled("kimi_k3_xml", of({"s": INTEGER})), (argument("number", "7"),), (argument("integer", "7"),)),
    Case("excludes in a tag", tag("<f>", seq(json(STRING, "</f>"), text("q")), "</f>"), ('<f>"a"b</f>', '<f>"</f"</f>'), ('<f>"</f>"</f>', '<f>"a"q</f>')),
)  # fmt: skip

CASES = (*STRINGS, *VALUES, *KEYS, *STYLES)
