"""Whether the text of an answer fits its schema."""

import json
from typing import Any

import jsonschema


def misfit(schema: Any, text: str) -> str | None:
    """Return an error; None: the text is JSON that fits. ``schema``: None for an unknown tool."""
    if schema is None:
        return "no call of a known tool"
    try:
        jsonschema.validate(json.loads(text), schema)
    except ValueError as error:
        return f"not JSON: {error}"
    except jsonschema.ValidationError as error:
        return str(error.message)
    return None
