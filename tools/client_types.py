"""A table in docs/api.md: what becomes of the fields and types of OpenAI's and Anthropic's clients.

Run ``python -m tools.client_types`` after a change to the bodies of responses and messages, or to
the versions of the clients. A test compares the table, which fails for a field or a type that has
no treatment.
"""

import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from anthropic.types import beta
from anthropic.types.beta import message_create_params
from openai.types.responses import response_create_params
from openai.types.responses.response_function_call_output_item_param import (
    ResponseFunctionCallOutputItemParam,
)
from openai.types.responses.response_input_message_content_list_param import (
    ResponseInputContentParam,
)
from openai.types.responses.response_input_param import ResponseInputItemParam
from openai.types.responses.response_output_message_param import Content
from openai.types.responses.tool_param import ToolParam
from pydantic import BaseModel

from app.protocol.anthropic import content, request, tools
from app.protocol.media import IMAGES, MEDIA
from app.protocol.responses import items
from app.protocol.responses import request as responses
from app.protocol.responses import tools as response_tools
from app.protocol.responses.client_tools import CLIENT_TOOLS
from tools.openai_fields import DOCUMENT, UnknownField, with_table

BEGIN = "<!-- begin of the generated table of types -->"
END = "<!-- end of the generated table -->"
HONOURED, NAMED, SILENT, REFUSED = "honoured", "ignored, named", "no effect", "refused"
_HEAD = [
    f"| | {HONOURED} | {NAMED} | {SILENT} | {REFUSED}, unless it is off |",
    "|---|---|---|---|---|",
]
#: fields of responses that are repeated in the response, or that concern what is not served
_REPEATED = (
    *("max_tool_calls", "metadata", "prompt_cache_key", "prompt_cache_retention"),
    *("safety_identifier", "stream_options", "user"),
)
#: fields of responses that are named if they have an unusual value
_NAMED = (*responses.RESPONSES_NAMED, "truncation")


@dataclass(frozen=True, slots=True)
class Row:
    """``known``: the names that the client has; ``treated``: those that have each treatment."""

    title: str
    known: Collection[str]
    treated: Mapping[str, Collection[str]]
    notes: Mapping[str, str]

    def cells(self) -> Iterator[str]:
        """Yield the cells of the row. Raises UnknownField."""
        for name in sorted(self.known):
            if not any(name in names for names in self.treated.values()):
                raise UnknownField(f"{self.title} of the client: {name!r} has no treatment")
        yield self.title
        for treatment in (HONOURED, NAMED, SILENT, REFUSED):
            names = sorted(set(self.known) & set(self.treated.get(treatment, ())))
            yield ", ".join(f"`{name}` {self.notes.get(name, '')}".strip() for name in names)


def types_of(kind: Any) -> set[str]:
    """Return the types of the objects in a union of a client's types."""
    if isinstance(kind, type):
        if issubclass(kind, BaseModel):
            field = kind.model_fields.get("type")
            hint = field and field.annotation
        else:
            hint = get_type_hints(kind).get("type")
        return {name for name in _literals(hint) if isinstance(name, str)}
    return {name for each in get_args(kind) for name in types_of(each)}


def _literals(hint: Any) -> Iterator[Any]:
    for each in get_args(hint):
        yield from _literals(each) if get_args(each) else (each,)


def _response_fields() -> Row:
    base = response_create_params.ResponseCreateParamsBase
    effectless = {*responses.RESPONSES_IGNORED, *_REPEATED} - {*_NAMED}
    honoured = set(responses.ResponseRequest.model_fields) - {*_REPEATED, *_NAMED}
    return Row(
        "fields of responses",
        {*base.__annotations__, "stream"},
        {
            HONOURED: honoured,
            NAMED: _NAMED,
            SILENT: effectless,
            REFUSED: responses.RESPONSES_UNSUPPORTED,
        },
        {"truncation": "(`auto`)"},
    )


def _items() -> Row:
    known = types_of(ResponseInputItemParam)
    return Row("items of the input", known, {HONOURED: items.KINDS, NAMED: items.LEFT_OUT}, {})


def _parts() -> Row:
    kinds = (ResponseInputContentParam, Content, ResponseFunctionCallOutputItemParam)
    unread = tuple(kind for kind in MEDIA if kind not in IMAGES)
    return Row(
        "content parts of items",
        {name for kind in kinds for name in types_of(kind)},
        {HONOURED: ("input_text", "output_text", "refusal", *IMAGES), NAMED: unread},
        dict.fromkeys(unread, "(400 in the last message of a user)"),
    )


def _response_tools() -> Row:
    offered = ("function", "custom", "namespace", *CLIENT_TOOLS)
    return Row(
        "tools of responses",
        types_of(ToolParam),
        {HONOURED: offered, NAMED: response_tools.HOSTED},
        {},
    )


def _message_fields() -> Row:
    named = set(request.MESSAGES_IGNORED) - set(request.SILENT)
    return Row(
        "fields of messages",
        {*message_create_params.MessageCreateParamsBase.__annotations__, "stream"},
        {
            HONOURED: set(request.MessagesRequest.model_fields) - {"thread"},
            NAMED: named,
            SILENT: request.SILENT,
            REFUSED: ("thread",),
        },
        {},
    )


def _blocks() -> Row:
    known = types_of(beta.BetaContentBlockParam)
    return Row("blocks of messages", known, {HONOURED: content.BLOCKS, NAMED: content.LEFT_OUT}, {})


def _message_tools() -> Row:
    families = {tools.tool_family(each) for each in types_of(beta.BetaToolUnionParam)}
    offered = ("custom", *tools.CLIENT_TOOLS)
    return Row("tools of messages", families, {HONOURED: offered, NAMED: tools.SERVER_TOOLS}, {})


def rows() -> list[Row]:
    """Return the rows of the table."""
    return [
        *(_response_fields(), _items(), _parts(), _response_tools()),
        *(_message_fields(), _blocks(), _message_tools()),
    ]


def table() -> str:
    """Return the table with its marks. Raises UnknownField."""
    lines = [f"| {' | '.join(row.cells())} |" for row in rows()]
    return "\n".join([BEGIN, *_HEAD, *lines, END])


def main() -> int:
    """Write the table; return the exit status."""
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(with_table(text, table()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
