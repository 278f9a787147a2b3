"""Deltas: what one step adds to the message of an answer.

The deltas of an answer add up to its message, however the answer was cut into chunks.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ContentDelta:
    """More content. ``is_value``: it is part of a JSON value that a response format asked for."""

    text: str
    is_value: bool = False


@dataclass(frozen=True)
class ReasoningDelta:
    """More reasoning."""

    text: str


@dataclass(frozen=True)
class ToolStart:
    """Call number ``index`` (0, 1, ...) of the tool ``name`` begins; its arguments follow.

    ``id``: as the model wrote it, unique in the answer; "": the model wrote none. ``is_custom``:
    the tool is a custom tool; its input follows instead of arguments.
    """

    index: int
    name: str
    id: str = ""
    is_custom: bool = False


@dataclass(frozen=True)
class ToolArguments:
    """More of the JSON text of call ``index``'s arguments: as the model wrote it, if its family
    writes JSON.
    """

    index: int
    text: str


@dataclass(frozen=True)
class ToolInput:
    """More of the input of call ``index`` of a custom tool."""

    index: int
    text: str


#: a delta that is nothing but more text
TextDelta = ContentDelta | ReasoningDelta | ToolArguments | ToolInput
Delta = TextDelta | ToolStart
