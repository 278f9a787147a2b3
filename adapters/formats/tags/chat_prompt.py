"""Prompts for tokenizers without a chat template: one marked block a turn.

Not here         Harmony's prompt (the room harmony), templates that tokenizers bring (the app).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..argument_schema import NO_ARGUMENTS
from ..optional_keys import optional_keys
from ..output_spec import ChatMessage, OutputSpec, PastCall, SchemaStyle, Tool
from ..schema_outline import schema_outline
from ..turns import Turn, read_turns

#: returns the calls of one answer as text; the number is that of earlier calls in the conversation
CallsText = Callable[[Sequence[PastCall], int], str]
#: names of tools, or of optional keys, that the prompt lists; it lists no more than these
MAX_TOLD = 16


@dataclass(frozen=True, kw_only=True)
class Chat:
    """The texts of such a prompt. ``begin`` contains "{role}"; ``roles`` renames some roles.

    ``tools``        the block that offers tools; "{tools}" stands for them, each as ``tool`` shows
                     it, and "{call}" for a call of another function in the family's syntax. The
                     tools come last: SmolLM2-135M had 38 of 80 calls right with that, not 34.
    ``tool``         returns a tool as text; None: in the style that the model's settings choose.
    ``tells_choice`` whether the end of the conversation says that a call is required. Not in
                     families that were trained with a text about tools of their own.
    ``before_call``  between an assistant's text and its calls.
    ``result``       around a tool's result, "{text}"; ``results_together``: results in a row share
                     one turn.
    """

    begin: str = "{role}:\n"
    end: str = "\n\n"
    tools: str = (
        "A call of a function is written like this:\n{call}\n\n"
        "You can call these functions:\n{tools}"
    )
    tells_choice: bool = True
    start: str = ""
    tool: Callable[[Tool], str] | None = None
    tool_separator: str = "\n"
    roles: Mapping[str, str] = field(default_factory=dict)
    before_call: str = "\n"
    result: str = "{text}"
    results_together: bool = False


#: blocks of plain text
PLAIN_CHAT = Chat()
#: examples of calls, without placeholders: small models copy them. Values for a tool of the request
#: would be copied, too (9 of 18 calls right instead of 13)
_EXAMPLES = (
    PastCall("call00000", "get_weather", '{"city": "Oslo", "days": 2}'),
    PastCall("call00000", "add_event", '{"title": "Lunch", "hour": 12}'),
)


def render_chat(
    chat: Chat,
    calls_text: CallsText,
    messages: Sequence[ChatMessage],
    tools: Sequence[Tool],
    output: OutputSpec,
) -> str:
    """Return the whole prompt, which ends where the assistant's next turn begins."""
    turns = _closed(read_turns(messages), choice_text(chat, output))
    first = next((n for n, turn in enumerate(turns) if turn.role != "system"), len(turns))
    system = [*(turn.text for turn in turns[:first]), *offers(chat, calls_text, tools, output)]
    blocks = [("system", "\n\n".join(filter(None, system)))] if system else []
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
    """Return the further instructions, and the blocks that offer tools and that require JSON."""
    found = [output.instructions] if output.instructions else []
    if tools:
        found.append(_tools_block(chat, calls_text, tools, output))
    if output.tells_schema:
        found.append(_schema_block(output))
    return found


def _tools_block(
    chat: Chat, calls_text: CallsText, tools: Sequence[Tool], output: OutputSpec
) -> str:
    show = chat.tool or _TOOL_TEXTS[output.schema_style]
    names = {tool.name for tool in tools}
    example = next((call for call in _EXAMPLES if call.name not in names), _EXAMPLES[0])
    block = chat.tools.replace("{call}", calls_text([example], 0))
    return _filled(block, "{tools}", chat.tool_separator.join(map(show, tools)))


def _schema_block(output: OutputSpec) -> str:
    """Return the text that asks for JSON and shows the schema with its name and description."""
    outline = None
    if output.schema_style == "outline":
        outline = schema_outline(output.response_schema, output.response_name)
    form = "has this form" if outline else "fits this JSON Schema"
    about = ": ".join(filter(None, [output.response_name, output.response_description]))
    lines = [
        f"Your final answer must be JSON only, one value that {form}:",
        *filter(None, [about]),
        outline or compact(output.response_schema),
    ]
    keys = [] if outline else optional_keys(output.response_schema)
    if 0 < len(keys) <= MAX_TOLD:
        lines.append(f"Optional keys: {', '.join(keys)}.")
    return "\n".join(lines)


def choice_text(chat: Chat, output: OutputSpec) -> str:
    """Return what the end of the conversation says about a required call, or "".

    It is the only text about a choice: at the beginning, each other choice would keep the whole
    prompt from the workers' caches.
    """
    if not chat.tells_choice or output.tool_choice not in ("required", "named"):
        return ""
    names = [tool.name for tool in output.callable_tools]
    if output.tool_choice == "named":
        names = [output.tool_name or ""]
    if len(names) == 1:
        return f"Call the function {names[0]} now."
    if not output.barred or len(names) > MAX_TOLD:
        return "Call one of the functions now."
    return f"Call one of these functions now: {', '.join(names)}."


def _closed(turns: list[Turn], text: str) -> list[Turn]:
    """Return turns that end with this text: of the last one, or of the user behind an answer or
    instructions at the beginning.
    """
    if not text:
        return turns
    if all(turn.role == "system" for turn in turns) or turns[-1].role == "assistant":
        return [*turns, Turn("user", text)]
    *others, last = turns
    return [*others, replace(last, text="\n\n".join(filter(None, [last.text, text])))]


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


def tool_json(tool: Tool) -> str:
    """Write the tool as JSON on one line."""
    return compact(tool_object(tool))


def tool_outline(tool: Tool) -> str:
    """Write the tool with the outline of its arguments; as JSON if they have none."""
    outline = schema_outline(tool.parameters or NO_ARGUMENTS)
    if outline is None:
        return tool_json(tool)
    return f"{': '.join(filter(None, [tool.name, tool.description]))}\narguments: {outline}"


def compact(value: Any) -> str:
    """Write JSON on one line with the spacing of chat templates."""
    return json.dumps(value, ensure_ascii=False)


_TOOL_TEXTS: Mapping[SchemaStyle, Callable[[Tool], str]] = {
    "outline": tool_outline,
    "json_schema": tool_json,
}
