"""Checks of tables of (schema, accepted, rejected): texts without spaces, separated by spaces."""

import json
from functools import cache
from typing import Any

from hypothesis import event

import engine
from tests.conformance.instances import texts
from tests.conformance.oracle import Oracle, parsed
from tests.engine.frontends.random_schemas import byte_vocabulary, takes


@cache
def compiler() -> engine.Compiler:
    return engine.Compiler(byte_vocabulary())


def compiled_or_none(schema: Any, **options: Any) -> engine.Compiled | None:
    """The grammar of a drawn schema; None: it is refused."""
    try:
        return compiler().compile_json_schema(schema, **options)
    except engine.EngineError as error:
        assert not isinstance(error, engine.InternalError)
        event(type(error).__name__)
        return None


def check(schema: Any, accepted: str, rejected: str, **options: Any) -> None:
    """The texts are taken, or not, as the table says."""
    compiled = compiler().compile_json_schema(schema, **options)
    refused = [text for text in accepted.split() if not takes(compiled, text)]
    taken = [text for text in rejected.split() if takes(compiled, text)]
    assert (refused, taken) == ([], []), f"refused {refused}, taken {taken}"


def takes_some_order(compiled: engine.Compiled, text: str) -> bool:
    return takes(compiled, text) or any(takes(compiled, each) for each in texts(json.loads(text)))


def check_table(schema: Any, accepted: str, rejected: str) -> None:
    """And so says the oracle, of the values. Keys may have to stand in another order, unless any is
    asked for.
    """
    oracle = Oracle(schema)
    invalid = [text for text in accepted.split() if not oracle.accepts(parsed(text))]
    valid = [text for text in rejected.split() if oracle.accepts(parsed(text))]
    assert (invalid, valid) == ([], []), f"the table is wrong: invalid {invalid}, valid {valid}"
    compiled = compiler().compile_json_schema(schema)
    refused = [text for text in accepted.split() if not takes_some_order(compiled, text)]
    taken = [text for text in rejected.split() if takes_some_order(compiled, text)]
    assert (refused, taken) == ([], []), f"refused {refused}, taken {taken}"
    check(schema, accepted, rejected, any_order=True)
