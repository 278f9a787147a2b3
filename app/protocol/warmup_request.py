"""What may be asked to be compiled ahead: the parts of a chat completion that make its grammar.

Not here    what a chat completion may hold beside them (request), compiling (service.warming).
"""

from pydantic import Field

from ..errors import bad_request
from .chat_request import (
    ChatRequest,
    Exact,
    FromUser,
    FunctionName,
    NamedTool,
    ResponseFormat,
    ToolChoice,
    ToolDefinition,
)

#: requests of one warm-up; at up to a tenth of a second each it ends within two minutes
MOST_REQUESTS = 1_000
#: tools of a request that are also compiled one by one, as the only one that may be called; the
#: costly rules are the same for all
MOST_NAMED = 16

#: stands for messages that are not known yet; it says JSON, as ``json_object`` wants
_MESSAGES = [FromUser(role="user", content="JSON")]


class GrammarRequest(Exact):
    """As in a chat completion; without ``tool_choice`` all that clients may choose."""

    tools: list[ToolDefinition] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None

    def chats(self) -> list[ChatRequest]:
        """The chat completions that it stands for."""
        return [self._chat(choice) for choice in self._choices()]

    def _choices(self) -> list[ToolChoice | None]:
        tools = self.tools or []
        if self.tool_choice is not None or not tools:
            return [self.tool_choice]
        named = [
            NamedTool(type="function", function=FunctionName(name=tool.function.name))
            for tool in tools
        ]
        return [None, "required", *(named if len(named) <= MOST_NAMED else ())]

    def _chat(self, choice: ToolChoice | None) -> ChatRequest:
        # every part was checked when this was made
        return ChatRequest.model_construct(
            model="",
            messages=_MESSAGES,
            tools=self.tools,
            tool_choice=choice,
            parallel_tool_calls=self.parallel_tool_calls,
            response_format=self.response_format,
        )


class WarmupRequest(GrammarRequest):
    """One request, or a list of them, or both."""

    requests: list[GrammarRequest] | None = Field(None, max_length=MOST_REQUESTS, fail_fast=True)

    def all(self) -> list[tuple[str, GrammarRequest]]:
        """Each with what stands before its places. Raises ApiError 400 where there is none."""
        own = bool(self.tools) or self.response_format is not None
        found: list[tuple[str, GrammarRequest]] = [("", self)] if own else []
        found += [(f"requests[{n}].", each) for n, each in enumerate(self.requests or ())]
        if not found:
            raise bad_request(
                "Missing required parameter: 'requests'.", "requests", "missing_required_parameter"
            )
        return found
