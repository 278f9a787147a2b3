from collections.abc import Sequence
from typing import Any

from ...grammar.ir import Grammar, Node

def build_json_schema(
    grammar: Grammar,
    schema: dict[str, Any] | bool,
    *,
    pointer: str = "",
    any_order: bool = False,
    whitespace: str = "flexible",
    unknown_formats: str = "annotate",
    extra_keys: str = "anywhere",
    max_items: int | None = None,
    max_length: int | None = None,
    most_blanks: int = ...,
    indent: int | str | None = None,
    separators: Sequence[str] | None = None,
    depth: int = 0,
    spelling: str = "any",
    excludes: tuple[str, ...] = (),
) -> Node:
    """Add a JSON value that satisfies the schema, without white space around it.

    Args:
        pointer: JSON pointer of the schema in the caller's document, the prefix of error pointers.
        any_order: listed keys may be in any order (only objects with few of them).
        whitespace: "flexible" or "compact" (none).
        unknown_formats: "annotate" or "refuse".
        extra_keys: additional keys are allowed "anywhere", or "last", after all listed keys. Use
            "last" for generation: models write so, and cannot postpone a required key forever.
            "none": as "last", but not in objects that list ``properties`` without a keyword about
            other members, in any of the schemas that apply together. Required keys and those that
            ``minProperties`` needs remain.
        max_items: of arrays without ``maxItems`` and ``contains``; ``minItems`` may be more.
        max_length: of strings without ``maxLength``, ``pattern`` and ``format``; ``minLength`` may
            be more. A schema that "none" or a bound would leave without values, or that could not
            be enforced with it, is built without all three.
        most_blanks: spaces or tabs after a newline of flexible white space, at most.
        indent: the blanks of each level, as in ``json.dumps``: a number of spaces, or spaces and
            tabs. With ``indent`` or ``separators``, white space is exactly that of ``json.dumps``;
            inside recursive schemas, depth is exact for 16 levels.
        separators: item and key separators, as in ``json.dumps``: (", ", ": ") by default, with
            ``indent`` (",", ": ").
        depth: levels of indentation around the value.
        spelling: "any", or "canonical": listed names, enum and const in the shortest spelling of
            JSON, other strings in any; integers as digits, numbers as plain decimals or, where
            serializers write exponents, with one; no -0.
        excludes: texts that must not occur in keys, and in strings without a pattern or a format,
            as they are written. Listed names, enum and const then have one spelling.

    Raises:
        UnsupportedSchema: a keyword cannot be enforced.
        SpecError: the schema is ill-formed, or nothing can satisfy it.
        LimitExceeded: the schema is too deep or too large.
    """
