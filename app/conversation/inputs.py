"""Inputs of a chat template: how it takes tools, and the variables without which it fails.

Most templates read the variable ``tools``, as ``apply_chat_template`` passes it. Others read a
variable of their own, such as ``xml_tools`` or ``functions``, or fail without a date or without
descriptions of a tool's properties. They are found as a profile is: by rendering.

Invariants       I1 names of models have no influence. I2 a template that shows ``tools`` gets
                 nothing else.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from typing import Any

from .profile import TOOL, TOOL_NAME, Messages, TemplateError, Tools, Variables

#: renders a conversation with all variables of a template, also ``tools``
Render = Callable[[Messages, Variables], str]

_TOOLS = "tools"
_QUESTION = [{"role": "user", "content": "worduser"}]


@dataclass(frozen=True, slots=True)
class TemplateInputs:
    """The inputs of a template besides the messages.

    ``tools``                   the variable in which it takes tools.
    ``is_text``                 it takes functions as JSON text, not a list of tools.
    ``requires_descriptions``   it fails if a property of a tool has no description.
    ``dates``                   variables that must hold a date.
    """

    tools: str = _TOOLS
    is_text: bool = False
    requires_descriptions: bool = False
    dates: tuple[str, ...] = ()

    def values(self, tools: Tools | None) -> dict[str, Any]:
        """Return the variables of a conversation with these tools."""
        given: Any = tools
        if tools and self.requires_descriptions:
            given = [_with_descriptions(tool) for tool in tools]
        if self.is_text:
            functions = [tool["function"] for tool in given or ()]
            given = json.dumps(functions, ensure_ascii=False, indent=4) if functions else ""
        if not self.dates:
            return {self.tools: given}
        return {**dict.fromkeys(self.dates, date.today().isoformat()), self.tools: given}


#: the inputs that most templates take
_USUAL = TemplateInputs()


def inputs_of(render: Render, source: str) -> TemplateInputs:
    """Return the inputs with which a template shows tools; the usual ones if it shows none.

    ``source``: the template's text.
    """
    return next((each for each in _choices(source) if _shows(render, each)), _USUAL)


def _choices(source: str) -> Iterator[TemplateInputs]:
    """Yield possible inputs, those with fewer requirements first."""
    yield _USUAL
    names = undeclared(source)
    dates = tuple(name for name in names if "date" in name or "time" in name)
    takers = [name for name in names if "tool" in name or "function" in name]
    forms = [(_TOOLS, False), *product((n for n in takers if n != _TOOLS), (False, True))]
    for is_dated, is_described, (name, is_text) in product((False, True), (False, True), forms):
        yield TemplateInputs(name, is_text, is_described, dates if is_dated else ())


def _shows(render: Render, inputs: TemplateInputs) -> bool:
    try:
        return TOOL_NAME in render(_QUESTION, inputs.values([TOOL]))
    except TemplateError:
        return False


def undeclared(source: str) -> Sequence[str]:
    """Return the variables that a template reads and does not set, in their order."""
    from jinja2 import Environment, TemplateSyntaxError, meta

    try:
        parsed = Environment(extensions=["jinja2.ext.loopcontrols"]).parse(source)
    except TemplateSyntaxError:
        return ()
    return sorted(meta.find_undeclared_variables(parsed), key=source.find)


def _with_descriptions(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool whose properties all have descriptions."""
    function = tool["function"]
    parameters = function["parameters"]
    properties = parameters.get("properties")
    if not isinstance(properties, Mapping):
        return dict(tool)
    described = {
        name: {**each, "description": each.get("description", "")}
        if isinstance(each, Mapping)
        else each
        for name, each in properties.items()
    }
    return {**tool, "function": {**function, "parameters": {**parameters, "properties": described}}}
