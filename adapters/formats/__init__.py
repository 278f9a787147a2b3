"""Formats: how model families write messages, reasoning and tool calls.

plan = get_format("hermes").plan(Ask(tools=...), special_texts)
plan.spec_json          what constrains the model: for the engine, for workers
plan.reader()           turns the engine's events into deltas
plan.blame(pointer)     the place of the request behind a place of the spec
"""

from dataclasses import replace

from .base import (
    Ask,
    ContentDelta,
    Delta,
    Effort,
    Format,
    FormatError,
    Message,
    ReasoningDelta,
    Thinking,
    Thought,
    Tool,
    ToolArguments,
    ToolStart,
)
from .dialects import for_own_engine, for_reading_stock
from .harmony import HARMONY
from .hermes import HERMES
from .llama3 import LLAMA3_FUNCTION, LLAMA3_JSON
from .plain import PLAIN
from .plan import Plan
from .reader import Reader
from .tags import TagFamily

__all__ = [
    "FORMATS",
    "Ask",
    "ContentDelta",
    "Delta",
    "Effort",
    "Format",
    "FormatError",
    "Message",
    "Plan",
    "Reader",
    "ReasoningDelta",
    "Thinking",
    "Thought",
    "Tool",
    "ToolArguments",
    "ToolStart",
    "for_own_engine",
    "for_reading_stock",
    "get_format",
    "with_thinking",
]

#: the formats by name, and one other name
FORMATS: dict[str, Format] = {
    "plain": PLAIN,
    "hermes": HERMES,
    "qwen3": HERMES,
    "llama3_json": LLAMA3_JSON,
    "llama3_function": LLAMA3_FUNCTION,
    "harmony": HARMONY,
}


def get_format(name: str) -> Format:
    """The format of that name.

    Raises:
        ValueError: there is none; the message lists those there are.
    """
    try:
        return FORMATS[name]
    except KeyError:
        raise ValueError(f"no format {name!r}; there are {', '.join(FORMATS)}") from None


def with_thinking(wire: Format, marks: Thinking) -> Format:
    """The same format for a model that thinks between these marks; Harmony has marks of its own."""
    return replace(wire, thinking=marks) if isinstance(wire, TagFamily) else wire
