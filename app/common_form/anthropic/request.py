"""A request of Anthropic's Messages API in the common form."""

from dataclasses import replace
from typing import Any

from ...generation import ApiNames, AskedConstraint, AskedSampling, AskedThinking, GenerationRequest
from ...protocol import MessagesRequest, PromptFields
from ..layout import common_layout
from ..thinking import common_thinking
from .messages import ReadMessages, Unseal
from .tools import common_choice, offered_tools

_NAMES = {"tool_choice": "tool_choice", "stop": "stop_sequences"}


def common_message(request: MessagesRequest, unseal: Unseal, most_tokens: int) -> GenerationRequest:
    """Return the request whose answer is a message. Raises ApiError 400.

    ``most_tokens``: of an answer of this server. Agents ask for 64,000, which is a bound only.
    """
    tokens = min(request.max_tokens, most_tokens)
    sampling = AskedSampling.of(request, max_tokens=tokens, stops=request.stops)
    asked = _common(request, unseal, sampling)
    if tokens == request.max_tokens:
        return asked
    return replace(asked, ignored=("max_tokens excess", *asked.ignored))


def common_count(request: PromptFields, unseal: Unseal) -> GenerationRequest:
    """Return the request whose prompt is counted. Raises ApiError 400."""
    return _common(request, unseal, AskedSampling())


def _common(request: PromptFields, unseal: Unseal, sampling: AskedSampling) -> GenerationRequest:
    conversation = ReadMessages(unseal)
    conversation.read(request)
    offered = offered_tools(request.tools or (), conversation.changes)
    choice = request.tool_choice
    parallel = request.parallel_tool_calls
    if choice is not None and choice.disable_parallel_tool_use is not None:
        parallel = parallel is not False and not choice.disable_parallel_tool_use
    return GenerationRequest(
        messages=tuple(conversation.messages),
        tools=tuple(offered.tools) or None,
        tool_choice=common_choice(choice, offered),
        parallel_tool_calls=parallel if offered.tools else None,
        constraints=_constraints(request),
        json_layout=common_layout(request),
        schema_in_prompt=request.include_schema_in_prompt,
        thinking=_thinking(request),
        template_variables=request.template_variables,
        sampling=sampling,
        cache_salts=request.cache_salts,
        names=ApiNames(
            fields=_NAMES,
            messages=conversation.places,
            tools=[tool.param for tool in offered.tools],
        ),
        ignored=(*offered.ignored, *conversation.ignored),
    )


def _constraints(request: PromptFields) -> tuple[AskedConstraint, ...]:
    fields: list[tuple[str, Any]] = [("output_format", request.output_format)]
    if request.output_config is not None:
        fields.append(("output_config.format", request.output_config.format))
    return tuple(
        AskedConstraint(
            param=param,
            kind="json_schema",
            value=wanted.schema_,
            is_format=True,
            strict=True,
            name="output",
        )
        for param, wanted in fields
        if wanted is not None
    )


def _thinking(request: PromptFields) -> AskedThinking:
    """Return what the request says about reasoning. An effort does not turn it on."""
    effort = request.output_config.effort if request.output_config else None
    asked = common_thinking(request, ("output_config.effort", None))
    return AskedThinking(is_on=asked.is_on, effort=effort, budget=asked.budget)
