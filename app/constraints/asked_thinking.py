"""The reasoning that a request asks for.

Fields of several servers turn it on or off, or bound it (protocol.thinking_fields). They must
agree: a field that contradicts an earlier one is refused by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..errors import bad_request
from ..protocol import ChatRequest, ReasoningEffort, ReasoningOptions

Value = TypeVar("Value")

_SWITCHES = {"enabled": True, "disabled": False}


@dataclass(frozen=True, slots=True)
class AskedThinking:
    """``is_on``, ``effort``, ``budget`` (tokens): None where the request leaves it open."""

    is_on: bool | None
    effort: ReasoningEffort | None
    budget: int | None


def asked_thinking(request: ChatRequest) -> AskedThinking:
    """Return what the request's fields say. Raises ApiError 400 for fields that contradict."""
    options, thinking = request.reasoning or ReasoningOptions(), request.thinking
    efforts = [("reasoning_effort", request.reasoning_effort), ("reasoning.effort", options.effort)]
    switches = [
        *((place, None if effort is None else effort != "none") for place, effort in efforts),
        ("reasoning.enabled", options.enabled),
        ("thinking.type", _SWITCHES.get(thinking.type) if thinking else None),
        ("enable_thinking", request.enable_thinking),
    ]
    budgets = [
        ("thinking_token_budget", request.thinking_token_budget),
        ("thinking.budget_tokens", thinking.budget_tokens if thinking else None),
        ("reasoning.max_tokens", options.max_tokens),
    ]
    return AskedThinking(effort=_agreed(efforts), is_on=_agreed(switches), budget=_agreed(budgets))


def _agreed(said: Sequence[tuple[str, Value | None]]) -> Value | None:
    """Return the value that all given fields have; None: none is given."""
    given = [(place, value) for place, value in said if value is not None]
    for place, value in given[1:]:
        if value != given[0][1]:
            message = f"Invalid value for '{place}': it contradicts '{given[0][0]}'."
            raise bad_request(message, place, "invalid_value")
    return given[0][1] if given else None
