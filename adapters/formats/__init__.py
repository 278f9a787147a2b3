"""Formats: how model families write messages, reasoning and tool calls.

plan = get_format("hermes").plan(OutputSpec(tools=...), special_texts)
plan.spec               the structural tag that constrains the model
plan.spec_json          the same as JSON text, for workers
plan.reader()           turns the engine's events into deltas
plan.locate(pointer)    the location in the request that a node of the spec was made from
"""

from dataclasses import replace

from .addressed.addressed_family import AddressedFamily
from .custom_tools import INPUT_ARGUMENT, custom_tool
from .dialects import for_own_engine, for_reading_foreign, inline_styles
from .families import FORMATS, UNKNOWN
from .format_plan import FormatPlan
from .location import FieldKind, Location, join_pointer
from .offered_tools import BUILTIN_TOOLS_PARAM, tool_param
from .output_spec import (
    COMPACT,
    NAMED_LAYOUTS,
    NO_PARAMETERS,
    NO_RULES,
    SPACED,
    ArgumentOrder,
    BuiltinTool,
    Effort,
    FormatError,
    InputFormat,
    JsonLayout,
    JsonRules,
    LayoutName,
    OutputSpec,
    PastCall,
    ResponseGrammar,
    SchemaStyle,
    ThinkingMarks,
    Thought,
    Tool,
)
from .parts import CONTENT, Kind, Origin, Role
from .reading.deltas import (
    ContentDelta,
    Delta,
    ReasoningDelta,
    TextDelta,
    ToolArguments,
    ToolInput,
    ToolStart,
)
from .reading.input_reader import StringReader
from .reading.reader import Reader
from .reading.traced_reader import TracedReader
from .spelling import json_name, word_name
from .tags import (
    JSON,
    CallIds,
    Elements,
    GemmaArguments,
    Notation,
    PythonArguments,
    Section,
    TagFamily,
    TextMarks,
    tool_object,
)
from .wire_format import Format


def get_format(name: str) -> Format:
    """Return the format of that name.

    Raises:
        ValueError: no such format; the message lists the known ones.
    """
    try:
        return FORMATS[name]
    except KeyError:
        raise ValueError(f"no format {name!r}; there are {', '.join(FORMATS)}") from None


def numbered_by_answer(wire: Format) -> Format:
    """Return the format for a chat template that numbers the calls of each answer, not those of the
    conversation. Clients get other ids, because these numbers come again.
    """
    if not isinstance(wire, TagFamily) or wire.ids is None:
        return wire
    return replace(wire, ids=replace(wire.ids, numbers="answer", whole=""))


def with_thinking(wire: Format, marks: ThinkingMarks) -> Format:
    """Return the format for a model that thinks between these marks; Harmony has fixed ones."""
    return replace(wire, thinking=marks) if isinstance(wire, TagFamily) else wire


def with_answer_marks(wire: Format, marks: TextMarks) -> Format:
    """Return the format for a model that writes content between these marks; formats with marks
    of their own keep them.
    """
    return replace(wire, text=marks) if isinstance(wire, TagFamily) and not wire.text else wire
