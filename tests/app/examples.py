"""Requests that several tests use. Their answers are short, so that noise finishes them."""

from typing import Any

ALARM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "hour": {"type": "integer", "minimum": 0, "maximum": 23},
        "repeat": {"type": "boolean"},
        "sound": {"enum": ["bell", "birds", 'é\n"quoted"']},
    },
    "required": ["hour", "repeat", "sound"],
    "additionalProperties": False,
}
LIGHT: dict[str, Any] = {
    "type": "object",
    "properties": {"on": {"type": "boolean"}},
    "required": ["on"],
    "additionalProperties": False,
}
MESSAGES: list[Any] = [{"role": "user", "content": "Wake me with birds. Answer in JSON."}]


def closed(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with these members, all required, and no others."""
    return {**LIGHT, "properties": properties, "required": list(properties)}


def tool(name: str, parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters, **more}}


def json_schema(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, **more}}


TOOLS: list[Any] = [tool("set_alarm", ALARM), tool("set_light", LIGHT)]


def body(**more: Any) -> dict[str, Any]:
    """A whole request; noise follows ``seed``."""
    return {
        "model": "noise",
        "messages": MESSAGES,
        "seed": 7,
        "max_completion_tokens": 8000,
        **more,
    }
