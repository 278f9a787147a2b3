"""Front ends judged by the plain recogniser: what a node's language holds, and JSON texts in many layouts."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from engine.frontends.json_schema import build_json_schema
from engine.grammar.ir import Grammar, Node
from tests.reference import Recogniser


def language(build: Callable[[Grammar], Node]) -> Recogniser:
    grammar = Grammar()
    grammar.root = grammar.rule("root", build(grammar))
    grammar.check()
    return Recogniser(grammar)


def schema_language(schema: Any, **options: Any) -> Recogniser:
    return language(lambda grammar: build_json_schema(grammar, schema, **options))


def accepts(recogniser: Recogniser, text: str) -> bool:
    return recogniser.matches(text.encode("utf-8", "surrogatepass"))


def quoted(text: str) -> str:
    """A text as a JSON string, with every character escaped."""
    units = text.encode("utf-16-be", "surrogatepass")
    return (
        '"' + "".join(f"\\u{units[i]:02X}{units[i + 1]:02x}" for i in range(0, len(units), 2)) + '"'
    )


def layouts(value: Any) -> Iterator[str]:
    """One JSON value in every way of writing it that a schema must not care about."""
    yield json.dumps(value)
    yield json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    yield json.dumps(value, indent=2, ensure_ascii=False)
    yield re.sub(
        r'"(?:[^"\\]|\\.)*"', lambda found: quoted(json.loads(found[0])), json.dumps(value)
    )
