"""Harmony's prompt: system and developer messages, history, and where the next answer begins.

The text equals the reference library's where both can show a request (typescript_types.py lists
where schemas differ). It contains no date, so that equal requests give equal prompts.

History    <|return|> is written as <|end|>. Reasoning is shown between a call and what followed it,
           and dropped up to the last final message: the models were trained on such histories.
"""

from collections.abc import Sequence

from ..output_spec import ChatMessage, FormatError, OutputSpec, Tool
from .chat_prompt import Turn, compact, read_turns
from .spelling import word_name
from .typescript_types import comment, namespace

_SYSTEM = (
    "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\n\n"
    "Reasoning: {effort}\n\n"
    "# Valid channels: analysis, commentary, final. Channel must be included for every message."
)
_TOOL_CHANNEL = "\nCalls to these tools must go to the commentary channel: 'functions'."
_EFFORT = {"auto": "medium", "off": "low"}
_NEXT = "<|start|>assistant"


def render_harmony(
    messages: Sequence[ChatMessage], tools: Sequence[Tool], output: OutputSpec
) -> str:
    """Return the whole prompt, which ends with <|start|>assistant."""
    turns = read_turns(messages)
    first = next((n for n, turn in enumerate(turns) if turn.role != "system"), len(turns))
    effort = output.effort or _EFFORT[output.reasoning]
    system = _SYSTEM.replace("{effort}", effort) + (_TOOL_CHANNEL if tools else "")
    developer = developer_text([turn.text for turn in turns[:first]], tools, output)
    finals = [n for n, turn in enumerate(turns) if turn.role == "assistant" and not turn.calls]
    last_final = max(finals, default=-1)
    return (
        _message("system", "", system)
        + (_message("developer", "", developer) if developer else "")
        + "".join(
            _turn(turn, thinks=number > last_final)
            for number, turn in enumerate(turns[first:], first)
        )
        + _NEXT
    )


def _message(author: str, header: str, text: str, end: str = "<|end|>") -> str:
    return f"<|start|>{author}{header}<|message|>{text}{end}"


def developer_text(instructions: list[str], tools: Sequence[Tool], output: OutputSpec) -> str:
    """Return the text of a developer message, or ""."""
    blocks = []
    if instructions:
        blocks.append("# Instructions\n\n" + "\n\n".join(instructions))
    if tools:
        blocks.append("# Tools\n\n## functions\n\n" + namespace("functions", tools))
    if output.tells_schema:
        about = comment(output.response_description)
        head = f"# Response Formats\n\n## {output.response_name or 'answer'}"
        blocks.append(f"{head}\n\n{about}{compact(output.response_schema)}")
    return "\n\n".join(blocks)


def _turn(turn: Turn, *, thinks: bool) -> str:
    if turn.role == "system":
        return _message("developer", "", developer_text([turn.text], (), OutputSpec()))
    if turn.role == "user":
        return _message("user", "", turn.text)
    if turn.role == "tool":
        author = f"functions.{_name(turn.tool)} to=assistant"
        return _message(author, "<|channel|>commentary", turn.text)
    return _assistant(turn, thinks=thinks)


def _assistant(turn: Turn, *, thinks: bool) -> str:
    said = "commentary" if turn.calls else "final"
    out = []
    if turn.reasoning and thinks:
        out.append(_message("assistant", "<|channel|>analysis", turn.reasoning))
    if turn.text or not turn.calls:
        out.append(_message("assistant", f"<|channel|>{said}", turn.text))
    for call in turn.calls:
        author = f"assistant to=functions.{_name(call.name)}"
        header = "<|channel|>commentary <|constrain|>json"
        out.append(_message(author, header, call.arguments, "<|call|>"))
    return "".join(out)


def _name(name: str) -> str:
    if word_name(name) is None:
        raise FormatError(f"this format cannot spell the name {name!r}", "messages")
    return name
