"""XML-like styles in which model families write arguments: data only.

json_schema.arguments interprets them; style_reader reads them as parts of structural tags.

Sources   the families' chat templates, and xgrammar 0.2.8, which has the same names.
"""

from collections.abc import Mapping
from enum import Enum
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

#: the name of items in styles that repeat names
ITEM = "item"
NOTHING: Mapping[str, str] = MappingProxyType({})


class Region(Enum):
    """A region of styled arguments. The value is the suffix of its node in the parser's events.

    An element is a MARK, its key, and a tag: a STRING with its TEXT, which may be missing, a JSON
    value or CONSTANT, or an OBJECT or ARRAY of elements. The key has the style's escapes and stands
    outside of all regions. Elements of a list have no key. A key at the end of an element is part
    of a MARK.
    """

    MARK = "#mark"  # text: white space, and the text before a key
    STRING = "#string"  # tag
    TEXT = "#text"  # text: a raw string
    JSON = "#json"  # tag
    VALUE = "#value"  # text: JSON
    CONSTANT = "#constant"  # text: a constant in the style's other spelling
    OBJECT = "#object"  # tag
    ARRAY = "#array"  # tag


class Style(NamedTuple):
    """The form of an element, with the placeholders ``{key}`` and ``{type}``."""

    open: str
    close: str
    types: Mapping[str, str] = NOTHING  # values of ``{type}`` by JSON type
    escapes: Mapping[str, str] = NOTHING  # in keys
    glue: str = ""  # may be replaced by white space in ``open``
    nested: bool = False  # whether objects and lists are elements, too
    item: str = ""  # opens an element of a list
    guard: str = ""  # must not occur in raw strings; by default ``close``, up to a key
    #: "json": strings are raw, other values JSON. "quoted": all are JSON. "python": all are
    #: Python's literals. "gemma": objects have bare keys, and strings are raw between quotes
    values: str = "json"
    separator: str = ""  # between members
    quote: str = ""  # of Gemma's strings
    any_order: bool = False  # for models that sort keys
    #: true, false and null as the chat templates of some models write them: beside JSON's
    #: spelling, or in place of Python's; Gemma only writes null so
    constants: tuple[str, ...] = ()
    #: texts that may stand around a raw string in its element; other strings lack the first
    wrap: tuple[str, str] = ("", "")

    @property
    def has_elements(self) -> bool:
        """Whether each member is an element."""
        return self.values in ("json", "quoted")

    @property
    def value_end(self) -> str:
        """The text that raw strings do not contain, because it ends their element."""
        return self.guard or self.close.partition("{key}")[0]

    @property
    def shared_begin(self) -> str:
        """The text that ends ``open`` behind the key, and ``item``, alike."""
        tail = self.open.partition("{key}")[2]
        pairs = zip(reversed(tail), reversed(self.item), strict=False)
        size = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
        return tail[len(tail) - size :]

    @property
    def item_name(self) -> str:
        """The key of items that are written like members; empty if they have no key."""
        return ITEM if self.item == self.open.replace("{key}", ITEM) else ""


SCALARS = ("string", "integer", "number", "boolean", "null")
TYPES = (*SCALARS, "object", "array")
IS_STRING = {kind: str(kind == "string").lower() for kind in TYPES}
#: an additional name for integers where a schema allows several types
OPEN_INTEGER = "open integer"
JSON_NAMES = {**{kind: kind for kind in TYPES}, "integer": "number", OPEN_INTEGER: "integer"}
COHERE = {**dict.fromkeys(TYPES, "json"), "string": "raw", "object": "dict", "array": "list"}
QUOTED = {"&": "&amp;", '"': "&quot;"}
DSML = "\uff5cDSML\uff5c"
M3 = "]<]minimax[>["

PYTHON = ("True", "False", "None")
JSON = ("true", "false", "null")

STYLES = {
    "qwen_xml": Style("<parameter={key}>", "</parameter>", constants=PYTHON),
    "qwen_coder_xml": Style(
        "<parameter={key}>\n", "\n</parameter>", guard="</parameter>", constants=PYTHON
    ),
    "minicpm_xml": Style(
        '<param name="{key}">', "</param>", constants=PYTHON, wrap=("<![CDATA[", "]]>")
    ),
    "atem_xml": Style('<atem:parameter name="{key}">', "</atem:parameter>"),
    "hunyuan_xml": Style(
        "<arg_key:opensource>{key}</arg_key:opensource>\n<arg_value:opensource>",
        "</arg_value:opensource>", glue="\n",
    ),
    "python": Style("{key}=", "", values="python", separator=","),
    "gemma": Style(
        "{key}:", "", values="gemma", separator=",", quote='<|"|>', any_order=True,
        constants=("", "", "None"),
    ),
    "functiongemma": Style(
        "{key}:", "", values="gemma", separator=",", quote="<escape>", any_order=True
    ),
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
