"""Tool sets and questions of the Berkeley Function Calling Leaderboard (package ``bfcl-eval``).

    folder/BFCL_v4_multiple.json, one object a line:
        {"id": "multiple_5", "question": [[message, ...]],
         "function": [{"name": ..., "description": ..., "parameters": ...}, ...]}

The parameters are JSON Schema in a dialect of their own, which ``normal`` translates: types have
Python's or Java's names, "any" is no type, ``optional`` is no keyword. Everything else stays:
descriptions, defaults, enum, items, properties, required, format, bounds.
"""

import json
import os
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KINDS = ("multiple", "parallel_multiple", "live_multiple")
#: where ``make data`` puts the files
FETCHED = Path(__file__).parents[2] / ".data" / "bfcl_eval" / "data"

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
INSTANCES = {"string": str, "integer": int, "number": int | float, "boolean": bool, "array": list}
#: keywords of this dialect that JSON Schema doesn't know
DIALECT = ("optional",)

Schema = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """``schemas``: of the parameters, by tool name. ``closed``: no object takes further keys."""

    id: str
    kind: str
    closed: bool
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    schemas: dict[str, Schema]


def data_folder() -> Path | None:
    """SWITCHYARD_BFCL, or what was fetched; None: there is none."""
    given = os.environ.get("SWITCHYARD_BFCL")
    folder = Path(given) if given else FETCHED
    return folder if folder.is_dir() else None


def read_cases(folder: Path, number: int, *, closed: bool, seed: int = 0) -> list[Case]:
    """``number`` cases, as many of each kind as of the others; always the same ones."""
    found = []
    for at, kind in enumerate(KINDS):
        lines = (folder / f"BFCL_v4_{kind}.json").read_text("utf-8").splitlines()
        share = (number + len(KINDS) - 1 - at) // len(KINDS)
        found += [
            _case(kind, json.loads(line), closed)
            for line in random.Random(seed).sample(lines, share)
        ]
    return found


def _case(kind: str, line: dict[str, Any], closed: bool) -> Case:
    schemas = {tool["name"]: normal(tool["parameters"], closed) for tool in line["function"]}
    tools = [
        {"type": "function", "function": {**tool, "parameters": schemas[tool["name"]]}}
        for tool in line["function"]
    ]
    return Case(line["id"], kind, closed, line["question"][0], tools, schemas)


def normal(schema: Schema, closed: bool) -> Schema:
    """``schema`` in JSON Schema's own words; ``closed``: additionalProperties false everywhere."""
    found = {key: value for key, value in schema.items() if key not in DIALECT}
    kind = TYPES.get(schema.get("type", "any"), schema.get("type"))
    found.pop("type", None)
    if kind is not None:
        found = {"type": kind} | found
    if "properties" in found:
        found["properties"] = {k: normal(v, closed) for k, v in found["properties"].items()}
    if "items" in found:
        found["items"] = normal(found["items"], closed)
    if kind == "object" and closed:
        found["additionalProperties"] = False
    return _with_enum_in_its_place(found)


def _with_enum_in_its_place(schema: Schema) -> Schema:
    """Repair an enum whose type fits none of its values: they are those of the items of an array,
    otherwise the type is wrong.
    """
    kind, values = schema.get("type"), schema.get("enum")
    if kind is None or values is None or _any_fits(kind, values):
        return schema
    dropped = "enum" if kind == "array" else "type"
    found = {key: value for key, value in schema.items() if key != dropped}
    if kind == "array":
        found["items"] = {**found.get("items", {}), "enum": values}
    return found


def _any_fits(kind: str, values: Iterable[Any]) -> bool:
    wanted = INSTANCES.get(kind, object)
    return any(
        isinstance(value, wanted) and (kind == "boolean" or not isinstance(value, bool))
        for value in values
    )
