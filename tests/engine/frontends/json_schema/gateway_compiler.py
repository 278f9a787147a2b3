"""Schemas compiled with the gateway's defaults, over a vocabulary of single bytes."""

from functools import cache
from typing import Any

import engine
from tests.engine.frontends.random_schemas import byte_vocabulary


@cache
def compiler() -> engine.Compiler:
    return engine.Compiler(byte_vocabulary())


def as_the_gateway_does(schema: Any) -> engine.Compiled:
    own = {"version": engine.SPEC_VERSION, "extra_keys": "none", "spelling": "canonical"}
    node = {"type": "json_schema", "json_schema": schema, "switchyard": own}
    return compiler().compile_structural_tag({"type": "structural_tag", "format": node})
