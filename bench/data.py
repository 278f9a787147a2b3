"""The data of the benchmarks: schemas with instances, and tool sets with true calls.

A few of each are built in, so that the benchmarks run without other files. Arguments name a folder
of MaskBench files ({"schema", "tests": [{"valid", "data"}]}) and a folder of BFCL's data.
"""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple


class SchemaCase(NamedTuple):
    """``texts``: (JSON text, whether the schema allows it)."""

    name: str
    schema: Any
    texts: list[tuple[str, bool]]


class ToolCase(NamedTuple):
    """``tools``: (name, parameters); ``calls``: (name, arguments)."""

    name: str
    tools: list[tuple[str, Any]]
    calls: list[tuple[str, Any]]


_STRING, _NUMBER, _INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}


def _closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


_WEATHER = _closed(["city"], city=_STRING, unit={"enum": ["c", "f"]}, days=_INTEGER)
_ORDER = _closed(
    ["id", "lines"],
    id={"type": "string", "maxLength": 32},
    lines={
        "type": "array",
        "maxItems": 50,
        "items": _closed(["sku", "count"], sku=_STRING, count=_INTEGER, price=_NUMBER),
    },
    note=_STRING,
)
_OPEN = {"type": "object", "properties": {"name": _STRING, "tags": {"type": "array"}}}
_VALUES = {
    "weather": (_WEATHER, {"city": "Oslo", "unit": "c", "days": 3}, {"city": 5}),
    "order": (
        _ORDER,
        {"id": "A-17", "lines": [{"sku": "bolt, 5 mm", "count": 12, "price": 0.25}] * 8},
        {"id": "A-17", "lines": [{"sku": "bolt"}]},
    ),
    "open": (_OPEN, {"name": "x", "tags": [1, "two", {"three": None}], "z": [[]]}, {"name": 1}),
}


def builtin_schemas() -> list[SchemaCase]:
    return [
        SchemaCase(name, schema, [(json.dumps(good), True), (json.dumps(bad), False)])
        for name, (schema, good, bad) in _VALUES.items()
    ]


def builtin_tools() -> list[ToolCase]:
    tools = [("get_weather", _WEATHER), ("place_order", _ORDER)]
    calls = [("get_weather", _VALUES["weather"][1]), ("place_order", _VALUES["order"][1])]
    return [ToolCase("builtin", tools, calls)]


def maskbench(
    folder: Path, sample: int | None, *, half: int | None = None, seed: int = 7
) -> list[SchemaCase]:
    """Read the files. ``half`` 0 or 1: every second file of the sorted list."""
    files = sorted(folder.glob("*.json"))
    if half is not None:
        files = files[half::2]
    random.Random(seed).shuffle(files)
    cases = []
    for file in files[:sample]:
        case = json.loads(file.read_text())
        tests = case.get("tests", [])
        texts = [(json.dumps(t["data"], ensure_ascii=False), t["valid"]) for t in tests]
        cases.append(SchemaCase(file.stem, case["schema"], texts))
    return cases


#: BFCL's type names -> those of JSON Schema; unknown types accept any value
_TYPES = {
    **dict.fromkeys(("dict", "HashMap", "Hashtable"), "object"),
    **dict.fromkeys(("tuple", "ArrayList", "Array"), "array"),
    **dict.fromkeys(("String", "char"), "string"),
    **dict.fromkeys(("float", "Float", "double", "Double"), "number"),
    **dict.fromkeys(("Integer", "Long", "long", "Bigint", "byte", "short"), "integer"),
    "Boolean": "boolean",
}
_KNOWN = ("object", "array", "string", "number", "integer", "boolean", "null")
_KEPT = ("required", "enum", "minimum", "maximum", "minItems", "maxItems")


def _normal(schema: Any) -> Any:
    """Convert BFCL's dialect to JSON Schema; the order of keywords stays."""
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type":
            if (kind := _TYPES.get(value, value)) in _KNOWN:
                out["type"] = kind
        elif key == "properties" and isinstance(value, dict):
            out[key] = {name: _normal(one) for name, one in value.items()}
        elif key in ("items", "additionalProperties"):
            out[key] = _normal(value)
        elif key in _KEPT:
            out[key] = value
    if out.get("type") == "object":
        known = out.get("properties", {})
        out["required"] = [name for name in out.get("required", []) if name in known]
        out.setdefault("additionalProperties", False)
    return out


def _first(value: Any) -> Any:
    """Return the first acceptable value of each leaf of a BFCL answer."""
    value = value[0] if isinstance(value, list) and value else value
    return {k: _first(v) for k, v in value.items()} if isinstance(value, dict) else value


def _in_order(schema: Any, value: Any) -> Any:
    """Return arguments in the order of the schema; empty optional ones are left out."""
    if not (isinstance(value, dict) and isinstance(schema, dict) and "properties" in schema):
        return value
    required = schema.get("required", [])
    return {
        name: _in_order(one, value[name])
        for name, one in schema["properties"].items()
        if name in value and (value[name] != "" or name in required)
    }


def _calls(tools: list[tuple[str, Any]], truth: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    schemas = dict(tools)
    return [
        (name, _in_order(schemas.get(name, {}), {k: _first(v) for k, v in arguments.items()}))
        for call in truth
        for name, arguments in call.items()
    ]


def of_calls(cases: Iterable[ToolCase]) -> list[SchemaCase]:
    """Return a schema for each different tool that is called, with its true arguments."""
    found: dict[str, SchemaCase] = {}
    for case in cases:
        for name, arguments in case.calls:
            schema = dict(case.tools).get(name)
            if schema is not None:
                text = json.dumps(schema, sort_keys=True)
                made = SchemaCase(f"{case.name} {name}", schema, [])
                own = found.setdefault(text, made)
                own.texts.append((json.dumps(arguments, ensure_ascii=False), True))
    return list(found.values())


_KINDS = ("live_multiple", "live_parallel_multiple", "multiple", "parallel_multiple")


def bfcl(folder: Path, sample: int | None = None, seed: int = 3) -> list[ToolCase]:
    """Return cases with several tools each; all of them without a number."""
    cases = []
    for kind in _KINDS:
        file = f"BFCL_v4_{kind}.json"
        asked = {c["id"]: c for c in map(json.loads, (folder / file).read_text().splitlines())}
        answers = (folder / "possible_answer" / file).read_text().splitlines()
        for answer in map(json.loads, answers):
            if answer["id"] in asked:
                functions = asked[answer["id"]]["function"]
                tools = [(f["name"], _normal(f["parameters"])) for f in functions]
                cases.append(ToolCase(answer["id"], tools, _calls(tools, answer["ground_truth"])))
    random.Random(seed).shuffle(cases)
    return cases[:sample]
