""""""

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
    most_blanks: int = 20,
    indent: int | str | None = None,
    separators: Sequence[str] | None = None,
    spelling: str = "any",
    excludes: tuple[str, ...] = (),
) -> Node:
    """A JSON value that the schema accepts, without white space around it.

    Args:
        pointer: where the schema stands in what the caller sent; errors name places below it.
        any_order: listed keys may stand in any order (objects with few of them only).
        whitespace: "flexible" or "compact" (none at all).
        unknown_formats: "annotate" or "refuse".
        extra_keys: where additional keys may stand, "anywhere" or "last", that is, behind all
            listed ones. "last" is for generation: it is what models write, and a text can't put off
            a required key for ever.
        most_blanks: most spaces or tabs behind a newline of flexible white space.
        indent: the blanks of each level of depth, as in ``json.dumps``: a number of spaces, or
            spaces and tabs. With it, or ``separators``, white space is that of ``json.dumps`` and
            no other; inside of what recurs, depth is exact for 16 levels.
        separators: what stands between items, and between a key and its value, as in
            ``json.dumps``: (", ", ": ") by default, with ``indent`` (",", ": ").
        spelling: "any", or "canonical": listed names, enum and const in JSON's shortest spelling,
            other strings in any; integers as digits, numbers as plain decimals or, where
            serializers write exponents, with one; no -0.
        excludes: texts that keys, and strings without a pattern or a format, must not hold as they
            are written. Listed names, enum and const are then spelled in one way.

    Raises:
        UnsupportedSchema: a keyword that can't be enforced; SpecError: an ill-formed schema, or one
            that nothing can satisfy; LimitExceeded: too deep, too large.
    """
