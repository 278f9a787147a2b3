"""Items of client tools in the input: calls and their results.

Agents send their whole history again, so an item that cannot be read is left out, never refused.
"""

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ..validation import Lenient
from .client_tools import CLIENT_TOOLS, ClientTool

#: characters of an item's id; own ids have about 45
ID_CHARS = 128
ItemId = Annotated[str, Field(min_length=1, max_length=ID_CHARS)]


def _own_id(value: Any) -> Any:
    is_id = isinstance(value, str) and 0 < len(value) <= ID_CHARS
    return value if is_id else None


#: the id of an item; one that no server writes counts as absent
PastId = Annotated[str | None, BeforeValidator(_own_id, json_schema_input_type=Any)]

_CALLS = {each.call: each for each in CLIENT_TOOLS.values()}
_RESULTS = {each.result: each for each in CLIENT_TOOLS.values()}
CLIENT_CALLS, CLIENT_RESULTS = tuple(_CALLS), tuple(_RESULTS)


class HistoryItem(Lenient):
    """An item that is left out, never refused, if it cannot be read."""

    id: PastId = None
    status: str | None = None
    call_id: str | None = None
    caller: Any = None

    @model_validator(mode="before")
    @classmethod
    def _readable(cls, value: Any) -> Any:
        """Drop a status that no server writes."""
        if not isinstance(value, dict):
            return value
        status = value.get("status")
        return {**value, "status": status if isinstance(status, str) else None}

    def listed(self) -> dict[str, Any]:
        """Return the item as the API lists it, without its id."""
        shown = self.model_dump(exclude={"id"}, exclude_none=True)
        return {**shown, "status": self.status or "completed"}


class ClientCallItem(HistoryItem):
    """A call; ``action`` or ``operation`` has its arguments."""

    type: Literal[CLIENT_CALLS]  # type: ignore[valid-type]
    action: dict[str, Any] | None = None
    operation: dict[str, Any] | None = None
    environment: Any = None

    @property
    def tool(self) -> ClientTool:
        """The tool that is called."""
        return _CALLS[self.type]

    @property
    def arguments(self) -> str:
        """The arguments as the model wrote them: without null."""
        members = (self.action if self.tool.field == "action" else self.operation) or {}
        written = {name: each for name, each in members.items() if each is not None}
        return json.dumps(written, ensure_ascii=False)


class ClientResultItem(HistoryItem):
    """A result. One of a local shell has the id of the call as its own."""

    type: Literal[CLIENT_RESULTS]  # type: ignore[valid-type]
    output: Any = None
    max_output_length: Any = None

    @property
    def answers(self) -> str:
        """The id of the call."""
        return self.call_id or self.id or ""

    @property
    def text(self) -> str:
        """The result as the model sees it."""
        if self.type == "apply_patch_call_output":
            told = ("failed" if self.status == "failed" else "", _text(self.output))
            return ": ".join(filter(None, told)) or "completed"
        if self.type == "shell_call_output" and isinstance(self.output, list):
            return "\n".join(line for each in self.output for line in _lines(each))
        return _text(self.output)


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _lines(piece: Any) -> Iterator[str]:
    """Yield the output of a command, and how it ended."""
    if not isinstance(piece, dict):
        yield _text(piece)
        return
    for name in ("stdout", "stderr"):
        if text := _text(piece.get(name)):
            yield f"{name}:\n{text}"
    match piece.get("outcome"):
        case {"type": "timeout"}:
            yield "The command timed out."
        case {"exit_code": code}:
            yield f"exit code: {code}"


def is_readable(value: dict[str, Any]) -> bool:
    """Whether an item of a client tool names its call, and a call has its arguments."""
    kind, call_id = value["type"], value.get("call_id")
    if kind == "local_shell_call_output" and call_id is None:
        call_id = value.get("id")
        if isinstance(call_id, str) and len(call_id) > ID_CHARS:
            return False
    if not isinstance(call_id, str) or not call_id:
        return False
    if kind in _RESULTS:
        return True
    return isinstance(value.get(_CALLS[kind].field), dict) and all(
        isinstance(value.get(name), dict | None) for name in ("action", "operation")
    )
