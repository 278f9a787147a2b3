"""Dialects of the structural tag, for the grammar engine that reads it.

own engine        additional keys of objects come last: models write them last, and an answer
                  cannot postpone a required key for ever. Values that the grammar determines have
                  one spelling, so that they need no sampling. The field "switchyard" of a
                  json_schema node requests this. JSON inside an element does not contain the text
                  that ends the element (it writes "<\\/" for "</"), because parsers of these
                  families end the element there. xgrammar does not know the field.
foreign engine    the plain structural tag; these engines always put additional keys last.
reading foreign   every json_schema node accepts any JSON in any spelling: a foreign engine enforces
                  schemas in its own way, and its text must still be parsed. A node with a style is
                  an exception: its text is elements, not JSON, and only the schema separates raw
                  strings from other values. It stays strict.

Pointers, roles and origins are the same in all of them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from engine import SPEC_VERSION, STYLES

from .format_plan import FormatPlan


def for_own_engine(plan: FormatPlan) -> FormatPlan:
    """Return the plan in the dialect that Switchyard's engine enforces."""
    own = {"version": SPEC_VERSION, "extra_keys": "last", "spelling": "canonical"}

    def with_own(node: dict[str, Any]) -> dict[str, Any]:
        return {**node, **_element_excludes(node), "switchyard": own}

    return replace(plan, spec=_with_schemas(plan.spec, with_own))


def for_reading_foreign(plan: FormatPlan) -> FormatPlan:
    """Return the plan in the dialect that reads text which a foreign engine constrained."""
    strict = {"version": SPEC_VERSION}

    def with_loose(node: dict[str, Any]) -> dict[str, Any]:
        return {**node, "switchyard": strict if "style" in node else {**strict, "loose": True}}

    return replace(plan, spec=_with_schemas(plan.spec, with_loose))


def _element_excludes(node: dict[str, Any]) -> dict[str, list[str]]:
    """Return the field that keeps the end of an element out of the JSON inside it, if any."""
    style = STYLES.get(node.get("style", ""))
    if style is None or style.values != "json" or style.nested:
        return {}
    return {"excludes": [style.guard or style.close]}


def _with_schemas(node: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a copy in which every json_schema node is changed. Schemas are not searched."""
    if isinstance(node, list):
        return [_with_schemas(child, change) for child in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") == "json_schema":
        return change(node)
    return {key: _with_schemas(child, change) for key, child in node.items()}
