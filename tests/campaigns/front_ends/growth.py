# ruff: noqa: E501 a table has a line for each row
"""Growth series: each construct of each front end 10, 100, 1,000 and 10,000 times."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from .combinations import BRANCHES, EBNF_RULES, LARK_RULES, nested_counts
from .series import Nested, Text, Value
from .subjects import Case

SIZES = (10, 100, 1_000, 10_000)
#: characters of the largest input; longer ones are left out
MAX_CHARS = 4 << 20


LARK: Sequence[Text | Nested] = (
    Text("token ranges", "start: ", "<[0-128255]> "),
    Text("distinct token ranges", "start: ", "<[#-128000]> "),
    Text("ranges in one set", "start: <[", "0-128255", "]>", ","),
    Text("single ids in one set", "start: <[", "#", "]>", ","),
    Text("negated token sets", "start: ", "<[^#]> "),
    Text("named tokens", "start: ", "<|start_header_id|> "),
    Text("alternatives of tokens", "start: ", "<[#-128000]>", "", " | "),
    Text("any token", "start: ", "<[*]> "),
    Text("alternatives of texts", "start: ", '"a#"', "", " | "),
    Text("a sequence of texts", "start: ", '"a#" '),
    Text("a sequence of letter cases", "start: ", '"k"i '),
    Text("one long text", 'start: "', "a", '"'),
    Text("one long text in any case", 'start: "', "ks", '"i'),
    Text("long text in any case, parametric", "start: p::0\np::_: \"", "a", '"i p::incr([0:12]) | ""'),
    Text("alternatives in a terminal", "start: T\nT: ", '"a#"', "", " | "),
    Text("intersections", "start: T\nT: ", "/[a-z]+/", "", " & "),
    Text("intersections of classes", "start: T\nT: ", r"/\p{L}{1,9}/", "", " & "),
    Text("complements", "start: T\nT: /a/ & ", "~"),
    Text("chained terminals below a complement", "start: ~T0\n", "T#: \"a\" | T#a\nT#a: /b/\n"),
    Text("rules", "start: r0\n", 'r#: "a#"\n'),
    Text("rules that refer to the next", "start: r0\nr10000: \"\"\n", 'r#: "a"\n'),
    Text("references to one rule", 'a: "x"\nstart: ', "a "),
    Text("references in alternatives", 'a: "x"\nstart: ', "a", "", " | "),
    Text("patterns", "start: ", "/[a-z]+#/ "),
    Text("patterns in alternatives", "start: ", "/[a-z]+#/", "", " | "),
    Text("properties in one pattern", "start: /", r"\p{L}", "/"),
    Text("properties in a class", "start: /[", r"\p{L}", "]/"),
    Text("properties in patterns", "start: ", r"/\p{Lu}\p{L}/ "),
    Text("names of groups", "start: /", "(?<n#>a)", "/"),
    Text("ignored texts", 'start: "a"\n', '%ignore "#"\n'),
    Text("ignored patterns", 'start: "a" "b"\n', "%ignore /#+/\n"),
    Text("imports", "start: INT\n", "%import common.INT -> N#\n"),
    Text("comments", 'start: "a"\n', "// #\n"),
    Text("nested grammars", "start: ", "%lark { start: \"a#\" } "),
    Text("nested grammars in alternatives", "start: ", "%lark { start: \"a#\" }", "", " | "),
    Text("schemas", "start: ", '%json {"type": "integer"} '),
    Text("different schemas", "start: ", '%json {"maximum": #} '),
    Text("substrings of chars", 'start: %regex {"substring_chars": "', "ab#", '"}'),
    Text("substrings of chunks", 'start: %regex {"substring_chunks": [', '"a#"', "]}", ","),
    Text("many substrings", "start: ", '%regex {"substring_words": "a b c"} '),
    Text("aliases", "start: ", '"a#" -> b#', "", " | "),
    Text("attributes", "start: b0\n", 'b#[lazy]: /.*/ "x"\n'),
    Text("suffixes", "start: b0\n", 'b#[suffix="e#"]: /.*/\n'),
    Text("a long suffix", 'start[suffix="', "ab", '"]: /.*/'),
    Text("a lazy sequence", "start[lazy]: ", "/.*/ "),
    Text("lazy alternatives", "start[lazy]: /.*/ (", '"a#"', ")", " | "),
    Text("captures", "start: c0\n", 'c#[capture]: "a"\n'),
    Text("bounded tokens", "start: m0\n", 'm#[max_tokens=9]: /.*/\n'),
    Text("conditions", "start: p::0\np::_: ", '"a#" %if lt([0:12], #)', "", " | "),
    Text("nested conditions in a row", "start: p::0\np::_: p::incr([0:12]) | ", '"a" %if and(true, not(eq([0:9], #)))', "", " | "),
    Text("values of a parameter", "start: ", "p::# ", '\np::_: "a"'),
    Text("many values of a large rule", "start: p::0\np::_: p::incr([0:12]) | ", '"a#"', "", " | "),
    Text("a token set for each value", "start: p::0\np::_: p::incr([0:12]) | ", "<[0-128255]> "),
    Text("repetitions", "start: ", '"a"{2,#} '),
    Text("chained repetitions", 'start: "a"', "*"),
    Text("chained counts", 'start: "a"', "{2}"),
    Text("optional parts", "start: ", '["a#"] '),
    Text("starred parts", "start: ", '("a" | "b")* '),
    Text("starred rules", 'a: "x" | ""\nstart: ', "a* "),
    Text("ranges of characters", "start: ", '"a".."z" '),
    Text("left recursion", "start: r0\n", "r#: r# \"a\" | \"b\"\n"),
    Nested("groups", "start: ", "(", '"a"', ")"),
    Nested("repeated groups", "start: ", "(", '"a"', ")*"),
    Nested("bounded groups", "start: ", "(", '"a"', "){0,9}"),
    Nested("options", "start: ", "[", '"a"', "]"),
    Nested("complemented groups", "start: T\nT: ", "~(", '"a"', ")"),
    Nested("nested grammars, nested", "start: ", "%lark { start: ", '"a"', " }"),
    Nested("nested conditions", 'start: p::0\np::_: "a" %if ', "not(", "true", ")"),
    Nested("groups in a pattern", "start: /", "(", "a", ")*", "/"),
)  # fmt: skip

EBNF: Sequence[Text | Nested] = (
    Text("alternatives of texts", "root ::= ", '"a#"', "", " | "),
    Text("a sequence of texts", "root ::= ", '"a#" '),
    Text("one long text", 'root ::= "', "a", '"'),
    Text("classes", "root ::= ", "[a-z] "),
    Text("a long class", "root ::= [", "a-z", "]"),
    Text("negated classes", "root ::= ", "[^a] "),
    Text("rules", "root ::= r0\n", 'r# ::= "a#"\n'),
    Text("references", 'a ::= "x"\nroot ::= ', "a "),
    Text("repetitions", "root ::= ", '"a"{2,#} '),
    Text("starred groups", "root ::= ", '("a" | "b")* '),
    Text("starred rules", 'a ::= "x" | ""\nroot ::= ', "a* "),
    Text("left recursion", "root ::= r0\n", 'r# ::= r# "a" | "b"\n'),
    Nested("groups", "root ::= ", "(", '"a"', ")"),
    Nested("repeated groups", "root ::= ", "(", '"a"', ")*"),
    Nested("counted groups", "root ::= ", "(", '"a"', "){0,9}"),
)  # fmt: skip

MACROS: Sequence[Text | Nested] = (
    Text("tokens", "root ::= ", "Token(#) "),
    Text("ids of a token", "root ::= Token(", "#", ")", ", "),
    Text("other tokens", "root ::= ", "ExcludeToken(#) "),
    Text("alternatives of other tokens", "root ::= ", "ExcludeToken(#)", "", " | "),
    Text("ids of other tokens", "root ::= ExcludeToken(", "#", ")", ", "),
    Text("dispatches", 'a ::= "x"\nroot ::= ', 'TagDispatch(("<f#>", a)) '),
    Text("arms", 'a ::= "x"\nroot ::= TagDispatch(', '("<f#>", a)', ")", ", "),
    Text("excludes", 'a ::= "x"\nroot ::= TagDispatch(("<f>", a), excludes=(', '"x#"', "))", ", "),
    Text("arms that begin alike", 'a ::= "x"\nroot ::= TagDispatch(', '("aaaaaaaa#", a)', ")", ", "),
    Text("patterns", "root ::= ", 'Regex("[a-z]+#") '),
    Text("properties", 'root ::= Regex("', r"\\p{L}", '")'),
    Text("patterns in JSON strings", "root ::= ", 'Regex("[a-z]+#", json_string=true) '),
    Text("chunks", "root ::= Substring(", '"a#"', ")", ", "),
    Text("substrings", "root ::= ", 'Substring("a#", "b") '),
    Text("look-aheads", "root ::= r0\n", 'r# ::= "a" (= "b")\n'),
)  # fmt: skip

GBNF: Sequence[Text | Nested] = (
    Text("tokens", "root ::= ", "<[#]> "),
    Text("other tokens", "root ::= ", "!<[#]> "),
    Text("any character", "root ::= ", ". "),
)

REGEX: Sequence[Text | Nested] = (
    Text("letters", "", "a"),
    Text("classes", "", "[a-z]"),
    Text("negated classes", "", "[^a]"),
    Text("properties", "", r"\p{L}"),
    Text("different properties", "", r"\p{L}\p{Lu}\p{N}\P{Z}\p{Script=Greek}"),
    Text("properties in a class", "[", r"\p{L}\p{N}", "]"),
    Text("starred properties", "", r"\p{L}*"),
    Text("alternatives", "", "a#", "", "|"),
    Text("alternatives of properties", "", r"\p{L}#", "", "|"),
    Text("options", "", "a?"),
    Text("stars", "", "(a|b)*"),
    Text("counts", "", "a{1,9}"),
    Text("large counts", "", "[^x]{1,2000}"),
    Text("large counts of properties", "", r"\p{L}{1,2000}"),
    Text("look-ahead", "", "(?=a#)", "a"),
    Text("negated look-ahead", "", "(?!a#)", "[a-z0-9]*"),
    Text("look-behind", "", "(?<!b#)", "[a-z]*"),
    Text("anchors", "", "^", "a"),
    Text("word boundaries", "", r"\ba\b "),
    Text("escapes", "", r"\u{1F600}"),
    Text("letter cases", "(?i:", "ks", ")"),
    Nested("groups", "", "(", "a", ")"),
    Nested("stars of stars", "", "(", "a", ")*"),
    Nested("counts of counts", "", "(?:", "a", "){0,9}"),
    Nested("counts of counts with an option", "", "(?:", "a", "b?){0,9}"),
    Nested("look-aheads", "", "(?=", "a", ")", "a"),
)


def _tag(begin: str, content: Any, end: Any = "</t>") -> Any:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def _const(text: str) -> Any:
    return {"type": "const_string", "value": text}


def _wrapped(wrap: Callable[[Any], Any], inner: Any, size: int) -> Any:
    for _ in range(size):
        inner = wrap(inner)
    return inner


def _texts(size: int, head: str = "a") -> list[str]:
    return [f"{head}{n}" for n in range(size)]


TEXT = {"type": "any_text"}
EMPTY_OBJECT = {"type": "json_schema", "json_schema": {"type": "object"}}
TOKEN = {"type": "token", "token": "<|start_header_id|>"}


def _grammar(text: str, **own: Any) -> Any:
    return {
        "type": "grammar",
        "grammar": text,
        "switchyard": {"version": 1, "syntax": "lark", **own},
    }


STRUCTURAL_TAG: Sequence[Value] = (
    Value("a long text", lambda n: _const("ab" * n)),
    Value("a sequence of texts", lambda n: {"type": "sequence", "elements": [_const(f"a{k}") for k in range(n)]}),
    Value("a sequence of options", lambda n: {"type": "sequence", "elements": [{"type": "optional", "content": _const(f"a{k}")} for k in range(n)]}),
    Value("a sequence of stars", lambda n: {"type": "sequence", "elements": [{"type": "star", "content": _const("a")} for _ in range(n)]}),
    Value("a sequence of free texts", lambda n: {"type": "sequence", "elements": [_tag("<t>", TEXT) for _ in range(n)]}),
    Value("a sequence of bounded texts", lambda n: {"type": "sequence", "elements": [{**TEXT, "max_tokens": 9} for _ in range(n)]}),
    Value("a sequence of patterns", lambda n: {"type": "sequence", "elements": [{"type": "regex", "pattern": r"\p{L}+"} for _ in range(n)]}),
    Value("a sequence of schemas", lambda n: {"type": "sequence", "elements": [EMPTY_OBJECT for _ in range(n)]}),
    Value("a sequence of other tokens", lambda n: {"type": "sequence", "elements": [{"type": "exclude_token", "exclude_tokens": [k]} for k in range(n)]}),
    Value("alternatives that begin alike", lambda n: {"type": "or", "elements": [_const(f"a{k}") for k in range(n)]}),
    Value("alternatives of schemas", lambda n: {"type": "or", "elements": [EMPTY_OBJECT for _ in range(n)]}),
    Value("alternatives of patterns", lambda n: {"type": "or", "elements": [{"type": "regex", "pattern": f"[a-z]+{k}"} for k in range(n)]}),
    Value("alternatives of other tokens", lambda n: {"type": "or", "elements": [{"type": "exclude_token", "exclude_tokens": [k]} for k in range(n)]}),
    Value("a deep sequence", partial(_wrapped, lambda inner: {"type": "sequence", "elements": [inner]}, TEXT)),
    Value("deep options", partial(_wrapped, lambda inner: {"type": "optional", "content": inner}, _const("a"))),
    Value("deep repetitions of at least one", partial(_wrapped, lambda inner: {"type": "plus", "content": inner}, _const("a"))),
    Value("deep repetitions", partial(_wrapped, lambda inner: {"type": "repeat", "content": inner, "min": 0, "max": 9}, _const("a"))),
    Value("deep tags", partial(_wrapped, lambda inner: _tag("<t>", inner), TEXT)),
    Value("a large repetition", lambda n: {"type": "repeat", "content": _const("a"), "min": n, "max": 1000 * n}),
    Value("a repeated sequence", lambda n: {"type": "repeat", "content": {"type": "sequence", "elements": [_const("ab")] * n}, "min": n, "max": n}),
    Value("ends", lambda n: _tag("<t>", TEXT, _texts(n))),
    Value("ends that begin alike", lambda n: _tag("<t>", TEXT, ["a" * 8 + str(k) for k in range(n)])),
    Value("ends and excludes", lambda n: _tag("<t>", {**TEXT, "excludes": _texts(n, "b")}, _texts(n))),
    Value("one long end", lambda n: _tag("<t>", TEXT, "ab" * n)),
    Value("growing ends", lambda n: _tag("<t>", TEXT, ["a" * k for k in range(1, min(n, 2000))])),
    Value("excludes", lambda n: {**TEXT, "excludes": _texts(n)}),
    Value("one long exclude", lambda n: {**TEXT, "excludes": ["ab" * n]}),
    Value("excludes of bounded text", lambda n: {**TEXT, "excludes": _texts(n), "max_tokens": 100}),
    Value("triggered tags", lambda n: {"type": "triggered_tags", "triggers": ["<f"], "tags": [_tag(f"<f{k}>", _const("a")) for k in range(n)]}),
    Value("triggered tags with text", lambda n: {"type": "triggered_tags", "triggers": ["<f"], "tags": [_tag(f"<f{k}>", TEXT) for k in range(n)]}),
    Value("triggers", lambda n: {"type": "triggered_tags", "triggers": _texts(n, "<f"), "tags": [_tag(f"<f{k}", _const("a")) for k in range(n)]}),
    Value("triggered tags and excludes", lambda n: {"type": "triggered_tags", "triggers": ["<f"], "tags": [_tag("<f>", _const("a"))], "excludes": _texts(n)}),
    Value("dispatch rules", lambda n: {"type": "dispatch", "rules": [[f"<f{k}", _const("a")] for k in range(n)]}),
    Value("dispatch rules with text", lambda n: {"type": "dispatch", "rules": [[f"<f{k}>", _tag("", TEXT, "x")] for k in range(n)]}),
    Value("dispatch excludes", lambda n: {"type": "dispatch", "rules": [["<f", _const("a")]], "excludes": _texts(n)}),
    Value("token dispatch excludes", lambda n: {"type": "token_dispatch", "rules": [["<|start_header_id|>", _const("a")]], "exclude_tokens": [128010] * n}),
    Value("token triggered tags", lambda n: {"type": "token_triggered_tags", "trigger_tokens": ["<|start_header_id|>"],
          "tags": [{**_tag("", _const(f"a{k}")), "begin": TOKEN} for k in range(n)]}),
    Value("tags with a separator", lambda n: {"type": "tags_with_separator", "separator": ",", "tags": [_tag(f"<f{k}>", _const("a")) for k in range(n)]}),
    Value("tags that begin alike", lambda n: {"type": "tags_with_separator", "separator": "", "tags": [_tag(f"a{k}", _const("a"), "") for k in range(n)]}),
    Value("tags with text and a separator", lambda n: {"type": "tags_with_separator", "separator": ",", "tags": [_tag(f"<f{k}>", TEXT) for k in range(n)]}),
    Value("excluded tokens", lambda n: {"type": "any_tokens", "exclude_tokens": list(range(n))}),
    Value("bounded tokens", lambda n: {"type": "any_tokens", "exclude_tokens": [7], "max_tokens": 1000 * n}),
    Value("bounded characters", lambda n: {**TEXT, "max_chars": 1000 * n}),
    Value("excludes of JSON", lambda n: {**EMPTY_OBJECT, "excludes": _texts(n)}),
    Value("one long exclude of JSON", lambda n: {**EMPTY_OBJECT, "excludes": ["ab" * n]}),
    Value("excludes of styled JSON", lambda n: {**EMPTY_OBJECT, "excludes": _texts(n), "style": "qwen_xml"}),
    Value("properties of styled JSON", lambda n: {"type": "json_schema", "style": "qwen_xml", "json_schema": {"properties": {f"k{k}": {"type": "string"} for k in range(n)}}}),
    Value("a pattern of properties", lambda n: {"type": "regex", "pattern": r"\p{L}" * n}),
    Value("Lark token ranges", lambda n: _grammar("start: " + "<[0-128255]> " * n)),
    Value("Lark token ranges in JSON", lambda n: _grammar("start: " + "<[0-128255]> " * n, inside_json=True)),
    Value("Lark texts in JSON", lambda n: _grammar("start: " + '"a\\n" ' * n, inside_json=True)),
    Value("Lark patterns in JSON", lambda n: _grammar("start: " + r"/\p{L}+/ " * n, inside_json=True)),
    Value("Lark grammars", lambda n: {"type": "sequence", "elements": [_grammar(f'start: "a{k}"') for k in range(n)]}),
    Value("readable Lark", lambda n: _grammar('start: r0\n' + "".join(f'r{k}: "a{k}" | "b"\n' for k in range(n)), readable=True)),
)  # fmt: skip

CHOICE: Sequence[Value] = (
    Value("texts that begin alike", _texts),
    Value("texts of growing length", lambda n: ["a" * k for k in range(1, min(n, 2000) + 1)]),
    Value("one long text", lambda n: ["ab" * n]),
    Value("equal texts", lambda n: ["a"] * n),
    Value("different long texts", lambda n: [f"{k:05d}" + "x" * 100 for k in range(n)]),
)


def _objects(size: int, schema: Any) -> Any:
    return {"type": "object", "properties": {f"k{n}": schema for n in range(size)}}


JSON_SCHEMA: Sequence[Value] = (
    Value("properties", lambda n: _objects(n, {"type": "string"})),
    Value("required properties", lambda n: {**_objects(n, {"type": "string"}), "required": _texts(n, "k")}),
    Value("patterns", lambda n: {"type": "object", "properties": {f"k{k}": {"type": "string", "pattern": rf"^[a-z]+{k}$"} for k in range(n)}}),
    Value("a pattern of properties", lambda n: {"type": "string", "pattern": r"\p{L}" * n}),
    Value("patterns of properties", lambda n: {"type": "object", "properties": {f"k{k}": {"type": "string", "pattern": r"\p{L}{1,9}"} for k in range(n)}}),
    Value("enum", lambda n: {"enum": _texts(n)}),
    Value("enum of objects", lambda n: {"enum": [{"a": k} for k in range(n)]}),
    Value("anyOf", lambda n: {"anyOf": [{"const": f"a{k}"} for k in range(n)]}),
    Value("anyOf of objects", lambda n: {"anyOf": [_objects(2, {"const": k}) for k in range(n)]}),
    Value("oneOf", lambda n: {"oneOf": [{"type": "string", "pattern": f"^a{k}"} for k in range(n)]}),
    Value("allOf", lambda n: {"allOf": [{"type": "string", "pattern": f"a{k}"} for k in range(n)]}),
    Value("anyOf of patterns", lambda n: {"anyOf": [{"type": "string", "pattern": f"a{k}"} for k in range(n)]}),
    Value("allOf of formats", lambda n: {"allOf": [{"type": "string", "format": ("uri", "email", "date-time", "uuid")[k % 4]} for k in range(n)]}),
    Value("unenforceable references", lambda n: _objects(n, {"$ref": "https://example.org/a"})),
    Value("deep objects", partial(_wrapped, lambda inner: {"type": "object", "properties": {"a": inner}}, True)),
    Value("deep arrays", partial(_wrapped, lambda inner: {"type": "array", "items": inner}, True)),
    Value("deep not", partial(_wrapped, lambda inner: {"not": inner}, {"type": "string"})),
    Value("$defs", lambda n: {"$ref": "#/$defs/d0", "$defs": {f"d{k}": {"items": {"$ref": f"#/$defs/d{k + 1}"}} if k + 1 < n else True for k in range(n)}}),
    Value("patternProperties", lambda n: {"type": "object", "patternProperties": {f"^a{k}": {"type": "integer"} for k in range(n)}}),
    Value("maxLength", lambda n: {"type": "string", "maxLength": 1000 * n}),
    Value("maxItems", lambda n: {"type": "array", "items": {"type": "string", "maxLength": 9}, "minItems": n, "maxItems": 100 * n}),
    Value("prefixItems", lambda n: {"type": "array", "prefixItems": [{"const": k} for k in range(n)]}),
    Value("unknown keywords", lambda n: {"type": "string", **{f"x{k}": k for k in range(n)}}),
    Value("unknown keywords of each property", lambda n: _objects(n, {"type": "string", "x": 1, "format": "y"})),
    Value("unenforceable keywords", lambda n: _objects(n, {"type": "string", "contentEncoding": "base64", "pattern": r"\bx"})),
    Value("formats", lambda n: {"type": "object", "properties": {f"k{k}": {"type": "string", "format": f"f{k}"} for k in range(n)}}),
    Value("long names", lambda n: {"type": "object", "properties": {"a" * n: _objects(9, True)}}),
    Value("dependentRequired", lambda n: {"type": "object", "dependentRequired": {f"k{k}": [f"k{k + 1}"] for k in range(n)}}),
    Value("multipleOf", lambda n: {"type": "integer", "multipleOf": n, "minimum": -n * n, "maximum": n**3}),
    Value("not", lambda n: {"type": "string", "not": {"enum": _texts(n)}}),
)  # fmt: skip


def _custom(syntax: str, definition: str) -> Any:
    grammar = {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}
    return {"tools": [{"type": "custom", "custom": {"name": "f", "format": grammar}}]}


def _function(name: str, parameters: Any, **more: Any) -> Any:
    return {"type": "function", "function": {"name": name, "parameters": parameters, **more}}


def _answer(schema: Any) -> Any:
    return {
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    }


REQUEST: Sequence[Value] = (
    Value("token ranges of a custom tool", lambda n: _custom("lark", "start: " + "<[0-128255]> " * n)),
    Value("properties of a custom tool", lambda n: _custom("regex", r"\p{L}" * n)),
    Value("lark properties of a custom tool", lambda n: _custom("lark", "start: /" + r"\p{L}" * n + "/")),
    Value("texts of a custom tool", lambda n: _custom("lark", "start: " + " | ".join(f'"a{k}"' for k in range(n)))),
    Value("custom tools with elements", lambda n: {"wire": "qwen_coder", **_custom("lark", "start: " + '"a" ' * n)}),
    Value("tools", lambda n: {"tools": [_function(f"f{k}", _objects(2, {"type": "string"})) for k in range(min(n, 128))]}),
    Value("properties of a tool", lambda n: {"tools": [_function("f", _objects(n, {"type": "string"}))]}),
    Value("relaxed properties of a tool", lambda n: {"tools": [_function("f", _objects(n, {"type": "string", "pattern": r"\bx"}))]}),
    Value("elements of a tool", lambda n: {"wire": "qwen_coder", "tools": [_function("f", _objects(n, {"type": "string"}))]}),
    Value("guided choice", lambda n: {"guided_choice": _texts(n)}),
    Value("guided pattern", lambda n: {"guided_regex": r"\p{L}" * n}),
    Value("guided Lark", lambda n: {"guided_grammar": "start: " + "<[0-128255]> " * n}),
    Value("guided EBNF", lambda n: {"ebnf": "root ::= " + "ExcludeToken(7) " * n}),
    Value("structural tag", lambda n: {"response_format": {"type": "structural_tag", "format": _tag("<t>", TEXT, _texts(n))}}),
    Value("schema", lambda n: _answer(_objects(n, {"type": "string"}))),
)  # fmt: skip

#: series of each front end
SERIES: dict[str, Sequence[Text | Nested | Value]] = {
    "lark": (*LARK, *nested_counts("start: "), *LARK_RULES),
    "ebnf": (*EBNF, *MACROS, *nested_counts("root ::= "), *EBNF_RULES),
    "gbnf": (*EBNF, *GBNF, *nested_counts("root ::= "), *EBNF_RULES),
    "regex": REGEX,
    "choice": CHOICE,
    "structural_tag": STRUCTURAL_TAG,
    "json_schema": (*JSON_SCHEMA, *BRANCHES),
    "request": REQUEST,
    "check": (*JSON_SCHEMA, *BRANCHES),
    "explain": (
        *(Value(each.name, lambda n, each=each: _answer(each.value(n))) for each in (*JSON_SCHEMA, *BRANCHES)),
        *(Value(each.name, lambda n, each=each: {"output": "aaaa", **each.value(n)}) for each in REQUEST[:4]),
        Value("costly tools", lambda n: {"tools": [_function(f"f{k}", _objects(1, {"allOf": [{"type": "string", "pattern": f"a{j}"} for j in range(9)]})) for k in range(min(n, 128))]}),
        Value("an output", lambda n: {**_answer(True), "output": '"' + "a" * min(n, 8000)}),
        Value("a nested output", lambda n: {**_answer(True), "output": "[" * min(n, 8000)}),
    ),
}  # fmt: skip


def growth_cases(sizes: Sequence[int] = SIZES) -> Iterator[Case]:
    """Yield the cases, except inputs that are too long or too deep to be sent."""
    for front_end, series in SERIES.items():
        for each in series:
            for size in sizes:
                try:
                    value = each.value(size)
                    length = len(value) if isinstance(value, str) else len(_json(value))
                except RecursionError:
                    continue
                if length <= MAX_CHARS:
                    yield Case(f"{front_end}: {each.name} x {size:,}", front_end, value)


def _json(value: Any) -> str:
    import json

    return json.dumps(value)
