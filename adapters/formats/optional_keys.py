"""Optional keys of a JSON Schema, of which the prompt tells the model."""

from collections.abc import Mapping, Sequence
from typing import Any

#: keywords with values of any form, not with schemas
_VALUES = frozenset(("const", "default", "enum", "examples"))
#: keywords with schemas by name
_BY_NAME = frozenset(
    ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
)


def optional_keys(schema: Any) -> Sequence[str]:
    """Return the keys that some objects of the schema list and none requires, outer ones first.

    Takes time in proportion to the schema.
    """
    listed: dict[str, None] = {}
    required: set[str] = set()
    todo = [schema]
    for each in todo:
        if isinstance(each, list | tuple):
            todo += each
        elif isinstance(each, Mapping):
            for keyword, value in each.items():
                if keyword in _BY_NAME and isinstance(value, Mapping):
                    todo += value.values()
                elif keyword not in _VALUES:
                    todo.append(value)
            if isinstance(keys := each.get("properties"), Mapping):
                listed |= dict.fromkeys(keys)
            if isinstance(names := each.get("required"), list | tuple):
                required |= {name for name in names if isinstance(name, str)}
    return [key for key in listed if key not in required]
