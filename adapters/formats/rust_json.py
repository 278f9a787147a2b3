"""JSON as programs in Rust write it (serde_json): without white space, and with their numbers.

Makers of models ship such programs for their prompts: openai-harmony, tml-renderers.
"""

import json
import math
import sys
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

#: the integers that these programs read as integers; they read others as floats
_INTEGERS = range(-(1 << 63), 1 << 64)
_MOST = sys.float_info.max


def rust_json(value: Any, *, sorts: bool = False, plus: str = "") -> str:
    """Return a value as JSON text. ``sorts``: the keys of all objects. ``plus``: before the
    exponents of large floats, "+" in newer versions.

    Numbers that these programs refuse, beyond all floats, are written as ``json.dumps`` does.
    """
    if isinstance(value, Mapping):
        items = sorted(value.items()) if sorts else value.items()
        members = (
            f"{rust_json(key)}:{rust_json(member, sorts=sorts, plus=plus)}" for key, member in items
        )
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(rust_json(each, sorts=sorts, plus=plus) for each in value)}]"
    if isinstance(value, int) and value not in _INTEGERS and abs(value) <= _MOST:
        value = float(value)
    if isinstance(value, float) and math.isfinite(value):
        digits, _, exponent = repr(value).partition("e")
        if exponent == "-05":
            return f"{Decimal(repr(value)):f}"
        sign = plus if exponent.startswith("+") else ""
        return f"{digits}e{sign}{int(exponent)}" if exponent else digits
    return json.dumps(value, ensure_ascii=False)
