"""Dialects of the structural tag, for the grammar engine that reads it.

own engine        additional keys of objects come last: models write them last, and an answer
                  cannot postpone a required key for ever. Values that the grammar determines have
                  one spelling, so that they need no sampling. JSON strings in an element write the
                  text that ends the element with an escape, because other parsers end the element
                  there. Grammars whose texts cannot be read back are refused. JSON has the
                  layout of the plan. The field "switchyard" of a node requests all this.
foreign engine    the plain structural tag; these engines always put additional keys last. They have
                  no styles that are objects (``inline_styles``).
reading foreign   every json_schema node accepts any JSON in any spelling: a foreign engine enforces
                  schemas in its own way, and its text must still be parsed. A node with a style is
                  an exception: its text is elements, not JSON, and only the schema separates raw
                  strings from other values. It stays strict, but arguments have any order. Content
                  that a grammar of the client constrains is any text.

Pointers, roles and origins are the same in all of them.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from engine import GUIDANCE, SPEC_VERSION

from .format_plan import FormatPlan, node_at, put
from .location import split_pointer
from .output_spec import COMPACT, JsonLayout, JsonRules
from .parts import Kind, Role


def for_own_engine(plan: FormatPlan) -> FormatPlan:
    """Return the plan in the dialect that Switchyard's engine enforces."""
    version = {"version": SPEC_VERSION}
    own = {**version, "spelling": "canonical", **_rules(plan.json_rules)}
    order = {"argument_order": plan.json_rules.argument_order}
    fields = _Fields(own, {**own, **order, "guarded": True}, {**version, "readable": True})
    spec = _with_fields(plan.spec, fields)
    if plan.json_rules.layout is not None:
        _lay_out(spec, plan, plan.json_rules.layout)
    return replace(plan, spec=spec)


def for_reading_foreign(plan: FormatPlan) -> FormatPlan:
    """Return the plan in the dialect that reads text which a foreign engine constrained."""
    strict = {"version": SPEC_VERSION}
    fields = _Fields({**strict, "loose": True}, {**strict, "argument_order": "any"}, {})
    spec = plan.spec
    if plan.constrained is not None:
        spec = put(spec, split_pointer(plan.constrained), {"type": "any_text"})
    return replace(plan, spec=_with_fields(spec, fields))


def inline_styles(spec: Any, pointer: str = "") -> Iterator[str]:
    """Yield the pointers of json_schema nodes with a style as an object."""
    if isinstance(spec, list):
        for number, child in enumerate(spec):
            yield from inline_styles(child, f"{pointer}/{number}")
    elif isinstance(spec, dict) and "json_schema" in spec:
        if isinstance(spec.get("style"), dict):
            yield pointer
    elif isinstance(spec, dict):
        for key, child in spec.items():
            yield from inline_styles(child, f"{pointer}/{key}")


def _rules(rules: JsonRules) -> dict[str, Any]:
    """Return the rules of all json_schema nodes as options, without bounds that are not set."""
    bounds = {"max_items": rules.max_items, "max_length": rules.max_length}
    set_bounds = {name: bound for name, bound in bounds.items() if bound is not None}
    return {"extra_keys": rules.extra_keys, **set_bounds}


def _lay_out(spec: dict[str, Any], plan: FormatPlan, layout: JsonLayout) -> None:
    """Give the json_schema nodes a layout, except those inside a structural tag of the client,
    which have rules of their own. ``spec``: a copy.
    """
    fields: dict[tuple[bool, Kind], dict[str, Any]] = {}
    for pointer, role in plan.roles.items():
        if role.kind not in (Kind.ARGUMENTS, Kind.VALUE) or role.region is not None:
            continue
        node = node_at(spec, pointer)
        if node["type"] == "json_schema" and not _has_wish(node["json_schema"], layout):
            key = ("style" in node, role.kind)
            if key not in fields:
                fields[key] = {**node["switchyard"], **_options(node, role, plan, layout)}
            node["switchyard"] = fields[key]


def _has_wish(schema: Any, layout: JsonLayout) -> bool:
    """Whether the schema says how it is written (``x-guidance``), other than compactly as here."""
    guidance = schema.get(GUIDANCE) if isinstance(schema, dict) else None
    is_said = isinstance(guidance, dict) and "whitespace_flexible" in guidance
    return is_said and layout != COMPACT


def _options(
    node: dict[str, Any], role: Role, plan: FormatPlan, layout: JsonLayout
) -> dict[str, Any]:
    options = {"indent": layout.indent, "separators": [*layout.separators]}
    if "style" in node:
        options |= plan.style_layout
        if not plan.json_rules.element_space:
            options.pop("element_space", None)
    elif role.kind is Kind.ARGUMENTS and layout.depth:
        options["depth"] = layout.depth
    return options


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
