"""A request of the Responses API in the common form, which chat completions have.

Errors of later steps name fields of the common form; ``renamed`` gives them their names here.
"""

import re
from collections.abc import Sequence

from ...errors import ApiError, bad_request
from .. import tools as chat
from ..chat_request import ChatRequest, GenerationFields
from .conversation import Conversation
from .ids import pointer
from .request import ResponseRequest
from .tool_names import ToolNames
from .tools import AllowedNamespace, AllowedTools, HostedTool, NamedTool, common_format

#: fields of the common form: (pattern, name here)
_NAMES = (
    (re.compile(r"(tools\[\d+\])\.custom\.format\.grammar\b"), r"\1.format"),
    (re.compile(r"(tools\[\d+\])\.(function|custom)\b"), r"\1"),
    (re.compile(r"tool_choice\.(function|custom)\b"), "tool_choice"),
    (re.compile(r"tool_choice\.allowed_tools\b"), "tool_choice"),
    (re.compile(r"response_format\.json_schema\b"), "text.format"),
    (re.compile(r"response_format\b"), "text.format"),
    (re.compile(r"reasoning_effort\b"), "reasoning.effort"),
    (re.compile(r"(?<!text\.)\bverbosity\b"), "text.verbosity"),
    (re.compile(r"max_(completion_)?tokens\b"), "max_output_tokens"),
    (re.compile(r"(?<!top_)\blogprobs\b"), "include"),
)
#: places of relaxed keywords and of parts that are left out
_SCHEMA = re.compile(r"(?<![^ ])response_format/json_schema/schema#")
_PARAMETERS = re.compile(r"(?<![^ ])tools/(\d+)/function/parameters#")
_TOOL = re.compile(r"(?<![\w.])tools\[(\d+)\]")
_MESSAGE = re.compile(r"messages\[(\d+)\][\w.\[\]]*")
_MESSAGES = re.compile(r"'messages'|\bmessages\b(?!\[)")


def common_form(
    request: ResponseRequest, conversation: Conversation, names: ToolNames
) -> ChatRequest:
    """Return the request whose answer is the response's output.

    A choice between no tools, and parallel calls of none, have no effect here; chat completions
    refuse them.

    Raises:
        ApiError: 400, the choice requires a tool that is left out, or names an unknown one.
    """
    tools, choice = names.definitions, _choice(request, names)
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
            "tool_choice": choice,
            "parallel_tool_calls": request.parallel_tool_calls if tools else None,
            "response_format": None if wanted is None else common_format(wanted),
            "max_completion_tokens": request.max_output_tokens,
            # a stream's last event has the whole output, so its log probabilities are kept, too
            "stream": None,
            "logprobs": request.wants_logprobs or None,
            "top_logprobs": request.top_logprobs if request.wants_logprobs else None,
            "reasoning_effort": request.reasoning.effort if request.reasoning else None,
            "verbosity": request.text.verbosity if request.text else None,
        }
    )


def _choice(request: ResponseRequest, names: ToolNames) -> chat.ToolChoice | None:
    choice = request.tool_choice
    if choice == "required" and request.tools and not names.definitions:
        raise _all_left_out()
    if isinstance(choice, NamedTool):
        return choice.named(names.flat(choice.namespace, choice.name))
    return _allowed(choice, names) if isinstance(choice, AllowedTools) else choice


def _allowed(choice: AllowedTools, names: ToolNames) -> chat.ToolChoice:
    """Return the choice between those of the allowed tools that are served; of none: no call."""
    tools: list[chat.AnyNamedTool] = []
    for number, each in enumerate(choice.tools):
        place = f"tool_choice.tools[{number}]"
        if isinstance(each, HostedTool):
            names.ignore(place, each.type)
        elif isinstance(each, AllowedNamespace):
            tools += names.of_namespace(each.name)
        else:
            flat = names.flat(each.namespace, each.name)
            if not names.is_known(each.type, flat):
                raise bad_request(
                    f"Tool choice '{each.name[:100]}' not found in 'tools' parameter.",
                    f"{place}.name",
                    "invalid_value",
                )
            tools.append(each.named(flat))
    if tools:
        allowed = chat.AllowedTools.model_construct(mode=choice.mode, tools=tools)
        return chat.AllowedToolsChoice.model_construct(type="allowed_tools", allowed_tools=allowed)
    if choice.mode == "required":
        raise _all_left_out()
    return "none"


def _all_left_out() -> ApiError:
    return bad_request(
        "Invalid value for 'tool_choice': it requires a call, but this server has none of these "
        "tools.",
        "tool_choice",
        "unsupported_value",
    )


def renamed(error: ApiError, places: Sequence[str], tools: Sequence[str] = ()) -> ApiError:
    """Return the error with this API's names; ``places``: of the messages, ``tools``: of tools."""
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
    if param.startswith("tools["):

        def tool(found: re.Match[str]) -> str:
            number = int(found[1])
            return tools[number] if number < len(tools) else found[0]

        param, message = _TOOL.sub(tool, param), _TOOL.sub(tool, message)
    return ApiError(
        error.status, message, param=param, code=error.code, headers=dict(error.headers)
    )


def renamed_places(text: str, tools: Sequence[str] = ()) -> str:
    """Return a header that names places, with this API's names; ``tools``: places of tools."""

    def tool(found: re.Match[str]) -> str:
        number = int(found[1])
        place = tools[number] if number < len(tools) else f"tools[{number}]"
        return f"{pointer(place)}/parameters#"

    return _PARAMETERS.sub(tool, _SCHEMA.sub("text/format/schema#", text))
