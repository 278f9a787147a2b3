"""Files of requests to warm: chat completions, tools or schemas, one or many.

    {"messages": ..., "tools": ...}       a chat completion; the fields that make its grammar
    {"tools": ..., "response_format": ...}
    {"requests": [...]}                   many of these
    [{"type": "function", ...}, ...]      the tools of one request
    [...]                                 any other array: many, each of any kind
    {...}                                 any other object: a JSON schema, as a response format

A file is one such JSON text, or one per line.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..api import validated
from ..errors import ApiError, bad_request
from ..protocol import GrammarRequest, parse_json
from .environment import Unusable

#: bytes of one file: a hundred request bodies of the largest size
MAX_FILE_BYTES = 400 << 20

_OF_A_REQUEST = tuple(GrammarRequest.model_fields)
_TELLING = ("messages", "tools", "response_format")


@dataclass(frozen=True, slots=True)
class WarmupEntry:
    """One request and its place: the file, the line, and a JSON pointer into the text there."""

    file: Path
    line: int
    pointer: str
    request: GrammarRequest | ApiError

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" + (f"#{self.pointer}" if self.pointer else "")


def read_entries(file: Path) -> list[WarmupEntry]:
    """Return the requests of a file; an invalid one is its error. Raises Unusable."""
    try:
        size = file.stat().st_size
        if size > MAX_FILE_BYTES:
            raise Unusable(f"{file} has {size:,} bytes, and at most {MAX_FILE_BYTES:,} are read")
        data = file.read_bytes()
    except OSError as error:
        raise Unusable(f"{file} cannot be read: {error.strerror}") from None
    entries: list[WarmupEntry] = []
    for line, text in _texts(data):
        try:
            found = list(_requests(parse_json(text), ""))
        except ValueError as error:
            entries.append(WarmupEntry(file, line, "", bad_request(f"Not JSON: {error}.")))
            continue
        entries += [WarmupEntry(file, line, pointer, _as_request(raw)) for pointer, raw in found]
    return entries


def _texts(data: bytes) -> list[tuple[int, bytes]]:
    """Return JSON texts with the line where each begins."""
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    if len(lines) > 1 and _are_texts([line for _, line in lines], data):
        return lines
    return [(lines[0][0], data.strip())] if lines else []


def _are_texts(lines: list[bytes], data: bytes) -> bool:
    """If the first alone is one; or if all together are none, and a line that is not indented is.

    A text that is broken and spread over lines has what is whole in it indented.
    """
    if _is_json(lines[0]):
        return True
    return not _is_json(data) and any(_is_json(line) for line in lines if line[:1] in b"{[")


def _is_json(text: bytes) -> bool:
    try:
        parse_json(text)
    except ValueError:
        return False
    return True


def _requests(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    """Yield the requests in a JSON value, each with its place in it."""
    if isinstance(value, dict) and isinstance(value.get("requests"), list):
        for number, each in enumerate(value["requests"]):
            yield from _requests(each, f"{pointer}/requests/{number}")
    elif isinstance(value, dict):
        yield pointer, _of_object(value)
    elif isinstance(value, list) and value and all(_is_tool(each) for each in value):
        yield pointer, {"tools": value}
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _requests(each, f"{pointer}/{number}")
    else:
        yield pointer, value


def _is_tool(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "function"


def _of_object(value: dict[str, Any]) -> dict[str, Any]:
    if any(name in value for name in _TELLING):
        return {name: value[name] for name in _OF_A_REQUEST if name in value}
    schema = {"name": "schema", "schema": value}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _as_request(raw: Any) -> GrammarRequest | ApiError:
    if not isinstance(raw, dict):
        return bad_request("Expected a chat completion, tools or a JSON schema.")
    try:
        return validated(GrammarRequest, raw)
    except ApiError as error:
        return error
