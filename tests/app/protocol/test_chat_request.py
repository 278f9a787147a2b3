"""Bodies: what is a request, and how each mistake is named."""

import json
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from app.api.body import has_more_values
from app.api.body_limit import BodyLimit, read_body
from app.errors import ApiError
from app.protocol import messages, tools
from app.protocol.chat_request import ChatRequest
from app.protocol.check_request import CheckRequest
from app.protocol.sampling_fields import StreamOptions
from app.protocol.validation import MAX_ITEMS, MAX_NAMES
from app.protocol.warmup_request import WarmupRequest
from tests.app.bodies import parse_as, parse_request
from tests.app.openapi.described import refused_by_document

USER = {"role": "user", "content": "hi"}
BASE: dict[str, Any] = {"model": "noise", "messages": [USER]}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def refusal(body: bytes | dict[str, Any]) -> ApiError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(ApiError) as caught:
        parse_request(raw)
    assert caught.value.status == 400
    assert caught.value.type == "invalid_request_error"
    return caught.value


NOT_JSON = {
    "empty": b"",
    "cut off": b'{"model": "noise", "messages": [',
    "trailing text": json.dumps(BASE).encode() + b"}",
    "invalid UTF-8": b'{"model": "\xff\xfe"}',
    "UTF-16": json.dumps(BASE).encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf" + json.dumps(BASE).encode(),
    "NaN": b'{"temperature": NaN}',
    "Infinity": b'{"temperature": Infinity}',
    "a number beyond floats": b'{"model": "m", "seed": 1e999}',
    "a number of 5,000 digits": b'{"seed": ' + b"9" * 5000 + b"}",
    "a lone surrogate in what is no JSON": b'{"model": "\\ud800",}',
    "a raw line end in a string": b'{"model": "a\nb"}',
    "10,000 arrays deep": b"[" * 10_000 + b"]" * 10_000,
    "10,000 objects deep": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "10,000 deep inside a schema": b'{"model":"noise","messages":[],"tools":[{"type":"function",'
    b'"function":{"name":"f","parameters":' + b'{"items":' * 10_000 + b"{}" + b"}" * 10_004,
}


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_what_is_not_json_is_refused(body: bytes):
    assert refusal(body).code == "invalid_json"


#: (body, param, what holds the surrogate, the surrogate, its character's number)
LONE: dict[str, tuple[str, str | None, str, str, int]] = {
    "a value": (r'{"model": "ab\ud800c"}', "model", "'model'", "D800", 3),
    "the first of several": (r'{"a": ["x", "\udfff", "\ud800"]}', "a[1]", "'a[1]'", "DFFF", 1),
    "a pair the wrong way": (r'{"model": "\udc00\ud83d"}', "model", "'model'", "DC00", 1),
    "behind a pair": (r'{"model": "\ud83d\ude00\ud83d"}', "model", "'model'", "D83D", 2),
    "a key": (r'{"metadata": {"a\uDBFF": 1}}', "metadata", "a key in 'metadata'", "DBFF", 2),
    "a key of the body": (r'{"\udfff": 1}', None, "a key in 'body'", "DFFF", 1),
    "no object": (r'"\ud800"', None, "'body'", "D800", 1),
    "deep in a schema": (
        r'{"tools": [{"function": {"parameters": {"anyOf": [{}, {"enum": ["\ud800"]}]}}}]}',
        "tools[0].function.parameters.anyOf[1].enum[0]",
        "'tools[0].function.parameters.anyOf[1].enum[0]'",
        "D800",
        1,
    ),
}


@pytest.mark.parametrize(("body", "param", "where", "code", "at"), LONE.values(), ids=LONE.keys())
def test_a_lone_surrogate_is_named_with_its_place(
    body: str, param: str | None, where: str, code: str, at: int
):
    error = refusal(body.encode())
    assert (error.status, error.param, error.code) == (400, param, "invalid_value")
    assert error.message == (
        f"Invalid value: {where} holds a lone surrogate, U+{code} at character {at}; "
        "text must be Unicode."
    )


def test_bytes_of_a_lone_surrogate_are_named_too():
    assert refusal(b'{"model": "a\xed\xa0\x80"}').param == "model"


#: (what is changed in a good body, param, code)
MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"model": 3}, "model", "invalid_type"),
    ({"messages": ...}, "messages", "missing_required_parameter"),
    ({"messages": []}, "messages", "empty_array"),
    ({"messages": "hi"}, "messages", "invalid_type"),
    ({"messages": ["hi"]}, "messages[0]", "invalid_type"),
    ({"messages": [{"content": "hi"}]}, "messages[0].role", "missing_required_parameter"),
    ({"messages": [{**USER, "role": None}]}, "messages[0].role", "missing_required_parameter"),
    ({"messages": [{**USER, "role": ["user"]}]}, "messages[0].role", "invalid_type"),
    ({"messages": [{**USER, "role": 3}]}, "messages[0].role", "invalid_type"),
    ({"messages": [{"role": "robot", "content": ""}]}, "messages[0].role", "invalid_value"),
    ({"messages": [{"role": "user"}]}, "messages[0].content", "missing_required_parameter"),
    ({"messages": [USER, {**USER, "content": 3}]}, "messages[1].content", "invalid_type"),
    ({"messages": [{**USER, "content": 3}]}, "messages[0].content", "invalid_type"),
    (
        {"messages": [{**USER, "content": [{"type": "text"}]}]},
        "messages[0].content[0].text",
        "missing_required_parameter",
    ),
    (
        {"messages": [{**USER, "content": [{"type": "image_url", "image_url": {}}]}]},
        "messages[0].content[0].image_url.url",
        "missing_required_parameter",
    ),
    (
        {"messages": [{"role": "tool", "content": "", "tool_call_id": 1}]},
        "messages[0].tool_call_id",
        "invalid_type",
    ),
    (
        {"messages": [{"role": "assistant", "tool_calls": ["a"]}]},
        "messages[0].tool_calls[0]",
        "invalid_type",
    ),
    (
        {"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "type": "custom"}]}]},
        "messages[0].tool_calls[0].custom",
        "missing_required_parameter",
    ),
    (
        {
            "messages": [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f"}}],
                }
            ]
        },
        "messages[0].tool_calls[0].custom.input",
        "missing_required_parameter",
    ),
    (
        {"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "type": "function"}]}]},
        "messages[0].tool_calls[0].function",
        "missing_required_parameter",
    ),
    ({"temperature": "hot"}, "temperature", "invalid_type"),
    ({"temperature": 2.5}, "temperature", "decimal_above_max_value"),
    ({"temperature": -1}, "temperature", "integer_below_min_value"),
    ({"temperature": True}, "temperature", "invalid_type"),
    ({"top_p": 1.1}, "top_p", "decimal_above_max_value"),
    ({"seed": 1.5}, "seed", "invalid_type"),
    ({"seed": 1 << 63}, "seed", "integer_above_max_value"),
    ({"n": 0}, "n", "integer_below_min_value"),
    ({"max_completion_tokens": 0}, "max_completion_tokens", "integer_below_min_value"),
    ({"max_tokens": "many"}, "max_tokens", "invalid_type"),
    ({"stop": 3}, "stop", "invalid_type"),
    ({"stop": ""}, "stop", "empty_string"),
    ({"stop": ["a"] * 5}, "stop", "array_above_max_length"),
    ({"stop": ["a", ""]}, "stop[1]", "empty_string"),
    ({"stream": "yes"}, "stream", "invalid_type"),
    ({"stream_options": {"usage": True}}, "stream_options.usage", "unknown_parameter"),
    ({"tools": TOOL}, "tools", "invalid_type"),
    ({"tools": [{"function": {"name": "f"}}]}, "tools[0].type", "missing_required_parameter"),
    (
        {"tools": [{"type": "mcp", "custom": {"name": "f"}}]},
        "tools[0].type",
        "unsupported_value",
    ),
    ({"tools": ["f"]}, "tools[0]", "invalid_type"),
    ({"tools": [{"type": "custom"}]}, "tools[0].custom", "missing_required_parameter"),
    (
        {"tools": [{"type": "custom", "custom": {}}]},
        "tools[0].custom.name",
        "missing_required_parameter",
    ),
    (
        {"tools": [{"type": "custom", "custom": {"name": "a b"}}]},
        "tools[0].custom.name",
        "invalid_value",
    ),
    (
        {"tools": [{"type": "custom", "custom": {"name": "f", "parameters": {}}}]},
        "tools[0].custom.parameters",
        "unknown_parameter",
    ),
    (
        {"tools": [{"type": "custom", "custom": {"name": "f", "format": {"type": "json"}}}]},
        "tools[0].custom.format.type",
        "invalid_value",
    ),
    (
        {"tools": [{"type": "custom", "custom": {"name": "f", "format": {"type": "grammar"}}}]},
        "tools[0].custom.format.grammar",
        "missing_required_parameter",
    ),
    (
        {
            "tools": [
                {
                    "type": "custom",
                    "custom": {
                        "name": "f",
                        "format": {
                            "type": "grammar",
                            "grammar": {"syntax": "ebnf", "definition": "x"},
                        },
                    },
                }
            ]
        },
        "tools[0].custom.format.grammar.syntax",
        "invalid_value",
    ),
    (
        {
            "tools": [
                {
                    "type": "custom",
                    "custom": {
                        "name": "f",
                        "format": {
                            "type": "grammar",
                            "grammar": {"syntax": "lark", "definition": ""},
                        },
                    },
                }
            ]
        },
        "tools[0].custom.format.grammar.definition",
        "empty_string",
    ),
    ({"tools": [TOOL, {"type": "function"}]}, "tools[1].function", "missing_required_parameter"),
    (
        {"tools": [{"type": "function", "function": {}}]},
        "tools[0].function.name",
        "missing_required_parameter",
    ),
    (
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        "tools[0].function.name",
        "invalid_value",
    ),
    (
        {"tools": [{"type": "function", "function": {"name": "a" * 65}}]},
        "tools[0].function.name",
        "invalid_value",
    ),
    (
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": "object"}}]},
        "tools[0].function.parameters",
        "invalid_type",
    ),
    (
        {"tools": [{"type": "function", "function": {"name": "f", "paramaters": {}}}]},
        "tools[0].function.paramaters",
        "unknown_parameter",
    ),
    ({"tool_choice": "always"}, "tool_choice", "invalid_value"),
    ({"tool_choice": {"type": "mcp"}}, "tool_choice", "invalid_value"),
    ({"tool_choice": {"type": "custom"}}, "tool_choice.custom", "missing_required_parameter"),
    ({"tool_choice": {"type": "function"}}, "tool_choice.function", "missing_required_parameter"),
    ({"response_format": "json"}, "response_format", "invalid_type"),
    ({"response_format": {"type": "xml"}}, "response_format.type", "invalid_value"),
    ({"response_format": {}}, "response_format.type", "missing_required_parameter"),
    (
        {"response_format": {"type": "json_schema"}},
        "response_format.json_schema",
        "missing_required_parameter",
    ),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
        "response_format.json_schema.schema",
        "missing_required_parameter",
    ),
    ({"best_of": 2}, "best_of", "unknown_parameter"),
    ({"top_k": -2}, "top_k", "integer_below_min_value"),
    ({"top_k": 1.5}, "top_k", "invalid_type"),
    ({"min_p": -0.1}, "min_p", "decimal_below_min_value"),
    ({"min_p": 1.01}, "min_p", "decimal_above_max_value"),
    ({"frequency_penalty": 2.01}, "frequency_penalty", "decimal_above_max_value"),
    ({"frequency_penalty": -2.01}, "frequency_penalty", "decimal_below_min_value"),
    ({"presence_penalty": 3}, "presence_penalty", "integer_above_max_value"),
    ({"presence_penalty": -3}, "presence_penalty", "integer_below_min_value"),
    ({"repetition_penalty": 0}, "repetition_penalty", "integer_below_min_value"),
    ({"repetition_penalty": 0.009}, "repetition_penalty", "decimal_below_min_value"),
    ({"repetition_penalty": 2.1}, "repetition_penalty", "decimal_above_max_value"),
    ({"logit_bias": []}, "logit_bias", "invalid_type"),
    ({"logit_bias": {"a": 1}}, "logit_bias", "invalid_value"),
    ({"logit_bias": {"01": 1}}, "logit_bias", "invalid_value"),
    ({"logit_bias": {"-1": 1}}, "logit_bias", "invalid_value"),
    ({"logit_bias": {"\u0661": 1}}, "logit_bias", "invalid_value"),
    ({"logit_bias": {"1": True}}, "logit_bias.1", "invalid_type"),
    ({"logit_bias": {"1": 100.5}}, "logit_bias.1", "decimal_above_max_value"),
    ({"logit_bias": {"1": -101}}, "logit_bias.1", "integer_below_min_value"),
    ({"logit_bias": dict.fromkeys(map(str, range(1025)), 1)}, "logit_bias", "invalid_value"),
    ({"min_tokens": -1}, "min_tokens", "integer_below_min_value"),
    ({"ignore_eos": 1}, "ignore_eos", "invalid_type"),
    ({"stop_token_ids": 3}, "stop_token_ids", "invalid_type"),
    ({"stop_token_ids": [-1]}, "stop_token_ids[0]", "integer_below_min_value"),
    ({"stop_token_ids": [1] * 17}, "stop_token_ids", "array_above_max_length"),
]


@pytest.mark.parametrize(("change", "param", "code"), MISTAKES)
def test_a_mistake_is_named_by_its_place(change: dict[str, Any], param: str, code: str):
    body = {key: value for key, value in {**BASE, **change}.items() if value is not ...}
    error = refusal(body)
    assert (error.param, error.code) == (param, code)
    assert param in error.message or code in ("invalid_value", "unsupported_value")
    assert refused_by_document("ChatRequest", body)


#: (fields, the whole message)
UNIONS: list[tuple[dict[str, Any], str]] = [
    (
        {"chat_template_kwargs": {"v": {}}},
        "Invalid type for 'chat_template_kwargs.v': expected a boolean, a number, a string or an "
        "array of strings, but got an object instead.",
    ),
    (
        {"chat_template_kwargs": {"v": "x" * 257}},
        "Invalid 'chat_template_kwargs.v': string too long. Expected a string with maximum length "
        "256, but got a string with length 257 instead.",
    ),
    (
        {"chat_template_kwargs": {"v": ["a", 1]}},
        "Invalid type for 'chat_template_kwargs.v[1]': expected a string, but got an integer "
        "instead.",
    ),
    (
        {"guided_json": []},
        "Invalid type for 'guided_json': expected an object or a string, but got an array instead.",
    ),
    (
        {"structured_outputs": {"json": 1}},
        "Invalid type for 'structured_outputs.json': expected an object or a string, but got an "
        "integer instead.",
    ),
    (
        {"tools": [{"type": "custom", "custom": {"name": "f", "format": {"type": None}}}]},
        "Missing required parameter: 'tools[0].custom.format.type'.",
    ),
    (
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": None, "tools": []}}},
        "Invalid value: null. Supported values are: 'auto' and 'required'.",
    ),
]


@pytest.mark.parametrize(("fields", "message"), UNIONS)
def test_a_value_of_several_types_has_one_mistake(fields: dict[str, Any], message: str):
    """REGRESSION: the error named the first type of a union alone, or Python's None."""
    assert refusal({**BASE, **fields}).message == message


#: values at the bounds
AT_BOUNDS: list[dict[str, Any]] = [
    {"temperature": 0, "top_p": 0, "top_k": -1, "min_p": 0, "min_tokens": 0},
    {"temperature": 2, "top_p": 1, "top_k": 0, "min_p": 1, "ignore_eos": False},
    {"frequency_penalty": -2, "presence_penalty": 2, "repetition_penalty": 0.01},
    {"frequency_penalty": 2.0, "presence_penalty": -2.0, "repetition_penalty": 2},
    {"logit_bias": {"0": -100, "511": 100}, "stop_token_ids": [0] * 16},
    {"logit_bias": dict.fromkeys(map(str, range(1024)), 1), "stop_token_ids": []},
]


@pytest.mark.parametrize("values", AT_BOUNDS)
def test_sampling_values_at_their_bounds_are_taken(values: dict[str, Any]):
    parse_request(json.dumps({**BASE, **values}).encode())
    assert not refused_by_document("ChatRequest", {**BASE, **values})


def test_an_error_writes_a_bound_as_clients_write_it():
    assert "a value <= 2, but" in refusal({**BASE, "temperature": 2.5}).message
    assert "a value >= 0.01, but" in refusal({**BASE, "repetition_penalty": 0}).message


@pytest.mark.parametrize("body", [b"[]", b"3", b"null", b'"text"'])
def test_a_body_that_is_no_object_is_refused(body: bytes):
    assert refusal(body).code == "invalid_type"


def test_long_values_are_not_repeated_whole():
    error = refusal({**BASE, "response_format": {"type": "x" * 100_000}})
    assert len(error.message) < 500


def test_nulls_mean_not_set():
    optional = [
        "tools",
        "tool_choice",
        "response_format",
        "temperature",
        "seed",
        "stop",
        "n",
        "stream",
    ]
    request = parse_request(json.dumps({**BASE, **dict.fromkeys(optional)}).encode())
    assert request.stops == ()


def test_what_a_server_sent_may_be_sent_back():
    answered = {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "annotations": [],
        "audio": None,
        "function_call": None,
        "tool_calls": [
            {
                "id": "a",
                "type": "function",
                "function": {"name": "f", "arguments": "{}"},
                "index": 0,
            }
        ],
    }
    parse_request(json.dumps({**BASE, "messages": [USER, answered]}).encode())


def test_a_part_is_read_by_its_type_only():
    """REGRESSION: OpenAI Agents for Node puts the rest of the answer into the part of its text."""
    part = {"type": "text", "text": "a", "role": "assistant", "refusal": None, "annotations": []}
    messages = [USER, {"role": "assistant", "content": [part | {"thinking": None}]}, USER]
    request = parse_request(json.dumps({**BASE, "messages": messages}).encode())
    content = request.messages[1].content
    assert isinstance(content, list)
    assert (content[0].text, content[0].refusal, content[0].thinking) == ("a", "", "")
    wrong = [USER, {"role": "assistant", "content": [part | {"text": 3}]}]
    assert refusal({**BASE, "messages": wrong}).param == "messages[1].content[0].text"


def test_the_order_of_a_schemas_keys_is_kept():
    properties = {name: {} for name in ["zebra", "apple", "mango"]}
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": properties}}}
    request = parse_request(json.dumps({**BASE, "tools": [tool]}).encode())
    assert request.tools is not None
    parameters = request.tools[0].function.parameters
    assert parameters is not None
    assert list(parameters["properties"]) == ["zebra", "apple", "mango"]


def ignore(part: bytes) -> bytearray:
    return bytearray()


async def parts(*sizes: int) -> Any:
    for size in sizes:
        yield b"x" * size


@pytest.mark.parametrize(
    ("sizes", "fits"), [((10,), True), ((4, 6), True), ((11,), False), ((9, 2), False)]
)
async def test_bytes_are_counted_as_they_come(sizes: tuple[int, ...], fits: bool):
    if fits:
        read = bytearray()
        await read_body(parts(*sizes), read.__iadd__, BodyLimit(10, 10))
        assert read == b"x" * sum(sizes)
        return
    with pytest.raises(ApiError) as caught:
        await read_body(parts(*sizes), ignore, BodyLimit(10, 10))
    assert (caught.value.status, caught.value.code) == (413, "request_too_large")


async def test_a_body_without_end_is_not_read_to_its_end():
    read = 0

    async def endless() -> Any:
        nonlocal read
        while True:
            read += 10
            yield b"x" * 10

    with pytest.raises(ApiError):
        await read_body(endless(), ignore, BodyLimit(100, 100))
    assert read == 110


#: (JSON text, values below the outermost one)
COUNTED: list[tuple[bytes, int]] = [
    (b"1", 0),
    (b'["a", "b"]', 2),
    (b'{"a": [1, 2], "b": null}', 4),
    (b"[[], {}]", 4),
    (b'{"a,[{": "\\",[\\\\", "b": 1}', 2),
    (b'["' + b"," * 1000 + b'"]', 1),
    (b'["' + b'\\"' * 1000, 1),
    (b'["",""]' + b" " * 1000, 2),
]


@pytest.mark.parametrize(("text", "count"), COUNTED, ids=[str(text[:20]) for text, _ in COUNTED])
def test_values_are_counted_outside_of_strings(text: bytes, count: int):
    assert not has_more_values(text, count)
    assert count == 0 or has_more_values(text, count - 1)


def test_a_body_with_too_many_values_is_refused_before_any_is_made():
    """REGRESSION: 680,000 nulls in 4 MiB stopped the event loop for seconds."""
    body = json.dumps({**BASE, "tools": [None] * 1000}).encode()
    with pytest.raises(ApiError) as caught:
        parse_as(ChatRequest, body, max_values=100)
    assert (caught.value.status, caught.value.code) == (400, "too_many_values")
    assert "at most 100 are allowed" in caught.value.message
    with pytest.raises(ApiError) as caught:
        parse_as(ChatRequest, body, max_values=2000)
    assert (caught.value.param, caught.value.code) == ("tools[0]", "invalid_type")


#: bodies with many mistakes of one kind
MISTAKEN: dict[str, dict[str, Any]] = {
    "tools": {"tools": [None] * 1000},
    "messages": {"messages": [{"role": "x"}] * 1000},
    "parts": {"messages": [{"role": "user", "content": [None] * 1000}]},
    "calls": {"messages": [{"role": "assistant", "tool_calls": [None] * 1000}]},
    "stop": {"stop": [None] * 1000},
    "names": {f"name{number}": 0 for number in range(1000)},
    "names of a tool": {"tools": [{f"name{number}": 0 for number in range(1000)}]},
    "allowed tools": {
        "tool_choice": {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "auto", "tools": [None] * 1000},
        }
    },
}


@pytest.mark.parametrize("more", MISTAKEN.values(), ids=MISTAKEN.keys())
def test_validation_ends_at_the_first_mistake_of_an_array_or_object(more: dict[str, Any]):
    """REGRESSION: a mistake takes microseconds to describe, and 4 MiB hold a million."""
    with pytest.raises(ValidationError) as caught:
        ChatRequest.model_validate({**BASE, **more})
    assert caught.value.error_count() <= 2


@pytest.mark.parametrize("kind", [CheckRequest, WarmupRequest])
def test_other_requests_have_few_mistakes_too(kind: type[BaseModel]):
    with pytest.raises(ValidationError) as caught:
        kind.model_validate({"schema": {}, **MISTAKEN["names"]})
    assert caught.value.error_count() == 1


def test_names_that_nobody_knows_are_bounded():
    known = len(BASE)
    for number, code in ((MAX_NAMES - known, "unknown_parameter"), (MAX_NAMES, "invalid_value")):
        body = {**BASE, **{f"name{at}": 0 for at in range(number)}}
        with pytest.raises(ApiError) as caught:
            parse_request(json.dumps(body).encode())
        assert caught.value.code == code
    assert f"at most {MAX_NAMES} names are allowed, got" in caught.value.message


def test_messages_are_bounded():
    messages = [USER] * MAX_ITEMS
    parse_request(json.dumps({**BASE, "messages": messages}).encode())
    with pytest.raises(ApiError) as caught:
        parse_request(json.dumps({**BASE, "messages": [*messages, USER]}).encode())
    assert (caught.value.param, caught.value.code) == ("messages", "array_above_max_length")
    assert f"maximum length {MAX_ITEMS}" in caught.value.message


def optional_fields() -> list[Any]:
    """The fields of all objects of a request that may be absent."""
    kinds = [
        *(ChatRequest, StreamOptions, tools.FunctionDefinition),
        *(tools.JsonSchema, messages.SystemMessage, messages.UserMessage),
        *(messages.AssistantMessage, messages.ToolMessage, messages.PastToolCall),
    ]
    return [
        pytest.param(field, id=f"{kind.__name__}.{name}")
        for kind in kinds
        for name, field in kind.model_fields.items()
        if not field.is_required()
    ]


@pytest.mark.parametrize("field", optional_fields())
def test_null_is_an_absent_field(field: FieldInfo):
    assert field.default is None
    TypeAdapter(field.rebuild_annotation()).validate_python(None)
