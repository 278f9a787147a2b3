"""Prompts for tokenizers without a chat template.

Representation   messages become Turns, which every family renders; a Chat is the data of a family
                 whose prompt is one marked block a turn.
Invariants       I1 a tool result knows the name of the tool it answers, by its call's id. I2
                 arguments in history are written as they were sent, neither parsed nor repaired.
Not here         Harmony's prompt (harmony_prompt.py), templates that tokenizers bring (the app).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..argument_schema import NO_ARGUMENTS
from ..output_spec import ChatMessage, FormatError, OutputSpec, PastCall, Tool

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


# -- one marked block a turn -----------------------------------------------------------------------

#: returns the calls of one answer as text; the number is that of earlier calls in the conversation
CallsText = Callable[[Sequence[PastCall], int], str]


@dataclass(frozen=True, kw_only=True)
class Chat:
    """The texts of such a prompt. ``begin`` contains "{role}"; ``roles`` renames some roles.

    ``tools``        the block that offers tools; "{tools}" stands for them, each as ``tool`` shows
                     it, and "{call}" for a call in the family's syntax.
    ``schema``       the block that asks for JSON; "{schema}" stands for the schema with its name
                     and description.
    ``before_call``  between an assistant's text and its calls.
    ``result``       around a tool's result, "{text}"; ``results_together``: results in a row share
                     one turn.
    """

    begin: str = "{role}:\n"
    end: str = "\n\n"
    tools: str = "You can call these functions:\n{tools}\n\nA call has exactly this form:\n{call}"
    start: str = ""
    schema: str = "Your final answer must be one JSON value that fits this JSON Schema:\n{schema}"
    tool: Callable[[Tool], str] = field(default=lambda tool: compact(tool_object(tool)))
    tool_separator: str = "\n"
    roles: Mapping[str, str] = field(default_factory=dict)
    before_call: str = "\n"
    result: str = "{text}"
    results_together: bool = False


#: blocks of plain text
PLAIN_CHAT = Chat()
_EXAMPLE = PastCall("call00000", "function_name", '{"argument_name": "its value"}')


def render_chat(
    chat: Chat,
    calls_text: CallsText,
    messages: Sequence[ChatMessage],
    tools: Sequence[Tool],
    output: OutputSpec,
) -> str:
    """Return the whole prompt, which ends where the assistant's next turn begins."""
    turns = read_turns(messages)
    first = next((n for n, turn in enumerate(turns) if turn.role != "system"), len(turns))
    system = [*(turn.text for turn in turns[:first]), *offers(chat, calls_text, tools, output)]
    blocks = [("system", "\n\n".join(system))] if system else []
    for number, turn in enumerate(turns[first:], first):
        text = turn_text(chat, calls_text, turn)
        if chat.results_together and turn.role == "tool" and turns[number - 1].role == "tool":
            text = f"{blocks.pop()[1]}\n{text}"
        blocks.append((turn.role, text))
    return (
        chat.start
        + "".join(_begin(chat, role) + text + chat.end for role, text in blocks)
        + _begin(chat, "assistant")
    )


def offers(
    chat: Chat, calls_text: CallsText, tools: Sequence[Tool], output: OutputSpec
) -> list[str]:
    """Return the blocks that offer tools and that require JSON, if any."""
    found = []
    if tools:
        shown = chat.tool_separator.join(map(chat.tool, tools))
        block = chat.tools.replace("{call}", calls_text([_EXAMPLE], 0))
        found.append(_filled(block, "{tools}", shown))
    if output.tells_schema:
        about = [output.response_name, output.response_description]
        lines = [": ".join(filter(None, about)), compact(output.response_schema)]
        found.append(_filled(chat.schema, "{schema}", "\n".join(filter(None, lines))))
    return found


def turn_text(chat: Chat, calls_text: CallsText, turn: Turn) -> str:
    """Return the text between a turn's marks."""
    if turn.role == "tool":
        return _filled(chat.result, "{text}", turn.text)
    calls = calls_text(turn.calls, turn.calls_before)
    return turn.text + (chat.before_call if turn.text and calls else "") + calls


def _begin(chat: Chat, role: str) -> str:
    return chat.begin.replace("{role}", chat.roles.get(role, role))


def _filled(template: str, mark: str, text: str) -> str:
    before, _, after = template.partition(mark)
    return before + text + after


# -- tools as text ---------------------------------------------------------------------------------


def tool_object(tool: Tool) -> dict[str, Any]:
    """Return the tool in the form of OpenAI's requests."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters or NO_ARGUMENTS),
        },
    }


def compact(value: Any) -> str:
    """Write JSON on one line with the spacing of chat templates."""
    return json.dumps(value, ensure_ascii=False)
