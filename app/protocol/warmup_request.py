"""Bodies of POST /v1/grammars: the parts of chat completions that determine their grammars."""

from pydantic import ConfigDict, Field

from adapters.formats import LayoutName

from ..errors import missing_parameter
from .tools import (
    AnyToolDefinition,
    ChatToolChoice,
    CustomName,
    CustomToolDefinition,
    FunctionName,
    NamedCustomTool,
    NamedTool,
    ResponseFormat,
    ToolDefinition,
)
from .validation import Exact

#: requests of one warm-up; at 0.1 s each at most, it takes less than two minutes
MAX_REQUESTS = 1_000
#: tools of a request up to which each is also compiled as the named tool; costly rules are shared
MAX_NAMED = 16


class GrammarRequest(Exact):
    """Fields of a chat completion; without ``tool_choice``: every choice that clients may make."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    tools: list[AnyToolDefinition] | None = None
    """Functions and custom tools that the model may call."""
    tool_choice: ChatToolChoice | None = None
    """Which tools must or may be called."""
    parallel_tool_calls: bool | None = None
    """`false` allows one call."""
    response_format: ResponseFormat | None = None
    """The form of the content, enforced by a grammar."""
    json_layout: LayoutName | None = None
    """The white space of JSON, in arguments, too."""

    def choices(self) -> list[ChatToolChoice | None]:
        """Return the choices whose grammars are compiled."""
        tools = self.tools or []
        if self.tool_choice is not None or not tools:
            return [self.tool_choice]
        named = [_named(tool) for tool in tools]
        return [None, "required", *(named if len(named) <= MAX_NAMED else ())]


def _named(tool: ToolDefinition | CustomToolDefinition) -> ChatToolChoice:
    """Return the choice of this tool."""
    if isinstance(tool, ToolDefinition):
        return NamedTool(type="function", function=FunctionName(name=tool.function.name))
    return NamedCustomTool(type="custom", custom=CustomName(name=tool.custom.name))


class WarmupRequest(GrammarRequest):
    """The grammars of one request, of a list of requests, or of both. Without `tool_choice`: of
    every choice that clients may make.
    """

    model: str | None = None
    """A served model, by name or alias."""
    requests: list[GrammarRequest] | None = Field(None, max_length=MAX_REQUESTS, fail_fast=True)

    def all(self) -> list[tuple[str, GrammarRequest]]:
        """Return (prefix of its fields in errors, request). Raises ApiError 400 for none."""
        own = bool(self.tools) or self.response_format is not None
        found: list[tuple[str, GrammarRequest]] = [("", self)] if own else []
        found += [(f"requests[{n}].", each) for n, each in enumerate(self.requests or ())]
        if not found:
            raise missing_parameter("requests")
        return found
