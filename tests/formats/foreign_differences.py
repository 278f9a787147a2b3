"""Differences of foreign parsers: what they read otherwise than the families' templates write it.

A Difference says which answers have it. With ``reads`` it also says what the parser makes of the
arguments, so that the rest of the answer is still compared; without, the answer is not compared.
"""

import ast
import json
import keyword
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.conformance.instances import parts

from .random_answers import RandomAnswer
from .random_schemas import TOOL_SETS

_SCHEMAS = {tool.name: tool.parameters for tools in TOOL_SETS.values() for tool in tools}


@dataclass(frozen=True)
class Difference:
    """``cause`` continues "the parser ...". ``reads`` changes the value of one argument."""

    cause: str
    seen: Callable[[RandomAnswer], bool]
    reads: Callable[[Any], Any] | None = None


# -- parts of an answer ----------------------------------------------------------------------------


def arguments_of(answer: RandomAnswer) -> Iterator[tuple[Any, Any]]:
    """Yield the schema and the value of each argument; None: the schema does not list it."""
    for name, arguments in answer.calls:
        listed = _SCHEMAS[name].get("properties", {})
        for key, value in arguments.items():
            yield listed.get(key), value


def values_of(value: Any) -> Iterator[Any]:
    """Yield a value, all values inside it, and all keys."""
    for part in parts(value):
        yield part
        yield from part if isinstance(part, dict) else ()


def all_values(answer: RandomAnswer) -> Iterator[Any]:
    for _, arguments in answer.calls:
        yield from values_of(arguments)


def changed(change: Callable[[str], Any]) -> Callable[[Any], Any]:
    """Return a change of all strings in a value, except keys."""

    def of(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: of(each) for key, each in value.items()}
        if isinstance(value, list):
            return [of(each) for each in value]
        return change(value) if isinstance(value, str) else value

    return of


# -- differences -----------------------------------------------------------------------------------


def text_has(cause: str, pattern: str) -> Difference:
    compiled = re.compile(pattern, re.DOTALL)
    return Difference(cause, lambda answer: compiled.search(answer.text) is not None)


def string_has(cause: str, *marks: str) -> Difference:
    """A string or key of the arguments contains a mark."""

    def seen(answer: RandomAnswer) -> bool:
        strings = (value for value in all_values(answer) if isinstance(value, str))
        return any(mark in string for string in strings for mark in marks)

    return Difference(cause, seen)


def content_has(cause: str, *marks: str) -> Difference:
    """The content contains a mark; without marks, it is not empty."""

    def seen(answer: RandomAnswer) -> bool:
        return any(mark in answer.content for mark in marks) if marks else bool(answer.content)

    return Difference(cause, seen)


def argument_is(cause: str, seen: Callable[[Any, Any], bool]) -> Difference:
    """One argument is as ``seen`` says of its schema and value."""
    return Difference(cause, lambda answer: any(seen(*each) for each in arguments_of(answer)))


def value_is(cause: str, seen: Callable[[Any], bool]) -> Difference:
    return Difference(cause, lambda answer: any(map(seen, all_values(answer))))


def is_reading(cause: str, reads: Callable[[Any], Any]) -> Difference:
    """The parser changes some values, and nothing else."""

    def seen(answer: RandomAnswer) -> bool:
        return any(reads(value) != value for _, value in arguments_of(answer))

    return Difference(cause, seen, reads)


def has_no_single_type(schema: Any) -> bool:
    return not isinstance((schema or {}).get("type"), str)


def allows_null(schema: Any) -> bool:
    return None in (schema or {}).get("enum", ()) or "null" in (schema or {}).get("type", ())


def is_quoted(value: Any) -> bool:
    """Whether a string is in quotes."""
    return isinstance(value, str) and len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"


def is_literal(value: Any) -> bool:
    """Whether a string is in quotes, or the text of a literal of JSON or Python."""
    if not isinstance(value, str):
        return False
    if is_quoted(value):
        return True
    for parse in (json.loads, ast.literal_eval, float):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                parse(value)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
        return True
    return False


def stripped(value: Any) -> Any:
    """Return the value of one argument as a parser that strips strings reads it."""
    return value.strip() if isinstance(value, str) else value


UNTYPED = argument_is(
    "guesses one type for an argument without a single declared type; other values become text",
    lambda schema, value: has_no_single_type(schema) and not isinstance(value, str),
)
UNTYPED_TEXT = argument_is(
    "converts the text of an argument without a single declared type",
    lambda schema, value: has_no_single_type(schema) and is_literal(value),
)
NULL_TEXT = argument_is(
    'reads the string "null" as null',
    lambda _, value: isinstance(value, str) and value.lower() == "null",
)
STRIPS = is_reading("strips strings", stripped)


def mark_ends_call(*marks: str) -> Difference:
    return string_has("takes the text of a mark in a value for the mark", *marks)


def python_differences() -> tuple[Difference, ...]:
    return (
        Difference(
            "reads Python only: names of tools and keys are identifiers",
            lambda answer: any(
                not text.isidentifier() or keyword.iskeyword(text)
                for name, args in answer.calls
                for text in (name, *args)
            ),
        ),
        text_has(
            r"reads Python's escapes, not JSON's: \/ keeps its backslash, and two escapes do not "
            "form one character",
            r"\\/|\\u[dD][89a-fA-F]",
        ),
    )


def has_boolean(schema: Any) -> bool:
    """Whether one of several types is a boolean."""
    return {"type": "boolean"} in (schema or {}).get("anyOf", ())


STRIPS_LINE_FEED = is_reading(
    "drops one line feed around strings",
    lambda v: v.removeprefix("\n").removesuffix("\n") if isinstance(v, str) else v,
)
BOOLEAN_TEXT = argument_is(
    "reads any text as a boolean where one is allowed",
    lambda schema, value: isinstance(value, str) and has_boolean(schema),
)
CONTROL_CHARACTERS = value_is(
    "does not escape control characters",
    lambda v: isinstance(v, str) and re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", v) is not None,
)
NO_ARGUMENTS = Difference(
    "loses calls without arguments", lambda answer: any(not args for _, args in answer.calls)
)
UNTYPED_INSIDE = argument_is(
    "reads numbers, booleans and null in lists and objects without a schema as text",
    lambda schema, value: (
        ((schema or {}).get("items") == {} or schema == {"type": "object"})
        and any(not isinstance(part, str | list | dict) for part in parts(value))
    ),
)
NULL = value_is("reads null with white space as text", lambda value: value is None)
