"""Schemas that zod writes, none of which is refused, and values that zod accepts and refuses.

``tests/clients/node/zod_schemas.js`` writes ``zod_schemas.json``; ``make test-clients`` compares it
with the installed zod.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import engine
from tests.engine.frontends.random_schemas import byte_vocabulary, takes

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("zod_schemas.json").read_text())


@cache
def compiler() -> engine.Compiler:
    return engine.Compiler(byte_vocabulary())


def as_the_gateway_does(schema: Any) -> engine.Compiled:
    """Compile with the gateway's defaults."""
    own = {"version": engine.SPEC_VERSION, "extra_keys": "none", "spelling": "canonical"}
    node = {"type": "json_schema", "json_schema": schema, "switchyard": own}
    return compiler().compile_structural_tag({"type": "structural_tag", "format": node})


def written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("name", RECORDED)
def test_every_schema_of_zod_is_enforced(name: str) -> None:
    case = RECORDED[name]
    for schema in case["schemas"]:
        compiled = as_the_gateway_does(schema)
        told = json.dumps(schema)
        assert [x for x in case["accepted"] if not takes(compiled, written(x))] == [], told
        assert [x for x in case["refused"] if takes(compiled, written(x))] == [], told
