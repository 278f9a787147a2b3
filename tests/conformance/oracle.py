"""The oracle: ``jsonschema`` on a text, with numbers as they are written.

Its validators take a Decimal for a number, but know integers as int and float only, and divide in
Python's context of 28 digits; both are replaced here. ``$`` is ECMA's: the end of the text, and not
a newline before it. Formats are checked where the engine asserts them.
"""

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import cache, partial
from typing import Any

import jsonschema
from jsonschema import FormatChecker, ValidationError, validators

from engine.frontends.json_schema.formats import PATTERNS

#: stands for larger exponents
LARGEST = 10**17

#: 1.0 is an integer in every dialect; draft 4 leaves it to the language
Numeric = int | Decimal


def is_whole(_: Any, value: Any) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


def is_multiple(value: Numeric, divisor: Numeric) -> bool:
    """Exactly, and without writing a number out: 1e99999 is one that is asked about."""
    (_, digits, exponent), (_, parts, scale) = (
        Decimal(value).as_tuple(),
        Decimal(divisor).as_tuple(),
    )
    assert isinstance(exponent, int) and isinstance(scale, int)
    number, by = int("".join(map(str, digits))), int("".join(map(str, parts)))
    if exponent >= scale:
        return number * pow(10, exponent - scale, by) % by == 0
    return number == 0 or (
        scale - exponent <= len(digits) and number % (by * 10 ** (scale - exponent)) == 0
    )


def multiple_of(validator: Any, divisor: Any, value: Any, _: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "number") and not is_multiple(value, divisor):
        yield ValidationError(f"{value} is not a multiple of {divisor}")


def conditional(base: Any, validator: Any, condition: Any, value: Any, schema: Any) -> Any:
    """``if`` alone asks nothing, and may lead back to itself."""
    if "then" in schema or "else" in schema:
        yield from base.VALIDATORS["if"](validator, condition, value, schema)


@cache
def validator_class(base: Any) -> Any:
    keywords: dict[str, Any] = {"multipleOf": multiple_of}
    if "if" in base.VALIDATORS:
        keywords["if"] = partial(conditional, base)
    types = base.TYPE_CHECKER.redefine("integer", is_whole)
    return validators.extend(base, keywords, type_checker=types)


@cache
def checker() -> FormatChecker:
    made = FormatChecker(formats=())
    known = jsonschema.Draft202012Validator.FORMAT_CHECKER.checkers
    made.checkers = {name: known[name] for name in PATTERNS if name in known}
    return made


def with_ecma_ends(schema: Any) -> Any:
    """Patterns in Python's dialect, as far as drawn ones need it. No drawn key is a keyword."""
    if isinstance(schema, list):
        return [with_ecma_ends(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {keyword: with_ecma_ends(value) for keyword, value in schema.items()}
    if isinstance(made.get("pattern"), str):
        made["pattern"] = ecma_end(made["pattern"])
    if isinstance(made.get("patternProperties"), dict):
        made["patternProperties"] = {
            ecma_end(key): value for key, value in made["patternProperties"].items()
        }
    return made


def ecma_end(pattern: str) -> str:
    return pattern.replace("$", r"\Z")


def number(text: str) -> Decimal:
    """Exactly, but for exponents that Decimal can't hold."""
    try:
        return Decimal(text)
    except InvalidOperation:
        digits, exponent = text.lower().split("e")
        return Decimal(f"{digits}e{'-' if exponent.startswith('-') else ''}{LARGEST}")


def parsed(text: str | bytes) -> Any:
    return json.loads(text, parse_float=number)


def has_duplicates(text: str | bytes) -> bool:
    found = []

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.append(len(pairs) > len(dict(pairs)))
        return dict(pairs)

    json.loads(text, object_pairs_hook=look)
    return any(found)


class Oracle:
    """One schema's verdicts."""

    def __init__(self, schema: Any) -> None:
        exact = parsed(json.dumps(with_ecma_ends(schema)))
        base = jsonschema.Draft202012Validator
        if isinstance(exact, dict):
            base = validators.validator_for(exact, default=base)
            # or the validator itself would follow it, at every reference to the root
            exact.pop("$schema", None)
        self._validator = validator_class(base)(exact, format_checker=checker())

    def accepts(self, value: Any) -> bool:
        return bool(self._validator.is_valid(value))

    def why(self, value: Any) -> list[str]:
        return [
            f"{error.json_path} {error.message}"[:200]
            for error in self._validator.iter_errors(value)
        ]
