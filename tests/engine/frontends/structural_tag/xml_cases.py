"""Texts that arguments in the styles of model families accept; see tag_specs for the notation."""

from typing import Any

from .tag_specs import (
    EACH_ONCE,
    ELEMENT_END,
    KEYWORDS,
    NUMBER_NAMES,
    OPEN_OBJECT,
    ORDER_OF_REST,
    RAW_SPACE,
    TOGETHER,
    UNSPELLED,
    WHITE_SPACE,
    A,
    Case,
    Spec,
    const,
    seq,
    tag,
)

STRING, INTEGER, BOOLEAN = ({"type": kind} for kind in ("string", "integer", "boolean"))


def closed(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> Any:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
        **more,
    }


def styled(style: str, schema: Any) -> Spec:
    return {"type": "json_schema", "json_schema": schema, "style": style}


LIST = {"type": "array", "items": INTEGER}
NAME_AGE = closed({"name": STRING, "age": INTEGER}, ["name"])
DEEP = closed({"o": closed({"k": STRING}), "l": {"type": "array", "items": STRING}}, [])
P, END = "<parameter=", "</parameter>"

QWEN = (
    Case(
        "qwen",
        styled("qwen_xml", NAME_AGE),
        (
            f"{P}name>Bob{END}",
            f"{P}name>{END}{P}age>7{END}",
            f"{P}name>\nBob\n{END}\n{P}age>\n-12\n{END}\n",
            f" {P}name><b> & </parameter{END} {P}age> 0 {END} ",
            f'{P}name>"q"{END}',
        ),
        (
            "",
            f"{P}age>7{END}",
            f"{P}age>7{END}{P}name>Bob{END}",
            f"{P}name>Bob{END}{P}age>x{END}",
            f"{P}name>Bob{END}{P}other>x{END}",
            f"{P}name>a{END}b{END}",
            f"{P}name>Bob",
        ),
        theirs=(f"{P}name>Bob{END}\n\n", f"{P}name>Bob{END}\t{P}age>1{END}"),
        reason=WHITE_SPACE,
    ),
    Case("qwen, a special in a string", styled("qwen_xml", NAME_AGE), (f"{P}name><|a|>{END}",), (), theirs=((f"{P}name>", A, END),), reason=UNSPELLED),
    Case("qwen_xml_parameter", {"type": "qwen_xml_parameter", "json_schema": NAME_AGE}, (f"{P}name>Bob{END}{P}age>1{END}",), (f"{P}age>1{END}", "{}")),
    Case("qwen, nothing", styled("qwen_xml", closed({})), ("", "\n", " "), (f"{P}a>1{END}", "x")),
    Case(
        "qwen, values as JSON",
        styled("qwen_xml", DEEP),
        ("", f'{P}o>{{"k": "v"}}{END}', f'{P}o>\n{{"k":"<"}}\n{END}\n{P}l>["a", "b"]{END}', f"{P}l>[]{END}"),
        (f"{P}o>{{}}{END}", f"{P}l>[1]{END}", f"{P}l>a{END}", f'{P}l>["a"]{END}{P}o>{{"k": "v"}}{END}'),
    ),
    Case("qwen, enum", styled("qwen_xml", closed({"e": {"enum": ["x", "a<b", 1, None]}})), (f"{P}e>x{END}", f"{P}e>a<b{END}", f"{P}e>1{END}", f"{P}e>null{END}"), (f"{P}e>y{END}", f'{P}e>"x"{END}', f"{P}e>{END}")),
    Case("qwen, const", styled("qwen_xml", closed({"e": {"const": "x y"}})), (f"{P}e>x y{END}",), (f"{P}e>x{END}",), theirs=(f"{P}e> x y{END}",), reason=RAW_SPACE),
    Case("qwen, pattern", styled("qwen_xml", closed({"e": {"type": "string", "pattern": "^a+$"}})), (f"{P}e>a{END}", f"{P}e>aaa{END}"), (f"{P}e>b{END}", f"{P}e>{END}"), theirs=(f"{P}e>\na\n{END}",), reason=RAW_SPACE),
    Case("qwen, a pattern that is searched for", styled("qwen_xml", closed({"e": {"type": "string", "pattern": "b"}})), (f"{P}e>b{END}",), (f"{P}e>a{END}",), ours=(f"{P}e>abc{END}",), reason=KEYWORDS),
    Case("qwen, a date", styled("qwen_xml", closed({"e": {"type": "string", "format": "date"}})), (f"{P}e>2024-02-29{END}",), (f"{P}e>x{END}", f"{P}e>2024-13-01{END}")),
    Case("qwen, a host", styled("qwen_xml", closed({"e": {"type": "string", "format": "hostname", "minLength": 2}})), (f"{P}e>a.b{END}", f"{P}e>{'a.' * 126}b{END}"), (f"{P}e>a.{END}",), theirs=(f"{P}e>a{END}", f"{P}e>{'a.' * 126}bc{END}"), reason=TOGETHER),
    Case("qwen, a pattern that looks around", styled("qwen_xml", closed({"e": {"type": "string", "pattern": "^(?!a)\\w+\\b$"}})), (f"{P}e>ba{END}",), (f"{P}e>ab{END}", f"{P}e>b-{END}"), xgrammar_compiles=False),
    Case("qwen, length", styled("qwen_xml", closed({"e": {"type": "string", "minLength": 2, "maxLength": 4}})), (f"{P}e>ab{END}", f"{P}e>éàèù{END}"), (f"{P}e>a{END}",), theirs=(f"{P}e>abcd \n{END}",), reason=RAW_SPACE),
    Case("qwen, least length", styled("qwen_xml", closed({"e": {"type": "string", "minLength": 2}})), (f"{P}e>ab{END}", f"{P}e>{'x' * 30}{END}"), (f"{P}e>a{END}", f"{P}e>{END}"), theirs=(f"{P}e>ab{END}cd{END}",), reason=ELEMENT_END),
    Case("qwen, any of", styled("qwen_xml", closed({"e": {"anyOf": [STRING, {"type": "null"}]}})), (f"{P}e>x{END}", f"{P}e>null{END}", f"{P}e>{END}"), (f"{P}e>x", "x")),
    Case("qwen, types", styled("qwen_xml", closed({"e": {"type": ["boolean", "integer"]}})), (f"{P}e>true{END}", f"{P}e>12{END}"), (f"{P}e>x{END}", f"{P}e>1.5{END}")),
    Case("qwen, anything", styled("qwen_xml", closed({"e": {}})), (f"{P}e>x{END}", f"{P}e>[1]{END}", f"{P}e>{END}"), (f"{P}e>x{END}y",)),
    Case("qwen, a reference", styled("qwen_xml", closed({"e": {"$ref": "#/$defs/t"}, "f": {"type": "array", "items": {"$ref": "#/$defs/t"}}}, **{"$defs": {"t": {"type": "integer"}}})), (f"{P}e>1{END}{P}f>[2]{END}",), (f"{P}e>x{END}{P}f>[2]{END}", f'{P}e>1{END}{P}f>["a"]{END}')),
    Case(
        "qwen, additional",
        styled("qwen_xml", {"type": "object", "properties": {"a": INTEGER}, "additionalProperties": STRING}),
        ("", f"{P}a>1{END}", f"{P}a>1{END}{P}b_2>x{END}", f"{P}b>x{END}", f"{P}b>x{END}{P}c>y{END}", f"{P}b>x{END}{P}b>y{END}"),
        (f"{P}2>x{END}", f"{P}b-c>x{END}"),
        theirs=(f"{P}a>x{END}",),
        reason=OPEN_OBJECT,
    ),
    Case("qwen, required and not listed", styled("qwen_xml", {"type": "object", "required": ["z"], "additionalProperties": INTEGER}), (f"{P}z>1{END}",), (f"{P}z>x{END}",), theirs=(f"{P}y>1{END}",), reason=ORDER_OF_REST),
    Case("qwen, all of one", styled("qwen_xml", {"allOf": [closed({"e": {"allOf": [{"$ref": "#/$defs/t"}], "description": "as pydantic writes it"}})], "$defs": {"t": {"allOf": [{"type": "string", "maxLength": 2}]}}}), (f"{P}e>ab{END}", f"{P}e>{END}"), (f"{P}e>abc{END}", ""), reason=RAW_SPACE, theirs=(f"{P}e>\nab\n{END}",)),
    Case("qwen, odd keys", styled("qwen_xml", closed({'a"&<b>': BOOLEAN})), (f'{P}a"&<b>>true{END}',), (f"{P}a>true{END}",)),
    Case("qwen in a tag", tag("<f>", styled("qwen_xml", NAME_AGE), "</f>"), (f"<f>\n{P}name>Bob{END}\n</f>", f"<f>{P}name></f>{END}</f>"), ("<f></f>", f"<f>{P}name>Bob{END}")),
    Case("qwen twice", seq(styled("qwen_xml", closed({"a": STRING})), const(";"), styled("qwen_xml", closed({"b": STRING}))), (f"{P}a>;{END};{P}b>{END}",), (f"{P}a>{END}{P}b>{END}",)),
)  # fmt: skip

MINI, M3 = '<parameter name="', "]<]minimax[>["
D = "\uff5cDSML\uff5c"
K, V = "<arg_key>", "<arg_value>"
ARG, S, C = "<|open|>argument key=", "<|sep|>", "<|close|>argument<|sep|>"
CO, CE = '<cofl:value name="', "</cofl:value>"

OTHERS = (
    Case("minimax", styled("minimax_xml", NAME_AGE), (f'{MINI}name">Bob{END}', f'{MINI}name">Bob{END}\n{MINI}age">7{END}'), (f'{MINI}age">7{END}', f"{P}name>Bob{END}")),
    Case(
        "deepseek",
        styled("deepseek_xml", NAME_AGE),
        (f'<{D}parameter name="name" string="true">Bob</{D}parameter>', f'<{D}parameter name="name" string="true"><{D}></{D}parameter>\n<{D}parameter name="age" string="false">7</{D}parameter>'),
        (f'<{D}parameter name="name" string="false">"Bob"</{D}parameter>', f'<{D}parameter name="name" string="true">a</{D}parameter><{D}parameter name="age" string="true">7</{D}parameter>'),
    ),
    Case(
        "deepseek, anything",
        styled("deepseek_xml", closed({"a": {}})),
        (f'<{D}parameter name="a" string="true">[1</{D}parameter>', f'<{D}parameter name="a" string="false">[1]</{D}parameter>', f'<{D}parameter name="a" string="false">1.5</{D}parameter>'),
        (f'<{D}parameter name="a" string="false">"x"</{D}parameter>', f'<{D}parameter name="a" string="false">[1</{D}parameter>'),
    ),
    Case("deepseek, any of", styled("deepseek_xml", closed({"a": {"anyOf": [STRING, {"type": "null"}]}})), (f'<{D}parameter name="a" string="true">x</{D}parameter>', f'<{D}parameter name="a" string="false">null</{D}parameter>'), (f'<{D}parameter name="a" string="false">x</{D}parameter>',)),
    Case("deepseek v4.1", styled("deepseek_v4_1_xml", NAME_AGE), (f'<{D} parameter name="name" string="true">Bob</{D} parameter>',), (f'<{D}parameter name="name" string="true">Bob</{D}parameter>',)),
    Case(
        "glm",
        styled("glm_xml", NAME_AGE),
        (f"{K}name</arg_key>{V}Bob</arg_value>", f"\n{K}name</arg_key>\n{V}Bob</arg_value>\n{K}age</arg_key>\n{V}7</arg_value>\n"),
        (f"{K}age</arg_key>{V}7</arg_value>", f"{K}name</arg_key>Bob</arg_value>"),
    ),
    Case(
        "kimi",
        styled("kimi_k3_xml", closed({"s": STRING, "n": INTEGER, "b": BOOLEAN, "o": {"type": "object"}}, ["s"])),
        (f'{ARG}"s" type="string"{S}x{C}', f'{ARG}"s" type="string"{S}x{C}{ARG}"n" type="number"{S}7{C}{ARG}"b" type="boolean"{S}true{C}{ARG}"o" type="object"{S}{{}}{C}'),
        (f'{ARG}"s" type="number"{S}7{C}', f'{ARG}"s" type="string"{S}x{C}{ARG}"n" type="string"{S}7{C}'),
    ),
    Case("kimi, odd keys", styled("kimi_k3_xml", closed({'a"&<b>': STRING})), (f'{ARG}"a&quot;&amp;<b>" type="string"{S}x{C}',), (f'{ARG}"a"&<b>" type="string"{S}x{C}',)),
    Case("kimi, any of", styled("kimi_k3_xml", closed({"a": {"type": ["string", "integer"]}})), (f'{ARG}"a" type="string"{S}x{C}', f'{ARG}"a" type="number"{S}7{C}'), (f'{ARG}"a" type="x"{S}x{C}',), theirs=(f'{ARG}"a" type="number"{S}x{C}', f'{ARG}"a" type="null"{S}7{C}'), reason=NUMBER_NAMES),
    Case(
        "cohere",
        styled("cohere_xml", {**closed({"s": STRING, "n": INTEGER, "o": closed({"k": STRING}), "l": {"type": "array", "items": INTEGER}}, ["s"])}),
        (
            f'{CO}s" type="raw">x{CE}',
            f'{CO}s" type="raw">x{CE}{CO}n" type="json">7{CE}{CO}o" type="dict">{CO}k" type="raw">v{CE}{CE}{CO}l" type="list"><cofl:value type="json">1{CE}<cofl:value type="json">2{CE}{CE}',
            f'{CO}s" type="raw">x{CE}\n{CO}l" type="list">{CE}',
        ),
        (f'{CO}s" type="json">7{CE}', f'{CO}s" type="raw">x{CE}{CO}o" type="dict">{CE}', f'{CO}s" type="raw">x{CE}{CO}l" type="list"><cofl:value type="raw">x{CE}{CE}'),
    ),
    Case("cohere, odd keys", styled("cohere_xml", closed({'a"&<b>': STRING})), (f'{CO}a&quot;&amp;&lt;b&gt;" type="raw">x{CE}',), (f'{CO}a"&<b>" type="raw">x{CE}',)),
    Case(
        "minimax m3",
        styled("minimax_m3_xml", {**closed({"s": STRING, "n": INTEGER, **DEEP["properties"]}, ["s"])}),
        (
            f"{M3}<s>x{M3}</s>",
            f"\n{M3}<s>x ] <{M3}</s>{M3}<n>7{M3}</n>\n{M3}<o>{M3}<k>v{M3}</k>{M3}</o>\n{M3}<l>{M3}<item>a{M3}</item>\n{M3}<item>b{M3}</item>{M3}</l>\n",
        ),
        (f"{M3}<s>x{M3}y{M3}</s>", f"{M3}<n>7{M3}</n>", f"{M3}<s>x{M3}</s>{M3}<o>{{}}{M3}</o>", "<s>x</s>", f"{M3}<s>x{M3}</s>{M3}<n>x{M3}</n>"),
    ),
)  # fmt: skip

ANY_ORDER = (
    Case(
        "any order",
        {**styled("qwen_xml", NAME_AGE), "any_order": True},
        (
            f"{P}name>Bob{END}",
            f"{P}age>7{END}{P}name>Bob{END}",
            f"{P}name>Bob{END}\n{P}age>7{END}",
        ),
        ("", f"{P}age>x{END}{P}name>Bob{END}", f"{P}name>Bob{END}{P}other>x{END}"),
        theirs=(f"{P}age>7{END}", f"{P}name>Bob{END}{P}name>Bob{END}"),
        reason=EACH_ONCE,
    ),
    Case(
        "any order in JSON",
        {"type": "json_schema", "json_schema": NAME_AGE, "any_order": True},
        ('{"name": "Bob"}', '{"age": 7, "name": "Bob"}', '{"name": "Bob", "age": 7}'),
        ("{}", '{"age": "x", "name": "Bob"}'),
        theirs=('{"age": 7}', '{"name": "Bob", "name": "Bob"}'),
        reason=EACH_ONCE,
    ),
)

BLANKS = (
    Case(
        "one blank",
        {"type": "json_schema", "json_schema": LIST, "max_whitespace_cnt": 1},
        ("[1,2]", "[1, 2]", "[1,\n2]"),
        ("[1,  2]", "[1,\n 2]"),
        theirs=("[1,\t2]",),
        reason=WHITE_SPACE,
    ),
    Case(
        "three blanks",
        {"type": "json_schema", "json_schema": LIST, "max_whitespace_cnt": 3},
        ("[1,2]", "[1, 2]", "[1,\n  2]", "[\n1\n]"),
        ("[1,\n   2]", "[1,    2]", "[1,\n\t 2]"),
        theirs=("[1,  2]", "[1,\n\n2]"),
        reason=WHITE_SPACE,
    ),
    Case(
        "blanks between elements",
        {**styled("qwen_xml", NAME_AGE), "max_whitespace_cnt": 2},
        (f"{P}name>Bob{END}\n{P}age>7{END}", f"{P}name>Bob{END}\n {P}age>\n 7{END}"),
        (f"{P}name>Bob{END}\n  {P}age>7{END}", f"{P}name>Bob{END}{P}age>   7{END}"),
        theirs=(f"{P}name>Bob{END}\n\n{P}age>7{END}",),
        reason=WHITE_SPACE,
    ),
)


def elements(**values: str) -> str:
    return "".join(f"{P}{key}>{value}{END}" for key, value in values.items())


INT_A = {"a": INTEGER}
#: keywords of objects, which styles enforce as JSON does
KEYWORDS = (
    Case(
        "qwen, allOf",
        styled(
            "qwen_xml", {"allOf": [closed({"a": INTEGER, "b": STRING}, []), {"required": ["b"]}]}
        ),
        (elements(b="x"), elements(a="1", b="x")),
        ("", elements(a="1")),
    ),
    Case(
        "qwen, allOf of a property",
        styled("qwen_xml", closed({"a": {"allOf": [INTEGER, {"minimum": 3}]}})),
        (elements(a="3"),),
        (elements(a="2"),),
    ),
    Case(
        "qwen, if",
        styled(
            "qwen_xml",
            {
                **closed({"k": {"enum": ["x", "y"]}, "n": INTEGER}, ["k"]),
                "if": {"properties": {"k": {"const": "x"}}},
                "then": {"required": ["n"]},
            },
        ),
        (elements(k="y"), elements(k="x", n="1"), elements(k="y", n="1")),
        (elements(k="x"),),
    ),
    Case(
        "qwen, minProperties",
        styled(
            "qwen_xml",
            {**closed({"a": INTEGER, "b": INTEGER, "c": INTEGER}, []), "minProperties": 2},
        ),
        (elements(a="1", c="2"), elements(a="1", b="1", c="2")),
        ("", elements(b="1")),
    ),
    Case(
        "qwen, maxProperties",
        styled("qwen_xml", {"type": "object", "properties": INT_A, "maxProperties": 1}),
        ("", elements(a="1"), elements(z="q")),
        (elements(a="1", z="q"), elements(y="1", z="q")),
    ),
    Case(
        "qwen, patternProperties",
        styled(
            "qwen_xml",
            {
                "type": "object",
                "patternProperties": {"^n_": INTEGER},
                "additionalProperties": False,
            },
        ),
        ("", elements(n_1="5"), elements(n_1="5", n_b="6")),
        (elements(n_1="x"), elements(m="5")),
    ),
    Case(
        "qwen, propertyNames",
        styled("qwen_xml", {"type": "object", "propertyNames": {"pattern": "^[ab]+$"}}),
        (elements(ab="5"),),
        (elements(c="5"), elements(abc="5")),
    ),
    Case(
        "qwen, dependentRequired",
        styled(
            "qwen_xml",
            {**closed({"a": INTEGER, "b": INTEGER}, []), "dependentRequired": {"a": ["b"]}},
        ),
        ("", elements(b="1"), elements(a="1", b="1")),
        (elements(a="1"),),
    ),
    Case(
        "qwen, not",
        styled("qwen_xml", closed({"a": {"type": "string", "not": {"const": "x"}}})),
        (elements(a="y"), elements(a="xx")),
        (elements(a="x"),),
    ),
    Case(
        "qwen, oneOf",
        styled("qwen_xml", closed({"a": {"oneOf": [INTEGER, {"type": "boolean"}]}})),
        (elements(a="5"), elements(a="true")),
        (elements(a="x"), elements(a="null")),
    ),
    Case(
        "qwen, a format",
        styled("qwen_xml", closed({"d": {"type": "string", "format": "date"}})),
        (elements(d="2026-01-31"),),
        (elements(d="2026-1-31"), elements(d="")),
    ),
    Case(
        "qwen, lengths",
        styled("qwen_xml", closed({"s": {"type": "string", "minLength": 2, "maxLength": 3}})),
        (elements(s="ab"), elements(s="é<\n")),
        (elements(s="a"), elements(s="abcd")),
    ),
    Case(
        "qwen, a pattern and lengths",
        styled("qwen_xml", closed({"s": {"type": "string", "pattern": "b", "maxLength": 3}})),
        (elements(s="b"), elements(s="aba")),
        (elements(s="aaa"), elements(s="aaba")),
    ),
    Case(
        "qwen, twelve keys in any order",
        {
            **styled("qwen_xml", closed({f"k{n}": INTEGER for n in range(12)}, ["k11"])),
            "any_order": True,
        },
        (elements(k11="1"), elements(k3="1", k11="2", k0="3")),
        (elements(k3="1"), elements(k11="1", k3="1") + elements(k11="1")),
    ),
)

#: Python's keyword arguments, and Gemma's objects
LITERALS = (
    Case(
        "python",
        styled(
            "python",
            closed({"city": STRING, "n": INTEGER, "ok": BOOLEAN, "x": {"type": "null"}}, ["city"]),
        ),
        (
            'city="Oslo"',
            'city="Oslo", n=5',
            'city="Oslo",n=5,ok=True',
            'city="Oslo", ok=False, x=None',
        ),
        (
            "",
            "n=5",
            'city="Oslo", ok=true',
            'city="Oslo", x=null',
            "city=Oslo",
            'city="Oslo",',
            ', city="Oslo"',
            'city = "Oslo"',
        ),
    ),
    Case(
        "python, nested",
        styled(
            "python",
            closed(
                {
                    "o": {
                        "type": "object",
                        "properties": {"l": {"type": "array", "items": BOOLEAN}},
                        "additionalProperties": False,
                    }
                }
            ),
        ),
        ('o={"l": [True, False]}', "o={}"),
        ('o={"l": [true]}', "o={l: []}"),
    ),
    Case(
        "python, constants",
        styled("python", closed({"v": {"enum": [None, True, {"a": [False]}, 'q"']}})),
        ("v=None", "v=True", 'v={"a": [False]}', 'v="q\\""'),
        ("v=null", "v=False"),
    ),
    # REGRESSION: apostrophes allowed a backslash or a line feed that the pattern allows, which
    # readers of Python take for an escape or an error
    Case(
        "python, a pattern with characters of escapes",
        styled("python", closed({"s": {"type": "string", "pattern": r"^[ab\\\n]{2}$"}})),
        ("s='ab'", 's="ab"', r's="\\b"', r's="a\n"'),
        (r"s='\b'", "s='a\n'", "s='abb'"),
    ),
    Case(
        "python, bounds",
        styled("python", {**closed({"a": INTEGER, "b": INTEGER}, []), "minProperties": 1}),
        ("a=1", "b=1", "a=1, b=2"),
        ("",),
    ),
    Case(
        "gemma",
        styled("gemma", closed({"city": STRING, "n": INTEGER, "ok": BOOLEAN}, ["city"])),
        ('city:<|"|>Oslo<|"|>', 'city:<|"|>a "b" {c},<|"|>,n:5,ok:true'),
        ("", "n:5", 'city:"Oslo"', 'city:<|"|>Oslo', "city:Oslo"),
    ),
    Case(
        "gemma, nested",
        styled(
            "gemma",
            closed(
                {
                    "o": {
                        "type": "object",
                        "properties": {
                            "s": STRING,
                            "l": {"type": "array", "items": {"enum": ["x", 1]}},
                        },
                        "additionalProperties": False,
                    }
                }
            ),
        ),
        ('o:{s:<|"|>v<|"|>,l:[<|"|>x<|"|>,1]}', "o:{}", "o:{l:[]}"),
        ('o:{"s":<|"|>v<|"|>}', 'o:{l:["x"]}', "o:{s:v}"),
    ),
    Case(
        "gemma, a pattern",
        styled("gemma", closed({"s": {"type": "string", "pattern": "^[<a]+$"}})),
        ('s:<|"|><a<<|"|>',),
        ('s:<|"|>b<|"|>',),
    ),
    Case(
        "functiongemma",
        styled("functiongemma", closed({"s": STRING})),
        ("s:<escape>a<b<escape>",),
        ("s:a", 's:"a"'),
    ),
)


def m3(*members: tuple[str, str]) -> str:
    """Elements of MiniMax M3, as (key, text)."""
    return "".join(f"{M3}<{key}>{text}{M3}</{key}>" for key, text in members)


def co(kind: str, text: str, key: str = "") -> str:
    """An element of Cohere; without a key: an item."""
    name = f' name="{key}"' if key else ""
    return f'<cofl:value{name} type="{kind}">{text}{CE}'


def inside(schema: Any, *, style: str = "minimax_m3_xml", **more: Any) -> Spec:
    """The arguments are one key o with this schema."""
    return styled(style, {**closed({"o": schema}), **more})


def nested_case(
    name: str, schema: Any, yes: tuple[str, ...], no: tuple[str, ...], **more: Any
) -> Case:
    """A case of MiniMax M3; the texts are those inside the element of o."""
    return Case(
        f"minimax m3, {name}",
        inside(schema, **more),
        tuple(m3(("o", text)) for text in yes),
        tuple(m3(("o", text)) for text in no),
    )


ITEM = "item"
AB = closed({"a": INTEGER, "b": STRING}, [])
#: the same keywords inside of nested elements
NESTED = (
    nested_case(
        "allOf",
        {"allOf": [AB, {"required": ["b"]}, {"properties": {"a": {"minimum": 3}}}]},
        (m3(("b", "x")), m3(("a", "3"), ("b", "x"))),
        ("", m3(("a", "3")), m3(("a", "2"), ("b", "x"))),
    ),
    nested_case(
        "if",
        {
            **closed({"k": {"enum": ["x", "y"]}, "n": INTEGER}, ["k"]),
            "if": {"properties": {"k": {"const": "x"}}},
            "then": {"required": ["n"]},
            "else": {"properties": {"n": False}},
        },
        (m3(("k", "y")), m3(("k", "x"), ("n", "1"))),
        (m3(("k", "x")), m3(("k", "y"), ("n", "1")), ""),
    ),
    nested_case(
        "minProperties",
        {**closed({"a": INTEGER, "b": INTEGER, "c": INTEGER}, []), "minProperties": 2},
        (m3(("a", "1"), ("c", "2")), m3(("a", "1"), ("b", "1"), ("c", "2"))),
        ("", m3(("b", "1"))),
    ),
    nested_case(
        "maxProperties",
        {"type": "object", "properties": {"a": INTEGER}, "maxProperties": 1},
        ("", m3(("a", "1")), m3(("z", "q"))),
        (m3(("a", "1"), ("z", "q")), m3(("y", "q"), ("z", "q"))),
    ),
    nested_case(
        "patternProperties",
        {"patternProperties": {"^n_": INTEGER}, "additionalProperties": False, "type": "object"},
        ("", m3(("n_1", "5")), m3(("n_1", "5"), ("n_b", "6"))),
        (m3(("n_1", "x")), m3(("m", "5"))),
    ),
    nested_case(
        "propertyNames",
        {"type": "object", "propertyNames": {"enum": ["a", "b"]}, "additionalProperties": INTEGER},
        ("", m3(("a", "5")), m3(("b", "5"), ("a", "5"))),
        (m3(("c", "5")), m3(("a", "x")), f"{M3}<a>5{M3}</b>"),
    ),
    nested_case(
        "a key with a pattern that must be there",
        {
            "type": "object",
            "patternProperties": {"^n_": INTEGER},
            "additionalProperties": False,
            "minProperties": 1,
        },
        (m3(("n_1", "5")), m3(("n_1", "5"), ("n_b", "6"))),
        ("", m3(("n_1", "x"))),
    ),
    nested_case(
        "dependentRequired",
        {**closed({"a": INTEGER, "b": INTEGER}, []), "dependentRequired": {"a": ["b"]}},
        ("", m3(("b", "1")), m3(("a", "1"), ("b", "1"))),
        (m3(("a", "1")),),
    ),
    nested_case(
        "additional keys",
        {"type": "object", "properties": {"a": INTEGER}, "additionalProperties": STRING},
        ("", m3(("a", "5")), m3(("z_1", "x")), m3(("a", "5"), ("z", ""), ("y", "q"))),
        (m3(("a", "x")), m3(("z", "x"), ("a", "5")), m3(("2", "x")), f"{M3}<z>x{M3}</a>"),
    ),
    nested_case(
        "additional keys may end with another additional key",
        {"type": "object", "properties": {"a": INTEGER}},
        (f"{M3}<z>x{M3}</y>", m3(("z", m3(("q", "1")))), m3(("z", m3((ITEM, "x"))))),
        (f"{M3}<z>x{M3}</a>", f"{M3}<z>x{M3}</2>", f"{M3}<a>5{M3}</z>"),
    ),
    nested_case(
        "additional keys by default",
        {"type": "object"},
        ("", m3(("z", "x")), m3(("z", m3(("y", "x")))), "\n"),
        ("x", m3((ITEM, "x")).replace("item", "2"), "{}"),
    ),
    nested_case(
        "anything",
        {},
        ("", "x", "5", "null", "{}", m3(("a", m3(("b", "x")))), m3((ITEM, "x"), (ITEM, m3((ITEM, "5"))))),
        (f"a{M3}b", f"a{m3(('b', 'x'))}", m3(("a", "x"), (ITEM, "y")), m3((ITEM, "x"), ("b", "y"))),
    ),
    nested_case(
        "bounds and patterns",
        closed(
            {
                "s": {"type": "string", "minLength": 2, "maxLength": 3},
                "p": {"type": "string", "pattern": "^[a<]+$"},
                "d": {"type": "string", "format": "date"},
                "n": {"type": "number", "minimum": 1, "exclusiveMaximum": 2, "multipleOf": 0.5},
            },
            [],
        ),
        (m3(("s", "ab")), m3(("s", "é<\n")), m3(("p", "a<a")), m3(("d", "2026-01-31")), m3(("n", "1.5"))),
        (m3(("s", "a")), m3(("s", "abcd")), m3(("p", "ab")), m3(("d", "2026-1-31")), m3(("n", "2")), m3(("n", "1.2"))),
    ),
    nested_case(
        "oneOf",
        {"oneOf": [closed({"a": INTEGER}), closed({"a": {"type": "number"}, "b": STRING}, ["a"])]},
        (m3(("a", "1.5")), m3(("a", "1"), ("b", "x"))),
        (m3(("a", "1")), "", m3(("b", "x"))),
    ),
    nested_case(
        "anyOf of types",
        {"anyOf": [closed({"a": INTEGER}), {"type": "array", "items": INTEGER}, {"const": "x"}]},
        (m3(("a", "1")), m3((ITEM, "1"), (ITEM, "2")), "", "x"),
        (m3(("a", "x")), m3((ITEM, "x")), "y", "1"),
    ),
    nested_case(
        "not",
        {**AB, "not": {"required": ["a", "b"]}},
        ("", m3(("a", "1")), m3(("b", "x"))),
        (m3(("a", "1"), ("b", "x")),),
    ),
    nested_case(
        "prefixItems",
        {"type": "array", "prefixItems": [INTEGER, STRING], "items": BOOLEAN, "minItems": 1},
        (m3((ITEM, "1")), m3((ITEM, "1"), (ITEM, "x")), m3((ITEM, "1"), (ITEM, "x"), (ITEM, "true"))),
        ("", m3((ITEM, "x")), m3((ITEM, "1"), (ITEM, "x"), (ITEM, "x"))),
    ),
    nested_case(
        "minItems and maxItems",
        {"type": "array", "items": closed({"a": INTEGER}), "minItems": 1, "maxItems": 2},
        (m3((ITEM, m3(("a", "1")))), m3((ITEM, m3(("a", "1"))), (ITEM, m3(("a", "2"))))),
        ("", m3((ITEM, "")), m3(*[(ITEM, m3(("a", "1")))] * 3), m3(("a", "1"))),
    ),
    nested_case(
        "contains",
        {"type": "array", "items": {"type": ["integer", "boolean"]}, "contains": {"const": 5}, "maxContains": 1},
        (m3((ITEM, "5")), m3((ITEM, "true"), (ITEM, "5"), (ITEM, "7"))),
        ("", m3((ITEM, "true")), m3((ITEM, "5"), (ITEM, "5"))),
    ),
    nested_case(
        "uniqueItems of few values",
        {"type": "array", "items": {"enum": ["x", 1, {"a": 1}, []]}, "uniqueItems": True},
        (m3((ITEM, "x"), (ITEM, "1")), m3((ITEM, m3(("a", "1"))), (ITEM, ""), (ITEM, "x")), ""),
        (m3((ITEM, "x"), (ITEM, "x")), m3((ITEM, m3(("a", "1"))), (ITEM, m3(("a", "1")))), m3((ITEM, ""), (ITEM, ""))),
    ),
    nested_case(
        "constants",
        {"enum": [{"a": [1, "x"], "b": {}}, [], "y", None]},
        (m3(("a", m3((ITEM, "1"), (ITEM, "x"))), ("b", "")), "", "y", "null"),
        (m3(("a", m3((ITEM, "1"))), ("b", "")), m3(("b", ""), ("a", m3((ITEM, "1"), (ITEM, "x")))), "x"),
    ),
    nested_case(
        "recursion",
        {"$ref": "#/$defs/tree"},
        (m3(("v", "1")), m3(("v", "1"), ("l", m3((ITEM, m3(("v", "2"))), (ITEM, m3(("v", "3"))))))),
        ("", m3(("v", "x")), m3(("v", "1"), ("l", m3((ITEM, ""))))),
        **{"$defs": {"tree": closed({"v": INTEGER, "l": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, ["v"])}},
    ),
    Case(
        "minimax m3, twelve keys in any order",
        {
            **inside(closed({f"k{n}": INTEGER for n in range(12)}, ["k11"])),
            "any_order": True,
        },
        (m3(("o", m3(("k11", "1")))), m3(("o", m3(("k3", "1"), ("k11", "2"), ("k0", "3"))))),
        (m3(("o", m3(("k3", "1")))), m3(("o", m3(("k11", "1"), ("k3", "1"), ("k11", "1"))))),
    ),
    Case(
        "minimax m3, excludes",
        {**inside(AB), "excludes": ["<x>"]},
        (m3(("o", m3(("b", "<x")))),),
        (m3(("o", m3(("b", "a<x>")))),),
    ),
    Case(
        "minimax m3, white space",
        inside({"type": "array", "items": AB}),
        (
            f"\n{M3}<o>\n{M3}<item>\n {M3}<a>5{M3}</a>\n{M3}</item>\n{M3}</o>\n",
            f" {M3}<o> {M3}</o> ",
        ),
        (
            f"{M3}<o>{M3}<item>{M3}<a> 5{M3}</a>{M3}</item>{M3}</o>",
            f"{M3}<o>{M3} <item>{M3}</item>{M3}</o>",
            f"\n\n{M3}<o>{M3}</o>",
        ),
    ),
    Case(
        "cohere, allOf and if",
        inside(
            {
                "allOf": [closed({"k": {"enum": ["x", "y"]}, "n": INTEGER}, ["k"])],
                "if": {"properties": {"k": {"const": "x"}}},
                "then": {"required": ["n"]},
            },
            style="cohere_xml",
        ),
        (
            co("dict", co("raw", "y", "k"), "o"),
            co("dict", co("raw", "x", "k") + co("json", " 7 ", "n"), "o"),
        ),
        (
            co("dict", co("raw", "x", "k"), "o"),
            co("dict", co("json", "y", "k"), "o"),
            co("list", co("raw", "y", "k"), "o"),
        ),
    ),
    Case(
        "cohere, additional keys",
        styled("cohere_xml", {"type": "object", "additionalProperties": {"type": ["integer", "array"]}}),
        ("", co("json", "7", "z"), co("list", co("list", co("raw", "x")) + co("dict", ""), "z")),
        (co("raw", "7", "z"), co("dict", "", "z"), co("json", "7", "2"), co("json", "[7]", "z")),
    ),
    Case(
        "cohere, types",
        inside({"enum": ["", {}, [], 7, True]}, style="cohere_xml"),
        tuple(
            co(kind, text, "o")
            for kind, text in (("raw", ""), ("dict", ""), ("list", ""), ("json", "7"), ("json", "true"))
        ),
        (co("json", "", "o"), co("raw", "7", "o"), co("json", "{}", "o")),
    ),
)  # fmt: skip

#: arguments that are listed as a whole
LISTED = (
    Case(
        "qwen, listed arguments",
        styled("qwen_xml", {"enum": [{"a": 1, "b": "x"}, {"b": ["y"]}, {}]}),
        ("", elements(a="1", b="x"), elements(b='["y"]')),
        (elements(a="1"), elements(b="x", a="1"), elements(a="2", b="x"), elements(b="y")),
    ),
    Case(
        "qwen, listed arguments beside other keywords",
        styled("qwen_xml", {"enum": [{"a": 1}, {"a": 2}, {}, 5], "required": ["a"]}),
        (elements(a="1"), elements(a="2")),
        ("", elements(a="3"), "5"),
    ),
    Case(
        "minimax m3, a constant",
        styled("minimax_m3_xml", {"const": {"a": {"b": ["x", []]}}}),
        (m3(("a", m3(("b", m3((ITEM, "x"), (ITEM, "")))))),),
        ("", m3(("a", m3(("b", m3((ITEM, "x"))))))),
    ),
    Case(
        "python, listed arguments",
        styled("python", {"enum": [{"a": True, "b": "x"}, {}]}),
        ("", 'a=True, b="x"', "a=True,b='x'"),
        ("a=True", 'b="x", a=True'),
    ),
    Case(
        "gemma, listed arguments",
        styled("gemma", {"const": {"a": {"b": "x"}, "c": [1]}}),
        ('a:{b:<|"|>x<|"|>},c:[1]',),
        ("", 'a:{b:<|"|>x<|"|>}'),
    ),
    Case(
        "python, unique numbers",
        styled("python", closed({"l": {"type": "array", "items": INTEGER, "uniqueItems": True}})),
        ("l=[1, 2]",),
        ("l=[1, 'a']",),
    ),
    Case(
        "gemma, unique items of few values",
        styled("gemma", closed({"l": {"items": {"enum": ["a", '"']}, "uniqueItems": True, "type": "array"}})),
        ('l:[<|"|>"<|"|>,<|"|>a<|"|>]',),
        ('l:[<|"|>"<|"|>,<|"|>"<|"|>]', 'l:[<|"|>a<|"|>,<|"|>a<|"|>]'),
    ),
)  # fmt: skip

#: what xgrammar has, too; it has no other styles, and ignores or refuses the keywords of the others
COMPARED = (*QWEN, *OTHERS, *ANY_ORDER, *BLANKS)
CASES = (*COMPARED, *KEYWORDS, *LITERALS, *NESTED, *LISTED)
