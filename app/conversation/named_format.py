"""A format whose texts have names of control tokens, as those of a NamedTemplate have.

It writes the prompts of models without a chat template, the instructions of tools that a template
does not show, and calls and results as text. The control tokens in client text are broken first, so
that those of the written text are the format's own.

Instructions about a response schema are kept for each client: they take 0.2 ms, a look-up 0.01 ms.
"""

import marshal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any

from adapters.formats import Format, FormatError, OutputSpec, Tool

from ..concurrency import RecentValues
from ..errors import bad_request
from .control import ControlText, DeepArguments
from .fitting import too_deep
from .profile import Messages

#: bytes of instructions and their schemas; those of a schema of ten fields take 2 KB
MAX_BYTES = 1 << 20
#: of an entry, beside its text and its schema
ENTRY_BYTES = 1_000
_TAKEN_APART = ("tools", "response_schema", "response_grammar")
_PLAIN = attrgetter(*(each.name for each in fields(OutputSpec) if each.name not in _TAKEN_APART))


class NamedFormat:
    """See the module. Called with text as clients sent it."""

    def __init__(self, wire: Format, control: ControlText) -> None:
        self._wire = wire
        self._control = control
        self._instructions = RecentValues[str](MAX_BYTES)

    def prompt(self, messages: Messages, tools: Sequence[Tool], output: OutputSpec) -> str:
        """Return the prompt of messages. Raises ApiError 400 if the format cannot show one."""
        broken = []
        for at, message in enumerate(messages):
            try:
                broken.append(self._control.broken_message(message))
            except DeepArguments:
                raise too_deep(at) from None
        text = render_plain(self._wire, broken, self._tools(tools), self._output(output))
        return self._control.adopted(text)

    def instructions(
        self, tools: Sequence[Tool], output: OutputSpec, client: str | None = None
    ) -> str:
        """Return the text of a system message about the tools and the output. ``client``: for whose
        next requests it is kept; None: it is not.
        """
        if not (tools or output.instructions or output.tells_schema):
            return ""
        key = None if client is None or tools or output.tools else _identity(client, output)
        text = None if key is None else self._instructions.get(key)
        if text is None:
            text = self._wire.instructions(self._tools(tools), self._output(output))
            text = self._control.adopted(text)
            if key is not None:
                # the text has the description, which is in the key, too
                size = len(key[-1]) + 2 * sys.getsizeof(text) + ENTRY_BYTES
                self._instructions.keep(key, text, size)
        return text

    def choice_text(self, output: OutputSpec) -> str:
        """Return what the end of the conversation says about a required call."""
        return self._control.adopted(self._wire.choice_text(self._output(output)))

    def as_text(self, message: Mapping[str, Any], calls_before: int = 0) -> str | None:
        """Return an answer with calls, or a result; None: the format has no such text."""
        text = self._wire.as_text(self._control.broken_message(message), calls_before)
        return None if text is None else self._control.adopted(text)

    def _tools(self, tools: Sequence[Tool]) -> list[Tool]:
        names = ("name", "description", "parameters")
        return [replace(tool, **self._broken(tool, *names)) for tool in tools]

    def _output(self, output: OutputSpec) -> OutputSpec:
        names = ("tool_name", "barred", "response_name", "response_schema", "response_description")
        tools = tuple(replace(tool, **self._broken(tool, "name")) for tool in output.tools)
        return replace(output, tools=tools, **self._broken(output, *names))

    def _broken(self, owner: Tool | OutputSpec, *names: str) -> dict[str, Any]:
        return {name: self._control.broken(getattr(owner, name)) for name in names}


def _identity(client: str, output: OutputSpec) -> tuple[Any, ...] | None:
    """Return all that the instructions of an output without tools depend on, and the client, since
    clients share no entries; None: they are not kept.
    """
    if output.response_grammar is not None:
        return None
    try:
        # a version without references, which equal values may have in other places
        schema: Any = output.response_schema
        return (client, _PLAIN(output), marshal.dumps(schema, 2))
    except ValueError:
        # nested too deeply
        return None


def render_plain(
    wire: Format, messages: Messages, tools: Sequence[Tool], output: OutputSpec
) -> str:
    """Return the prompt as the format writes it."""
    try:
        return wire.render(messages, tools, output)
    except FormatError as error:
        raise bad_request(
            error.message, error.location.param or "messages", "invalid_value"
        ) from None
