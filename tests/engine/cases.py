"""One table of grammars and schemas; every path of the engine is run against it.

A case is (name, kind, spec, samples): ``kind`` names the compiler's method, ``samples`` are whole
texts of the language. Token names in structural tags are those that both the small vocabulary and
the case's own walk know; cases whose special tokens a vocabulary does not have are left to the
vocabularies that have them (``needs``).
"""

import json
from typing import Any, NamedTuple

import engine


class Case(NamedTuple):
    name: str
    kind: str
    spec: Any
    samples: tuple[str, ...]
    needs: tuple[str, ...] = ()


def _texts(*values: Any) -> tuple[str, ...]:
    """Each value in three layouts."""
    return tuple(
        json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
        for value in values
        for indent, separators in ((None, (",", ":")), (None, (", ", ": ")), (2, (",", ": ")))
    )


def _schema(name: str, schema: Any, *values: Any) -> Case:
    return Case(f"schema-{name}", "json_schema", schema, _texts(*values))


def _object(
    properties: dict[str, Any], required: list[str] | None = None, extra: Any = False
) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": extra,
    }


STRING, INTEGER, NUMBER, BOOLEAN = ({"type": t} for t in ("string", "integer", "number", "boolean"))
#: the pattern of zod's z.hostname(), with smaller counts: some paths write them out
HOST = (
    r"^(?=.{1,20}\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,6}[a-zA-Z0-9])?"
    r"(?:\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,6}[0-9a-zA-Z])?)*\.?$"
)
TREE = {
    "$defs": {"node": _object({"value": INTEGER, "next": {"$ref": "#/$defs/node"}}, ["value"])},
    "$ref": "#/$defs/node",
}
NESTED = {
    "$defs": {"x": {"anyOf": [INTEGER, {"type": "array", "items": {"$ref": "#/$defs/x"}}]}},
    "$ref": "#/$defs/x",
}

SCHEMAS = [
    _schema("any", True, {"a": [1, None]}, "x"),
    _schema("empty", {}, [1.5e3], False),
    *[
        _schema(f"type-{t}", {"type": t}, value)
        for t, value in (
            ("string", 'aé"\n'), ("integer", -120), ("number", -1.5e-7), ("boolean", True), ("null", None),
            ("object", {"k": {"l": 1}}), ("array", [[], [1]]),
        )
    ],
    _schema("types-two", {"type": ["string", "null"]}, None, "null"),
    _schema("types-many", {"type": ["integer", "object", "array"]}, 3, {}, []),
    _schema("object-required", _object({"name": STRING, "age": INTEGER}), {"name": "Ann", "age": 3}),
    _schema("object-optional", _object({"a": STRING, "b": INTEGER, "c": BOOLEAN}, []), {}, {"b": 1}, {"a": "", "c": True}),
    _schema("object-mixed", _object({"a": STRING, "b": INTEGER, "c": BOOLEAN}, ["b"]), {"b": 1}, {"a": "x", "b": 2, "c": False}),
    _schema("object-shared-prefix", _object({"name": STRING, "name_id": INTEGER, "na": BOOLEAN}, []), {"name_id": 7}, {"name": "x", "na": True}),
    _schema("object-open", _object({"a": INTEGER}, ["a"], True), {"a": 1, "zz": [1]}, {"x": 0, "a": 1}),
    _schema("object-open-typed", _object({"a": INTEGER}, [], {"type": "boolean"}), {"b": True, "a": 1, "c": False}),
    _schema("object-map", {"type": "object", "additionalProperties": INTEGER}, {"x": 1, "yy": 22}),
    _schema("object-required-unlisted", {"type": "object", "required": ["x", "y"]}, {"x": 1, "y": None}),
    _schema("object-escaped-key", _object({'a"b\n': INTEGER, "é": STRING}), {'a"b\n': 1, "é": ""}),
    _schema("object-slash-key", _object({"a/b": INTEGER}), {"a/b": 1}),
    _schema("object-emoji-key", _object({"😀": INTEGER}), {"😀": 1}),
    _schema("object-nested", _object({"p": _object({"q": _object({"r": NUMBER})})}), {"p": {"q": {"r": 0.5}}}),
    _schema("object-empty-closed", _object({}), {}),
    _schema("object-dead-optional", _object({"a": False, "b": INTEGER}, ["b"]), {"b": 2}),
    *[
        _schema(f"object-optional-{n}", _object({f"key_{i}": INTEGER for i in range(n)}, []), {}, {f"key_{n - 1}": 1})
        for n in (4, 16, 40)
    ],
    *[
        _schema(f"array-{low}-{high}", {"type": "array", "items": INTEGER, "minItems": low, "maxItems": high}, list(range(low)))
        for low, high in ((0, 0), (0, 1), (1, 1), (0, 3), (2, 5), (7, 7), (3, 40), (20, 25), (0, 1000))
    ],
    # REGRESSION: each key may match any of several patterns; a mask took 200 ms
    _schema("keys-three-patterns", {"type": "object", "patternProperties": {"a": {"minimum": 1}, "b": {"minimum": 2}, "c": {"minimum": 3}}}, {"x": 0, "a": 1, "cab": 7}),
    _schema("keys-patterns-overlap", {"type": "object", "patternProperties": {"^.*ab": STRING, "b.*$": {"maxLength": 3}, "^a": {"minLength": 1}}, "additionalProperties": False}, {"ab": "xyz", "b": 1, "ac": "x"}),
    _schema("keys-patterns-apart", {"type": "object", "patternProperties": {"^a": STRING, "^b": INTEGER, "^c": BOOLEAN, "^[^abc]": {"type": "null"}}, "additionalProperties": False}, {"ab": "x", "b": 1, "c": True, "\u00e9\n": None}),
    _schema("any-of-patterns", {"anyOf": [{"type": "string", "pattern": p} for p in ("^[^a]*a$", "^(b|[^a-f]{2})*$", '^[^"]+$', "(c|\u00e9)", "^[^0-9]*$")]}, "xa", "bb", "\u00e9"),
    _schema("array-min", {"type": "array", "items": STRING, "minItems": 2}, ["a", "b"], ["a", "b", "c"]),
    _schema("array-min-large", {"type": "array", "items": BOOLEAN, "minItems": 30}, [True] * 31),
    _schema("array-max-open", {"type": "array", "maxItems": 2}, [], [1, "x"]),
    _schema("array-of-arrays", {"type": "array", "maxItems": 30, "items": {"type": "array", "minItems": 3, "maxItems": 20, "items": INTEGER}}, [[1, 2, 3], [4, 5, 6, 7]]),
    _schema("array-of-objects", {"type": "array", "maxItems": 50, "items": _object({"n": STRING, "v": NUMBER}, ["n"])}, [{"n": "x"}, {"n": "", "v": 1}]),
    _schema("array-prefix", {"type": "array", "prefixItems": [STRING, INTEGER], "items": BOOLEAN}, [], ["a"], ["a", 1, True, False]),
    _schema("array-prefix-closed", {"type": "array", "prefixItems": [STRING, INTEGER], "items": False, "minItems": 2}, ["a", 1]),
    _schema("array-prefix-counted", {"type": "array", "prefixItems": [STRING], "items": INTEGER, "minItems": 3, "maxItems": 30}, ["a", 1, 2]),
    *[
        _schema(f"string-{low}-{high}", {"type": "string", "minLength": low, "maxLength": high}, "x" * low, "é" * high)
        for low, high in ((0, 0), (0, 1), (1, 1), (2, 3), (0, 5), (5, 12), (0, 20), (17, 17), (30, 60), (0, 200))
    ],
    _schema("string-min", {"type": "string", "minLength": 3}, "abc", "漢字かな"),
    _schema("string-min-large", {"type": "string", "minLength": 150}, "a" * 151),
    *[
        _schema(f"pattern-{n}", {"type": "string", "pattern": pattern}, *values)
        for n, (pattern, *values) in enumerate(
            [
                ("^[a-z]+$", "abc"), ("^a.c$", "aéc"), ("b", "abc", "b"), ("^ab", "abc"), ("yz$", "xyz"), ("^$", ""),
                (r"^\d{3}-\d{4}$", "123-4567"), (r"^(\+1)?\d{10}$", "+11234567890"), ("^(foo|bar|foobar)$", "foobar"),
                (r"^[^<>&]*$", "a b"), (r"^\w+@\w+\.com$", "a@b.com"), (r"^[A-Z]{2,30}$", "ABC"), (r'^["\\]+$', '"\\'),
                ("^(ab|a)(bc|c)$", "abc"), (r"^[\u00e0-\u00ff]{1,3}$", "éà"), ("^(a{1,3}b){2,4}$", "aabab"), ("^.{0,40}$", "x"),
                (r"^\s*\S+\s*$", " x "), ("^[😀-😂]+$", "😀😂"), ("^(?:a|b)*?c$", "abac"),
            ]
        )
    ],
    _schema("pattern-length", {"type": "string", "pattern": "^[a-z ]*$", "minLength": 2, "maxLength": 6}, "ab", "a b c "),
    _schema("pattern-longer", {"type": "string", "pattern": r"^\S+@\S+$", "minLength": 5, "maxLength": 12}, "ab@cd", "abc@defgh.xy", "é@漢字."),
    _schema("pattern-words", {"type": "string", "pattern": "^[a-z]+( [a-z]+){0,3}$", "maxLength": 30}, "the quick brown fox", "a" * 30),
    _schema("pattern-open-length", {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$", "minLength": 8}, "abcd-efgh", "abcdefghij-kl"),
    _schema("pattern-even-length", {"type": "string", "pattern": "^(ab|é)+(cd)?$", "minLength": 3, "maxLength": 6}, "ababab", "abcd", "ééé"),
    # graphs of characters that are built state by state
    _schema("graph-key", {"type": "object", "patternProperties": {r"^[/.\w-]{1,200}$": INTEGER}, "additionalProperties": False}, {"a": 1, "/b.c-d": 2}),
    _schema("graph-keys", {"type": "object", "properties": {"é": STRING}, "patternProperties": {"^[a-z]{1,120}(é|漢)?$": {"type": "null"}}}, {"é": "x", "abé": None, "A": 1}),
    _schema("graph-text", {"type": "string", "pattern": r"^([a-d]\.){0,90}é?$", "minLength": 3}, "a.b.", "a.a.é"),
    _schema("graph-length", {"type": "string", "pattern": r"^(\w+[.-])*[A-Zé😀]{2,90}$", "minLength": 4, "maxLength": 100}, "ab.CD", "a-b.éé😀"),
    _schema("graph-search", {"type": "string", "pattern": "ab.{8}c", "maxLength": 80}, "ab" + "x" * 8 + "c"),
    _schema("format-length", {"type": "string", "format": "email", "minLength": 6, "maxLength": 20}, "ab@cd.ef", "abcdef@ghijkl.mnopqr"),
    _schema("format-uri-length", {"type": "string", "format": "uri", "maxLength": 24}, "https://example.com/a?b#c"[:24], "a:"),
    _schema("pattern-length-search", {"type": "string", "pattern": "zz", "maxLength": 5}, "azzb"),
    # look-ahead that counts the text, and an optional end of it
    _schema("pattern-host", {"type": "string", "pattern": HOST}, "a", "a-b.de", "xn--a.com."),
    _schema("pattern-host-format", {"type": "string", "format": "hostname", "pattern": HOST, "minLength": 3, "maxLength": 12}, "a-b.de", "a.b.c.d.e.f"),
    _schema("pattern-short-host", {"type": "string", "pattern": r"^(?=.{1,9}\.?$)[a-z]{1,4}(?:\.[a-z]{1,4})*\.?$"}, "a", "abcd.efgh", "abcd.efgh.", "a."),
    _schema("pattern-two-ends", {"type": "string", "pattern": r"^(?=.{2,5}!?\??$)[aé!?]*$"}, "aé", "aéaéa!?", "!?"),
    _schema("pattern-two-hosts", {"allOf": [{"pattern": HOST}, {"pattern": r"^a(?=.{1,6}\.?$)[a-z.]*$"}], "type": "string"}, "ab.c", "abcdef.", "aabc.de"),
    _schema("pattern-no-host", {"type": "string", "not": {"pattern": HOST}}, "a..b", "", "é"),
    _schema("pattern-no-short-host", {"type": "string", "not": {"pattern": r"^(?=.{1,3}\.?$)[a-z.]*$"}, "maxLength": 9}, "abcd", "abc..", "A"),
    _schema("keys-hosts", {"type": "object", "patternProperties": {HOST: INTEGER}, "additionalProperties": STRING}, {"a.de": 1, "-": "x"}),
    _schema("keys-are-hosts", {"type": "object", "propertyNames": {"pattern": HOST}, "additionalProperties": INTEGER}, {"a.de": 1, "b.": 2}),
    # a count that a length makes unnecessary
    _schema("pattern-counts-and-length", {"type": "string", "pattern": "^[a-zé]{1,300}-(?:ab?){1,200}$", "maxLength": 9}, "é-ab", "abc-aaba"),
    _schema("pattern-emoji", {"type": "string", "pattern": r"^(?=[\s\S]*[\p{Extended_Pictographic}\p{Regional_Indicator}\u20E3])[\p{Extended_Pictographic}\p{Emoji_Component}]+$"}, "😀", "1️⃣", "🇳🇴👍🏽"),
    _schema("pattern-properties", {"type": "string", "pattern": r"\A\p{XIDS}\p{scx=Deva}*\P{Script_Extensions=Latin}\z"}, "aक।1", "é漢"),
    _schema("format-uuid4", {"type": "string", "format": "uuid4"}, "0191a3c4-5b6d-4abc-9def-0123456789ab"),
    *[
        _schema(f"enum-{n}", {"enum": values}, *values)
        for n, values in enumerate(
            (["a"], ["red", "green", "greenish"], [1, 12, 123, -1], [True, None, "x", 0.5], [[1, 2], {"a": "b"}],
             ['q"uote', "back\\slash", "tab\t"], ["é", "漢字", "😀"], [f"value_{i}" for i in range(60)])
        )
    ],
    _schema("enum-typed", {"type": "string", "enum": ["a", 1, "b"]}, "a", "b"),
    _schema("const-string", {"const": "hello world"}, "hello world"),
    _schema("const-object", {"const": {"a": [1, {"b": None}]}}, {"a": [1, {"b": None}]}),
    _schema("const-empty", {"const": ""}, ""),
    _schema("anyof-types", {"anyOf": [STRING, INTEGER, {"type": "array", "items": STRING}]}, "x", 4, ["y"]),
    _schema("anyof-objects", {"anyOf": [_object({"kind": {"const": "a"}, "x": INTEGER}), _object({"kind": {"const": "b"}, "y": STRING})]},
            {"kind": "a", "x": 1}, {"kind": "b", "y": "z"}),
    _schema("anyof-overlap", {"anyOf": [_object({"x": INTEGER}), _object({"x": NUMBER, "y": STRING}, ["x"])]}, {"x": 1}, {"x": 1.5, "y": ""}),
    _schema("anyof-many", {"anyOf": [_object({f"p{i}": INTEGER}) for i in range(20)]}, {"p0": 1}, {"p19": 2}),
    _schema("ref-list", TREE, {"value": 1, "next": {"value": 2}}),
    _schema("ref-nested", NESTED, 1, [[1, []], 2]),
    _schema("ref-mutual", {"$defs": {"a": _object({"b": {"$ref": "#/$defs/b"}}, []), "b": {"type": "array", "items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"},
            {"b": [{}, {"b": []}]}),
    _schema("ref-pointer", {"$defs": {"a/b~c": INTEGER}, "properties": {"x": {"$ref": "#/$defs/a~1b~0c"}}, "type": "object"}, {"x": 1}),
    *[
        _schema(f"integer-{n}", {"type": "integer", **bounds}, *values)
        for n, (bounds, values) in enumerate(
            (
                ({"minimum": 0}, (0, 100)), ({"maximum": -5}, (-5, -77)), ({"minimum": 3, "maximum": 1234}, (3, 999, 1234)),
                ({"minimum": -20, "maximum": 105}, (-20, 0, 105)), ({"exclusiveMinimum": 9, "exclusiveMaximum": 12}, (10, 11)),
                ({"minimum": 1.5, "maximum": 4.5}, (2, 4)), ({"minimum": 1900, "maximum": 2100}, (1999, 2100)), ({"minimum": 7, "maximum": 7}, (7,)),
            )
        )
    ],
    *[
        _schema(f"number-{n}", {"type": "number", **bounds}, *values)
        for n, (bounds, values) in enumerate(
            (
                ({"minimum": 0}, (0, 0.5, 12)), ({"minimum": -90, "maximum": 90}, (-90, 45.25, 90)), ({"exclusiveMinimum": 0, "maximum": 1}, (0.25, 1)),
                ({"minimum": 0.5, "maximum": 0.75}, (0.5, 0.6, 0.75)), ({"maximum": -0.125}, (-0.125, -3)),
            )
        )
    ],
    _schema("tool", _object({"city": STRING, "unit": {"enum": ["c", "f"]}, "days": {"type": "integer", "minimum": 1, "maximum": 14}}, ["city"]),
            {"city": "Oslo"}, {"city": "Oslo", "unit": "c", "days": 3}),
    _schema("record", _object({
        "id": INTEGER, "tags": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 10},
        "meta": {"type": "object", "additionalProperties": STRING}, "state": {"enum": ["open", "closed"]}, "score": {"type": ["number", "null"]},
    }, ["id", "state"]), {"id": 1, "tags": ["a"], "meta": {"k": "v"}, "state": "open", "score": None}),
]  # fmt: skip

#: options of schemas, where a schema can name them
SCHEMAS += [
    Case("schema-guidance-compact", "json_schema", {**TREE, "x-guidance": {"whitespace_flexible": False}}, ('{"value":1,"next":{"value":2}}',)),
    _schema("integer-multiple", {"type": "integer", "multipleOf": 7, "minimum": -50}, -49, 0, 700),
    _schema("number-multiple", {"type": "number", "multipleOf": 0.25, "maximum": 9}, -0.25, 8.75),
    _schema("integer-multiple-large", {"type": "integer", "multipleOf": 86_400, "not": {"multipleOf": 604_800}}, -86_400, 172_800),
    _schema("enum-large-numbers", {"enum": [1e22, 1e23, -1.5e-7, 10**20]}, 1e22, 1e23, -1.5e-7, 10**20),
    _schema("one-of", {"oneOf": [{"type": "integer", "multipleOf": 2}, {"type": "number", "minimum": 5}]}, -4, 5.5, 7),
]  # fmt: skip

REGEXES = [
    Case(f"regex-{n}", "regex", pattern, samples)
    for n, (pattern, samples) in enumerate(
        (
            ("abc", ("abc",)), ("a*", ("", "aaa")), ("(a|b)*c", ("abac",)), ("[a-z]{3,30}", ("abcd",)), ("[^\\n]*\\n", ("x y\n",)), (".*foo.*", ("a foo b",)),
            ("(ab){10,40}", ("ab" * 12,)), ("(a|aa){10,30}", ("a" * 15,)), ("\\d+(\\.\\d+)?", ("3.14",)), ("[\\u4e00-\\u9fff]+", ("漢字",)), ("(x?y?){20,30}", ("xyxy",)),
            ("(a+b+){3,20}", ("aabbab" * 2,)), ("", ("",)), ("a{0,300}b", ("aab",)), ("[\\s\\S]{2,18}", ("a\n",)),
            ("(\\S+\\s+){0,3}\\S+", ("a bc  d",)), ("([^ ]+ +){2,4}[0-9]+", ("a  bc 7",)), ("(\\s*\\S){0,5}\\s*", (" a b",)),
        )
    )
]  # fmt: skip

CHOICES = [
    Case(f"choice-{n}", "choice", list(texts), tuple(texts))
    for n, texts in enumerate(
        (
            ("yes", "no"),
            ("a", "ab", "abc"),
            ("", "x"),
            ("é", "漢字"),
            tuple(f"item {i}" for i in range(50)),
        )
    )
]


def _tag(name: str, form: Any, *samples: str, needs: tuple[str, ...] = ()) -> Case:
    return Case(
        f"tag-{name}", "structural_tag", {"type": "structural_tag", "format": form}, samples, needs
    )


def _json(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": schema}


def _canonical(name: str, schema: Any, *values: Any) -> Case:
    own = {"version": engine.SPEC_VERSION, "spelling": "canonical"}
    texts = [json.dumps(value, ensure_ascii=False) for value in values]
    return _tag(f"canonical-{name}", {**_json(schema), "switchyard": own}, *texts)


def _laid_out(
    name: str, options: dict[str, Any], schema: Any, *values: Any, own: Any = (), **more: Any
) -> Case:
    """In the white space of ``json.dumps`` with these options; ``more`` for the node."""
    field = {"version": engine.SPEC_VERSION, **options, **dict(own)}
    texts = [json.dumps(value, ensure_ascii=False, **options) for value in values]
    return _tag(f"layout-{name}", {**_json(schema), **more, "switchyard": field}, *texts)


def _function(name: str, schema: Any) -> dict[str, Any]:
    return {
        "type": "tag",
        "begin": f"<function={name}>",
        "content": _json(schema),
        "end": "</function>",
    }


TEXT = {"type": "any_text"}
F, G = (
    _function("f", _object({"a": INTEGER})),
    _function(
        "get_weather",
        _object(
            {"city": STRING, "n": {"type": "array", "items": INTEGER, "maxItems": 20}}, ["city"]
        ),
    ),
)
F_TEXT, G_TEXT = (
    '<function=f>{"a": 1}</function>',
    '<function=get_weather>{"city": "Oslo", "n": [1,2]}</function>',
)
MANY = [
    _function(f"tool_{i}", _object({f"p{i}": STRING, "q": INTEGER}, [f"p{i}"])) for i in range(12)
]
TRIGGERED = {"type": "triggered_tags", "triggers": ["<function="], "tags": [F, G]}

TAGS = [
    _tag("const", {"type": "const_string", "value": 'they said "é"\n'}, 'they said "é"\n'),
    _tag("json", _json(_object({"a": INTEGER})), '{"a":1}'),
    _canonical("object", _object({'a"b\n': NUMBER, "é": STRING, "a/b": INTEGER}, []), {'a"b\n': 1.5, "a/b": -3}, {"é": "\n"}),
    _canonical("open", _object({"a": INTEGER, "ab": True}, ["a"], True), {"a": 1, "ab": {"x": 1e-7}, "b": "é"}),
    _canonical("any-order", {**_object({"a": INTEGER, "b": INTEGER}), "minProperties": 1}, {"a": 1, "b": 20}),
    _canonical("enum", {"enum": ["a", "ab\t", "é", 2.5, {"k": [1]}]}, "ab\t", 2.5, {"k": [1]}),
    _canonical("bounded", {"type": "array", "items": {"type": "number", "minimum": -5, "maximum": 1e20}}, [-4.5, 0, 3]),
    *[
        _laid_out(f"{name}-{n}", options, schema, *values)
        for n, options in enumerate(
            ({"indent": 2}, {"indent": "\t", "separators": [", ", ":"]}, {"indent": 0}, {"separators": [", ", " : "]})
        )
        for name, schema, *values in (
            ("object", _object({"a": INTEGER, "b": _object({"c": NUMBER}, [])}, ["b"]), {"b": {}}, {"a": 1, "b": {"c": 0.5}}),
            ("open", _object({"a": BOOLEAN}, [], {"type": "array", "items": BOOLEAN}), {}, {"a": True, "b": [], "c": [True, False]}),
            ("arrays", {"type": "array", "items": {"type": "array", "items": BOOLEAN, "maxItems": 20}}, [], [[], [True], [False, True]]),
        )
    ],
    _laid_out("any-order", {"indent": 1}, _object({"a": INTEGER, "b": INTEGER}, ["b"], INTEGER), {"b": 1}, {"b": 1, "x": 3, "a": 2}, any_order=True),
    _laid_out("canonical", {"indent": 2}, _object({"a": STRING, "b": {"enum": [{"c": [1]}, 2]}}, ["b"], NUMBER),
              {"b": 2}, {"a": "x", "b": {"c": [1]}, "d": 1.5}, own={"spelling": "canonical", "extra_keys": "last"}),
    _laid_out("counted", {"indent": 2}, {"type": "object", "properties": {"a": INTEGER}, "minProperties": 1, "maxProperties": 3}, {"a": 1, "b": {"c": 2}}),
    _laid_out("prefix", {"indent": 3}, {"type": "array", "prefixItems": [STRING, {"type": "array", "items": INTEGER}], "items": BOOLEAN, "maxItems": 30}, [], ["x"], ["x", [1, 2], True, True]),
    _laid_out("contains", {"indent": 2}, {"type": "array", "items": {"type": ["integer", "boolean"]}, "contains": INTEGER, "maxContains": 2}, [1], [True, 2, 3]),
    _laid_out("free", {"indent": 1}, _object({"a": True}, []), {"a": {"x": [[], {}, [[[]]], {"y": None}]}}),
    _laid_out("recursive", {"indent": 1}, TREE, {"value": 1, "next": {"value": 2, "next": {"value": 3}}}),
    _laid_out("deep", {"indent": 1}, NESTED, json.loads("[" * 19 + "1" + "]" * 19)),
    _laid_out("enum", {"indent": 2}, {"properties": {"k": {"enum": [{"a": [1, {"b": []}]}, [[], {}], "x"]}}, "required": ["k"], "type": "object"}, {"k": {"a": [1, {"b": []}]}}, {"k": [[], {}]}),
    _laid_out("unevaluated", {"indent": 2}, {"type": "object", "allOf": [{"properties": {"a": INTEGER}}], "unevaluatedProperties": {"type": "array"}}, {"a": 1, "b": [[1]]}),
    _tag("regex", {"type": "regex", "pattern": "[a-f]{4,20}"}, "abcd"),
    _tag("text", TEXT, "", "any <é>\n"),
    _tag("text-excludes", {"type": "any_text", "excludes": ["<stop>", "###"]}, "a <sto ## b"),
    _tag("sequence", {"type": "sequence", "elements": [{"type": "const_string", "value": "A: "}, _json(INTEGER), {"type": "const_string", "value": ";"}]}, "A: 12;"),
    _tag("sequence-text", {"type": "sequence", "elements": [TEXT, {"type": "const_string", "value": "END"}]}, "x END", "END END"),
    _tag("or", {"type": "or", "elements": [_json(INTEGER), {"type": "const_string", "value": "none"}]}, "5", "none"),
    _tag("or-begins", {"type": "or", "elements": [
        *({"type": "const_string", "value": text} for text in ("a", "ab", "abc", "é", "éa", "ba", "b\u00e8", "a0", "a1", "a2")),
        *({"type": "tag", "begin": f"<f{n}>", "content": TEXT, "end": "</f>"} for n in range(4)),
        {"type": "tag", "begin": "ab", "content": _json(INTEGER), "end": ";"},
        {"type": "sequence", "elements": [{"type": "const_string", "value": "abd"}, TEXT]},
        {"type": "regex", "pattern": "a[x-z]+"},
    ]}, "abc", "éa", "bè", "a1", "ab7;", "<f3>x</f>", "abd any", "axyz"),
    _tag("or-many-texts", {"type": "or", "elements": [{"type": "const_string", "value": f"a{n}"} for n in range(40)]}, "a3", "a39"),
    _tag("separated-begins", {"type": "tags_with_separator", "separator": ",", "tags": [
        {"type": "tag", "begin": f"a{n}", "content": _json(INTEGER), "end": "e"} for n in range(12)
    ]}, "", "a11-5e", "a12e,a01e"),
    _tag("optional", {"type": "optional", "content": {"type": "const_string", "value": "maybe"}}, "", "maybe"),
    _tag("star", {"type": "star", "content": {"type": "const_string", "value": "ab"}}, "", "abab"),
    _tag("plus", {"type": "plus", "content": F}, F_TEXT, F_TEXT * 2),
    _tag("tag-json", F, F_TEXT),
    _tag("tag-text", {"type": "tag", "begin": "<think>", "content": TEXT, "end": "</think>"}, "<think>a </thin b</think>"),
    _tag("tag-ends", {"type": "tag", "begin": "(", "content": TEXT, "end": [")", "]]"]}, "(a)", "(a] b]]"),
    _tag("tag-no-end", {"type": "tag", "begin": "=", "content": _json(INTEGER), "end": ""}, "=12"),
    _tag("think-then-json", {"type": "sequence", "elements": [{"type": "tag", "begin": "<think>", "content": TEXT, "end": "</think>\n"}, _json(_object({"a": STRING}))]}, '<think>hm</think>\n{"a":"b"}'),
    _tag("triggered", TRIGGERED, "", "text", f"a {F_TEXT} b {G_TEXT}<func"),
    _tag("triggered-required", {**TRIGGERED, "at_least_one": True}, F_TEXT, f"{G_TEXT} and {F_TEXT}"),
    _tag("triggered-once", {**TRIGGERED, "stop_after_first": True}, "text", f"a {F_TEXT}"),
    _tag("triggered-exactly-one", {**TRIGGERED, "at_least_one": True, "stop_after_first": True}, F_TEXT),
    _tag("triggered-excludes", {**TRIGGERED, "excludes": ["<bad>", "</function>"]}, f"x <ba {F_TEXT}"),
    _tag("triggered-many", {"type": "triggered_tags", "triggers": ["<function="], "tags": MANY}, 'x<function=tool_11>{"p11": "v", "q": 2}</function>'),
    _tag("triggered-prefixes", {"type": "triggered_tags", "triggers": ["<a", "<ab", "b>"], "tags": [
        {"type": "tag", "begin": "<ab>", "content": _json(INTEGER), "end": "</ab>"}, {"type": "tag", "begin": "<a>", "content": _json(STRING), "end": "</a>"},
        {"type": "tag", "begin": "b>", "content": _json(BOOLEAN), "end": ";"}]}, '<ab>1</ab>', 'x <a>"s"</a>', "b>true;"),
    _tag("triggered-unicode", {"type": "triggered_tags", "triggers": ["«"], "tags": [{"type": "tag", "begin": "«f»", "content": _json(INTEGER), "end": "«/»"}]}, "é «f»1«/» è"),
    _tag("separator", {"type": "tags_with_separator", "tags": [F, G], "separator": "\n"}, "", F_TEXT, f"{F_TEXT}\n{G_TEXT}"),
    _tag("separator-required", {"type": "tags_with_separator", "tags": [F, G], "separator": "; ", "at_least_one": True}, F_TEXT, f"{F_TEXT}; {G_TEXT}"),
    _tag("separator-once", {"type": "tags_with_separator", "tags": [F, G], "separator": ",", "stop_after_first": True, "at_least_one": True}, G_TEXT),
    _tag("nested", {"type": "tag", "begin": "[", "content": {"type": "or", "elements": [F, {"type": "tag", "begin": "(", "content": _json(STRING), "end": ")"}]}, "end": "]"}, f"[{F_TEXT}]", '[("x")]'),
    _tag("special-literal", {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [
        {"type": "tag", "begin": '<tool_call>\n{"name": "f", "arguments": ', "content": _json(_object({"a": INTEGER})), "end": "}\n</tool_call>"}],
        "excludes": ["<|start|>", "<|message|>"]}, 'x<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>y', needs=("<tool_call>",)),
    _tag("tokens", {"type": "sequence", "elements": [{"type": "token", "token": "<|start|>"}, {"type": "const_string", "value": "x"}, {"type": "token", "token": "<|message|>"}, _json(INTEGER)]},
         needs=("<|start|>", "<|message|>")),
    _tag("token-tag", {"type": "tag", "begin": {"type": "token", "token": "<|start|>"}, "content": _json(_object({"a": STRING})), "end": {"type": "token", "token": "<|call|>"}},
         needs=("<|start|>", "<|call|>")),
    _tag("token-triggered", {"type": "token_triggered_tags", "trigger_tokens": ["<|start|>"], "exclude_tokens": ["<|end|>"], "tags": [
        {"type": "tag", "begin": {"type": "token", "token": "<|start|>"}, "content": _json(INTEGER), "end": {"type": "token", "token": "<|message|>"}}]},
         "plain", needs=("<|start|>", "<|message|>", "<|end|>")),
    _tag("max-chars", {"type": "any_text", "max_chars": 30}, "", "é" * 30),
    _tag("max-chars-small", {"type": "any_text", "max_chars": 2}, "", "漢字"),
    _tag("max-chars-excludes", {"type": "any_text", "max_chars": 40, "excludes": ["<stop>", "###"]}, "a <sto ## b"),
    _tag("max-chars-tag", {"type": "tag", "begin": "<think>", "content": {"type": "any_text", "max_chars": 20}, "end": "</think>"}, "<think>a </thin b</think>", f"<think>{'x' * 20}</think>"),
    _tag("max-chars-sequence", {"type": "sequence", "elements": [{"type": "any_text", "max_chars": 25}, {"type": "const_string", "value": "END"}]}, "x END", "END END"),
    _tag("max-chars-split", {"type": "sequence", "elements": [{"type": "any_text", "max_chars": 5}, {"type": "regex", "pattern": "[a-z <]{2,40}"}]}, "x END ab", "漢字漢字 < <"),
    _tag("max-chars-twice", {"type": "sequence", "elements": [{"type": "any_text", "max_chars": 3}, {"type": "any_text", "max_chars": 4, "excludes": ["e"]}]}, "END 漢字"),
    _tag("max-tokens", {"type": "any_text", "max_tokens": 40}, "", "é" * 10, "any <é>\n"),
    _tag("max-tokens-one", {"type": "any_text", "max_tokens": 1}, "", "a"),
    _tag("max-tokens-few", {"type": "any_text", "max_tokens": 3}, "", "a b"),
    _tag("max-tokens-excludes", {"type": "any_text", "max_tokens": 30, "excludes": ["<stop>", "###"]}, "a <sto ## b"),
    _tag("max-tokens-tag", {"type": "tag", "begin": "<think>", "content": {"type": "any_text", "max_tokens": 25}, "end": "</think>"}, "<think>a </thin b</think>", f"<think>{'x' * 20}</think>"),
    _tag("max-tokens-tag-few", {"type": "tag", "begin": "<think>", "content": {"type": "any_text", "max_tokens": 4}, "end": "</think>"}, "<think>a b</think>", "<think>漢</think>"),
    _tag("max-tokens-sequence", {"type": "sequence", "elements": [{"type": "any_text", "max_tokens": 20}, {"type": "const_string", "value": "END"}]}, "x END", "END END"),
    _tag("max-tokens-twice", {"type": "sequence", "elements": [{"type": "any_text", "max_tokens": 2}, {"type": "any_text", "max_tokens": 3, "excludes": ["e"]}]}, "a b"),
    _tag("max-tokens-star", {"type": "star", "content": {"type": "tag", "begin": "(", "content": {"type": "any_text", "max_tokens": 3}, "end": [")", "é"]}}, "(a)", "(a)(b)(cé"),
    _tag("max-tokens-or", {"type": "or", "elements": [{"type": "any_text", "max_tokens": 2}, _json(STRING), {"type": "regex", "pattern": "[a-zé]{0,30}"}]}, '"some text"', "aé" * 10),
    _tag("max-tokens-counted", {"type": "repeat", "min": 2, "max": 20, "content": {"type": "tag", "begin": "<", "content": {"type": "any_text", "max_tokens": 2}, "end": ">"}}, "<a><b>", "<>" * 20),
    _tag("max-tokens-and-chars", {"type": "tag", "begin": "<think>", "content": {"type": "any_text", "max_tokens": 12, "max_chars": 10}, "end": "</think>"}, "<think>a b</think>", "<think>漢字</think>"),
    _tag("max-tokens-token-end", {"type": "tag", "begin": "<t>", "content": {"type": "any_text", "max_tokens": 12}, "end": {"type": "token", "token": "<|end|>"}}, needs=("<|end|>",)),
    _tag("exclude-token", {"type": "sequence", "elements": [{"type": "exclude_token", "exclude_tokens": [3, "<|start|>"]}, {"type": "const_string", "value": "x"}]}, needs=("<|start|>",)),
    _tag("any-tokens", {"type": "any_tokens", "exclude_tokens": [3]}, "b c"),
    _tag("any-tokens-bounded", {"type": "tag", "begin": "<t>", "content": {"type": "any_tokens", "max_tokens": 12}, "end": {"type": "token", "token": "<|end|>"}}, needs=("<|end|>",)),
    _tag("any-tokens-text", {"type": "sequence", "elements": [{"type": "any_tokens", "max_tokens": 6}, {"type": "const_string", "value": "END"}]}, "END"),
    _tag("repeat", {"type": "repeat", "min": 2, "max": 30, "content": {"type": "or", "elements": [{"type": "const_string", "value": "ab"}, {"type": "const_string", "value": "c"}]}}, "abc", "c" * 30),
    _tag("repeat-tags", {"type": "repeat", "min": 1, "max": 3, "content": F}, F_TEXT, F_TEXT * 3),
    _tag("dispatch", {"type": "dispatch", "rules": [["<f>", _json(INTEGER)], ["<g>", F], ["<f>", {"type": "const_string", "value": "no"}]]}, "x <f>12 y", f"<g>{F_TEXT}<f>no"),
    _tag("dispatch-once", {"type": "dispatch", "rules": [["<f>", _json(INTEGER)]], "loop": False, "excludes": ["###"]}, "x ## <f>12", "x"),
    _tag("dispatch-repeated", {"type": "dispatch", "rules": [["<f>", {"type": "plus", "content": {"type": "const_string", "value": "1;"}}], ["<g>", {"type": "repeat", "min": 1, "max": 3, "content": F}]]}, "x <f>1;1;", f"x <g>{F_TEXT}y"),
    _tag("dispatch-tag", {"type": "tag", "begin": "(", "content": {"type": "dispatch", "rules": [["<f>", _json(INTEGER)]]}, "end": ")"}, "(x <f>12 y)"),
    _tag("token-dispatch", {"type": "token_dispatch", "rules": [["<|start|>", _json(INTEGER)]], "exclude_tokens": ["<|end|>"]}, "plain", needs=("<|start|>", "<|end|>")),
    _tag("excludes", {**_json(STRING), "excludes": ["<x>", "u003", "é"]}, '"a<\\u00e9<x"', '"u00"'),
    _tag("excludes-lengths", {**_json({"type": "string", "minLength": 2, "maxLength": 30}), "excludes": ["ab", "cx"]}, '"aa"', '"\\u003dxbaé"'),
    _tag("excludes-values", {**_json({"type": ["object", "array", "string"]}), "excludes": ["<|start|>", "the "]}, '{"a": ["<|start|", 1]}', '["the", "\\u0074he "]'),
    _tag("excludes-object", {**_json(_object({"a": STRING, "a<": INTEGER, "<x>": True}, ["a"], INTEGER)), "excludes": ["<x>"]}, '{"a": "<", "a<": 1, "<": 2}'),
    _tag("excludes-kimi", {"type": "json_schema", "style": "kimi_k3_xml", "json_schema": {"type": "object"}, "excludes": ["<|open|>", "<|close|>", "<|sep|>"]}, '<|open|>argument key="a" type="integer"<|sep|>7<|close|>argument<|sep|>', '<|open|>argument key="a" type="string"<|sep|><|open<|close|>argument<|sep|>'),
    _tag("any-tokens-no-end", {"type": "token_triggered_tags", "trigger_tokens": ["<|start|>"], "tags": [{"type": "tag", "begin": {"type": "token", "token": "<|start|>"}, "content": {"type": "any_tokens", "exclude_tokens": ["<|end|>"]}, "end": ""}]}, "plain", needs=("<|start|>", "<|end|>")),
    _tag("grammar", {"type": "grammar", "grammar": 'root ::= item ("," item)*\nitem ::= [a-z]{1,20} | "(" root ")"'}, "a,(bc,d)", "x" * 20),
    *[
        _tag(style, {"type": "json_schema", "style": style, "json_schema": _object({"city": STRING, "n": INTEGER, "l": {"type": "array", "items": STRING}, "s": {"type": "string", "maxLength": 20}}, ["city"])}, *samples)
        for style, samples in (
            ("qwen_xml", ("<parameter=city>Oslo</parameter>\n<parameter=n>\n3\n</parameter>",)),
            ("minimax_xml", ('<parameter name="city">Oslo</parameter>',)),
            ("minimax_m3_xml", ("]<]minimax[>[<city>Oslo]<]minimax[>[</city>]<]minimax[>[<l>]<]minimax[>[</l>",)),
            ("deepseek_xml", ('<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>',)),
            ("deepseek_v4_1_xml", ('<｜DSML｜ parameter name="city" string="true">Oslo</｜DSML｜ parameter>',)),
            ("glm_xml", ("<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>",)),
            ("python", ('city="Oslo", n=3, l=["a", "b"]', 'city="x"')),
            ("gemma", ('city:<|"|>Oslo<|"|>,n:3,l:[<|"|>a<|"|>]',)),
            ("functiongemma", ("city:<escape>Oslo<escape>,n:3",)),
            ("qwen_coder_xml", ("<parameter=city>\nOslo\n</parameter>\n<parameter=n>\n3\n</parameter>",)),
            ("minicpm_xml", ('<param name="city">Oslo</param><param name="n">3</param>',)),
            ("atem_xml", ('<atem:parameter name="city">Oslo</atem:parameter>',)),
            ("hunyuan_xml", ("<arg_key:opensource>city</arg_key:opensource>\n<arg_value:opensource>Oslo</arg_value:opensource>",)),
            ("cohere_xml", ('<cofl:value name="city" type="raw">Oslo</cofl:value>',)),
            ("kimi_k3_xml", ('<|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|>',)),
        )
    ],
    _tag("qwen-parameter", {"type": "qwen_xml_parameter", "json_schema": _object({"n": INTEGER})}, "<parameter=n>12</parameter>"),
    _tag("qwen-open", {"type": "json_schema", "style": "qwen_xml", "json_schema": {"type": "object", "properties": {"p": {"type": "string", "pattern": "^[a-z]+$"}}}}, "<parameter=p>abc</parameter><parameter=q>[1]</parameter>"),
]  # fmt: skip

ARITHMETIC = (
    'root ::= root "+" term | term\nterm ::= term "*" atom | atom\natom ::= [0-9]+ | "(" root ")"'
)
SQL = r"""
start: "select" columns "from" NAME [where]
columns: "*" | NAME ("," NAME)*
where: "where" condition ("and" condition)~0..30
condition: NAME OPERATOR (NUMBER | STRING)
OPERATOR: "=" | "<" | ">" | "<>"
NAME: /[a-z_]+/i
STRING: "'" /[^']*/ "'"
%import common.INT -> NUMBER
%ignore /[ \t\n]+/
"""
JSON_GRAMMAR = r"""
root ::= value
value ::= object | array | string | "1" | "true"
object ::= "{" (string ":" value ("," string ":" value)*)? "}"
array ::= "[" (value ("," value)*)? "]"
string ::= "\"" [^"\\]* "\""
"""

#: options of ``json_schema`` nodes
OPEN = _object({"a": INTEGER, "b": {"enum": ["é/\n", 1.5]}}, ["b"], BOOLEAN)
LISTS = _object({"n": {"type": "array", "items": NUMBER}, "k": {"enum": ['a"', "/b"]}}, ["k"])
TAGS += [
    *[
        _tag(f"whitespace-{n}", {**_json(OPEN), "max_whitespace_cnt": n}, '{"a":1,"b":"é/\\n"}', *samples)
        for n, samples in ((0, ()), (1, ('{\n"b"\n: 1.5 }',)), (3, ('{\n  "b":\n  1.5,"x":true\n}',)))
    ],
    _tag("any-order", {**_json(OPEN), "any_order": True}, '{"b": 1.5, "x": true, "a": 1}'),
    _tag("unknown-format", _json({"type": "string", "format": "x-none", "maxLength": 9}), '"any"'),
    _canonical("multiples", {"type": "array", "items": {"type": "number", "multipleOf": 0.5}}, [-0.5, 0, -0.0, 7]),
    _canonical("integers", {"type": "array", "items": {"type": "integer", "not": {"enum": [0, 7]}}}, [-70, 8]),
    _canonical("enum-large-numbers", {"enum": [1e22, 1e23, -1.5e-7, 10**20]}, 1e22, 1e23, -1.5e-7, 10**20),
    *[
        _tag(f"canonical-{name}", {**_json(OPEN), **more, "switchyard": {"version": engine.SPEC_VERSION, "spelling": "canonical", **own}}, *samples)
        for name, more, own, samples in (
            ("excludes", {"excludes": ["<x>", "\\u"]}, {}, ('{"<x": true, "b": 1.5}',)),
            ("last", {}, {"extra_keys": "last"}, ('{"b": "é/\\n", "x": false}',)),
            ("last-any-order", {"any_order": True}, {"extra_keys": "last"}, ('{"b": 1.5, "a": 1, "x": false}',)),
            ("whitespace", {"max_whitespace_cnt": 2}, {}, ('{"b":\n 1.5}',)),
        )
    ],
    _laid_out("memberless", {"indent": 2}, _object({"a": _object({}), "b": {"type": "array", "items": False}}), {"a": {}, "b": []}),
    _laid_out("compact", {"separators": [",", ":"]}, OPEN, {"a": 1, "b": 1.5, "c": True}),
    _laid_out("excludes", {"indent": 2}, OPEN, {"<x": True, "b": 1.5}, excludes=["<x>"]),
    *[
        _tag(f"{name}-{style}", {"type": "json_schema", "style": style, "json_schema": LISTS, **more, "switchyard": {"version": engine.SPEC_VERSION, **own}}, *samples)
        for name, more, own in (
            ("canonical", {}, {"spelling": "canonical"}),
            ("laid-out", {"any_order": True}, {"indent": 2, "spelling": "canonical"}),
        )
        for style, samples in (
            ("qwen_xml", ("<parameter=k>/b</parameter>",)),
            ("kimi_k3_xml", ('<|open|>argument key="k" type="string"<|sep|>/b<|close|>argument<|sep|>',)),
        )
    ],
    _tag("any-order-qwen", {"type": "json_schema", "style": "qwen_xml", "json_schema": LISTS, "any_order": True}, "<parameter=k>/b</parameter><parameter=n>[1]</parameter>"),
    _tag("argument-order", {"type": "json_schema", "style": "qwen_xml", "json_schema": LISTS, "switchyard": {"version": engine.SPEC_VERSION, "argument_order": "any"}}, "<parameter=k>/b</parameter><parameter=n>[1]</parameter>"),
    _tag("argument-order-python", {"type": "json_schema", "style": "python", "json_schema": LISTS, "switchyard": {"version": engine.SPEC_VERSION, "argument_order": "any"}}, 'k="/b", n=[1]'),
    _tag("style-object", {"type": "json_schema", "json_schema": LISTS, "style": {"open": "<{key} {type}>", "close": "</{key}>", "types": {**dict.fromkeys(("integer", "number", "boolean", "null", "object", "array"), "json"), "string": "text"}, "any_order": True}}, "<k text>/b</k><n json>[1]</n>"),
]  # fmt: skip

GRAMMARS = [
    Case("regex-looks", "regex", r"(?!in)[a-z]+\b(?=;).(?<![xé];)\W*", ("iff;", "ab; -")),
    Case("regex-properties", "regex", r"[\p{Lu}\d]{2,20}\P{L}\s?", ("ÉA1-", "42\n")),
    Case("ebnf-counts-open", "grammar", ('root ::= item{2,-1} ("." | "!"){0,3} (= "x")\nitem ::= [a-z] | "é"', "ebnf"), ("aéb", "the..")),
    Case("ebnf-regex-flags", "grammar", ('root ::= Regex("k.s", flags="is") "-" Regex("[^a]{2,}", flags="i")', "ebnf"), ("K\nſ-bé",)),
    Case("ebnf-tokens", "grammar", ('root ::= "a" (Token(3, 5) | ExcludeToken(3)) [a-z]*', "ebnf"), ()),
    Case("ebnf-max-tokens", "grammar", ('root ::= "<" t ">" [a-z]*\nt[max_tokens=3] ::= TagDispatch(excludes=(">",))', "ebnf"), ("<a b>the",)),
    Case("gbnf-tokens", "grammar", ('root ::= "a" (<[3]> | !<[3]> "x") <|start|> .', "gbnf"), (), ("<|start|>",)),
    Case("lark-nested", "grammar", ('start: "a" %lark {\nstart: X+ /[0-9]{2,}/\nX: "x"i\n%ignore " "\n} [<[*]> B]\nB: /[^é]?/', "lark"), ("ax X12", "aX123")),
    Case("lark-suffix", "grammar", ('start: t "}"\nt[suffix=/<[a-c]+>/]: /(?s:.*)/', "lark"), ("x <d <ab>}",)),
    Case("ebnf-arithmetic", "grammar", (ARITHMETIC, "ebnf"), ("1", "1+2*(3+45)*6")),
    Case("ebnf-ambiguous", "grammar", ('root ::= root root | "a" | "ab" | "b"', "ebnf"), ("a", "aab" * 3)),
    Case("ebnf-counts", "grammar", ('root ::= ("x" [0-9]{2,3} ","?){3,25}', "ebnf"), ("x12,x123x45", "x12," * 25)),
    Case("ebnf-unicode", "grammar", (r'root ::= [^a-z\n]* "é" [漢字]{2}', "ebnf"), ("1 é漢字", "É é字字")),
    Case("ebnf-dispatch", "grammar", ('root ::= TagDispatch(("<f>", f), ("<g>", g), excludes=("###", "é"))\nf ::= [0-9]{1,3}\ng ::= "[" root "]"', "ebnf"), ("x <f>12 y", "<g>[a <f>1<g>[]]b")),
    Case("ebnf-dispatch-once", "grammar", ('root ::= "(" TagDispatch(("the ", f), loop_after_dispatch=false, excludes=(")",)) ")"\nf ::= [a-z]+', "ebnf"), ("(a)", "(in the end)")),
    Case("ebnf-text-bounded", "grammar", ('root ::= a b\na[max_chars=20, max_tokens=9] ::= TagDispatch(excludes=("\\n"))\nb ::= "\\n" Regex("[a-z]{2,}")', "ebnf"), ("abc\nthe", "é漢\nab")),
    Case("ebnf-regex-json", "grammar", ('root ::= "\\"" Regex("[^a]*(the|é)+.?", json_string=true) "\\""', "ebnf"), ('"bthe"', '"éé!"')),
    Case("ebnf-substring", "grammar", ('root ::= Substring("the ", "quick ", "brown ", "the ", "fox") "."', "ebnf"), (".", "the fox.", "quick brown the .", "brown the fox.")),
    Case("gbnf-list", "grammar", (r'root ::= "- " [^\n]+ ("\n- " .{1,40}){0,9}', "gbnf"), ("- a b\n- c", "- é")),
    Case("gbnf-json", "grammar", (JSON_GRAMMAR, "gbnf"), ('{"a":[1,"é",{}]}', "[[],[]]")),
    Case("lark-sql", "grammar", (SQL, "lark"), ("select * from t", "select a, b\nfrom t where x<>'y z' and z = 12 ")),
    Case("lark-json", "grammar", ('start: "call(" %json {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]} ")"', "lark"), ('call({"a": 1, "b": []})',)),
    Case("lark-any-case", "grammar", (r'start: "ſÉß"i /[^a-k]{2,}\W/i N' "\nN: /(?i)[k-ö]+/", "lark"), ("séẞxy-KÖ", "SÉßl_ ſ\u212a")),
    Case("lark-and-not", "grammar", (r'start: (NAME "=" A ";")*' "\n" r'NAME: /\w+/ & ~("if" | "in") & /.{1,4}/' "\n" r'A: ~/(?s:.*)[;é](?s:.*)/', "lark"), ("iff=xè\n;a=;", "i=漢;")),
    Case("lark-lazy", "grammar", ('start: head (call | end)\nhead[lazy]: /(.|\\n)*/ "<fn="\nend: "/>"\ncall: name /[0-9]+/ comment\nname[suffix=">"]: /[a-z<=]*/\ncomment[suffix="aba"]: /[^x]*/', "lark"), ("text <fn <fn=a=<>12aba", "<fn=/>", "é\n<fn=>1 abbaba")),
    Case("lark-stop", "grammar", (r'start: a /[b"]+/ b "\n"' "\n" r'a[stop=/b+"/]: /[ab]*/' "\n" r'b[stop="\n"]: /.*/', "lark"), ('aab"x\n', 'b"\n', 'abab"b"é!\n')),
    Case("lark-max-tokens", "grammar", ('start: "<t>" a "</t>" b\na[max_tokens=4]: /(.|\\n)*/\nb[max_tokens=2]: /[^"x]*/', "lark"), ("<t>é</t>a", "<t>a\nb</t>")),
    Case("lark-substrings", "grammar", ('start: A (/,/ A)*\nA: %regex {"substring_words": "the cat, the catalogue and the hat (é) cat"}', "lark"), ("the cat,cat, the,the hat (é)", ",and the")),
    Case("lark-permutation", "grammar", ("start: p::0\np::_: \"\" %if is_ones([0:3])\n" + "".join(f'| "{n}" p::set_bit({k}) %if bit_clear({k})\n' for k, n in enumerate(("one", "on", "two"))), "lark"), ("ononetwo", "twooneon")),
    Case("regex-flags", "regex", r"(?i)[a-f\u017f]{2,9}(?-i:é|\W)(?s:.)*(?m:^x$)", ("AſF-\n\u2028x", "sabéy\nx\nx")),
    Case("lark-tokens", "grammar", ("start: <|start|> /[a-z]+/ (<|message|> | <[3,5-9]>)", "lark"), (), ("<|start|>", "<|message|>")),
]  # fmt: skip

CASES = [*SCHEMAS, *REGEXES, *CHOICES, *TAGS, *GRAMMARS]
