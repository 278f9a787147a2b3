"""The response object: the request's fields as they were applied, the output and the usage."""

from collections.abc import Sequence
from typing import Any

from ..errors import ApiError
from ..generation import ChoiceEnd
from ..protocol import HostedTool, ResponseRequest, shown_format
from .response_types import (
    CompactedResponse,
    CompactionOutput,
    ResponseError,
    ResponseObject,
    ResponseUsage,
)

#: OpenAI's codes of failed responses, by the status that the same failure has before a stream
_CODES = {400: "invalid_prompt", 429: "rate_limit_exceeded"}


def response_object(
    request: ResponseRequest, model: str, number: str, created: int, *, several_calls: bool
) -> ResponseObject:
    """Return the object of a response that begins. ``model``: its name; ``number``: its id.
    ``several_calls``: whether it may have several calls.
    """
    wanted, effort = request.text, request.reasoning.effort if request.reasoning else None
    shown = shown_format(wanted.format) if wanted and wanted.format else None
    verbosity = (wanted.verbosity if wanted else None) or "medium"
    choice = request.tool_choice or "auto"
    conversation = request.conversation_id
    begun: ResponseObject = {
        "id": number,
        "object": "response",
        "created_at": created,
        "status": "in_progress",
        "background": bool(request.background),
        "completed_at": None,
        "conversation": {"id": conversation} if conversation else None,
        "error": None,
        "incomplete_details": None,
        "instructions": request.instructions,
        "max_output_tokens": request.max_output_tokens,
        "max_tool_calls": request.max_tool_calls,
        "metadata": request.metadata or {},
        "model": model,
        "output": [],
        "frequency_penalty": request.frequency_penalty or 0.0,
        "parallel_tool_calls": several_calls,
        "presence_penalty": request.presence_penalty or 0.0,
        "previous_response_id": request.previous_response_id,
        "prompt_cache_key": request.prompt_cache_key,
        "reasoning": {"effort": effort, "summary": None},
        "safety_identifier": request.safety_identifier,
        "service_tier": "default",
        "store": request.store is not False,
        "temperature": 1.0 if request.temperature is None else request.temperature,
        "text": {"format": shown or {"type": "text"}, "verbosity": verbosity},
        "tool_choice": choice if isinstance(choice, str) else choice.model_dump(exclude_none=True),
        "tools": [tool.shown() for tool in request.tools or () if not isinstance(tool, HostedTool)],
        "top_logprobs": request.top_logprobs or 0,
        "top_p": 1.0 if request.top_p is None else request.top_p,
        "truncation": "disabled",
        "usage": None,
        "user": request.user,
    }
    if request.prompt_cache_retention is not None:
        begun["prompt_cache_retention"] = request.prompt_cache_retention
    return begun


def usage(end: ChoiceEnd) -> ResponseUsage:
    """Return the usage object."""
    return {
        "input_tokens": end.prompt_tokens,
        "input_tokens_details": {"cached_tokens": end.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": end.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": end.reasoning_tokens},
        "total_tokens": end.prompt_tokens + end.completion_tokens,
    }


def compacted_response(number: str, created: int, output: list[Any]) -> CompactedResponse:
    """Return the object of a compacted conversation; no model has run for it."""
    used: ResponseUsage = {
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 0,
    }
    return {
        "id": number,
        "object": "response.compaction",
        "created_at": created,
        "output": output,
        "usage": used,
    }


def immediate_response(
    request: ResponseRequest,
    model: str,
    number: str,
    created: int,
    output: Sequence[CompactionOutput],
    *,
    several_calls: bool,
) -> ResponseObject:
    """Return a response that no model made: it has a compacted conversation, or no output."""
    whole = compacted_response(number, created, [])
    begun = response_object(request, model, number, created, several_calls=several_calls)
    return {
        **begun,
        "status": "completed",
        "completed_at": created,
        "output": list(output),
        "usage": whole["usage"],
    }


def failure(error: ApiError) -> ResponseError:
    """Return the error object of a failed response."""
    code = _CODES.get(error.status, "server_error")
    return {"code": code, "message": error.message, "param": error.param, "type": error.type}
