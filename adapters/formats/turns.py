"""Turns: the messages of a conversation as formats render them.

Invariants       I1 a tool's result knows the name of the tool that it answers, by its call's id.
                 I2 arguments in history are kept as they were sent, neither parsed nor repaired.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .output_spec import ChatMessage, FormatError, PastCall

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


@dataclass(frozen=True)
class Turn:
    """One message. ``role``: system (also for developer), user, assistant or tool.

    ``tool``: the name of the tool whose result it is, or "". ``calls_before``: the calls of earlier
    turns.
    """

    role: str
    text: str
    reasoning: str = ""
    calls: tuple[PastCall, ...] = ()
    tool: str = ""
    calls_before: int = 0


def read_turns(messages: Sequence[ChatMessage]) -> list[Turn]:
    """Convert chat messages as clients send them.

    Raises:
        FormatError: an unknown role, or content that is not text.
    """
    names: dict[str, str] = {}
    turns, calls_before = [], 0
    for number, message in enumerate(messages):
        place = f"messages[{number}]"
        role = _ROLES.get(message.get("role", ""))
        if role is None:
            raise FormatError(f"the role {message.get('role')!r} is unknown", f"{place}.role")
        calls = _past_calls(message.get("tool_calls") or (), f"{place}.tool_calls")
        names.update((call.id, call.name) for call in calls)
        turns.append(
            Turn(
                role,
                _text(message.get("content"), f"{place}.content"),
                message.get("reasoning_content") or message.get("reasoning") or "",
                calls,
                message.get("name") or names.get(message.get("tool_call_id", ""), ""),
                calls_before,
            )
        )
        calls_before += len(calls)
    return turns


def _past_calls(calls: Sequence[Any], place: str) -> tuple[PastCall, ...]:
    found = []
    for number, call in enumerate(calls):
        try:
            function = call["function"]
            arguments = function.get("arguments") or "{}"
            found.append(PastCall(str(call.get("id", "")), function["name"], arguments))
        except (AttributeError, KeyError, TypeError):
            raise FormatError("no function call", f"{place}[{number}]") from None
    return tuple(found)


def _text(content: Any, place: str) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    parts = []
    for number, part in enumerate(content):
        if part.get("type") not in ("text", "refusal"):
            raise FormatError(
                f"a part of type {part.get('type')!r} is not text", f"{place}[{number}]"
            )
        parts.append(part.get(part["type"]) or "")
    return "".join(parts)
