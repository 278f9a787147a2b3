"""A request of the Responses API in the common form."""

from collections.abc import Iterator

from ...errors import ApiError, bad_request
from ...generation import (
    ApiNames,
    AskedConstraint,
    AskedSampling,
    ChosenTool,
    GenerationRequest,
    ToolChoice,
)
from ...protocol import (
    AllowedNamespace,
    HostedTool,
    JsonObjectFormat,
    OfferedClientTool,
    ResponseAllowedTools,
    ResponseJsonSchemaFormat,
    ResponseNamedTool,
    ResponseRequest,
    ResponseTextFormat,
)
from ..constraints import schema_format
from ..layout import common_layout
from ..thinking import common_thinking
from .conversation import Conversation
from .tool_names import CLIENT, ToolNames

#: the names that fields of the common form have in this API
_NAMES = {
    "messages": "input",
    "tool_choice": "tool_choice",
    "max_completion_tokens": "max_output_tokens",
    "logprobs": "include",
}


def common_response(
    request: ResponseRequest, conversation: Conversation, names: ToolNames
) -> GenerationRequest:
    """Return the request whose answer is the response's output.

    A choice between no tools, and parallel calls of none, have no effect here; chat completions
    refuse them.

    Raises:
        ApiError: 400, the choice requires a tool that is left out, or names an unknown one.
    """
    tools, choice = tuple(names.tools), _choice(request, names)
    if not tools and choice is not None and choice.mode in ("auto", "none"):
        choice = None
    wanted = request.text.format if request.text else None
    effort = request.reasoning.effort if request.reasoning else None
    return GenerationRequest(
        messages=tuple(conversation.messages),
        tools=tools or None,
        tool_choice=choice,
        parallel_tool_calls=request.parallel_tool_calls if tools else None,
        constraints=() if wanted is None else tuple(_constraints(wanted)),
        json_layout=common_layout(request),
        schema_in_prompt=request.include_schema_in_prompt,
        thinking=common_thinking(request, ("reasoning.effort", effort), request.reasoning_options),
        verbosity=request.text.verbosity if request.text else None,
        template_variables=request.template_variables,
        sampling=AskedSampling.of(
            request,
            max_completion_tokens=request.max_output_tokens,
            # a stream's last event has the whole output, so its log probabilities are kept, too
            stream=None,
            logprobs=request.wants_logprobs or None,
            top_logprobs=request.top_logprobs if request.wants_logprobs else None,
        ),
        cache_salts=request.cache_salts,
        names=ApiNames(
            fields=_NAMES,
            messages=conversation.places,
            tools=[tool.param for tool in tools],
        ),
        ignored=(*names.ignored, *conversation.ignored),
    )


def _constraints(wanted: ResponseTextFormat) -> Iterator[AskedConstraint]:
    param = "text.format"
    if isinstance(wanted, ResponseJsonSchemaFormat):
        yield schema_format(wanted, param)
    elif isinstance(wanted, JsonObjectFormat):
        yield AskedConstraint(param=param, kind="json_object", is_format=True)


def _choice(request: ResponseRequest, names: ToolNames) -> ToolChoice | None:
    choice = request.tool_choice
    if choice == "required" and request.tools and not names.tools:
        raise _all_left_out()
    if choice is None:
        return None
    if isinstance(choice, str):
        return ToolChoice(choice)
    if isinstance(choice, ResponseNamedTool):
        return ToolChoice("named", (_chosen(choice, names),))
    if isinstance(choice, OfferedClientTool):
        if not names.offers(choice.type):
            raise _not_offered(choice.type, "tool_choice.type")
        return ToolChoice("named", (_chosen_client(choice, names),))
    return _allowed(choice, names)


def _chosen(tool: ResponseNamedTool, names: ToolNames) -> ChosenTool:
    flat = names.flat(tool.namespace, tool.name)
    return ChosenTool(flat, tool.type == "custom", ("tool_choice", "name"))


def _chosen_client(tool: OfferedClientTool, names: ToolNames) -> ChosenTool:
    return ChosenTool(names.flat(CLIENT, tool.type), False, ("tool_choice", "type"))


def _allowed(choice: ResponseAllowedTools, names: ToolNames) -> ToolChoice:
    """Return the choice between those of the allowed tools that are served; of none: no call."""
    tools: list[ChosenTool] = []
    for number, each in enumerate(choice.tools):
        place = f"tool_choice.tools[{number}]"
        if isinstance(each, HostedTool):
            names.ignore(place, each.type)
        elif isinstance(each, OfferedClientTool):
            if names.offers(each.type):
                tools.append(_chosen_client(each, names))
            else:
                names.ignore(place, each.type)
        elif isinstance(each, AllowedNamespace):
            tools += names.of_namespace(each.name)
        else:
            chosen = _chosen(each, names)
            if not names.is_known(chosen.name, is_custom=chosen.is_custom):
                raise _not_offered(each.name, f"{place}.name")
            tools.append(chosen)
    if tools:
        return ToolChoice(choice.mode, tuple(tools))
    if choice.mode == "required":
        raise _all_left_out()
    return ToolChoice("none")


def _not_offered(name: str, param: str) -> ApiError:
    return bad_request(
        f"Tool choice '{name[:100]}' not found in 'tools' parameter.", param, "invalid_value"
    )


def _all_left_out() -> ApiError:
    return bad_request(
        "Invalid value for 'tool_choice': it requires a call, but this server has none of these "
        "tools.",
        "tool_choice",
        "unsupported_value",
    )
