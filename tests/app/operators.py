"""Requests of operators, for tests of admin routes and commands."""

import json
from typing import Any

import httpx

from tests.app.gateway import PATIENCE, Gateway

KEY = "an operator's key"
BEARER = {"authorization": f"Bearer {KEY}"}
#: has a rule whose masks cost more to make than to fetch
MAIL = {
    "type": "object",
    "properties": {"to": {"type": "string", "format": "email", "maxLength": 40}},
    "required": ["to"],
    "additionalProperties": False,
}
#: means something that can't be enforced
BACK = {"type": "object", "properties": {"a": {"type": "string", "pattern": r"(a)\1"}}}


def warm(gateway: Gateway, value: Any, headers: dict[str, str] = BEARER) -> httpx.Response:
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    address = f"{gateway.url}/v1/grammars"
    return httpx.post(address, content=content, headers=headers, timeout=PATIENCE)
