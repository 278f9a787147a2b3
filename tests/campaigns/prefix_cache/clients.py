"""Agents that send their whole history with each turn, as Claude Code, Codex and chat clients do.

Each keeps its history and sends back what it got, and changes what the real one changes: Claude
Code the block with its version and the mark of its cache, and reminders that it adds to the newest
message. Nothing else of an earlier turn changes.
"""

from copy import deepcopy
from typing import Any, Literal

Body = dict[str, Any]
#: what follows an answer: results alone, results and a reminder or further instructions, or a
#: question of the user
Kind = Literal["results", "reminder", "instructions", "question"]

_PATH = {"type": "object", "properties": {"path": {"type": "string", "maxLength": 9}}}
PARAMETERS = {**_PATH, "required": ["path"], "additionalProperties": False}
TOOLS = {"Read": "Read a file.", "Search": "Search the files."}
RULES = "You help with code.\n\nBe brief."
FURTHER = "Answer in French."
REMINDER = "<system-reminder>\nThe list of tasks is empty.\n</system-reminder>"


class ClaudeCode:
    """Messages: a moving mark of the cache, a changing first block, thoughts that are omitted."""

    path = "/v1/messages"

    def __init__(self, recorded: Body | None = None) -> None:
        tools = [
            {"name": name, "description": about, "input_schema": PARAMETERS}
            for name, about in TOOLS.items()
        ]
        self._tools = recorded["tools"] if recorded else tools
        self._system = recorded["system"][1:] if recorded else [{"type": "text", "text": RULES}]
        self._messages: list[Body] = [
            {"role": "user", "content": [_text(REMINDER), _text("What is in the file?")]},
            {"role": "system", "content": "Tools may be slow."},
        ]
        self._sent = 0

    def body(self, seed: int, *, calls: bool) -> Body:
        """Return the next request. ``calls``: the answer must have one."""
        self._sent += 1
        version = _text(f"x-anthropic-billing-header: cc_version=2.1.332.{self._sent}; cch=0;")
        messages = deepcopy(self._messages)
        last = messages[-1]["content"]
        if isinstance(last, list):
            last[-1]["cache_control"] = {"type": "ephemeral"}
        return {
            "system": [version, *self._system],
            "messages": messages,
            "tools": self._tools,
            "tool_choice": {"type": "any" if calls else "auto"},
            "thinking": {"type": "adaptive", "display": "omitted"},
            "max_tokens": 4_000,
            "seed": seed,
        }

    def read(self, answer: Body, kind: Kind) -> bool:
        """Add an answer and what follows it; return False, and add nothing, if it was cut."""
        if answer["stop_reason"] == "max_tokens":
            return False
        content = answer["content"]
        self._messages.append({"role": "assistant", "content": content})
        blocks: list[Body] = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": "12"}
            for block in content
            if block["type"] == "tool_use"
        ]
        if kind == "reminder":
            blocks.append(_text(REMINDER))
        if kind == "question" or not blocks:
            blocks.append(_text("And now?"))
        self._messages.append({"role": "user", "content": blocks})
        if kind == "instructions":
            self._messages.append({"role": "system", "content": FURTHER})
        return True


class Codex:
    """Responses: items as they came, sealed reasoning, nothing stored."""

    path = "/v1/responses"

    def __init__(self, recorded: Body | None = None) -> None:
        tools = [
            {"type": "function", "name": name, "description": about, "parameters": PARAMETERS}
            for name, about in TOOLS.items()
        ]
        self._tools = (
            recorded["tools"]
            if recorded
            else [
                tools[0],
                {"type": "namespace", "name": "mcp__files", "tools": tools[1:]},
            ]
        )
        self._items: list[Body] = [
            {"type": "message", "role": "developer", "content": _input(RULES)},
            {"type": "message", "role": "user", "content": _input("What is in the file?")},
        ]

    def body(self, seed: int, *, calls: bool) -> Body:
        """Return the next request. ``calls``: the answer must have one."""
        return {
            "input": deepcopy(self._items),
            "tools": self._tools,
            "tool_choice": "required" if calls else "auto",
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "max_output_tokens": 4_000,
            "seed": seed,
        }

    def read(self, answer: Body, kind: Kind) -> bool:
        """Add an answer and what follows it; return False, and add nothing, if it was cut."""
        if answer["status"] == "incomplete":
            return False
        self._items += answer["output"]
        results = [
            {"type": "function_call_output", "call_id": item["call_id"], "output": "12"}
            for item in answer["output"]
            if item["type"] == "function_call"
        ]
        self._items += results
        if kind == "question" or not results:
            self._items.append({"type": "message", "role": "user", "content": _input("And now?")})
        if kind == "instructions":
            self._items.append({"type": "message", "role": "developer", "content": _input(FURTHER)})
        return True


class Chat:
    """Chat completions: messages as they came, with their reasoning."""

    path = "/v1/chat/completions"

    def __init__(self, recorded: Body | None = None) -> None:
        tools = [
            {
                "type": "function",
                "function": {"name": name, "description": about, "parameters": PARAMETERS},
            }
            for name, about in TOOLS.items()
        ]
        self._tools = recorded["tools"] if recorded else tools
        self._messages: list[Body] = [
            {"role": "system", "content": RULES},
            {"role": "user", "content": "What is in the file?"},
        ]

    def body(self, seed: int, *, calls: bool) -> Body:
        """Return the next request. ``calls``: the answer must have one."""
        return {
            "messages": deepcopy(self._messages),
            "tools": self._tools,
            "tool_choice": "required" if calls else "auto",
            "max_completion_tokens": 4_000,
            "seed": seed,
        }

    def read(self, answer: Body, kind: Kind) -> bool:
        """Add an answer and what follows it; return False, and add nothing, if it was cut."""
        (choice,) = answer["choices"]
        if choice["finish_reason"] == "length":
            return False
        message = choice["message"]
        self._messages.append(message)
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": "12"}
            for call in message.get("tool_calls") or ()
        ]
        self._messages += results
        if kind == "question" or not results:
            self._messages.append({"role": "user", "content": "And now?"})
        if kind == "instructions":
            self._messages.append({"role": "system", "content": FURTHER})
        return True


Agent = ClaudeCode | Codex | Chat
CLIENTS: dict[str, type[ClaudeCode] | type[Codex] | type[Chat]] = {
    "Claude Code": ClaudeCode,
    "Codex": Codex,
    "chat": Chat,
}


def _text(text: str) -> Body:
    return {"type": "text", "text": text}


def _input(text: str) -> list[Body]:
    return [{"type": "input_text", "text": text}]
