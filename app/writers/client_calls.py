"""Calls of client tools in the output of a response.

    shell          begins at once, its commands are events while they grow. A call that is cut off
                   keeps the commands that are whole: half a command must not run
    other tools    OpenAI's types have no events for their arguments, and no item without them. So
                   the item begins and ends when they are whole

Arguments that are not whole, or not of the tool's shape, as a worker without a grammar may write
them, make no item of the tool: such a call is one of a function (response_items).
"""

from collections.abc import Iterator
from typing import Any, Literal, cast

from pydantic import ValidationError

from adapters.formats import StringReader

from ..protocol import ClientTool
from .response_types import ClientCallOutput, Event, ItemPlace, ItemStatus

#: the tool whose commands are events
STREAMED = "shell"
_CommandEvent = tuple[Literal["added", "delta", "done"], str]


def read_arguments(tool: ClientTool, text: str) -> dict[str, Any] | None:
    """Return the field of the item; None: the arguments are not whole, or of another shape."""
    try:
        members: dict[str, Any] = tool.arguments.validate_json(text, strict=True)
    except ValidationError:
        return None
    return {**tool.absent, **members}


class OpenClientCall:
    """A call of a client tool. ``is_streamed``: it begins before its arguments are whole."""

    def __init__(self, tool: ClientTool, name: str, place: ItemPlace, call_id: str) -> None:
        self.name, self.call_id = name, call_id
        self.is_streamed = tool.type == STREAMED
        self._tool, self._place = tool, place
        self._texts: list[str] = []
        self._commands = _Commands()

    @property
    def text(self) -> str:
        """The arguments so far."""
        return "".join(self._texts)

    def add(self, text: str) -> Iterator[Event]:
        """Add arguments and yield their events."""
        self._texts.append(text)
        if self.is_streamed:
            for index, (kind, piece) in self._commands.add(text):
                yield self._event(kind, index, piece)

    def _event(self, kind: Literal["added", "delta", "done"], index: int, text: str) -> Event:
        event = {
            "type": f"response.shell_call_command.{kind}",
            "output_index": self._place["output_index"],
            "command_index": index,
            "delta" if kind == "delta" else "command": text,
        }
        return cast(Event, event)

    def members(self) -> dict[str, Any] | None:
        """Return what the tool's field has; None: the arguments make no item."""
        members = read_arguments(self._tool, self.text)
        if members is None and self.is_streamed:
            return {"commands": list(self._commands.whole), **self._tool.absent}
        return members

    def item(self, members: dict[str, Any], status: ItemStatus) -> ClientCallOutput:
        """Return the item with these members of the tool's field."""
        tool = self._tool
        item = {
            "id": self._place["item_id"],
            "type": tool.call,
            "status": status,
            "call_id": self.call_id,
            tool.field: members,
            **tool.beside,
        }
        return cast(ClientCallOutput, item)


class _Commands:
    """The strings of the only array in a call's arguments, while they grow."""

    def __init__(self) -> None:
        self.whole: list[str] = []
        self._pieces: list[str] = []
        self._string: StringReader | None = None
        self._at: Literal["before", "inside", "behind"] = "before"

    def add(self, text: str) -> Iterator[tuple[int, _CommandEvent]]:
        """Yield the number of a command, and what is new about it."""
        while text:
            if self._string is None:
                text, is_new = self._skipped(text)
                if not is_new:
                    return
                self._string = StringReader()
                yield len(self.whole), ("added", "")
            if piece := self._string.text(text):
                self._pieces.append(piece)
                yield len(self.whole), ("delta", piece)
            if self._string.behind is None:
                return
            text, self._string = self._string.behind, None
            command = "".join(self._pieces)
            yield len(self.whole), ("done", command)
            self.whole.append(command)
            self._pieces.clear()

    def _skipped(self, text: str) -> tuple[str, bool]:
        """Return the text inside the next string, and whether one begins."""
        if self._at == "before":
            _, bracket, text = text.partition("[")
            self._at = "inside" if bracket else "before"
        between, quote, behind = text.partition('"')
        if self._at == "inside" and "]" in between:
            self._at = "behind"
        return behind, bool(quote) and self._at == "inside"
