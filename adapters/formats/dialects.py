"""Dialects of the structural tag, for the grammar engine that reads it.

own engine        additional keys of objects come last: models write them last, and an answer
                  cannot postpone a required key for ever. Values that the grammar determines have
                  one spelling, so that they need no sampling. JSON strings in an element write the
                  text that ends the element with an escape, because other parsers end the element
                  there. The field "switchyard" of a json_schema node requests all this.
foreign engine    the plain structural tag; these engines always put additional keys last.
reading foreign   every json_schema node accepts any JSON in any spelling: a foreign engine enforces
                  schemas in its own way, and its text must still be parsed. A node with a style is
                  an exception: its text is elements, not JSON, and only the schema separates raw
                  strings from other values. It stays strict.

Pointers, roles and origins are the same in all of them.
"""

from dataclasses import replace
from typing import Any

from engine import SPEC_VERSION

from .format_plan import FormatPlan


def for_own_engine(plan: FormatPlan) -> FormatPlan:
    """Return the plan in the dialect that Switchyard's engine enforces."""
    own = {"version": SPEC_VERSION, "extra_keys": "last", "spelling": "canonical"}
    return replace(plan, spec=_with_field(plan.spec, own, {**own, "guarded": True}))


def for_reading_foreign(plan: FormatPlan) -> FormatPlan:
    """Return the plan in the dialect that reads text which a foreign engine constrained."""
    strict = {"version": SPEC_VERSION}
    return replace(plan, spec=_with_field(plan.spec, {**strict, "loose": True}, strict))


def _with_field(node: Any, json: dict[str, Any], styled: dict[str, Any]) -> Any:
    """Return a copy with a field in every json_schema node: ``styled`` in those with a style, else
    ``json``. Schemas are not searched.
    """
    if isinstance(node, list):
        return [_with_field(child, json, styled) for child in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") == "json_schema":
        return {**node, "switchyard": styled if "style" in node else json}
    return {key: _with_field(child, json, styled) for key, child in node.items()}
