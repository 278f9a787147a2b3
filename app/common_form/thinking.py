"""The reasoning that a request asks for, in the common form.

Fields of several servers turn it on or off, or bound it (protocol.thinking_fields). They must
agree: a field that contradicts an earlier one is refused by name.
"""

from collections.abc import Sequence
from typing import TypeVar

from ..errors import bad_request
from ..generation import AskedThinking
from ..protocol import ReasoningEffort, ReasoningOptions, ThinkingFields

Value = TypeVar("Value")

_NO_OPTIONS = ReasoningOptions()
#: the fields of most requests, and what they say
_NOTHING, _UNASKED = (None,) * 6, AskedThinking()
_SWITCHES = {"enabled": True, "disabled": False}


def common_thinking(
    fields: ThinkingFields,
    effort: tuple[str, ReasoningEffort | None],
    reasoning: ReasoningOptions | None = None,
) -> AskedThinking:
    """Return what the fields say. ``effort``: the API's own field and its value.

    Raises:
        ApiError: 400, two fields contradict each other.
    """
    options, thinking = reasoning or _NO_OPTIONS, fields.thinking
    budgets_of_own = fields.thinking_token_budget, fields.thinking_budget
    if (reasoning, thinking, effort[1], fields.enable_thinking, *budgets_of_own) == _NOTHING:
        return _UNASKED
    efforts = [effort, ("reasoning.effort", options.effort)]
    switches = [
        *((place, None if each is None else each != "none") for place, each in efforts),
        ("reasoning.enabled", options.enabled),
        ("thinking.type", _SWITCHES.get(thinking.type) if thinking else None),
        ("enable_thinking", fields.enable_thinking),
    ]
    budgets = [
        ("thinking_token_budget", fields.thinking_token_budget),
        ("thinking_budget", fields.thinking_budget),
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
