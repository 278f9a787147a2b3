"""One spec in the dialects of the engines that may stand behind it. Pointers are the same in all.

wire, our own engine     additional keys of objects stand last: that is what models write, and a
                         text can't put off a required key for ever. What is known is spelled in
                         one way, so that it need not be drawn. Said by the field "switchyard" of a
                         json_schema node.
wire, stock engines      the plain structural tag, which they accept; they put additional keys
                         last by themselves.
reading, behind stock    every json_schema node is read as any JSON, however badly written: what
                         they enforce, they enforce by rules of their own, and their text must
                         still be read.
"""

import json
from typing import Any

from engine import SPEC_VERSION


def for_own_engine(spec: dict[str, Any]) -> str:
    own = {"version": SPEC_VERSION, "extra_keys": "last", "spelling": "canonical"}
    return _written(_with_field(spec, own))


def for_reading_stock(spec: dict[str, Any]) -> str:
    return _written(_with_field(spec, {"version": SPEC_VERSION, "loose": True}))


def _written(spec: Any) -> str:
    return json.dumps(spec, separators=(",", ":"), allow_nan=False)


def _with_field(node: Any, own: dict[str, Any]) -> Any:
    """A copy with the field in every json_schema node; schemas themselves are not walked into."""
    if isinstance(node, list):
        return [_with_field(child, own) for child in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") == "json_schema":
        return {**node, "switchyard": own}
    return {key: _with_field(child, own) for key, child in node.items()}
