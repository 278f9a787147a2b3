"""Tool calls of the Berkeley Function Calling Leaderboard (package ``bfcl-eval``).

    folder/BFCL_v4_multiple.json, one object a line:
        {"id": "multiple_5", "question": [[message, ...]],
         "function": [{"name": ..., "description": ..., "parameters": ...}, ...]}
    folder/possible_answer/BFCL_v4_multiple.json:
        {"id": "multiple_5", "ground_truth": [{name: {argument: [acceptable value, ...]}}]}

The parameters are JSON Schema in a dialect of their own, which ``normal`` translates: types have
Python's or Java's names, "any" is no type, ``optional`` is no keyword. Everything else stays:
descriptions, defaults, enum, items, properties, required, format, bounds.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .cases import Case, Schema

#: the sets with one right call
KINDS = ("simple_python", "multiple")

TYPES = {
    "any": None, "Any": None,
    "dict": "object", "HashMap": "object", "Hashtable": "object",
    "tuple": "array", "list": "array", "Array": "array", "ArrayList": "array",
    "float": "number", "Float": "number", "double": "number", "Double": "number",
    "Integer": "integer", "long": "integer", "Long": "integer", "short": "integer",
    "byte": "integer", "Bigint": "integer",
    "String": "string", "char": "string", "Boolean": "boolean",
}  # fmt: skip
#: Python types of the values of an enum, by the type next to it
INSTANCES: dict[str, Any] = {
    "string": str, "integer": int, "number": int | float, "boolean": bool, "array": list,
}  # fmt: skip
#: keywords of this dialect that JSON Schema doesn't know
DIALECT = ("optional",)


def read_bfcl(folder: Path, kinds: Iterable[str] = KINDS) -> list[Case]:
    """Return the cases of a folder in their order, those of each kind together. Raises OSError."""
    cases = []
    for kind in kinds:
        file = f"BFCL_v4_{kind}.json"
        truths = {
            line["id"]: line["ground_truth"] for line in _lines(folder / "possible_answer" / file)
        }
        for line in _lines(folder / file):
            (call,) = truths[line["id"]]
            ((name, arguments),) = call.items()
            cases.append(_case(kind, line, name, arguments))
    return cases


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]


def _case(kind: str, line: dict[str, Any], name: str, arguments: dict[str, Any]) -> Case:
    schemas = {tool["name"]: normal(tool["parameters"]) for tool in line["function"]}
    tools = [
        {"type": "function", "function": {**tool, "parameters": schemas[tool["name"]]}}
        for tool in line["function"]
    ]
    return Case(line["id"], kind, line["question"][0], schemas, arguments, tuple(tools), name)


def normal(schema: Schema, closed: bool = False) -> Schema:
    """Return ``schema`` in JSON Schema's own words; ``closed``: additionalProperties false
    everywhere.
    """
    words = {key: value for key, value in schema.items() if key not in DIALECT}
    kind = TYPES.get(schema.get("type", "any"), schema.get("type"))
    words.pop("type", None)
    if kind is not None:
        words = {"type": kind} | words
    if "properties" in words:
        words["properties"] = {k: normal(v, closed) for k, v in words["properties"].items()}
    if "items" in words:
        words["items"] = normal(words["items"], closed)
    if kind == "object" and closed:
        words["additionalProperties"] = False
    return _with_enum_in_its_place(words)


def _with_enum_in_its_place(schema: Schema) -> Schema:
    """Repair an enum whose type fits none of its values: they are those of the items of an array,
    otherwise the type is wrong.
    """
    kind, values = schema.get("type"), schema.get("enum")
    if kind is None or values is None or _any_fits(kind, values):
        return schema
    dropped = "enum" if kind == "array" else "type"
    repaired = {key: value for key, value in schema.items() if key != dropped}
    if kind == "array":
        repaired["items"] = {**repaired.get("items", {}), "enum": values}
    return repaired


def _any_fits(kind: str, values: Iterable[Any]) -> bool:
    wanted = INSTANCES.get(kind, object)
    return any(
        isinstance(value, wanted) and (kind == "boolean" or not isinstance(value, bool))
        for value in values
    )
