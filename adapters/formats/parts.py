"""Nodes of a spec, each with what its text means.

A Part is one node of a structural tag plus two marks that are not sent: its Role (what the reader
does with events of this node) and its Origin (which place of the request it was made from).
``lower`` writes the parts as the plain structural tag and keeps the marks by JSON pointer, so spec
and reading can't drift apart.

Representation   fields are the node's own, as in the structural-tag language; a value may be a Part
                 or a list of Parts. Schemas are carried over untouched: nothing here walks into
                 them.
Invariants       I1 every node that was lowered has a role; SYNTAX where none was given.
Not here         which parts a family needs (tags.py, harmony.py), reading (reader.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Kind(Enum):
    """What the text of a node is."""

    SYNTAX = "syntax"  # the format's own marks: nobody sees them
    CONTENT = "content"  # free text
    VALUE = "value"  # content that is a JSON value
    REASONING = "reasoning"
    ARGUMENTS = "arguments"
    CALL = "call"  # a tag: one tool call
    THOUGHT = "thought"  # a tag: one stretch of reasoning


@dataclass(frozen=True)
class Role:
    """``tool`` is the tool's name for CALL, else empty."""

    kind: Kind
    tool: str = ""


SYNTAX = Role(Kind.SYNTAX)
CONTENT = Role(Kind.CONTENT)
VALUE = Role(Kind.VALUE)
REASONING = Role(Kind.REASONING)
ARGUMENTS = Role(Kind.ARGUMENTS)
THOUGHT = Role(Kind.THOUGHT)


@dataclass(frozen=True)
class Origin:
    """A place of the request. For a schema, the rest of the pointer goes on inside of it."""

    param: str
    is_schema: bool = False


@dataclass(frozen=True)
class Part:
    fields: Mapping[str, Any]
    role: Role = SYNTAX
    origin: Origin | None = None


@dataclass
class Marks:
    """Roles and origins by JSON pointer into the spec."""

    roles: dict[str, Role] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)


def lower(part: Part, pointer: str, marks: Marks) -> dict[str, Any]:
    """``part`` as plain JSON; its marks and those of its descendants go into ``marks``."""
    marks.roles[pointer] = part.role
    if part.origin is not None:
        marks.origins[pointer] = part.origin
    return {key: _value(value, f"{pointer}/{key}", marks) for key, value in part.fields.items()}


def _value(value: Any, pointer: str, marks: Marks) -> Any:
    if isinstance(value, Part):
        return lower(value, pointer, marks)
    if isinstance(value, list) and value and isinstance(value[0], Part):
        return [lower(child, f"{pointer}/{number}", marks) for number, child in enumerate(value)]
    return value


# -- leaves ----------------------------------------------------------------------------------------


def const(value: str) -> Part:
    return Part({"type": "const_string", "value": value})


def regex(pattern: str) -> Part:
    return Part({"type": "regex", "pattern": pattern})


def token(text: str) -> Part:
    return Part({"type": "token", "token": text})


def any_text(role: Role, excludes: Sequence[str], max_tokens: int | None = None) -> Part:
    bound = {} if max_tokens is None else {"max_tokens": max_tokens}
    return Part({"type": "any_text", "excludes": list(excludes), **bound}, role)


def json_value(schema: Mapping[str, Any] | bool, role: Role, param: str) -> Part:
    return Part({"type": "json_schema", "json_schema": schema}, role, Origin(param, is_schema=True))


# -- composition -----------------------------------------------------------------------------------


def sequence(*parts: Part) -> Part:
    """One after the other; a sequence inside becomes part of the outer one."""
    flat: list[Part] = []
    for part in parts:
        flat.extend(part.fields["elements"] if part.fields["type"] == "sequence" else [part])
    return flat[0] if len(flat) == 1 else Part({"type": "sequence", "elements": flat})


def either(*parts: Part) -> Part:
    """Exactly one of them."""
    return parts[0] if len(parts) == 1 else Part({"type": "or", "elements": list(parts)})


def optional(part: Part) -> Part:
    return Part({"type": "optional", "content": part})


def star(part: Part) -> Part:
    return Part({"type": "star", "content": part})


def tag(
    begin: str | Part,
    content: Part,
    end: str | Part,
    role: Role = SYNTAX,
    origin: Origin | None = None,
) -> Part:
    return Part({"type": "tag", "begin": begin, "content": content, "end": end}, role, origin)


def triggered(
    triggers: Sequence[str], tags: Sequence[Part], excludes: Sequence[str], *, only_one: bool
) -> Part:
    """Free text (content) with tags in it; ``only_one``: at most one, and nothing follows it."""
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
    """At least one tag, separators between them, and nothing else; ``only_one``: exactly one."""
    return Part(
        {
            "type": "tags_with_separator",
            "tags": list(tags),
            "separator": separator,
            "at_least_one": True,
            "stop_after_first": only_one,
        }
    )
