"""How model families write arguments as elements: data only; tag_xml reads it.

Sources   the families' chat templates, and xgrammar 0.2.8, which has the same names.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

NOTHING: Mapping[str, str] = MappingProxyType({})


class Style(NamedTuple):
    """How one family writes an element. ``{key}`` and ``{type}`` are filled in."""

    open: str
    close: str
    types: Mapping[str, str] = NOTHING  # what ``{type}`` is for each type of JSON
    escapes: Mapping[str, str] = NOTHING  # in keys
    glue: str = ""  # where white space may stand in ``open``
    nested: bool = False  # objects and lists are elements, too
    item: str = ""  # opens an element of a list
    guard: str = ""  # what raw strings must not hold, where it is not ``close``


SCALARS = ("string", "integer", "number", "boolean", "null")
TYPES = (*SCALARS, "object", "array")
IS_STRING = {kind: str(kind == "string").lower() for kind in TYPES}
#: an integer where a schema leaves the type open: it may be called so, too
OPEN_INTEGER = "open integer"
JSON_NAMES = {**{kind: kind for kind in TYPES}, "integer": "number", OPEN_INTEGER: "integer"}
COHERE = {**dict.fromkeys(TYPES, "json"), "string": "raw", "object": "dict", "array": "list"}
QUOTED = {"&": "&amp;", '"': "&quot;"}
DSML = "\uff5cDSML\uff5c"
M3 = "]<]minimax[>["

STYLES = {
    "qwen_xml": Style("<parameter={key}>", "</parameter>"),
    "minimax_xml": Style('<parameter name="{key}">', "</parameter>"),
    "minimax_m3_xml": Style(
        f"{M3}<{{key}}>", f"{M3}</{{key}}>", nested=True, item=f"{M3}<item>", guard=M3
    ),
    "deepseek_xml": Style(
        f'<{DSML}parameter name="{{key}}" string="{{type}}">', f"</{DSML}parameter>", IS_STRING
    ),
    "deepseek_v4_1_xml": Style(
        f'<{DSML} parameter name="{{key}}" string="{{type}}">', f"</{DSML} parameter>", IS_STRING
    ),
    "glm_xml": Style("<arg_key>{key}</arg_key>\n<arg_value>", "</arg_value>", glue="\n"),
    "cohere_xml": Style(
        '<cofl:value name="{key}" type="{type}">', "</cofl:value>", COHERE,
        {**QUOTED, "<": "&lt;", ">": "&gt;"}, nested=True, item='<cofl:value type="{type}">',
    ),
    "kimi_k3_xml": Style(
        '<|open|>argument key="{key}" type="{type}"<|sep|>', "<|close|>argument<|sep|>",
        JSON_NAMES, QUOTED,
    ),
}  # fmt: skip
