"""Inkling's prompt: definitions of tools, the effort of thinking, and history.

The text equals that of its makers' program (tml-renderers), which tests compare. Efforts are those
of vLLM, because the program takes a number.

History    all thoughts are shown. A past answer ends with <|content_model_end_sampling|>.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..output_spec import ChatMessage, Effort, OutputSpec, PastCall, Tool
from ..rust_json import rust_json
from ..tags import PLAIN_CHAT, offers
from ..turns import Turn, read_turns

_EFFORTS: Mapping[Effort, str] = {"low": "0.2", "medium": "0.7", "high": "0.9"}
_DEFAULT_EFFORT, _NO_THOUGHTS = "0.9", "0"


@dataclass(frozen=True)
class InklingPrompt:
    """Writes prompts. ``definitions``: the token before those of tools, which vocabularies name
    differently.
    """

    definitions: str = "<|content_xml|>"

    def __call__(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], output: OutputSpec
    ) -> str:
        """Return the whole prompt, which ends behind its last message."""
        turns = read_turns(messages)
        first = next((n for n, turn in enumerate(turns) if turn.role != "system"), len(turns))
        told = [turn.text for turn in turns[:first]]
        told += offers(PLAIN_CHAT, lambda *_: "", (), output)
        return "".join(
            [
                *(_message("system", text) for text in told),
                self._offered(tools) if tools else "",
                _message("system", f"Thinking effort level: {_effort(output)}"),
                *map(_turn, turns[first:]),
            ]
        )

    def _offered(self, tools: Sequence[Tool]) -> str:
        return _message("system", _tools_text(tools), "tool_declare", self.definitions)


def _message(author: str, text: str, name: str = "", kind: str = "<|content_text|>") -> str:
    return f"<|message_{author}|>{name}{kind}{text}<|end_message|>"


def _effort(output: OutputSpec) -> str:
    if output.reasoning == "off":
        return _NO_THOUGHTS
    return _EFFORTS[output.effort] if output.effort else _DEFAULT_EFFORT


def _tools_text(tools: Sequence[Tool]) -> str:
    shown = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        }
        for tool in tools
    ]
    return rust_json(shown, sorts=True, plus="+")


def _turn(turn: Turn) -> str:
    if turn.role != "assistant":
        return _message(turn.role, turn.text, turn.tool if turn.role == "tool" else "")
    messages = (
        [_message("model", turn.reasoning, kind="<|content_thinking|>")] if turn.reasoning else []
    )
    if turn.text or not (turn.reasoning or turn.calls):
        messages.append(_message("model", turn.text))
    messages += map(_call, turn.calls)
    return "".join([*messages, "<|content_model_end_sampling|>"])


def _call(call: PastCall) -> str:
    text = f'{{"name":{rust_json(call.name)},"args":{_arguments(call.arguments)}}}'
    return _message("model", text, call.name, "<|content_invoke_tool_json|>")


def _arguments(text: str) -> str:
    """Return arguments sorted by name; text that is no JSON object is kept."""
    try:
        values: Any = json.loads(text)
        return rust_json(dict(sorted(values.items()))) if isinstance(values, dict) else text
    except (ValueError, RecursionError):
        return text
