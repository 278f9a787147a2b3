# ruff: noqa: E501 a table has a line for each row
"""Growth series of constructs that multiply: counts within counts, and branches of ``oneOf``."""

from collections.abc import Sequence
from typing import Any

from .series import Nested, Value


def nested_counts(head: str) -> Sequence[Nested]:
    """The series of a syntax of grammars; ``head``: the beginning of its first rule."""
    return (
        Nested("counted groups with an option", head, "(", '"a"', ' "b"?){0,9}'),
        Nested("counted groups behind an option", head, '("x"? ', "/[^y]/" if head == "start: " else "[^y]", "){0,30}"),
        Nested("largely counted groups with an option", head, "(", '"a"', ' "b"?){0,50}'),
        Nested("counted alternatives", head, "(", '"a"', ' | "bc"){0,9}'),
        Nested("largely counted alternatives", head, "(", '"a"', ' | "bc"){1,30}'),
        Nested("counted options", head, "((", '"a"', ")?){1,9}"),
        Nested("groups of two or three", head, "(", '"a"', "){2,3}"),
    )  # fmt: skip


def counting_rules(size: int, joint: str, first: str) -> str:
    """Rules that each count the next one; ``joint``: between a name and its rule."""
    rules = [f"r{n}{joint}r{n + 1}{{0,9}}\n" for n in range(size)]
    return f"{first}{joint}r0\n" + "".join(rules) + f'r{size}{joint}"a"\n'


LARK_RULES = (Value("rules that count the next", lambda n: counting_rules(n, ": ", "start")),)
EBNF_RULES = (Value("rules that count the next", lambda n: counting_rules(n, " ::= ", "root")),)


def _string(pattern: str, **more: Any) -> Any:
    return {"type": "string", "pattern": pattern, **more}


def _lengths(size: int) -> Any:
    return [_string(f"^a{{{k}}}$") for k in range(1, size + 1)]


def _beginnings(size: int) -> Any:
    return [_string(f"^a{{{k}}}") for k in range(1, size + 1)]


def _array(**keywords: Any) -> Any:
    return {"type": "array", **keywords}


def _object(**keywords: Any) -> Any:
    return {"type": "object", **keywords}


BRANCHES: Sequence[Value] = (
    Value("oneOf of lengths", lambda n: {"oneOf": _lengths(n)}),
    Value("oneOf of beginnings", lambda n: {"oneOf": _beginnings(n)}),
    Value("oneOf of parts", lambda n: {"oneOf": [_string(f"a{k}") for k in range(n)]}),
    Value("oneOf of properties", lambda n: {"oneOf": [_string(rf"^\p{{L}}{{{k}}}$") for k in range(n)]}),
    Value("oneOf of untyped patterns", lambda n: {"oneOf": [{"pattern": f"^a{{{k}}}"} for k in range(n)]}),
    Value("oneOf of patterns with lengths", lambda n: {"oneOf": [_string(f"^a{{{k}}}", maxLength=k + 5) for k in range(n)]}),
    Value("oneOf of patterns and values", lambda n: {"oneOf": [*_beginnings(n), {"enum": ["a" * k for k in range(min(n, 500))]}]}),
    Value("oneOf of formats", lambda n: {"oneOf": [{"type": "string", "format": ("date", "email", "uri", "ipv4")[k % 4]} for k in range(n)]}),
    Value("oneOf of multiples", lambda n: {"oneOf": [{"type": "integer", "multipleOf": k + 2} for k in range(n)]}),
    Value("oneOf of items", lambda n: {"oneOf": [_array(items=each, minItems=1) for each in _beginnings(n)]}),
    Value("oneOf of first items", lambda n: {"oneOf": [_array(prefixItems=[each]) for each in _beginnings(n)]}),
    Value("oneOf of contained items", lambda n: {"oneOf": [_array(contains=each) for each in _beginnings(n)]}),
    Value("oneOf of tuples", lambda n: {"oneOf": [_array(prefixItems=[{"type": "string"}] * k, items=_string(f"a{k}")) for k in range(min(n, 500))]}),
    Value("oneOf of members", lambda n: {"oneOf": [_object(properties={"a": each}, required=["a"]) for each in _beginnings(n)]}),
    Value("oneOf of keys", lambda n: {"oneOf": [_object(patternProperties={f"^a{{{k}}}": {"type": "integer"}}) for k in range(n)]}),
    Value("oneOf of names", lambda n: {"oneOf": [_object(propertyNames={"pattern": f"^a{{{k}}}"}) for k in range(n)]}),
    Value("two oneOf", lambda n: {"allOf": [{"oneOf": _beginnings(n)}, {"oneOf": _lengths(n)}]}),
    Value("oneOf of oneOf", lambda n: {"oneOf": [{"oneOf": _lengths(n)[k::9]} for k in range(9)]}),
    Value("a negated oneOf", lambda n: {"type": "string", "not": {"oneOf": _beginnings(n)}}),
    Value("allOf of contained items", lambda n: _array(allOf=[{"contains": each} for each in _beginnings(n)])),
    Value("conditions on patterns", lambda n: {"type": "string", "allOf": [{"if": each, "then": {"maxLength": k + 3}} for k, each in enumerate(_beginnings(n))]}),
)  # fmt: skip
