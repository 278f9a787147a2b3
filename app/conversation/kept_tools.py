"""Tools as chat templates get them, kept with their JSON text for a client's next requests.

Templates write ten tools as JSON in 0.08 ms, a look-up takes 0.02 ms.

Representation   lists and objects as templates know them, with what ``tojson`` has written of each:
                 of the list, of a tool, of its function and of the function's parameters.
Key              the client and the tools, as bytes that differ wherever JSON differs. Clients share
                 no entries: no client can measure what another one has sent.
Bounds           MAX_BYTES of tools as objects and as texts (RecentValues). Texts may be much longer
                 than their values, which are nested and indented, so an entry has room for some
                 (TEXT_BYTE, TEXT_BYTES); further ones are written each time. MAX_TEXTS of a value.
Threads          any. No template changes a value.
Not here         the filter ``tojson`` (template_call).
"""

import marshal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import ReferenceType, ref

from adapters.formats import Tool

from ..concurrency import RecentValues, bytes_of_json

#: the tools of a coding agent take 0.1 to 1.5 MB
MAX_BYTES = 16 << 20
#: of an entry, and of each of its tools, beside their JSON
ENTRY_BYTES, TOOL_BYTES = 2_000, 1_500
#: room for texts: for each byte that marshal writes of the tools, and besides for each tool
TEXT_BYTE, TEXT_BYTES = 4, 1_500
#: of a text, beside the string
HELD_BYTES = 250
#: texts of a value; a template writes it in one or two ways
MAX_TEXTS = 4


#: tools in OpenAI's form, which chat templates expect, and bytes that tell them from others; None:
#: nothing of them is kept
KnownTools = tuple[list[Any], bytes | None]
#: the tools that an output spec had last: client, tools, KnownTools
_Last = tuple[str, Sequence[Tool], "ReferenceType[KeptList]", bytes | None]


class TextRoom:
    """The bytes that the texts of one entry may still take; none, until it is kept."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = 0

    def takes(self, text: str) -> bool:
        """Whether a text fits, which then counts. Threads may overdraw it by a text each."""
        size = sys.getsizeof(text) + HELD_BYTES
        fits = size <= self.left
        if fits:
            self.left -= size
        return fits


class KeptList(list[Any]):
    """A list with its JSON texts, by the options of ``tojson``."""

    __slots__ = ("__weakref__", "_room", "_texts")

    def __init__(self, values: Sequence[Any], room: TextRoom) -> None:
        super().__init__(values)
        self._room, self._texts = room, dict[str, str]()


class KeptObject(dict[str, Any]):
    """An object with its JSON texts, by the options of ``tojson``."""

    __slots__ = ("_room", "_texts")

    def __init__(self, values: Mapping[str, Any], room: TextRoom) -> None:
        super().__init__(values)
        self._room, self._texts = room, dict[str, str]()


def kept_json(write: Callable[..., str], value: Any, *args: Any, **options: Any) -> str:
    """Return what ``write``, the filter ``tojson``, writes of a value."""
    if type(value) is not KeptObject and type(value) is not KeptList:
        return write(value, *args, **options)
    how = repr((args, options)) if args or options else ""
    text = value._texts.get(how)
    if text is None:
        text = write(value, *args, **options)
        if len(value._texts) < MAX_TEXTS and value._room.takes(text):
            value._texts[how] = text
    return text


class KeptTools:
    """See the file's header."""

    def __init__(self, most_bytes: int = MAX_BYTES) -> None:
        self._kept = RecentValues[KeptList](most_bytes)

    def of(
        self, tools: Sequence[Tool], client: str | None, made: dict[object, Any] | None = None
    ) -> KnownTools:
        """Return the tools of a request. ``client``: None: they are not kept. ``made``: of the
        output spec that has the tools; it keeps no tools that this does not.
        """
        if client is None:
            return as_functions(tools), None
        made = {} if made is None else made
        last: _Last | None = made.get(self)
        if last is not None and last[0] == client and last[1] is tools:
            kept = last[2]()
            if kept is not None:
                return kept, last[3]
        kept, key = self._found(tools, client)
        made[self] = client, tools, ref(kept), key
        return kept, key

    def _found(self, tools: Sequence[Tool], client: str) -> tuple[KeptList, bytes | None]:
        try:
            # a version without references, which equal values may have in other places
            text = marshal.dumps([(t.name, t.description, t.parameters) for t in tools], 2)
        except ValueError:
            # nested too deeply
            return as_functions(tools), None
        kept = self._kept.get((client, text))
        if kept is None:
            room = TEXT_BYTE * len(text) + TEXT_BYTES * len(tools)
            kept = as_functions(tools)
            kept._room.left = room
            size = bytes_of_json(text) + room + TOOL_BYTES * len(tools) + ENTRY_BYTES
            self._kept.keep((client, text), kept, size)
        return kept, text


def as_functions(tools: Sequence[Tool]) -> KeptList:
    """Return tools in OpenAI's form."""
    room = TextRoom()
    return KeptList([as_function(tool, room) for tool in tools], room)


def as_function(tool: Tool, room: TextRoom) -> KeptObject:
    """Return a tool in OpenAI's form."""
    parameters = tool.parameters or {"type": "object", "properties": {}}
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": KeptObject(parameters, room),
    }
    return KeptObject({"type": "function", "function": KeptObject(function, room)}, room)
