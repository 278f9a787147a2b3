"""Formats: how model families write messages, reasoning and tool calls.

plan = get_format("hermes").plan(OutputSpec(tools=...), special_texts)
plan.spec               the structural tag that constrains the model
plan.spec_json          the same as JSON text, for workers
plan.reader()           turns the engine's events into deltas
plan.locate(pointer)    the location in the request that a node of the spec was made from
"""

from dataclasses import replace

from .deltas import ContentDelta, Delta, ReasoningDelta, ToolArguments, ToolStart
from .dialects import for_own_engine, for_reading_foreign
from .families.harmony import HARMONY
from .families.hermes import HERMES
from .families.llama3 import LLAMA3_FUNCTION, LLAMA3_JSON
from .families.plain import PLAIN
from .families.tag_family import TagFamily
from .format_plan import FormatPlan
from .location import Location, join_pointer
from .output_spec import (
    BuiltinTool,
    ChatMessage,
    Effort,
    FormatError,
    OutputSpec,
    ThinkingMarks,
    Thought,
    Tool,
)
from .parts import Origin
from .reader import Reader
from .wire_format import Format

__all__ = [
    "FORMATS",
    "BuiltinTool",
    "ChatMessage",
    "ContentDelta",
    "Delta",
    "Effort",
    "Format",
    "FormatError",
    "FormatPlan",
    "Location",
    "Origin",
    "OutputSpec",
    "Reader",
    "ReasoningDelta",
    "ThinkingMarks",
    "Thought",
    "Tool",
    "ToolArguments",
    "ToolStart",
    "for_own_engine",
    "for_reading_foreign",
    "get_format",
    "join_pointer",
    "with_thinking",
]

#: the formats by name; "qwen3" is an alias
FORMATS: dict[str, Format] = {
    "plain": PLAIN,
    "hermes": HERMES,
    "qwen3": HERMES,
    "llama3_json": LLAMA3_JSON,
    "llama3_function": LLAMA3_FUNCTION,
    "harmony": HARMONY,
}


def get_format(name: str) -> Format:
    """Return the format of that name.

    Raises:
        ValueError: no such format; the message lists the known ones.
    """
    try:
        return FORMATS[name]
    except KeyError:
        raise ValueError(f"no format {name!r}; there are {', '.join(FORMATS)}") from None


def with_thinking(wire: Format, marks: ThinkingMarks) -> Format:
    """Return the format for a model that thinks between these marks; Harmony has fixed ones."""
    return replace(wire, thinking=marks) if isinstance(wire, TagFamily) else wire
