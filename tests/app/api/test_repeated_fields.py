"""Fields that a client repeats are read once, and mean what they mean in a first request."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from app.api.body import parse
from app.api.repeated_fields import MAX_BYTES, RepeatedFields
from app.common_form import common_chat
from app.errors import ApiError
from app.generation import GenerationRequest
from app.protocol import ChatRequest
from app.settings import MAX_JSON_VALUES

USER: Any = {"role": "user", "content": "Hello"}


def tool(parameters: Any, **more: Any) -> Any:
    return {"type": "function", "function": {"name": "f", "parameters": parameters, **more}}


def kwargs(value: Any) -> Any:
    return {"chat_template_kwargs": {"a": value}}


#: fields of which none may be taken for another one
FIELDS: list[dict[str, Any]] = [
    {},
    {"model": "m"},
    {"model": None},
    {"temperature": 1},
    {"temperature": 0},
    {"temperature": -0.0},
    {"top_p": 1},
    {"stream": True, "stream_options": {"include_usage": True}},
    {"stream": True},
    {"n": 1},
    {"seed": 1},
    {"seed": -(1 << 62)},
    {"stop": "a"},
    {"stop": ["a"]},
    {"logit_bias": {"1": 1, "2": 2}},
    {"logit_bias": {"2": 2, "1": 1}},
    *(kwargs(value) for value in (1, 1.0, True, "1", ["1"], None, "\u00e9", "e\u0301")),
    {"tools": []},
    {"tools": [tool({"a": 1, "b": 2})]},
    {"tools": [tool({"b": 2, "a": 1})]},
    {"tools": [tool({"a": True, "b": 2})]},
    {"tools": [tool({"a": 1.0, "b": 2})]},
    {"tools": [tool({"a": 10**30, "b": 2})]},
    {"tools": [tool({"a": 1, "b": 2}, strict=True)]},
    {"tools": [tool({"a": 1, "b": 2}, description="x")]},
    {"tools": [tool({}), tool({})]},
    {"tools": [tool(None)], "tool_choice": "none"},
    {"tools": [tool(None)], "tool_choice": {"type": "function", "function": {"name": "f"}}},
    {"functions": [{"name": "f", "parameters": {}}]},
    {"response_format": {"type": "json_object"}},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}},
    {"guided_choice": ["a", "b"]},
    {"guided_regex": "a"},
    {"enable_thinking": False},
    {"thinking": {"type": "disabled"}},
    {"reasoning_effort": "low"},
    {"service_tier": "auto"},
]


def read(kept: RepeatedFields | None, fields: Mapping[str, Any], client: str = "me") -> Any:
    """Return the request, its ignored fields and its common form; or the error of one of them."""
    body = json.dumps({"messages": [USER], **fields}).encode()
    repeated = None if kept is None else partial(kept.read, client)
    try:
        request, ignored = parse(
            ChatRequest,
            body,
            max_values=MAX_JSON_VALUES,
            ignores_unknown=True,
            repeated=repeated,
        )
        return repr(request), ignored, common_chat(request)
    except ApiError as error:
        return error.body()


def test_fields_mean_the_same_when_they_are_repeated() -> None:
    kept, wanted = RepeatedFields(), [read(None, fields) for fields in FIELDS]
    assert not any("error" in each for each in wanted)
    for _ in range(2):
        assert [read(kept, fields) for fields in FIELDS] == wanted
        assert [repr(read(kept, fields)) for fields in FIELDS] == [*map(repr, wanted)]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        None,
        {},
        [USER] * 2049,
        [{"role": "user"}],
        [{"role": "nobody", "content": ""}],
        [{"role": "user", "content": [{"type": "text"}]}],
        [{"role": "user", "content": [{"type": "thinking", "thinking": "x"}]}],
        [{"role": "user", "content": [{"type": "new", "text": "x"}]}],
        [{**USER, "odd": 1}],
        [{"role": "assistant", "content": "x", "prefix": True}],
        [USER, {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}],
        [USER, {"role": "function", "name": "f", "content": "x"}],
        [USER, USER],
    ],
)
def test_messages_mean_the_same_behind_repeated_fields(messages: Any) -> None:
    kept, fields = RepeatedFields(), {"temperature": 0.5, "tools": [tool({})]}
    first = read(kept, fields)
    assert read(kept, {**fields, "messages": messages}) == read(
        None, {**fields, "messages": messages}
    )
    assert read(kept, fields) == first


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 3},
        {"temperature": True},
        {"stream_options": {"include_usage": True}},
        {"tools": [tool({}, parameters_=1)]},
        {"nothing_known": 1},
        {"max_tokenz": 1},
        {"provider": {"a": 1}, "keep_alive": 1},
        {"thinking": {"type": "enabled", "odd": 1}},
        {"function_call": "auto"},
        {"n_predict": 5},
        {f"name{number}": None for number in range(300)},
        {**dict.fromkeys(("user", "provider")), **{f"name{n}": None for n in range(253)}},
        {**dict.fromkeys(("user", "provider")), **{f"name{n}": None for n in range(254)}},
    ],
)
def test_errors_and_ignored_fields_are_named_each_time(fields: Any) -> None:
    kept, wanted = RepeatedFields(), read(None, fields)
    assert [read(kept, fields) for _ in range(3)] == [wanted] * 3


def made_of(kept: RepeatedFields, fields: Mapping[str, Any], client: str = "me") -> Any:
    request: GenerationRequest = read(kept, fields, client)[2]
    return request.made


def test_what_steps_make_is_shared_by_equal_fields_of_a_client_only() -> None:
    kept = RepeatedFields()
    fields = {"tools": [tool({})], "user": "a"}
    first = made_of(kept, fields)
    assert made_of(kept, fields) is first is not None
    assert made_of(kept, {**fields, "messages": [USER, USER]}) is first
    assert made_of(kept, {**fields, "user": "b", "metadata": {"turn": "2"}}) is first
    assert made_of(kept, fields, "you") is not first
    assert made_of(kept, {**fields, "seed": 1}) is not first


def test_nothing_is_made_for_functions_whose_fields_have_other_names() -> None:
    kept = RepeatedFields()
    assert made_of(kept, {"functions": [{"name": "f"}]}) is None


@pytest.mark.parametrize("is_larger", [False, True])
def test_larger_fields_are_read_each_time(is_larger: bool) -> None:
    kept = RepeatedFields(MAX_BYTES)
    fields = {"tools": [tool({"a": "x" * (MAX_BYTES // (40 if is_larger else 100))})]}
    assert (made_of(kept, fields) is made_of(kept, fields)) is not is_larger
