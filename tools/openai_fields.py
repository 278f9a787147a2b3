"""The table in docs/api.md of all fields that OpenAI's client can send, and what the gateway does.

Run ``python -m tools.openai_fields`` after a change to the fields of ``app.protocol.chat_request``
or to the version of the client. A test compares the table.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

from openai.types.chat import ChatCompletionStreamOptionsParam
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)

from app.protocol.chat_request import IGNORED, INSTEAD, UNSUPPORTED, ChatRequest, StreamOptions

DOCUMENT = Path(__file__).parent.parent / "docs" / "api.md"
BEGIN, END = "<!-- begin of the generated table -->", "<!-- end of the generated table -->"
_HEAD = ["| field of OpenAI's client | gateway | accepted otherwise |", "|---|---|---|"]


class UnknownField(Exception):
    """The client has a field that the gateway neither serves nor names as ignored or refused."""


def client_fields() -> list[str]:
    """Return the fields of a chat completion, in their order."""
    kinds = (CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming)
    names = dict.fromkeys(name for kind in kinds for name in get_type_hints(kind))
    return sorted(names)


def rows(fields: list[str]) -> Iterator[str]:
    """Yield a row for each field. Raises UnknownField."""
    for name in fields:
        if name in ChatRequest.model_fields:
            yield f"| `{name}` | honoured | |"
        elif name in IGNORED:
            yield f"| `{name}` | ignored | |"
        elif name in UNSUPPORTED:
            off = ", ".join(f"`{json.dumps(value)}`" for value in UNSUPPORTED[name])
            yield f"| `{name}` | refused by name | {'. '.join([off, *_instead(name)])} |"
        else:
            raise UnknownField(
                f"OpenAI's client has the field {name!r}; serve it in ChatRequest, or add it to "
                "IGNORED or UNSUPPORTED (app/protocol/chat_request.py)"
            )
        if name == "stream_options":
            yield from _option_rows()


def _instead(name: str) -> list[str]:
    return [INSTEAD[name].rstrip(".")] if name in INSTEAD else []


def _option_rows() -> Iterator[str]:
    for option in sorted(get_type_hints(ChatCompletionStreamOptionsParam)):
        if option not in StreamOptions.model_fields:
            raise UnknownField(f"OpenAI's client has the field 'stream_options.{option}'")
        treatment = "ignored" if option == "include_obfuscation" else "honoured"
        yield f"| `stream_options.{option}` | {treatment} | |"


def table() -> str:
    """Return the table with its marks."""
    return "\n".join([BEGIN, *_HEAD, *rows(client_fields()), END])


def with_table(text: str, new: str) -> str:
    """Return a document with a new table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"the document has no marks {BEGIN} and {END}")
    return before + new + after


def main() -> int:
    """Write the table; return the exit status."""
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(with_table(text, table()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
