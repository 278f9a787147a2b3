"""Arguments that are raw text: which texts are which values, in every family with elements."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.formats import OutputSpec, Tool

from ..cases import SPECIALS
from .compose import Means, Transcript

#: all keys are optional
PUT = Tool(
    "put",
    {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "unit": {"enum": ["c", "f", "a<b", "&", 7]},
            "note": {"type": ["string", "null"]},
            "code": {"type": ["string", "integer"]},
            "flag": {"type": "boolean"},
            "size": {"type": "number"},
            "place": {
                "type": "object",
                "properties": {"lat": {"type": "number"}, "city": {"type": "string"}},
                "required": ["lat"],
                "additionalProperties": False,
            },
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "additionalProperties": False,
    },
)
#: the requirements of these transcripts, by name
RAW_CHOICES = {
    "raw values": OutputSpec((PUT,)),
    "raw values, required": OutputSpec((PUT,), tool_choice="required"),
}


@dataclass(frozen=True, kw_only=True)
class RawValues:
    """The wire texts of one family.

    ``call``       the texts around the arguments of a call of put.
    ``argument``   one argument, with KEY, VALUE and TYPE.
    ``types``      TYPE by JSON type; "" stands for all types that are not listed.
    ``end``        the end of an argument, and ``almost``, a text that only resembles it.
    ``place``, ``tags``  an object of a number and a string, and a list of two strings.
    ``place_without_lat``, ``wrong_tags``  values that the schema does not allow.
    ``wrong``      arguments that the family does not write, and the reasons.
    """

    format: str
    call: tuple[str, str]
    argument: str
    end: str
    almost: str
    types: Mapping[str, str] = field(default_factory=dict)
    place: str = '{"lat": 59.9, "city": "Oslo & co"}'
    place_without_lat: str = '{"city": "Oslo"}'
    tags: str = '["a", "b \\"c\\""]'
    wrong_tags: str = "[1, 2]"
    wrong: tuple[tuple[str, str], ...]

    def written(self, key: str, kind: str, value: str) -> str:
        name = self.types.get(kind, self.types.get("", ""))
        argument = self.argument.replace("KEY", key).replace("TYPE", name)
        return argument.replace("VALUE", value)

    def called(self, arguments: str) -> str:
        return self.call[0] + arguments + self.call[1]


#: strings that are themselves on the wire
STRINGS = (
    "Oslo", "", " ", "  two spaces  ", 'He said "hi"', "it's", "line 1\nline 2", "\n", "a\n",
    "\n\na\n\n", "tab\there", "C:\\new\\table", "a < b", "a > b", "<b>bold</b>", "</", "<",
    "a & b &amp; c", "&lt;",
    "漢字 😀 Zażółć", "12345", "-1", "1.5", "1e5", "true", "false", "null", "None", '"quoted"',
    '{"a": 1}', "[1, 2]", "{", "}", "]", "KEY=VALUE;", "def f(x):\n    return x < 1 and x & 2\n",
)  # fmt: skip
#: key, JSON type, the text on the wire, the value
VALUES: tuple[tuple[str, str, str, Any], ...] = (
    *(("text", "string", text, text) for text in STRINGS),
    *(("unit", "string", text, text) for text in ("c", "f", "a<b", "&")),
    ("unit", "number", "7", 7),
    ("note", "string", "none", "none"),
    ("note", "string", "", ""),
    ("note", "string", "NULL", "NULL"),
    ("note", "string", "nullify", "nullify"),
    ("note", "string", '"null"', '"null"'),
    ("note", "null", "null", None),
    ("code", "string", "12a", "12a"),
    ("code", "string", "1.5", "1.5"),
    ("code", "string", "012", "012"),
    ("code", "string", "- 3", "- 3"),
    ("code", "string", "true", "true"),
    ("code", "string", "", ""),
    ("code", "number", "12", 12),
    ("code", "number", "-3", -3),
    ("code", "number", "0", 0),
    ("flag", "boolean", "true", True),
    ("flag", "boolean", "false", False),
    ("size", "number", "2", 2),
    ("size", "number", "1.5", 1.5),
    ("size", "number", "-0.25", -0.25),
    ("place", "object", "PLACE", {"lat": 59.9, "city": "Oslo & co"}),
    ("tags", "array", "TAGS", ["a", 'b "c"']),
)
#: constants as Python writes them, and the formats whose templates show them
PYTHON: tuple[tuple[str, str, str, Any], ...] = (
    ("flag", "boolean", "True", True),
    ("flag", "boolean", "False", False),
    ("note", "null", "None", None),
)
PYTHON_CONSTANTS = ("qwen_coder", "seed_oss", "minicpm_5", "step_3")
#: more of families with types
TYPED: tuple[tuple[str, str, str, Any], ...] = (
    ("note", "string", "null", "null"),
    ("code", "string", "12", "12"),
    ("code", "string", "-3", "-3"),
)
WRONG: tuple[tuple[str, str, str, str], ...] = (
    ("unit", "string", "k", "a string outside of the enum"),
    ("unit", "string", "C", "another case than in the enum"),
    ("unit", "string", '"c"', "an enum's string in quotes"),
    ("unit", "string", "", "an empty string outside of the enum"),
    ("unit", "string", "c ", "a space behind an enum's string"),
    ("unit", "number", "8", "a number outside of the enum"),
    ("flag", "boolean", "yes", "a text for a boolean"),
    ("flag", "boolean", '"true"', "a string for a boolean"),
    ("flag", "boolean", "1", "a number for a boolean"),
    ("flag", "boolean", "", "no boolean"),
    ("size", "number", "big", "a text for a number"),
    ("size", "number", '"2"', "a string for a number"),
    ("size", "number", "2,5", "a comma in a number"),
    ("size", "number", ".5", "a number without a digit before the point"),
    ("size", "number", "null", "null for a number"),
    ("size", "number", "", "no number"),
    ("place", "object", "Oslo", "a text for an object"),
    ("place", "object", "null", "null for an object"),
    ("place", "object", "[59.9]", "a list for an object"),
    ("place", "object", '{"lat": "59.9"}', "a string for a number in an object"),
    ("place", "object", "{'lat': 59.9}", "an object of Python"),
    ("tags", "array", "a, b", "a text for a list"),
    ("tags", "array", '{"0": "a"}', "an object for a list"),
    ("tags", "array", '"a"', "a string for a list"),
)


def raw_values_of(wire: RawValues) -> Iterator[Transcript]:
    """Yield the transcripts of one family."""
    state = "closed" if wire.format in ("qwen_coder", "minicpm_5", "kimi_k3") else "free"

    def accepted(arguments: str, choice: str = "raw values", **values: Any) -> Transcript:
        means = Means(calls=(("put", values),))
        text = wire.called(arguments)
        return Transcript(wire.format, choice, text, means, thinking=state)

    def rejected(arguments: str, why: str, *, only_tokens: bool = False) -> Transcript:
        text = wire.called(arguments)
        return Transcript(
            wire.format, "raw values", text, None, why, state, only_tokens=only_tokens
        )

    for key, kind, text, value in (*VALUES, *(TYPED if wire.types else ())):
        text = text.replace("PLACE", wire.place).replace("TAGS", wire.tags)
        yield accepted(wire.written(key, kind, text), **{key: value})
    for key, kind, text, value in PYTHON:
        argument = wire.written(key, kind, text)
        if wire.format in PYTHON_CONSTANTS:
            yield accepted(argument, **{key: value})
        elif kind == "boolean":
            yield rejected(argument, "a boolean of Python")
    yield accepted(wire.written("text", "string", f"a{wire.almost} b"), text=f"a{wire.almost} b")
    yield from (rejected(wire.written(key, kind, text), why) for key, kind, text, why in WRONG)
    yield rejected(wire.written("place", "object", wire.place_without_lat), "a missing key inside")
    yield rejected(wire.written("tags", "array", wire.wrong_tags), "a list of another type")
    yield from (rejected(text, why) for text, why in wire.wrong)

    text, unit = wire.written("text", "string", "Oslo"), wire.written("unit", "string", "c")
    flag = wire.written("flag", "boolean", "true")
    place = wire.written("place", "object", wire.place)
    for choice in ("raw values", "raw values, required"):
        yield accepted("", choice)
        yield accepted(text + unit, choice, text="Oslo", unit="c")
        yield accepted(text + flag, choice, text="Oslo", flag=True)
        yield accepted(unit + text, choice, unit="c", text="Oslo")
        yield accepted(flag + unit, choice, flag=True, unit="c")
        yield accepted(unit + flag + place, choice, unit="c", flag=True,
                       place={"lat": 59.9, "city": "Oslo & co"})  # fmt: skip
    yield rejected(text + text, "a key twice")
    yield rejected(wire.written("color", "string", "red"), "an unknown key")
    yield rejected(wire.written("Text", "string", "red"), "a key with other letters")
    yield rejected(wire.written("", "string", "red"), "an empty key")
    yield rejected(f"{text},{unit}", "a comma between arguments")
    yield rejected('{"text": "Oslo"}', "arguments as JSON")
    yield rejected("Oslo", "a text without a key")
    inner = wire.written("text", "string", f"a{wire.end}b")
    yield rejected(inner, "a value that contains its own end")
    yield rejected(wire.written("code", "string", f"1{wire.end}"), "a value that ends twice")
    for special in SPECIALS[wire.format]:
        why = f"the special token {special} in a value"
        yield rejected(wire.written("text", "string", f"a{special}b"), why, only_tokens=True)
    if wire.types:
        yield rejected(wire.written("text", "null", "null"), "the type of another value")
        yield rejected(wire.written("flag", "string", "true"), "a boolean as a string")
        yield rejected(wire.written("size", "string", "2"), "a number as a string")
        yield rejected(wire.written("tags", "string", wire.tags), "a list as a string")
        yield rejected(wire.written("text", "boolean", "Oslo"), "a string as a boolean")
