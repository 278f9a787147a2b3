"""The requests for all backends.

White space   Servers run with --constrained-json-disable-any-whitespace, because a random model
              would write mostly white space. Backends interpret it differently: xgrammar then
              writes ", " and ": ", llguidance and ours write none.
Strings       are mostly bounded: a random model ends a string only by chance, once in about a
              thousand tokens.
"""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.app.examples import closed

from ..made import tool_case
from . import FREE
from .client import Asked

PROMPT = "def reply(question):\n    return "
#: a tool call in the format "hermes"
CALL = '<tool_call>\n{"name": "NAME", "arguments": '
#: minimum items of an array: more than fit into any answer here
MANY = 200


def _text(most: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": most}


_ADDRESS = closed(
    street=_text(30),
    city=_text(20),
    zip={"type": "string", "pattern": "^[0-9]{5}$"},
    country={"enum": ["DE", "FR", "NO", "PT", "US"]},
)
_ORDER = closed(
    id={"type": "string", "pattern": "^[A-Z]{2}-[0-9]{6}$"},
    state={"enum": ["open", "paid", "sent", "returned"]},
    address=_ADDRESS,
    lines={
        "type": "array",
        "minItems": 2,
        "maxItems": 8,
        "items": closed(
            sku=_text(12), count={"type": "integer", "minimum": 1, "maximum": 99}, price=_text(8)
        ),
    },
)
_PERSON = closed(
    name=_text(24),
    age={"type": "integer", "minimum": 0, "maximum": 120},
    mail=_text(24),
    active={"type": "boolean"},
    roles={"type": "array", "minItems": 1, "maxItems": 4, "items": {"enum": ["admin", "user"]}},
    address=_ADDRESS,
)
_REVIEW = closed(
    title=_text(40),
    stars={"type": "integer", "minimum": 1, "maximum": 5},
    text={"type": "string"},
)
_EVENT = closed(
    kind={"enum": ["click", "view", "buy"]},
    at={"type": "string", "pattern": "^20[0-9]{2}-[01][0-9]-[0-3][0-9]$"},
    who={"anyOf": [_text(16), {"type": "null"}]},
    tags={"type": "array", "minItems": 3, "maxItems": 12, "items": _text(10)},
)
#: realistic schemas, each used by many requests
SCHEMAS = (_ORDER, _PERSON, _REVIEW, _EVENT)
#: always ends at max_new_tokens, since no answer has room for so many items
ENDLESS = {"type": "array", "minItems": MANY, "items": _PERSON}


def grammar(schema: Any) -> dict[str, str]:
    """Return a request's grammar: the values of the schema."""
    return {"json_schema": json.dumps(schema)}


def schemas(backend: str, count: int) -> list[Asked]:
    """Return requests for SCHEMAS in turn."""
    grammars = [grammar(schema) for schema in SCHEMAS]
    return [_asked(backend, grammars[k % len(grammars)]) for k in range(count)]


def endless(count: int, tokens: int) -> list[Asked]:
    """Return requests whose answers have exactly this many tokens with every backend.

    They ignore stop tokens. No grammar here allows one before ``tokens``; ``free`` does, and a
    random model writes one in about thirty tokens.
    """
    return [Asked(PROMPT, grammar(ENDLESS), tokens, ignores_stop=True)] * count


def tool_calls(backend: str, count: int) -> list[Asked]:
    """Return requests for calls in tags, then free text with further calls.

    Up to one blank is allowed between JSON tokens, the minimum that xgrammar accepts here.
    """
    named = list(zip(("order", "person", "review", "event"), SCHEMAS, strict=True))
    tag = {
        "type": "structural_tag",
        "format": {
            "type": "triggered_tags",
            "triggers": ["<tool_call>"],
            "tags": [_tag(name, schema) for name, schema in named],
            "at_least_one": True,
        },
    }
    return [_asked(backend, {"structural_tag": json.dumps(tag)})] * count


def tool_sets(count: int, most_tools: int = 40, seed: int = 31) -> list[list[tuple[str, Any]]]:
    """Return distinct sets of 1 to ``most`` tools, also distinct from those of other seeds."""
    made = []
    for number in range(count):
        random = Random(f"{seed} {number}")
        made.append(tool_case(random, random.randint(1, most_tools)).tools)
    return made


def any_tool(tools: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the schema of a call of one of them."""
    return {
        "anyOf": [closed(name={"const": name}, arguments=schema) for name, schema in tools],
    }


def _asked(backend: str, wanted: dict[str, str]) -> Asked:
    """Return an answer up to its end; with ``free`` only the number of tokens ends it."""
    return Asked(PROMPT, wanted, ignores_stop=backend == FREE)


def _tag(name: str, schema: Any) -> dict[str, Any]:
    content = {"type": "json_schema", "json_schema": schema, "max_whitespace_cnt": 1}
    return {
        "type": "tag",
        "begin": CALL.replace("NAME", name),
        "content": content,
        "end": "}\n</tool_call>",
    }
