"""Schemas that zod writes, none of which is refused, and values that zod accepts and refuses.

``tests/clients/node/zod_schemas.js`` writes ``zod_schemas.json``; ``make test-clients`` compares it
with the installed zod.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.frontends.json_schema.gateway_compiler import as_the_gateway_does
from tests.engine.frontends.random_schemas import takes

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("zod_schemas.json").read_text())


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
