"""Harmony's prompt: system and developer messages, history, and where the next answer begins.

The text equals the reference library's (openai-harmony), which tests compare; ADR 8 says why the
library itself does not write it. It contains no date, so that equal requests give equal prompts.

History    <|return|> is written as <|end|>. Reasoning is shown between a call and what followed it,
           and dropped up to the last final message: the models were trained on such histories.
"""

import json
from collections.abc import Mapping, Sequence

from ..output_spec import ChatMessage, FormatError, OutputSpec, PastCall, Tool
from ..spelling import word_name
from ..turns import Turn, read_turns
from .builtin_tools import builtin_namespaces, builtin_recipients
from .typescript_types import Namespace, comment, tools_section

_SYSTEM = (
    "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\n\n"
    "Reasoning: {effort}\n\n{tools}"
    "# Valid channels: analysis, commentary, final. Channel must be included for every message."
)
_TOOL_CHANNEL = "\nCalls to these tools must go to the commentary channel: 'functions'."
_EFFORT = {"auto": "medium", "off": "low"}
_NEXT = "<|start|>assistant"
#: the tools of builtin calls by recipient; None: the call is source code
Builtin = Mapping[str, Tool | None]


def render_harmony(
    messages: Sequence[ChatMessage], tools: Sequence[Tool], output: OutputSpec
) -> str:
    """Return the whole prompt, which ends with <|start|>assistant."""
    turns = read_turns(messages)
    first = next((n for n, turn in enumerate(turns) if turn.role != "system"), len(turns))
    builtin = builtin_recipients(output.builtin_tools)
    said = [turn.text for turn in turns[:first]]
    said += [output.instructions] if output.instructions else []
    developer = developer_text(said, tools, output)
    finals = [n for n, turn in enumerate(turns) if turn.role == "assistant" and not turn.calls]
    last_final = max(finals, default=-1)
    return (
        _message("system", "", _system_text(tools, output))
        + (_message("developer", "", developer) if developer else "")
        + "".join(
            _turn(turn, builtin, thinks=number > last_final)
            for number, turn in enumerate(turns[first:], first)
        )
        + _NEXT
    )


def _message(author: str, header: str, text: str, end: str = "<|end|>") -> str:
    return f"<|start|>{author}{header}<|message|>{text}{end}"


def _system_text(tools: Sequence[Tool], output: OutputSpec) -> str:
    effort = output.effort or _EFFORT[output.reasoning]
    builtin = builtin_namespaces(output.prompt_builtin_tools)
    shown = tools_section(builtin) + "\n\n" if builtin else ""
    text = _SYSTEM.replace("{effort}", effort).replace("{tools}", shown)
    return text + (_TOOL_CHANNEL if tools else "")


def developer_text(instructions: list[str], tools: Sequence[Tool], output: OutputSpec) -> str:
    """Return the text of a developer message, or ""."""
    blocks = []
    if instructions:
        blocks.append("# Instructions\n\n" + "\n\n".join(filter(None, instructions)))
    if tools:
        blocks.append(tools_section([Namespace("functions", "", tuple(tools))]))
    if output.tells_schema:
        about = comment(output.response_description)
        head = f"# Response Formats\n\n## {output.response_name or 'answer'}"
        schema = json.dumps(output.response_schema, ensure_ascii=False, separators=(",", ":"))
        blocks.append(f"{head}\n\n{about}{schema}")
    return "\n\n".join(blocks)


def _turn(turn: Turn, builtin: Builtin, *, thinks: bool) -> str:
    if turn.role == "system":
        return _message("developer", "", developer_text([turn.text], (), OutputSpec()))
    if turn.role == "user":
        return _message("user", "", turn.text)
    if turn.role == "tool":
        channel = "analysis" if turn.tool in builtin else "commentary"
        author = f"{_recipient(turn.tool, builtin)} to=assistant"
        return _message(author, f"<|channel|>{channel}", turn.text)
    return _assistant(turn, builtin, thinks=thinks)


def _assistant(turn: Turn, builtin: Builtin, *, thinks: bool) -> str:
    said = "commentary" if turn.calls else "final"
    out = []
    if turn.reasoning and thinks:
        out.append(_message("assistant", "<|channel|>analysis", turn.reasoning))
    if turn.text or not turn.calls:
        out.append(_message("assistant", f"<|channel|>{said}", turn.text))
    return "".join([*out, *(_call(call, builtin) for call in turn.calls)])


def _call(call: PastCall, builtin: Builtin) -> str:
    kind = "analysis code" if call.name in builtin else "commentary <|constrain|>json"
    author = f"assistant to={_recipient(call.name, builtin)}"
    is_code = call.name in builtin and builtin[call.name] is None
    text = _code_of(call.arguments) if is_code else call.arguments
    return _message(author, f"<|channel|>{kind}", text, "<|call|>")


def _code_of(arguments: str) -> str:
    """Return the source code in the arguments; other text, such as bare code, is kept."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    code = value.get("code") if isinstance(value, dict) else None
    return code if isinstance(code, str) else arguments


def _recipient(name: str, builtin: Builtin) -> str:
    if name in builtin:
        return name
    if word_name(name) is None:
        raise FormatError(f"this format cannot spell the name {name!r}", "messages")
    return f"functions.{name}"
