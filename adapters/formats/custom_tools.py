"""Custom tools: calls whose input is one text instead of JSON arguments.

No family was trained on such calls, so a custom tool is offered as a function with the single
argument "input", a string. The grammar constrains its value, and the reader returns only the value:

    JSON        {"input": "..."}, the input as the inside of a JSON string
    Python      input="...", likewise
    elements    <parameter=input>...</parameter>, the input as it is, or as the inside of a JSON
                string if the style quotes strings
    Gemma       input:<|"|>...<|"|>, the input as it is

Text and regular expressions are schemas, which every notation can write. Lark grammars are nodes of
the structural tag between the texts around the value.

Not here    the texts around a call (families), the reading of inputs (reading.input_reader).
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from engine import SPEC_VERSION, Style, StyleRegion, style_of

from .output_spec import InputFormat, JsonLayout, Tool
from .parts import (
    ARGUMENTS,
    INPUT,
    JSON_STYLE,
    SYNTAX,
    Kind,
    Origin,
    Part,
    Role,
    const,
    either,
    json_value,
    regex,
    sequence,
    tag,
)

#: the name of the only argument
INPUT_ARGUMENT = "input"
#: white space where models vary it
_SPACE = "( |\\n {0,20})?"
#: of an element that is JSON, as the engine reports it
_JSON = Role(Kind.ARGUMENTS, region=StyleRegion.JSON)
_VALUE = Role(Kind.ARGUMENTS, region=StyleRegion.VALUE)
_NAMES = {"regex": "regular expression", "lark": "Lark grammar"}


def custom_tool(name: str, description: str, wanted: InputFormat, param: str = "") -> Tool:
    """Return the tool as the prompt shows it: its description contains the grammar."""
    texts = [description]
    if wanted.syntax != "text":
        texts.append(f"The input must match this {_NAMES[wanted.syntax]}:\n{wanted.definition}")
    about = "\n\n".join(filter(None, texts))
    return Tool(name, _schema({}), about, input=wanted, param=param)


def input_part(
    wanted: InputFormat, style: str | Style, param: str, layout: JsonLayout | None = None
) -> Part:
    """Return the arguments of a call, which contain one input.

    ``style``: of the family's arguments. ``param``: the field of the request that has the format.
    ``layout``: of JSON; None: any white space.
    """
    if wanted.syntax == "text":
        return json_value(_schema({}), ARGUMENTS, Origin(param), style)
    place = wanted.param or f"{param}.grammar.definition"
    origin = Origin(place, what="grammar", grammar=wanted)
    if wanted.syntax == "regex":
        # a pattern of JSON Schema is searched
        schema = _schema({"pattern": f"^(?:{wanted.definition})$"})
        return json_value(schema, ARGUMENTS, origin, style)
    if style == JSON_STYLE:
        begin, end = _around_json(layout)
        inside = lark(wanted.definition, ARGUMENTS, origin, inside_json=True)
        return sequence(begin, inside, end)
    chosen = style_of(style)
    if chosen.values == "python":
        return sequence(
            const(f'{INPUT_ARGUMENT}="', ARGUMENTS),
            lark(wanted.definition, ARGUMENTS, origin, inside_json=True),
            const('"', ARGUMENTS),
        )
    if chosen.values == "quoted":
        return _quoted(chosen, lark(wanted.definition, _VALUE, origin, inside_json=True))
    before, after = _around(chosen)
    raw = lark(wanted.definition, INPUT, origin)
    if any(chosen.wrap):
        begin, end = map(const, chosen.wrap)
        raw = either(raw, sequence(begin, raw, end))
    return sequence(*_flexible(before, chosen.glue), raw, const(after), regex(_SPACE))


def _around_json(layout: JsonLayout | None) -> tuple[Part, Part]:
    """Return the JSON around an input that is the inside of a string."""
    if layout is None:
        begin = f'\\{{{_SPACE}"{INPUT_ARGUMENT}"{_SPACE}:{_SPACE}"'
        return regex(begin, ARGUMENTS), regex(f'"{_SPACE}\\}}', ARGUMENTS)
    begin, _, end = layout.written({INPUT_ARGUMENT: ""}).rpartition('""')
    return const(f'{begin}"', ARGUMENTS), const(f'"{end}', ARGUMENTS)


def input_style(wanted: InputFormat, style: str | Style) -> str | Style:
    """Return the style in which the arguments of ``input_part`` are read."""
    is_raw = style != JSON_STYLE and style_of(style).values not in ("python", "quoted")
    return JSON_STYLE if wanted.syntax == "lark" and is_raw else style


def lark(text: str, role: Role, origin: Origin, *, inside_json: bool = False) -> Part:
    """Return the texts of a Lark grammar, which only this project's engine reads."""
    own = {"version": SPEC_VERSION, "syntax": "lark", "inside_json": inside_json}
    fields = {"type": "grammar", "grammar": text, "switchyard": own}
    return Part(fields, role, replace(origin, is_own=True))


def _schema(constraint: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {INPUT_ARGUMENT: {"type": "string", **constraint}},
        "required": [INPUT_ARGUMENT],
        "additionalProperties": False,
    }


def _around(style: Style) -> tuple[str, str]:
    """Return the texts around a raw value."""
    if style.quote:
        return f"{INPUT_ARGUMENT}:{style.quote}", style.quote
    kind = style.types.get("string", "")
    opened = style.open.replace("{key}", INPUT_ARGUMENT).replace("{type}", kind)
    return opened, style.close.replace("{key}", INPUT_ARGUMENT)


def _quoted(style: Style, inside: Part) -> Part:
    """Return an element whose value is a JSON string, with the regions of the engine's elements."""
    head, _, tail = style.open.partition("{key}")
    tail = tail.replace("{type}", style.types.get("string", ""))
    _, *begin = _flexible(tail, style.glue)
    quote = const('"', _VALUE)
    close = style.close.replace("{key}", INPUT_ARGUMENT)
    value = tag("", sequence(*begin, quote, inside, quote, const(close)), "", _JSON)
    return sequence(*_flexible(head, ""), const(INPUT_ARGUMENT, ARGUMENTS), value, regex(_SPACE))


def _flexible(text: str, glue: str) -> Iterator[Part]:
    """Yield a text that white space may precede, and replace at ``glue``."""
    for piece in re.split(f"(?<=>){glue}(?=<)", text) if glue else [text]:
        yield regex(_SPACE, SYNTAX)
        yield const(piece)
