"""Hostile bodies of chat completions and responses, each with the answer that it must get.

Every body is as long as the limit allows, or as rich in values, whichever comes first.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

#: the defaults of SWITCHYARD_MAX_BODY_BYTES and SWITCHYARD_MAX_JSON_VALUES
BYTES, VALUES = 4 << 20, 100_000
#: how much larger bodies with images may be
IMAGES = 8


@dataclass(frozen=True)
class Kind:
    """``make`` takes the bytes that a body may have, BYTES ``times`` this. ``code``: None where the
    status is 200.
    """

    make: Callable[[int], bytes]
    status: int
    code: str | None
    path: str = "/v1/chat/completions"
    times: int = 1


def _filled(before: str, unit: str, after: str, most: int | None = None) -> Callable[[int], bytes]:
    """As many units as fit, ``most`` at most; their last character is a comma, which goes."""

    def make(size: int) -> bytes:
        units = (size - len(before.encode()) - len(after)) // len(unit.encode())
        units = units if most is None else min(units, most)
        return (before + (unit * units)[:-1] + after).encode()

    return make


_HEAD = '{"model": "noise", "max_completion_tokens": 4'
_ASKED = _HEAD + ', "messages": [{"role": "user", "content": "hi"}]'
_CONTENT = _HEAD + ', "messages": [{"role": "user", "content": "'
_CALL = '{"id": "%s", "type": "function", "function": {"name": "f", "arguments": "{}"}},'


def _names(size: int) -> bytes:
    names = ",".join(f'"{number:07x}":0' for number in range(min(VALUES - 10, size // 13)))
    return f"{_ASKED},{names}}}".encode()


def _calls(size: int) -> bytes:
    """Assistant messages with many calls of one name, none of them answered."""
    number = count()
    calls = ",".join((_CALL % next(number))[:-1] for _ in range(2000))
    message = f'{{"role": "assistant", "tool_calls": [{calls}]}}'
    fitting = min((size - 100) // (len(message) + 1), VALUES // (2000 * 6))
    return f'{_HEAD}, "messages": [{",".join([message] * fitting)}]}}'.encode()


def _allowed(size: int) -> bytes:
    tools = [{"type": "function", "function": {"name": f"f{n}"}} for n in range(1000)]
    chosen = {"mode": "auto", "tools": [tools[-1]] * 2000}
    choice = {"type": "allowed_tools", "allowed_tools": chosen}
    text = f'{_ASKED}, "tools": {json.dumps(tools)}, "tool_choice": {json.dumps(choice)}}}'
    return text.encode() + b" " * (size - len(text))


def _strict(size: int) -> bytes:
    """A schema that breaks OpenAI's rules at its last place only."""
    leaf = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    number = min(VALUES // 9, size // 120)
    properties: dict[str, Any] = {f"p{at}": leaf for at in range(number)}
    schema = {**leaf, "properties": properties, "required": list(properties)}
    schema["properties"] = {**properties, f"p{number - 1}": {**leaf, "minProperties": 1}}
    answer = {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": schema}}
    return f'{_ASKED}, "response_format": {json.dumps(answer)}}}'.encode()[:BYTES]


_RESPONSE = '{"model": "noise", "max_output_tokens": 4, "stream": true'
_PATH = "/v1/responses"
_ENUM = (
    f'{_RESPONSE}, "input": "hi", "tool_choice": "none", '
    '"tools": [{"type": "function", "name": "f", "parameters": {"enum": ['
)
#: an image of an earlier message, which may be damaged
_IMAGE = (
    _HEAD
    + ', "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": '
    '"data:image/png;base64,'
)
_AFTER = '"}}]}, {"role": "assistant", "content": ""}, {"role": "user", "content": ""}]}'
_ITEM = '{"role": "user", "content": [{"type": "input_text", "text": "%s"}]},'


def _references(size: int) -> bytes:
    """References to items of as many unknown responses."""
    items = [{"type": "item_reference", "id": f"msg_{number:032x}o0"} for number in range(2048)]
    return f'{_RESPONSE}, "input": {json.dumps(items)}}}'.encode()


_EXPLAIN = "/v1/grammars/explain"


def _explanation(schema: Any, output: str) -> Callable[[int], bytes]:
    answer = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    body = json.dumps({"response_format": answer, "output": output}).encode()
    return lambda size: body


def _wide_arrays() -> Any:
    """Rows with an item for each alternative."""
    return {
        "anyOf": [
            {"type": "array", "items": {"properties": {f"k{n}": {"const": n}}}} for n in range(900)
        ]
    }


def _members() -> tuple[Any, str]:
    """An output with a row for each of its bytes."""
    schema = {"type": "object", "properties": {f"p{n}": {"type": "integer"} for n in range(2000)}}
    return schema, "{" + ",".join(f'"p{n}":1' for n in range(800)) + "]"


_LONG_NAME = {"n" * 100_000: {"properties": {f"p{n}": {"pattern": "(a+)\\1"} for n in range(40)}}}

BODIES: dict[str, Kind] = {
    "null tools": Kind(_filled(f'{_ASKED}, "tools": [', "null,", "]}"), 400, "too_many_values"),
    "null tools within the bound": Kind(
        _filled(f'{_ASKED}, "tools": [', "null,", "]}", VALUES - 10), 400, "invalid_type"
    ),
    "bad messages": Kind(
        _filled(_HEAD + ', "messages": [', '{"role": "x"},', "]}"), 400, "too_many_values"
    ),
    "bad messages within the bound": Kind(
        _filled(_HEAD + ', "messages": [', '{"role": "x"},', "]}", VALUES // 2 - 10),
        400,
        "invalid_value",
    ),
    "many messages": Kind(
        _filled(_HEAD + ', "messages": [', '{"role":"user","content":""},', "]}", VALUES // 4),
        400,
        "array_above_max_length",
    ),
    "digits": Kind(_filled(_CONTENT, "1" * 299 + "a,", '"}]}'), 200, None),
    "a long number": Kind(_filled(f'{_ASKED}, "seed": ', "11", "}"), 400, "invalid_json"),
    "exponents": Kind(
        _filled(f'{_ASKED}, "metadata": [', "1e5,", "]}", VALUES - 10), 200, None
    ),
    "arrays": Kind(_filled(f'{_ASKED}, "metadata": [', "[],", "]}"), 400, "too_many_values"),
    "arrays within the bound": Kind(
        _filled(f'{_ASKED}, "metadata": [', "[],", "]}", VALUES // 2 - 10), 200, None
    ),
    "objects within the bound": Kind(
        _filled(f'{_ASKED}, "metadata": [', '{"":{}},', "]}", VALUES // 3 - 10), 200, None
    ),
    "deep": Kind(_filled(f'{_ASKED}, "metadata": ', "[", "}", VALUES - 10), 400, "invalid_json"),
    "unknown names": Kind(_names, 400, "invalid_value"),
    "strings without an end": Kind(_filled(_CONTENT, '\\"', ""), 400, "invalid_json"),
    "calls": Kind(_calls, 400, "invalid_value"),
    "allowed tools": Kind(_allowed, 200, None),
    "a strict schema": Kind(_strict, 400, "invalid_json_schema"),
    "prose": Kind(_filled(_CONTENT, "the quick brown fox, 3e7 of them. ", '"}]}'), 200, None),
    "escapes": Kind(_filled(_CONTENT, "\\u1234,", '"}]}'), 200, None),
    "JSON in a string": Kind(_filled(_CONTENT, '{\\"a\\":[1,2,3]},', '"}]}'), 200, None),
    "an image": Kind(_filled(_IMAGE, "QUJD", _AFTER), 200, None, times=IMAGES),
    "an image with escapes": Kind(_filled(_IMAGE, "\\/QA", _AFTER), 200, None, times=IMAGES),
    "an image in what is no JSON": Kind(
        _filled(_IMAGE, "QUJD", _AFTER[:-1]), 400, "invalid_json", times=IMAGES
    ),
    "a text like an image": Kind(
        _filled(f"{_CONTENT};base64,", "QUJD", '"}]}'), 413, "request_too_large", times=IMAGES
    ),
    "control tokens": Kind(_filled(_CONTENT, "<|im_start|>,", '"}]}'), 200, None),
    "a response of prose": Kind(
        _filled(f'{_RESPONSE}, "input": "', "the quick brown fox, 3e7 of them. ", '"}'),
        200, None, _PATH,
    ),
    "a response of many items": Kind(
        _filled(f'{_RESPONSE}, "input": [', _ITEM % ("x" * 1900), "]}", 2048), 200, None, _PATH
    ),
    "a response of too many items": Kind(
        _filled(f'{_RESPONSE}, "input": [', _ITEM % "", "]}", VALUES // 8),
        400, "array_above_max_length", _PATH,
    ),
    "a response of bad items": Kind(
        _filled(f'{_RESPONSE}, "input": [', '{"type": 5},', "]}", VALUES // 2 - 10),
        400, "invalid_value", _PATH,
    ),
    "a response of references": Kind(_references, 404, None, _PATH),
    "a response that repeats a large tool": Kind(
        _filled(_ENUM, "1234567,", "]}}]}", VALUES - 100), 200, None, _PATH
    ),
    "an explanation of wide arrays": Kind(
        _explanation(_wide_arrays(), "[{"), 200, None, _EXPLAIN
    ),
    "an explanation of a long output": Kind(_explanation(*_members()), 200, None, _EXPLAIN),
    "an explanation with a long name": Kind(
        _explanation({"properties": _LONG_NAME}, "{"), 200, None, _EXPLAIN
    ),
}  # fmt: skip


def heavy_schema(rng: Random) -> dict[str, Any]:
    """A schema that no cache holds yet, and that takes the compiler a while."""
    salt = f"{rng.getrandbits(40):x}"
    member = {
        "name": {"type": "string", "pattern": f"^{salt}[a-z0-9]{{1,40}}(-[a-z]{{2,9}}){{0,9}}$"},
        "kind": {"enum": [f"{salt}{number}" for number in range(300)]},
        "size": {"type": "number", "multipleOf": rng.randrange(2, 900), "maximum": 1e6},
        "at": {"type": "string", "format": "date-time"},
    }
    return {
        "type": "object",
        "properties": {
            f"{salt}{number}": {"type": "object", "properties": member} for number in range(40)
        },
    }
