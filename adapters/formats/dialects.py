"""Dialects of the structural tag, for the grammar engine that reads it.

own engine        additional keys of objects come last: models write them last, and an answer
                  cannot postpone a required key for ever. Values that the grammar determines have
                  one spelling, so that they need no sampling. JSON strings in an element write the
                  text that ends the element with an escape, because other parsers end the element
                  there. Grammars whose texts cannot be read back are refused. The field
                  "switchyard" of a node requests all this.
foreign engine    the plain structural tag; these engines always put additional keys last.
reading foreign   every json_schema node accepts any JSON in any spelling: a foreign engine enforces
                  schemas in its own way, and its text must still be parsed. A node with a style is
                  an exception: its text is elements, not JSON, and only the schema separates raw
                  strings from other values. It stays strict. Content that a grammar of the client
                  constrains is any text.

Pointers, roles and origins are the same in all of them.
"""

from dataclasses import replace
from typing import Any, NamedTuple

from engine import SPEC_VERSION

from .format_plan import FormatPlan, put
from .location import split_pointer
from .output_spec import JsonRules


def for_own_engine(plan: FormatPlan) -> FormatPlan:
    """Return the plan in the dialect that Switchyard's engine enforces."""
    version = {"version": SPEC_VERSION}
    own = {**version, "spelling": "canonical", **_written(plan.json_rules)}
    fields = _Fields(own, {**own, "guarded": True}, {**version, "readable": True})
    return replace(plan, spec=_with_fields(plan.spec, fields))


def for_reading_foreign(plan: FormatPlan) -> FormatPlan:
    """Return the plan in the dialect that reads text which a foreign engine constrained."""
    strict = {"version": SPEC_VERSION}
    fields = _Fields({**strict, "loose": True}, strict, {})
    spec = plan.spec
    if plan.constrained is not None:
        spec = put(spec, split_pointer(plan.constrained), {"type": "any_text"})
    return replace(plan, spec=_with_fields(spec, fields))


def _written(rules: JsonRules) -> dict[str, Any]:
    """Return the rules as options of json_schema nodes; those at their defaults are left out."""
    options: dict[str, Any] = {"extra_keys": rules.extra_keys}
    if rules.layout is not None:
        indent, separators = rules.layout
        options |= {"indent": indent, "separators": [*separators]}
    bounds = {"max_items": rules.max_items, "max_length": rules.max_length}
    return options | {name: bound for name, bound in bounds.items() if bound is not None}


class _Fields(NamedTuple):
    """The field "switchyard" of json_schema nodes without and with a style, and what is added to
    that of grammar nodes.
    """

    json: dict[str, Any]
    styled: dict[str, Any]
    grammar: dict[str, Any]


def _with_fields(node: Any, fields: _Fields) -> Any:
    """Return a copy in which the nodes have these fields. Schemas are not searched."""
    if isinstance(node, list):
        return [_with_fields(child, fields) for child in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") == "json_schema":
        return {**node, "switchyard": fields.styled if "style" in node else fields.json}
    own = node.get("switchyard", {})
    if node.get("type") == "grammar" and fields.grammar and isinstance(own, dict):
        return {**node, "switchyard": {**own, **fields.grammar}}
    return {key: _with_fields(child, fields) for key, child in node.items()}
