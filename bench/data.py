"""What is measured: schemas with instances, and tool sets with true calls.

Built in are a few of each, so that the benchmark runs with nothing beside it. A folder of MaskBench
files ({"schema", "tests": [{"valid", "data"}]}) and BFCL's data are read where they are named.
"""

import json
import random
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
    folder: Path, sample: int, *, half: int | None = None, seed: int = 7
) -> list[SchemaCase]:
    """``half`` 0 or 1: every second file of the sorted list, so that the others stay unseen."""
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


_TYPES = {"dict": "object", "float": "number", "tuple": "array", "list": "array", "bool": "boolean"}
_KEPT = ("enum", "required", "minimum", "maximum", "minItems", "maxItems")


def _normal(schema: Any) -> Any:
    """BFCL's dialect as JSON Schema; unknown types are left open."""
    if not isinstance(schema, dict):
        return schema
    out = {key: schema[key] for key in _KEPT if key in schema}
    kind = _TYPES.get(schema.get("type"), schema.get("type"))
    if kind in ("object", "array", "string", "number", "integer", "boolean"):
        out["type"] = kind
    if "items" in schema:
        out["items"] = _normal(schema["items"])
    if kind == "object" and isinstance(schema.get("properties"), dict):
        out["properties"] = {k: _normal(v) for k, v in schema["properties"].items()}
        out["required"] = [name for name in out.get("required", []) if name in out["properties"]]
        out["additionalProperties"] = False
    return out


def _first(value: Any) -> Any:
    """The first acceptable value of each leaf of a BFCL answer."""
    value = value[0] if isinstance(value, list) and value else value
    return {k: _first(v) for k, v in value.items()} if isinstance(value, dict) else value


def _in_order(schema: Any, value: Any) -> Any:
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    names = [n for n in schema["properties"] if value.get(n, "") != ""]
    return {name: _in_order(schema["properties"][name], value[name]) for name in names}


def bfcl(folder: Path, sample: int, seed: int = 3) -> list[ToolCase]:
    cases = []
    for kind in ("live_multiple", "multiple", "parallel_multiple"):
        file = f"BFCL_v4_{kind}.json"
        asked = {c["id"]: c for c in map(json.loads, (folder / file).read_text().splitlines())}
        answers = (folder / "possible_answer" / file).read_text().splitlines()
        for answer in map(json.loads, answers):
            tools = [(f["name"], _normal(f["parameters"])) for f in asked[answer["id"]]["function"]]
            by_name = dict(tools)
            calls = [
                (name, _in_order(by_name[name], _first(arguments)))
                for call in answer["ground_truth"]
                for name, arguments in call.items()
            ]
            cases.append(ToolCase(answer["id"], tools, calls))
    random.Random(seed).shuffle(cases)
    return cases[:sample]
