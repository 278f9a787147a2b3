"""Prompts, a schema and server arguments that several files of these tests use."""

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "size": {"type": "integer", "minimum": 0, "maximum": 999},
        "tags": {"items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "maxItems": 3},
    },
    "required": ["name", "size", "tags"],
    "additionalProperties": False,
}
PROMPTS = ["import os\nclass", "def f(x):\n    return", "x = 1\n" * 20, "raise ValueError("]
#: what the server runs with: it thinks where a request says so
THINKING = ("--reasoning-parser", "qwen3")
