"""A format whose texts have names of control tokens, as those of a NamedTemplate have.

It writes the prompts of models without a chat template, the instructions of tools that a template
does not show, and calls and results as text. The control tokens in client text are broken first, so
that those of the written text are the format's own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from adapters.formats import Format, FormatError, OutputSpec, Tool

from ..errors import bad_request
from .control import ControlText, DeepArguments
from .fitting import too_deep
from .profile import Messages


class NamedFormat:
    """See the module. Called with text as clients sent it."""

    def __init__(self, wire: Format, control: ControlText) -> None:
        self._wire = wire
        self._control = control

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

    def instructions(self, tools: Sequence[Tool], output: OutputSpec) -> str:
        """Return the text of a system message about the tools and the output."""
        if not (tools or output.instructions or output.tells_schema):
            return ""
        text = self._wire.instructions(self._tools(tools), self._output(output))
        return self._control.adopted(text)

    def choice_text(self, output: OutputSpec) -> str:
        """Return what the end of the conversation says about a required call."""
        return self._control.adopted(self._wire.choice_text(self._output(output)))

    def as_text(self, message: Mapping[str, Any]) -> str | None:
        """Return an answer with calls, or a result; None: the format has no such text."""
        text = self._wire.as_text(self._control.broken_message(message))
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
