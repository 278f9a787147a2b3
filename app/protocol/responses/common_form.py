"""A request of the Responses API in the common form, which chat completions have.

Errors of later steps name fields of the common form; ``renamed`` gives them their names here.
"""

import re
from collections.abc import Sequence

from ...errors import ApiError
from ..chat_request import ChatRequest, GenerationFields
from .conversation import Conversation
from .request import ResponseRequest
from .tools import common_choice, common_format

#: fields of the common form: (pattern, name here)
_NAMES = (
    (re.compile(r"tools\[(\d+)\]\.custom\.format\.grammar\b"), r"tools[\1].format"),
    (re.compile(r"tools\[(\d+)\]\.(function|custom)\b"), r"tools[\1]"),
    (re.compile(r"tool_choice\.(function|custom)\b"), "tool_choice"),
    (re.compile(r"tool_choice\.allowed_tools\b"), "tool_choice"),
    (re.compile(r"response_format\.json_schema\b"), "text.format"),
    (re.compile(r"response_format\b"), "text.format"),
    (re.compile(r"reasoning_effort\b"), "reasoning.effort"),
    (re.compile(r"max_(completion_)?tokens\b"), "max_output_tokens"),
    (re.compile(r"(?<!top_)\blogprobs\b"), "include"),
)
#: the same for places of relaxed keywords
_PLACES = (
    (re.compile(r"(?<![^ ])tools/(\d+)/function/parameters#"), r"tools/\1/parameters#"),
    (re.compile(r"(?<![^ ])response_format/json_schema/schema#"), "text/format/schema#"),
)
_MESSAGE = re.compile(r"messages\[(\d+)\][\w.\[\]]*")
_MESSAGES = re.compile(r"'messages'|\bmessages\b(?!\[)")


def common_form(request: ResponseRequest, conversation: Conversation) -> ChatRequest:
    """Return the request whose answer is the response's output.

    A choice between no tools, and parallel calls of none, have no effect here; chat completions
    refuse them.
    """
    tools = [tool.definition() for tool in request.tools or ()]
    choice = request.tool_choice
    if not tools and choice in ("auto", "none"):
        choice = None
    wanted = request.text.format if request.text else None
    shared = {name: getattr(request, name) for name in GenerationFields.model_fields}
    # each value was validated when the request was made
    return ChatRequest.model_construct(
        **shared
        | {
            "messages": conversation.messages,
            "tools": tools or None,
            "tool_choice": None if choice is None else common_choice(choice),
            "parallel_tool_calls": request.parallel_tool_calls if tools else None,
            "response_format": None if wanted is None else common_format(wanted),
            "max_completion_tokens": request.max_output_tokens,
            # a stream's last event has the whole output, so its log probabilities are kept, too
            "stream": None,
            "logprobs": request.wants_logprobs or None,
            "top_logprobs": request.top_logprobs if request.wants_logprobs else None,
            "reasoning_effort": request.reasoning.effort if request.reasoning else None,
        }
    )


def renamed(error: ApiError, places: Sequence[str]) -> ApiError:
    """Return the error with this API's names; ``places``: of the messages."""
    if error.param is None:
        return error
    param, message = error.param, error.message

    def place(found: re.Match[str]) -> str:
        number = int(found[1])
        return places[number] if number < len(places) else "input"

    if param.startswith("messages"):
        param = _MESSAGE.sub(place, param) if "[" in param else "input"
        message = _MESSAGE.sub(place, message)
        message = _MESSAGES.sub(lambda m: "'input'" if m[0][0] == "'" else "input", message)
    for pattern, name in _NAMES:
        param, message = pattern.sub(name, param), pattern.sub(name, message)
    return ApiError(
        error.status, message, param=param, code=error.code, headers=dict(error.headers)
    )


def renamed_places(text: str) -> str:
    """Return the header that names relaxed keywords, with this API's names."""
    for pattern, name in _PLACES:
        text = pattern.sub(name, text)
    return text
