"""Bodies of POST /v1/grammars: the parts of chat completions that determine their grammars."""

from pydantic import Field

from ..errors import bad_request
from .chat_request import ChatRequest
from .messages import UserMessage
from .tools import FunctionName, NamedTool, ResponseFormat, ToolChoice, ToolDefinition
from .validation import Exact

#: requests of one warm-up; at 0.1 s each at most, it takes less than two minutes
MOST_REQUESTS = 1_000
#: tools of a request up to which each is also compiled as the named tool; costly rules are shared
MOST_NAMED = 16

#: in place of unknown messages; ``json_object`` requires the word JSON
_MESSAGES = [UserMessage(role="user", content="JSON")]


class GrammarRequest(Exact):
    """Fields of a chat completion; without ``tool_choice``: every choice that clients may make."""

    tools: list[ToolDefinition] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None

    def chats(self) -> list[ChatRequest]:
        """Return the chat completions whose grammars are compiled."""
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
        # each field was validated when this object was made
        return ChatRequest.model_construct(
            model="",
            messages=_MESSAGES,
            tools=self.tools,
            tool_choice=choice,
            parallel_tool_calls=self.parallel_tool_calls,
            response_format=self.response_format,
        )


class WarmupRequest(GrammarRequest):
    """One request, a list of requests, or both. ``model``: the only model may stay unnamed."""

    model: str | None = None
    requests: list[GrammarRequest] | None = Field(None, max_length=MOST_REQUESTS, fail_fast=True)

    def all(self) -> list[tuple[str, GrammarRequest]]:
        """Return (prefix of its fields in errors, request). Raises ApiError 400 for none."""
        own = bool(self.tools) or self.response_format is not None
        found: list[tuple[str, GrammarRequest]] = [("", self)] if own else []
        found += [(f"requests[{n}].", each) for n, each in enumerate(self.requests or ())]
        if not found:
            raise bad_request(
                "Missing required parameter: 'requests'.", "requests", "missing_required_parameter"
            )
        return found
