"""Calls of drawn answers, and conversations with them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adapters.formats import FormatPlan
from engine import Compiled
from tests.formats.cases import Said

Call = tuple[str, Any]


def closers(tokens: Sequence[bytes]) -> np.ndarray:
    """Return the tokens that end strings, lists and elements."""
    return np.array([n for n, token in enumerate(tokens) if token in {b'"', b"}", b"]", b"<"}])


def read(plan: FormatPlan, grammar: Compiled, ids: list[int]) -> list[Call]:
    parser, reader, said = grammar.parser(), plan.reader(), Said()
    for token in ids:
        said.add(reader.feed(parser.feed(token)))
    said.add(reader.feed(parser.finish())).add(reader.finish())
    return [(name, json.loads(arguments)) for name, arguments in said.calls]


def history(calls: list[Call], question: str) -> list[Mapping[str, Any]]:
    """Return a conversation with these calls and their results."""
    made, results = [], []
    for number, (name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
        made.append({"id": f"call{number:05}", "type": "function", "function": function})
        results.append(
            {"role": "tool", "tool_call_id": f"call{number:05}", "content": "wordresult"}
        )
    user = {"role": "user", "content": question}
    return [user, {"role": "assistant", "content": None, "tool_calls": made}, *results]
