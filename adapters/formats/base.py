"""What a format is asked, what it answers, and how it refuses.

A Format is one model family's wire syntax. It makes a Plan out of an Ask (see plan.py): the spec
that constrains the model, and the Reader of what the model then writes, both from one declaration.
A Reader turns the engine's events into Deltas; the deltas of an answer, put together, are the
message, however the answer was cut into chunks.

Not here    building specs (parts.py, tags.py, harmony.py), reading (reader.py), prompts (chat.py,
            harmony_prompt.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from .plan import Plan

#: a chat message as clients send it
Message = Mapping[str, Any]
ToolChoice = Literal["auto", "none", "required", "named"]
#: "auto": the model may think first, in its family's own way; "off": it can't
Reasoning = Literal["auto", "off"]
#: where the prompt leaves the model: inside a thought, behind one, or free to begin one
Thought = Literal["free", "open", "closed"]
#: how much a model is asked to think, for families that are told
Effort = Literal["low", "medium", "high"]


class FormatError(ValueError):
    """The request asks for something this format can't write.

    ``param`` is the place in the request ("tools[0].function.parameters", "tool_choice"; None: no
    single one), ``pointer`` is a JSON pointer inside of it ("" is the place itself).
    """

    def __init__(self, message: str, param: str | None = None, pointer: str = "") -> None:
        place = f"{param or ''}{pointer}"
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.param = param
        self.pointer = pointer


@dataclass(frozen=True)
class Tool:
    """A function the model may call. ``parameters`` is a JSON Schema; {} is "takes no arguments".

    ``strict`` changes nothing here: what is enforced does not depend on it.
    """

    name: str
    parameters: Mapping[str, Any]
    description: str = ""
    strict: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Thinking:
    """How thoughts stand in an answer: ``begin`` text ``end``, and the line feeds beside these
    marks (see reader.Layout).
    """

    begin: str
    end: str
    inner_newlines: int
    outer_newlines: int


@dataclass(frozen=True)
class Ask:
    """The part of a request that decides what the answer may look like.

    ``tool_name``        the tool of tool_choice "named".
    ``barred``           names of tools that the prompt shows and that may not be called.
    ``response_schema``  JSON Schema of the content; None: free text; json_object is {"type":
                         "object"}.
    ``response_name``, ``response_description``  what the client tells the model of that schema.
    ``schema_in_prompt``  whether the prompt holds all these.
    ``thought``          where the prompt ends: the answer begins there.
    ``thinking_tokens``  how many tokens of reasoning the grammar allows; None: any number.
    """

    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = "auto"
    tool_name: str | None = None
    barred: tuple[str, ...] = ()
    parallel_tool_calls: bool = True
    response_schema: Mapping[str, Any] | bool | None = None
    response_name: str = ""
    response_description: str = ""
    schema_in_prompt: bool = True
    reasoning: Reasoning = "auto"
    thought: Thought = "free"
    effort: Effort | None = None
    thinking_tokens: int | None = None

    @property
    def tells_schema(self) -> bool:
        """Whether the prompt has a response schema to tell of."""
        return self.schema_in_prompt and self.response_schema is not None

    @property
    def may_be_text(self) -> bool:
        """Whether free text alone is an answer: otherwise a call or a JSON value must come."""
        return self.response_schema is None and self.tool_choice in ("auto", "none")


@dataclass(frozen=True)
class ContentDelta:
    """``is_value``: of a JSON value that a response format asked for, not of text."""

    text: str
    is_value: bool = False


@dataclass(frozen=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True)
class ToolStart:
    """Call number ``index`` (0, 1, ...) of the tool ``name`` begins; its arguments follow."""

    index: int
    name: str


@dataclass(frozen=True)
class ToolArguments:
    """More of the JSON text of call ``index``'s arguments, exactly as the model wrote it."""

    index: int
    text: str


Delta = ContentDelta | ReasoningDelta | ToolStart | ToolArguments


class Format(Protocol):
    """One model family's wire syntax.

    ``stop_texts``  the tokens that end its answers; ``own_tokens``  the special tokens it can't do
    without: a vocabulary that lacks one of them does not fit the format.
    """

    @property
    def name(self) -> str: ...
    @property
    def stop_texts(self) -> tuple[str, ...]: ...
    @property
    def own_tokens(self) -> tuple[str, ...]: ...

    def plan(self, ask: Ask, special_texts: Sequence[str]) -> Plan:
        """The spec and its reading. ``special_texts``: all special tokens of the vocabulary; free
        text holds none of them but those that open the format's own tags.

        Raises:
            FormatError: the ask can't be written in this format, or can't be satisfied.
        """
        ...

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], ask: Ask) -> str:
        """The prompt as text with special tokens spelled out, for tokenizers without a chat
        template.

        Raises:
            FormatError: a message of a shape this format can't show.
        """
        ...

    def instructions(self, tools: Sequence[Tool], ask: Ask) -> str:
        """What a system message says of ``tools`` and of the ask's response schema, for a chat
        template that shows neither; "" if there is nothing to say.
        """
        ...

    def as_text(self, message: Message) -> str | None:
        """A past answer with calls, or a tool's result, as the model would read it in text, for a
        chat template that shows neither; None: this format has no such text.
        """
        ...
