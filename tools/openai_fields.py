"""Tables in docs/api.md: the fields that OpenAI's client can send, and those of other servers.

Run ``python -m tools.openai_fields`` after a change to the fields of ``app.protocol.chat_request``,
to ``unserved_fields`` or ``fields_of_others``, or to the version of the client. A test compares the
tables.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

from openai.types.chat import ChatCompletionStreamOptionsParam
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)

from app.protocol.chat_request import ChatRequest
from app.protocol.fields_of_others import SOURCES
from app.protocol.sampling_fields import StreamOptions
from app.protocol.unserved_fields import IGNORED, INSTEAD, UNSUPPORTED

DOCUMENT = Path(__file__).parent.parent / "docs" / "api.md"
BEGIN, END = "<!-- begin of the generated table -->", "<!-- end of the generated table -->"
#: fields that an answer repeats, or to which it has its own value
ECHOED = ("service_tier",)
SOURCES_BEGIN = "<!-- begin of the generated table of ignored fields -->"
_SOURCES_HEAD = ["| source | fields |", "|---|---|"]
OTHER_BEGIN = "<!-- begin of the generated table of other servers' fields -->"
_OTHER_HEAD = ["| accepted | fields |", "|---|---|"]
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
        if name in ECHOED:
            yield f"| `{name}` | no effect, but part of the answer | |"
        elif name in ChatRequest.model_fields:
            yield f"| `{name}` | honoured | |"
        elif name in IGNORED:
            yield f"| `{name}` | ignored | |"
        elif name in UNSUPPORTED:
            off = _values((None, *UNSUPPORTED[name]))
            yield f"| `{name}` | refused by name | {'. '.join([off, *_instead(name)])} |"
        else:
            raise UnknownField(
                f"OpenAI's client has the field {name!r}; serve it in ChatRequest, or add it to "
                "IGNORED or UNSUPPORTED (app/protocol/unserved_fields.py)"
            )
        if name == "stream_options":
            yield from _option_rows()


def _values(values: tuple[Any, ...]) -> str:
    return ", ".join(f"`{json.dumps(value)}`" for value in values)


def _instead(name: str) -> list[str]:
    return [INSTEAD[name].rstrip(".")] if name in INSTEAD else []


def _option_rows() -> Iterator[str]:
    for option in sorted(get_type_hints(ChatCompletionStreamOptionsParam)):
        if option not in StreamOptions.model_fields:
            raise UnknownField(f"OpenAI's client has the field 'stream_options.{option}'")
        treatment = "ignored" if option == "include_obfuscation" else "honoured"
        yield f"| `stream_options.{option}` | {treatment} | |"


def other_rows() -> Iterator[str]:
    """Yield rows of the fields that only other clients have, by the values that mean "off"."""
    known = {*client_fields(), *ChatRequest.model_fields}
    by_values: dict[str, set[str]] = {}
    for name in set(UNSUPPORTED) - known:
        by_values.setdefault(_values(UNSUPPORTED[name]), set()).add(name)
    for values, names in sorted(by_values.items()):
        yield f"| {values or 'only `null`'} | {_names(names)} |"


def source_rows() -> Iterator[str]:
    """Yield rows of the fields that are ignored, by the source that has them."""
    for source, names in SOURCES.items():
        yield f"| {source} | {_names(set(names))} |"


def _names(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def table() -> str:
    """Return the table of OpenAI's fields with its marks."""
    return "\n".join([BEGIN, *_HEAD, *rows(client_fields()), END])


def other_table() -> str:
    """Return the table of other servers' fields with its marks."""
    return "\n".join([OTHER_BEGIN, *_OTHER_HEAD, *other_rows(), END])


def source_table() -> str:
    """Return the table of ignored fields with its marks."""
    return "\n".join([SOURCES_BEGIN, *_SOURCES_HEAD, *source_rows(), END])


def with_table(text: str, new: str) -> str:
    """Return a document with a new table between its marks, of which the first is the table's."""
    begin = new.partition("\n")[0]
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"the document has no marks {begin} and {END}")
    return before + new + after


def with_tables(text: str) -> str:
    """Return the document with all tables."""
    for new in (table(), other_table(), source_table()):
        text = with_table(text, new)
    return text


def main() -> int:
    """Write the table; return the exit status."""
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(with_tables(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
