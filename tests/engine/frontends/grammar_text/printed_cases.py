"""Grammars as xgrammar 0.2.8 prints them. ``printed_grammars.json`` has the texts; to write it
again: ``python -m tests.engine.frontends.grammar_text.printed_cases``.

The vocabulary is that of tag_specs.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.engine.frontends.structural_tag.tag_specs import (
    ANY_TEXT,
    CALLS,
    F_A,
    F_B,
    INTEGER,
    LETTERS,
    SPECIALS,
    STOPS,
    T_A,
    TOKENS,
    A,
    B,
    Text,
    bounded,
    by_token,
    const,
    dispatch,
    separated,
    seq,
    tag,
    text,
    token_dispatch,
    triggered,
)

FILE = Path(__file__).with_name("printed_grammars.json")


class Case(NamedTuple):
    """``made`` is how xgrammar makes the grammar: json, schema, regex, tag, lark or ebnf."""

    name: str
    made: str
    spec: Any
    yes: tuple[Text, ...]
    no: tuple[Text, ...]


def of(properties: dict[str, Any], required: list[str], **more: Any) -> Any:
    return {"type": "object", "properties": properties, "required": required, **more}


STRING, NUMBER = {"type": "string"}, {"type": "number"}
TREE = {"$defs": {"n": of({"v": STRING, "c": {"type": "array", "items": {"$ref": "#/$defs/n"}}}, ["v"])}, "$ref": "#/$defs/n"}  # fmt: skip
STYLED = {"type": "json_schema", "json_schema": of({"s": STRING, "n": {"type": "integer"}}, ["s"])}
BLOCKED = {"type": "json_schema", "json_schema": STRING, "excludes": ["<x>"]}
MIXED = r"""root ::= item ("," item){0, -1} end? (= "x")
item ::= Regex("[a-z]+", flags="i") | Substring("a", " b", "c") | class
class ::= [\$\-\]\[^x-] | [^\0-\x7f]
end ::= "." TagDispatch(("<f>", item), loop_after_dispatch=false, excludes=("#", "é"))
"""

CASES = (
    Case("any JSON", "json", None, ("{}", "[]", '{"a": [1, "x\\n", null, -0.5e+3, true], "b": {}}', '[[1], ["\\u00e9"]]'), ("1", '{"a"}', "{a: 1}", "[1,]", '{"a": 01}')),
    Case("an object", "schema", of({"a": {"type": "string", "minLength": 2, "maxLength": 5}, "b": {"type": "array", "items": {"type": "integer", "minimum": 3}}}, ["a"]), ('{"a": "xy"}', '{"a": "xyzzy", "b": [3, 40]}', '{"a":"éé","b":[]}'), ('{"b": []}', '{"a": "x"}', '{"a": "xy", "b": [2]}')),
    Case("open objects", "schema", of({"a": NUMBER}, [], additionalProperties=STRING), ("{}", '{"a": -1.5e3}', '{"a": 1, "zz": "x"}', '{"b": "\\n"}'), ('{"a": "x"}', '{"b": 1}', '{"a": 1,}')),
    Case("a pattern and a format", "schema", of({"p": {"type": "string", "pattern": "^a+(b|c){2,}$"}, "d": {"type": "string", "format": "date"}}, ["p", "d"]), ('{"p": "abb", "d": "2024-02-29"}', '{"p": "aacbc", "d": "1999-12-31"}'), ('{"p": "ab", "d": "2024-02-29"}', '{"p": "abb", "d": "2024-13-01"}')),
    Case("a pattern of any character", "schema", {"type": "string", "pattern": "^.[^x]?$"}, ('"a"', '"aé"'), ('""', '"ax"', '"\\n"', '"""')),
    Case("values", "schema", {"enum": ["x", 'q"', 1, None, [True]]}, ('"x"', '"q\\""', "1", "null", "[true]"), ('"y"', "2", "[]")),
    Case("recursion", "schema", TREE, ('{"v": "a"}', '{"v": "a", "c": [{"v": "b", "c": []}]}'), ('{"c": []}', '{"v": "a", "c": [1]}')),
    Case("alternatives", "schema", {"anyOf": [{"type": "boolean"}, {"type": "array", "prefixItems": [NUMBER], "items": False}, {"type": "integer", "minimum": -7, "maximum": 123}]}, ("true", "[1.5]", "-7", "123"), ("-8", "124", "[1, 2]", '"x"')),
    Case("a regex", "regex", "[a-z]{2,}x*(foo|bar)?\\d+", ("ab1", "abxxfoo12", "zzbar9"), ("a1", "ab", "ab1foo")),
    Case("a regex of classes", "regex", "[^\\]a-c\\-]+\\.\\w\\s[\\u00e9-\\u00ff]", ("xyz.a é", "[.\u005f\tÿ"), ("a.a é", "x.a z")),
    Case("triggered tags", "tag", CALLS, ("", "x", "a<f=a>1</f>b<f=b>2</f>c", "<f"), ("<f=c>", "<f=a>2</f>", "<f=a>1")),
    Case("triggered tags, once", "tag", triggered(["<f="], [F_A, F_B], stop_after_first=True, excludes=["zz"]), ("x", "z<f=a>1</f>", "<f=b>2</f>"), ("zz", "<f=a>1</f>x")),
    Case("triggered tags, one at least", "tag", triggered(["<f="], [F_A, F_B], at_least_one=True), ("<f=a>1</f>", "<f=a>1</f> and <f=b>2</f>"), ("", "x<f=a>1</f>")),
    Case("tags by tokens", "tag", by_token(["<|a|>"], [T_A], exclude_tokens=["<|trig|>"]), ("", "xy", (A, "1", B), ("x", A, "1", B, "y")), ((A,), (A, "1"), (SPECIALS["<|trig|>"],))),
    Case("separated tags", "tag", separated([F_A, F_B], ","), ("", "<f=a>1</f>", "<f=a>1</f>,<f=b>2</f>"), ("x", "<f=a>1</f>,", "<f=a>1</f><f=a>1</f>")),
    Case("text in a tag", "tag", tag("<a>", ANY_TEXT, ["</a>", "</b>"]), ("<a></a>", "<a>x</b>", "<a><a></b</a>"), ("<a>", "<a>x</a>y", "<a>x</a></b>")),
    Case("text without some", "tag", seq(text("no", "never"), const(";")), (";", "n;", "o n e;"), ("no;", "x", "never;")),
    Case("bounded text", "tag", bounded(4, "x"), ("", "abcd", "éa"), ("abcde", "x")),
    Case("a dispatch", "tag", dispatch(["<f>", INTEGER], ["<g>", LETTERS], excludes=["q"]), ("", "a<f>12b<g>ab", "<"), ("q", "<f>x", "<g>")),
    Case("a dispatch, once", "tag", dispatch(["<f>", INTEGER], loop=False), ("a", "a<f>12"), ("<f>x", "<f>1 a")),
    Case("a dispatch of tokens", "tag", token_dispatch(["<|a|>", INTEGER], exclude_tokens=["<|b|>"]), ("a", (A, "12"), ("x", A, "1", "y", A, "2")), ((B,), (A, "x"))),
    Case("excludes", "tag", BLOCKED, ('"a"', '"<x"', '"\\u003cx>"'), ('"<x>"', "a")),
    *[
        Case(style, "tag", {**STYLED, "style": style}, (opened,), (opened[:-1], opened.replace("s", "t")))
        for style, opened in (
            ("qwen_xml", "<parameter=s>x</parameter>"),
            ("glm_xml", "<arg_key>s</arg_key><arg_value>x</arg_value>"),
            ("deepseek_xml", '<｜DSML｜parameter name="s" string="true">x</｜DSML｜parameter>'),
            ("kimi_k3_xml", '<|open|>argument key="s" type="string"<|sep|>x<|close|>argument<|sep|>'),
        )
    ],
    Case("lark", "lark", 'start: "a" /b+/ x ["?"]\nx: %json {"type": "integer"} | "(" x ")"', ("ab1", "abb((12))?"), ("a1", "ab(1")),
    Case("lark with chunks", "lark", 'start: "<" %regex {"substring_chunks": ["a ", "b ", "a ", "\\u00e9"]} ">"', ("<>", "<a b >", "<b a é>", "<é>"), ("<b b >", "<a>")),
    Case("all of EBNF", "ebnf", MIXED, ("aB", "a b,c.", "$", "é,].x<f>Ab", " bc"), ("c b", "a.#", "a.<f>1")),
)  # fmt: skip


def stored() -> dict[str, str]:
    return {name: "\n".join(lines) for name, lines in json.loads(FILE.read_text()).items()}


def made_by_xgrammar(case: Case) -> tuple[Any, str]:
    """The compiled grammar and what xgrammar prints of it."""
    import xgrammar

    info = xgrammar.TokenizerInfo(
        TOKENS, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=list(STOPS)
    )
    compiler = xgrammar.GrammarCompiler(info, cache_enabled=False)
    if case.made == "tag":
        document = json.dumps({"type": "structural_tag", "format": case.spec})
        compiled = compiler.compile_structural_tag(document)
        return compiled, str(compiled.grammar)
    makers = {
        "json": lambda _: xgrammar.Grammar.builtin_json_grammar(),
        "schema": lambda spec: xgrammar.Grammar.from_json_schema(json.dumps(spec)),
        "regex": xgrammar.Grammar.from_regex,
        "lark": xgrammar.Grammar.from_lark,
        "ebnf": xgrammar.Grammar.from_ebnf,
    }
    grammar = makers[case.made](case.spec)
    return compiler.compile_grammar(grammar), str(grammar)


if __name__ == "__main__":
    texts = {case.name: made_by_xgrammar(case)[1].split("\n") for case in CASES}
    FILE.write_text(json.dumps(texts, indent=1, ensure_ascii=False) + "\n")
