"""The oracle: ``jsonschema`` on a text, with numbers as they are written.

Its validators take a Decimal for a number, but know integers as int and float only, and divide in
Python's context of 28 digits; both are replaced here. ``$`` is ECMA's: the end of the text, and not
a newline before it. Formats are checked where the engine asserts them.
"""

import json
from functools import cache
from typing import Any

import jsonschema
from jsonschema import FormatChecker, validators

from bench.maskdiff.document import number, validator_class
from engine.frontends.json_schema.formats import PATTERNS


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
