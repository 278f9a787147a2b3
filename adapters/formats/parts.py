"""Parts: nodes of a structural tag, each with the meaning of its text.

A Part is one node plus two facts that are not sent: its Role (what the reader does with the node's
events) and its Origin (the field of the request that it was made from). ``lower`` writes parts as
the plain structural tag and keeps roles and origins by JSON pointer, so that grammar and reader
always agree.

Representation   fields are those of the structural-tag language; a value may be a Part or a list of
                 Parts. Schemas are copied unchanged and never searched.
Invariants       every lowered node has a role; SYNTAX is the default.
Not here         the parts of a family (families), reading (reader).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from engine import Style, StyleRegion, style_field

from .location import FieldKind
from .output_spec import InputFormat

#: the style of arguments that are JSON text
JSON_STYLE = "json"
#: the style of arguments that are source code, which clients get as the JSON {"code": "..."}
CODE_STYLE = "code"


class Kind(Enum):
    """The meaning of a node's text."""

    SYNTAX = "syntax"  # the format's own marks, never shown
    CONTENT = "content"  # free text
    VALUE = "value"  # content that is a JSON value
    CONSTRAINED = "constrained"  # content in a grammar of the client, with all of its marks
    REASONING = "reasoning"
    ARGUMENTS = "arguments"
    INPUT = "input"  # the input of a custom tool, as it is
    CALL = "call"  # a tag: one tool call
    ID = "id"  # the id of a call, as the model writes it
    SECTION = "section"  # a tag: all calls of an answer
    THOUGHT = "thought"  # a tag: one stretch of reasoning


@dataclass(frozen=True)
class Role:
    """A node's role, which tells the reader how to treat its events.

    ``tool``     of a CALL: its name.
    ``call_id``  of a CALL whose arguments follow an id: the whole id, with "{id}" for the text of
                 the ID; "": the model writes none before the arguments.
    ``style``    of a CALL: JSON_STYLE, CODE_STYLE, or the engine's style of its arguments.
    ``region``   of ARGUMENTS: the region of a style.
    ``is_custom``  of a CALL: its tool is a custom tool, whose input is in the arguments.
    """

    kind: Kind
    tool: str = ""
    call_id: str = ""
    style: str | Style = JSON_STYLE
    region: StyleRegion | None = None
    is_custom: bool = False


SYNTAX = Role(Kind.SYNTAX)
CONTENT = Role(Kind.CONTENT)
VALUE = Role(Kind.VALUE)
CONSTRAINED = Role(Kind.CONSTRAINED)
REASONING = Role(Kind.REASONING)
ARGUMENTS = Role(Kind.ARGUMENTS)
INPUT = Role(Kind.INPUT)
THOUGHT = Role(Kind.THOUGHT)
ID = Role(Kind.ID)
SECTION = Role(Kind.SECTION)


@dataclass(frozen=True)
class Origin:
    """The field of the request that a node was made from.

    ``is_schema``: the node carries the field's schema. ``is_strict``: the client refuses a relaxed
    one. ``style``: of the text that the schema describes. ``what``: the field has, as errors call
    it. ``grammar``: the client's grammar, which the planner compiles alone to find its errors.
    ``is_own``: only this project's engine reads the node.
    """

    param: str
    is_schema: bool = False
    is_strict: bool = False
    style: str | Style = JSON_STYLE
    what: FieldKind = "schema"
    grammar: InputFormat | None = None
    is_own: bool = False


@dataclass(frozen=True)
class Part:
    fields: Mapping[str, Any]
    role: Role = SYNTAX
    origin: Origin | None = None


@dataclass
class SpecIndex:
    """Roles and origins of a spec's nodes, by JSON pointer."""

    roles: dict[str, Role] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)


def lower(part: Part, pointer: str, index: SpecIndex) -> dict[str, Any]:
    """Return ``part`` as plain JSON, and add the roles and origins of its nodes to ``index``."""
    index.roles[pointer] = part.role
    if part.fields.get("style", JSON_STYLE) != JSON_STYLE:
        for region in StyleRegion:
            index.roles[pointer + region.value] = Role(part.role.kind, region=region)
    if part.origin is not None:
        index.origins[pointer] = part.origin
    return {key: _value(value, f"{pointer}/{key}", index) for key, value in part.fields.items()}


def _value(value: Any, pointer: str, index: SpecIndex) -> Any:
    if isinstance(value, Part):
        return lower(value, pointer, index)
    if isinstance(value, list) and value and isinstance(value[0], Part):
        return [lower(child, f"{pointer}/{number}", index) for number, child in enumerate(value)]
    return value


# -- leaves ----------------------------------------------------------------------------------------


def const(value: str, role: Role = SYNTAX) -> Part:
    return Part({"type": "const_string", "value": value}, role)


def regex(pattern: str, role: Role = SYNTAX) -> Part:
    return Part({"type": "regex", "pattern": pattern}, role)


def token(text: str) -> Part:
    return Part({"type": "token", "token": text})


def any_text(role: Role, excludes: Sequence[str], max_tokens: int | None = None) -> Part:
    bound = {} if max_tokens is None else {"max_tokens": max_tokens}
    return Part({"type": "any_text", "excludes": list(excludes), **bound}, role)


def json_value(
    schema: Mapping[str, Any] | bool, role: Role, origin: Origin, style: str | Style = JSON_STYLE
) -> Part:
    styled = {} if style == JSON_STYLE else {"style": style_field(style)}
    fields = {"type": "json_schema", "json_schema": schema, **styled}
    return Part(fields, role, replace(origin, style=style))


# -- composition -----------------------------------------------------------------------------------


def sequence(*parts: Part) -> Part:
    """Return the parts one after the other; nested sequences become part of the outer one, except
    those of the client, which have an origin.
    """
    flat: list[Part] = []
    for part in parts:
        is_nested = part.fields.get("type") == "sequence" and part.origin is None
        flat.extend(part.fields["elements"] if is_nested else [part])
    return flat[0] if len(flat) == 1 else Part({"type": "sequence", "elements": flat})


def either(*parts: Part) -> Part:
    """Return exactly one of the parts."""
    return parts[0] if len(parts) == 1 else Part({"type": "or", "elements": list(parts)})


def optional(part: Part) -> Part:
    return Part({"type": "optional", "content": part})


def star(part: Part) -> Part:
    return Part({"type": "star", "content": part})


def tag(
    begin: str | Part,
    content: Part,
    end: str | Part | Sequence[str],
    role: Role = SYNTAX,
    origin: Origin | None = None,
) -> Part:
    return Part({"type": "tag", "begin": begin, "content": content, "end": end}, role, origin)


def triggered(
    triggers: Sequence[str], tags: Sequence[Part], excludes: Sequence[str], *, only_one: bool
) -> Part:
    """Return free text with tags in it; ``only_one``: at most one tag, and nothing follows it."""
    return Part(
        {
            "type": "triggered_tags",
            "triggers": list(triggers),
            "tags": list(tags),
            "stop_after_first": only_one,
            "excludes": list(excludes),
        },
        CONTENT,
    )


def separated(tags: Sequence[Part], separator: str, *, only_one: bool) -> Part:
    """Return one or more tags with separators between them; ``only_one``: exactly one."""
    return Part(
        {
            "type": "tags_with_separator",
            "tags": list(tags),
            "separator": separator,
            "at_least_one": True,
            "stop_after_first": only_one,
        }
    )
