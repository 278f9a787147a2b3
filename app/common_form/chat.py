"""Bodies that are chat completions, or parts of one, in the common form."""

from typing import Any

from ..errors import FieldNames, bad_request
from ..generation import AskedSampling, GenerationRequest, once
from ..protocol import (
    ChatRequest,
    ChatToolChoice,
    GrammarRequest,
    StreamOptions,
)
from .constraints import closes_objects, common_constraints
from .layout import common_layout
from .legacy_functions import names_of, with_tools
from .messages import common_messages, unshown_parts
from .thinking import common_thinking
from .tools import common_choice, common_tools


def common_chat(request: ChatRequest) -> GenerationRequest:
    """Return a chat completion. Raises ApiError 400."""
    made = None if request.functions else request.made
    names, request = names_of(request), with_tools(request)
    check_stream_options(request.stream_options, is_stream=bool(request.stream))
    messages = common_messages(request.messages)
    others = once(made, "common form", lambda: _others(request, names))
    ignored = unshown_parts(request.messages)
    return GenerationRequest(messages=messages, ignored=ignored, made=made, **others)


def _others(request: ChatRequest, names: FieldNames) -> dict[str, Any]:
    """Return the fields of a request that do not depend on messages. Raises ApiError 400."""
    effort = ("reasoning_effort", request.reasoning_effort)
    return {
        "tools": common_tools(request.tools, names),
        "tool_choice": common_choice(request.tool_choice),
        "parallel_tool_calls": request.parallel_tool_calls,
        "constraints": common_constraints(request.response_format, request),
        "closes_objects": closes_objects(request),
        "json_layout": common_layout(request),
        "schema_in_prompt": request.include_schema_in_prompt,
        "thinking": common_thinking(request, effort, request.reasoning),
        "verbosity": request.verbosity,
        "template_variables": request.template_variables,
        "sampling": AskedSampling.of(request),
        "cache_salts": request.cache_salts,
        "names": names,
    }


def common_grammar(request: GrammarRequest, choice: ChatToolChoice | None) -> GenerationRequest:
    """Return a request with the grammar of these fields, and with this choice."""
    return GenerationRequest(
        tools=common_tools(request.tools),
        tool_choice=common_choice(choice),
        parallel_tool_calls=request.parallel_tool_calls,
        constraints=common_constraints(request.response_format),
        json_layout=common_layout(request),
    )


def check_stream_options(options: StreamOptions | None, *, is_stream: bool) -> None:
    """Raise ApiError 400 for options of a stream without one."""
    if options is not None and not is_stream:
        raise bad_request(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "stream_options",
        )
