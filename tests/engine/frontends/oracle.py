"""The verdicts of ``jsonschema``."""

from typing import Any

import jsonschema


def oracle(schema: Any) -> jsonschema.Draft202012Validator:
    made = jsonschema.Draft202012Validator
    return made(schema, format_checker=made.FORMAT_CHECKER)


def is_valid(schema: Any, value: Any) -> bool:
    return oracle(schema).is_valid(value)
