"""Closed objects refuse no schema of MaskBench that is enforced without them."""

import json

import pytest

import engine
from engine.errors import SpecError
from tests.engine.frontends.random_schemas import byte_vocabulary
from tests.turns import part

from .suites import folder_of

FOLDER = folder_of("SWITCHYARD_MASKBENCH")
FILES = sorted(FOLDER.glob("*.json")) if FOLDER else []


def is_enforced(compiler: engine.Compiler, schema: object, extra_keys: str) -> bool:
    own = {"version": engine.SPEC_VERSION, "extra_keys": extra_keys, "spelling": "canonical"}
    node = {"type": "json_schema", "json_schema": schema, "switchyard": own}
    try:
        compiler.compile_structural_tag({"type": "structural_tag", "format": node})
    except (SpecError, engine.LimitExceeded):
        return False
    return True


@pytest.mark.skipif(not FILES, reason="SWITCHYARD_MASKBENCH")
def test_closed_objects_refuse_no_schema() -> None:
    compiler = engine.Compiler(byte_vocabulary())
    for file in part(FILES)[::4]:
        schema = json.loads(file.read_text())["schema"]
        refused = not is_enforced(compiler, schema, "none")
        assert not (refused and is_enforced(compiler, schema, "last")), file.name
