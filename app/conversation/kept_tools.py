"""Tools as chat templates get them, kept with their JSON text for a client's next requests.

Templates write ten tools as JSON in 0.08 ms, a look-up takes 0.02 ms.

Representation   lists and objects as templates know them, with what ``tojson`` has written of each:
                 of the list, of a tool, of its function and of the function's parameters.
Key              the client and the tools, as bytes that differ wherever JSON differs. Clients share
                 no entries: no client can measure what another one has sent.
Bounds           MAX_BYTES of tools as objects and as texts (RecentValues); MAX_TEXTS of each value.
Threads          any. No template changes a value.
Not here         the filter ``tojson`` (template_call).
"""

import marshal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adapters.formats import Tool

from ..concurrency import RecentValues, bytes_of_json

#: the tools of a coding agent take 0.1 to 1.5 MB
MAX_BYTES = 16 << 20
#: of an entry, beside its JSON
ENTRY_BYTES = 2_000
#: texts of a value; a template writes it in one or two ways
MAX_TEXTS = 4


#: tools in OpenAI's form, which chat templates expect, and bytes that tell them from others; None:
#: nothing of them is kept
KnownTools = tuple[list[Any], bytes | None]


class KeptList(list[Any]):
    """A list with its JSON texts, by the options of ``tojson``."""

    __slots__ = ("_texts",)

    def __init__(self, values: Sequence[Any]) -> None:
        super().__init__(values)
        self._texts: dict[str, str] = {}


class KeptObject(dict[str, Any]):
    """An object with its JSON texts, by the options of ``tojson``."""

    __slots__ = ("_texts",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._texts: dict[str, str] = {}


def kept_json(write: Callable[..., str], value: Any, *args: Any, **options: Any) -> str:
    """Return what ``write``, the filter ``tojson``, writes of a value."""
    if type(value) is not KeptObject and type(value) is not KeptList:
        return write(value, *args, **options)
    how = repr((args, options)) if args or options else ""
    text = value._texts.get(how)
    if text is None:
        text = write(value, *args, **options)
        if len(value._texts) < MAX_TEXTS:
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
        output spec that has the tools.
        """
        if client is None:
            return as_functions(tools), None
        made = {} if made is None else made
        last: tuple[str, Sequence[Tool], KnownTools] | None = made.get(self)
        if last is None or last[0] != client or last[1] is not tools:
            last = made[self] = client, tools, self._found(tools, client)
        return last[2]

    def _found(self, tools: Sequence[Tool], client: str) -> KnownTools:
        try:
            # a version without references, which equal values may have in other places
            text = marshal.dumps([(t.name, t.description, t.parameters) for t in tools], 2)
        except ValueError:
            # nested too deeply
            return as_functions(tools), None
        kept = self._kept.get((client, text))
        if kept is None:
            kept = as_functions(tools)
            self._kept.keep((client, text), kept, bytes_of_json(text) + ENTRY_BYTES)
        return kept, text


def as_functions(tools: Sequence[Tool]) -> KeptList:
    """Return tools in OpenAI's form."""
    return KeptList([as_function(tool) for tool in tools])


def as_function(tool: Tool) -> KeptObject:
    """Return a tool in OpenAI's form."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": KeptObject(tool.parameters or {"type": "object", "properties": {}}),
    }
    return KeptObject({"type": "function", "function": KeptObject(function)})
