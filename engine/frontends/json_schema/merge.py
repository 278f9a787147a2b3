"""Two schemas that must both hold, as one schema, where that is exact and simple.

Keywords that only one side has are kept, as long as they do not look at each other's keywords: additionalProperties looks at
properties, items at prefixItems. Types meet; required lists unite; bounds take the tighter one. Everything else is left
to the caller, who refuses it by name.
"""

from typing import Any

from .keywords import types_of, validating

_PICK = {
    **dict.fromkeys(("minLength", "minItems", "minimum", "exclusiveMinimum"), max),
    **dict.fromkeys(("maxLength", "maxItems", "maximum", "exclusiveMaximum"), min),
}


def merge(a: Any, b: Any, pointer: str) -> Any | None:
    """One schema for both, or None where none is written easily."""
    if isinstance(a, bool):
        return b if a else False
    if isinstance(b, bool):
        return a if b else False
    a, b = validating(a), validating(b)
    if _looks_across(a, b) or _looks_across(b, a):
        return None
    out = dict(a)
    for key, value in b.items():
        if key not in out or out[key] == value:
            out[key] = value
            continue
        both = _both(key, out, value, pointer)
        if both is None:
            return None
        out[key] = both
    return out if out.get("type") != [] else False


def _looks_across(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Whether a keyword of ``a`` judges what a keyword of ``b`` lists."""
    if a.get("additionalProperties", True) is not True and set(b.get("properties", ())) - set(a.get("properties", ())):
        return True
    return "items" in a and len(b.get("prefixItems", ())) > len(a.get("prefixItems", ()))


def _both(key: str, out: dict[str, Any], value: Any, pointer: str) -> Any | None:
    """Two values of one keyword as one."""
    mine = out[key]
    if key == "type":
        left, right = types_of({"type": mine}, pointer), types_of({"type": value}, pointer)
        met = left & right
        if ("number" in left and "integer" in right) or ("integer" in left and "number" in right):
            met.add("integer")
        return sorted(met)
    if key in _PICK and not isinstance(mine, bool) and not isinstance(value, bool):
        return _PICK[key](mine, value) if isinstance(mine, int | float) and isinstance(value, int | float) else None
    if key == "required" and isinstance(mine, list) and isinstance(value, list):
        return [*mine, *(name for name in value if name not in mine)]
    if key == "properties" and isinstance(mine, dict) and isinstance(value, dict):
        if any(name in mine and mine[name] != sub for name, sub in value.items()):
            return None
        return {**mine, **value}
    return None
