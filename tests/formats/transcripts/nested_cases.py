"""Arguments of MiniMax M3 as nested elements: keywords of JSON Schema at every level."""

from collections.abc import Iterator
from typing import Any

from adapters.formats import OutputSpec, Tool

from .compose import Means, Transcript

#: all keys are optional
PLAN = Tool(
    "plan",
    {
        "type": "object",
        "properties": {
            "stops": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "kind": {"enum": ["start", "via", "end"]},
                        "city": {"type": "string", "pattern": "^[A-Z]", "maxLength": 8},
                        "day": {"type": "integer", "minimum": 1},
                    },
                    "required": ["kind"],
                    "additionalProperties": False,
                    "if": {"properties": {"kind": {"const": "via"}}},
                    "then": {"required": ["city"]},
                    "dependentRequired": {"day": ["city"]},
                },
                "maxItems": 3,
                "contains": {"properties": {"kind": {"const": "end"}}},
            },
            "options": {
                "type": "object",
                "patternProperties": {"^opt_": {"type": "boolean"}},
                "additionalProperties": {"type": "integer"},
                "minProperties": 1,
                "maxProperties": 2,
            },
            "rest": {},
            "tree": {"$ref": "#/$defs/tree"},
            "mode": {"enum": ["fast", {"speed": [1, "x"]}, []]},
        },
        "additionalProperties": False,
        "$defs": {
            "tree": {
                "allOf": [
                    {"properties": {"name": {"type": "string"}}, "required": ["name"]},
                    {"properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}},
                ],
                "type": "object",
            }
        },
    },
)
#: the requirements of these transcripts, by name
NESTED_CHOICES = {"nested values": OutputSpec((PLAN,), tool_choice="required")}

_MARK = "]<]minimax[>["


def _of(*members: tuple[str, str]) -> str:
    return "".join(f"{_MARK}<{key}>{text}{_MARK}</{key}>" for key, text in members)


def _items(*texts: str) -> str:
    return _of(*(("item", text) for text in texts))


_END = _of(("kind", "end"))
_VIA = _of(("kind", "via"), ("city", "Oslo"), ("day", "2"))
_ANN = _of(("name", "Ann"), ("below", _items(_of(("name", "Bo")), _of(("name", "Cy")))))
#: key, the text of its element, the value
VALUES: tuple[tuple[str, str, Any], ...] = (
    ("stops", _items(_END), [{"kind": "end"}]),
    ("stops", _items(_VIA, _END), [{"kind": "via", "city": "Oslo", "day": 2}, {"kind": "end"}]),
    ("options", _of(("opt_a", "true")), {"opt_a": True}),
    ("options", _of(("n", "5"), ("opt_a", "false")), {"n": 5, "opt_a": False}),
    ("rest", "x", "x"),
    ("rest", "5", 5),
    ("rest", _items("x", _items("5")), ["x", [5]]),
    ("rest", _of(("a", _of(("b", "")))), {"a": {"b": []}}),
    ("tree", _ANN, {"name": "Ann", "below": [{"name": "Bo"}, {"name": "Cy"}]}),
    ("tree", _of(("name", "Ann"), ("age", "5")), {"name": "Ann", "age": 5}),
    ("mode", "fast", "fast"),
    ("mode", "", []),
    ("mode", _of(("speed", _items("1", "x"))), {"speed": [1, "x"]}),
)
WRONG: tuple[tuple[str, str, str], ...] = (
    ("stops", "", "no end among the stops"),
    ("stops", _items(_VIA), "no end among the stops"),
    ("stops", _items(_END, _END, _END, _END), "too many items"),
    ("stops", _items(_of(("kind", "via")), _END), "no city under if and then"),
    ("stops", _items(_of(("kind", "end"), ("day", "2"))), "no city under dependentRequired"),
    ("stops", _items(_of(("kind", "end"), ("city", "oslo"))), "a text outside of the pattern"),
    ("stops", _items(_of(("kind", "end"), ("city", "Oslo by day"))), "a text that is too long"),
    ("stops", _items(_of(("kind", "end"), ("city", "Oslo"), ("day", "0"))), "a number too low"),
    ("stops", _items(_of(("kind", "middle"))), "a string outside of the enum"),
    ("stops", _items(_of(("city", "Oslo"))), "a missing key"),
    ("stops", _END, "an object for a list"),
    ("options", "", "too few members"),
    ("options", _of(("a", "1"), ("b", "2"), ("c", "3")), "too many members"),
    ("options", _of(("opt_a", "5")), "a number for a boolean"),
    ("options", _of(("a", "true")), "a boolean for a number"),
    ("rest", f"{_MARK}<a>x{_MARK}</2>", "an end that is no name"),
    ("tree", _of(("below", _items(_ANN))), "no name at the first level"),
    ("tree", _of(("name", "Ann"), ("below", _items(""))), "no name at the second level"),
    ("mode", "slow", "a string outside of the enum"),
    ("mode", _of(("speed", _items("1"))), "an object outside of the enum"),
)


def nested_values() -> Iterator[Transcript]:
    """Yield the transcripts."""

    def transcript(key: str, text: str, means: Means | None, why: str) -> Transcript:
        call = f'{_MARK}<invoke name="plan">{_of((key, text))}{_MARK}</invoke>\n'
        text = f"{_MARK}<tool_call>\n{call}{_MARK}</tool_call>"
        return Transcript("minimax_m3", "nested values", text, means, why)

    for key, text, value in VALUES:
        yield transcript(key, text, Means(calls=(("plan", {key: value}),)), "")
    for key, text, why in WRONG:
        yield transcript(key, text, None, why)
