"""Fields that this server does not know: refused with the nearest one, or ignored by name."""

import json
from typing import Any

import pytest

from app.api.body import parse
from app.errors import ApiError
from app.protocol.anthropic.request import CountRequest, MessagesRequest
from app.protocol.chat_request import ChatRequest
from app.protocol.completion_request import CompletionRequest
from app.protocol.responses.request import MOVED, ResponseRequest
from app.protocol.unknown_fields import (
    CONSTRAINTS,
    MAX_IGNORED,
    distance,
    known_names,
    near_constraint,
)
from app.protocol.unserved_fields import ELSEWHERE, Body
from app.settings import MAX_JSON_VALUES

MESSAGES = [{"role": "user", "content": "hi"}]
FUNCTION = {"name": "f", "parameters": {"type": "object", "properties": {"brand_new": {}}}}
GOOD: dict[type[Body], dict[str, Any]] = {
    ChatRequest: {"messages": MESSAGES},
    CompletionRequest: {"prompt": "hi"},
    ResponseRequest: {"input": "hi"},
    MessagesRequest: {"messages": MESSAGES, "max_tokens": 5},
    CountRequest: {"messages": MESSAGES},
}
apis = pytest.mark.parametrize("kind", GOOD, ids=[kind.__name__ for kind in GOOD])


def read(kind: type[Body], *, ignores: bool, **fields: Any) -> tuple[Body, list[str]]:
    body = json.dumps({**GOOD[kind], **fields}).encode()
    return parse(kind, body, max_values=MAX_JSON_VALUES, ignores_unknown=ignores)


def refusal(kind: type[Body], *, ignores: bool, **fields: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        read(kind, ignores=ignores, **fields)
    assert (caught.value.status, caught.value.code) == (400, "unknown_parameter")
    return caught.value


@apis
def test_an_unknown_field_is_refused_unless_the_setting_ignores_it(kind: type[Body]) -> None:
    assert refusal(kind, ignores=False, brand_new=1).param == "brand_new"
    request, ignored = read(kind, ignores=True, brand_new=1, other=None)
    assert request == read(kind, ignores=False)[0] and ignored == ["brand_new field"]


#: (API, fields, place of the unknown one, what is listed)
NESTED: list[tuple[type[Body], dict[str, Any], str, str]] = [
    (ChatRequest, {"tools": [{"type": "function", "function": {**FUNCTION, "brand_new": 1}}]},
     "tools[0].function.brand_new", "tools/0/function/brand_new field"),
    (ChatRequest, {"tools": [{"type": "function", "function": FUNCTION},
                             {"type": "function", "function": FUNCTION, "brand_new": 1},
                             {"type": "function", "function": FUNCTION, "brand_new": 2}]},
     "tools[1].brand_new", "tools/1/brand_new field"),
    (ChatRequest, {"stream_options": {"brand_new": 1}, "stream": True},
     "stream_options.brand_new", "stream_options/brand_new field"),
    (ChatRequest, {"response_format": {"type": "json_schema", "json_schema": {
        "name": "x", "schema": {"brand_new": 1}, "brand_new": 1}}},
     "response_format.json_schema.brand_new", "response_format/json_schema/brand_new field"),
    (ChatRequest, {"structured_outputs": {"regex": "a", "brand_new": 1}},
     "structured_outputs.brand_new", "structured_outputs/brand_new field"),
    (ResponseRequest, {"tools": [{"type": "function", **FUNCTION, "brand_new": 1}]},
     "tools[0].brand_new", "tools/0/brand_new field"),
    (ResponseRequest, {"tools": [{"type": "namespace", "name": "n", "tools": [
        {"type": "function", **FUNCTION, "brand_new": 1}]}]},
     "tools[0].tools[0].brand_new", "tools/0/tools/0/brand_new field"),
    (ResponseRequest, {"text": {"verbosity": "low", "brand_new": 1}},
     "text.brand_new", "text/brand_new field"),
    (MessagesRequest, {"tools": [{"name": "f", "input_schema": {}, "brand_new": 1}]},
     "tools[0].brand_new", "tools/0/brand_new field"),
    (MessagesRequest, {"output_config": {"effort": "low", "brand_new": 1}},
     "output_config.brand_new", "output_config/brand_new field"),
    # REGRESSION: it was named twice
    (ResponseRequest, {"input": [{"type": "configuration_update", "brand_new": 1}]},
     "input[0].brand_new", "input/0/brand_new field"),
    (ChatRequest, {"é\r\nx: y, z": 1}, "é\r\nx: y, z", "%C3%A9%0D%0Ax%3A%20y%2C%20z field"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fields", "place", "listed"), NESTED, ids=lambda row: str(row)[:50]
)
def test_objects_inside_of_the_body_are_no_exception(
    kind: type[Body], fields: dict[str, Any], place: str, listed: str
) -> None:
    assert refusal(kind, ignores=False, **fields).param == place
    request, ignored = read(kind, ignores=True, **fields)
    assert ignored == [listed] and "brand_new" not in str(request.model_fields_set)


#: (API, fields with a typo, place, the field that is meant)
TYPOS: list[tuple[type[Body], dict[str, Any], str, str]] = [
    (ChatRequest, {"respone_format": {}}, "respone_format", "response_format"),
    (ChatRequest, {"responseFormat": {}}, "responseFormat", "response_format"),
    (ChatRequest, {"tool_chioce": "none"}, "tool_chioce", "tool_choice"),
    (ChatRequest, {"max_token": 3}, "max_token", "max_tokens"),
    (ChatRequest, {"parallel_tool_call": False}, "parallel_tool_call", "parallel_tool_calls"),
    (ChatRequest, {"stopp": "x"}, "stopp", "stop"),
    (ChatRequest, {"guided_jsn": {}}, "guided_jsn", "guided_json"),
    (ChatRequest, {"tools": [{"type": "function", "function": {**FUNCTION, "stict": True}}]},
     "tools[0].function.stict", "strict"),
    (ChatRequest, {"tools": [{"type": "function", "function": FUNCTION, "strict": True}]},
     "tools[0].strict", ""),
    (CompletionRequest, {"promt": "x"}, "promt", "prompt"),
    # REGRESSION: these left out the bound, and who may call the tool
    *((kind, {"thinking": {"type": "enabled", name: 9}}, f"thinking.{name}", "budget_tokens")
      for kind in (ChatRequest, ResponseRequest, MessagesRequest)
      for name in ("budgetTokens", "budget_token", "bugdet-tokens")),
    (ChatRequest, {"reasoning": {"maxTokens": 9}}, "reasoning.maxTokens", "max_tokens"),
    (ChatRequest, {"thinking": {"type": "enabled", "max_tokens": 9}}, "thinking.max_tokens", ""),
    (ChatRequest, {"reasoning": {"budget_tokens": 9}}, "reasoning.budget_tokens", ""),
    (MessagesRequest, {"tools": [{"type": "bash_20250124", "name": "bash", "input_schema": {}}]},
     "tools[0].input_schema", ""),
    (MessagesRequest, {"messages": [*MESSAGES, {"role": "system", "content": [
        {"type": "tool_addition", "tool": {"type": "tool_definition", "definitoin": {}}}]}]},
     "messages[1].content[0].tool.definitoin", "definition"),
    (ChatRequest, {"jsonMode": True}, "jsonMode", "json_mode"),
    (ChatRequest, {"reasoning": {"enable": False}}, "reasoning.enable", "enabled"),
    (MessagesRequest, {"tools": [
        {"type": "bash_20250124", "name": "bash", "allowed_caller": ["code_execution_20260120"]}]},
     "tools[0].allowed_caller", "allowed_callers"),
    # REGRESSION: these were ignored
    (ChatRequest, {"thinkingBudget": 9}, "thinkingBudget", "thinking_budget"),
    (ChatRequest, {"enable_thinkng": False}, "enable_thinkng", "enable_thinking"),
    (ChatRequest, {"responseSchema": {}}, "responseSchema", "response_schema"),
    (ChatRequest, {"topLogprob": 2}, "topLogprob", "top_logprobs"),
    (ChatRequest, {"num_predict": 9}, "num_predict", ""),
    (ResponseRequest, {"reasoning": {"efort": "none"}}, "reasoning.efort", "effort"),
    (ResponseRequest, {"reasonin": {"effort": "none"}}, "reasonin", "reasoning"),
    (MessagesRequest, {"max_tokens_to_sample": 9}, "max_tokens_to_sample", ""),
    (MessagesRequest, {"tools": [{"name": "f", "input_schema": {}, "allowedCallers": []}]},
     "tools[0].allowedCallers", "allowed_callers"),
    (MessagesRequest, {"tool_choice": {"type": "any", "disable.parallel.tool.use": True}},
     "tool_choice.disable.parallel.tool.use", "disable_parallel_tool_use"),
    (ResponseRequest, {"text": {"fromat": {}}}, "text.fromat", "format"),
    (ResponseRequest, {"max_output_token": 3}, "max_output_token", "max_output_tokens"),
    (MessagesRequest, {"stop_sequence": ["x"]}, "stop_sequence", "stop_sequences"),
    (MessagesRequest, {"tools": [{"name": "f", "input_schema": {}, "Strict": True}]},
     "tools[0].Strict", "strict"),
    (MessagesRequest, {"response_format": {}}, "response_format", ""),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "fields", "place", "meant"), TYPOS, ids=lambda row: str(row)[:50])
@pytest.mark.parametrize("ignores", [False, True])
def test_a_typo_of_a_constraint_is_refused_in_both_modes(
    kind: type[Body], fields: dict[str, Any], place: str, meant: str, ignores: bool
) -> None:
    error = refusal(kind, ignores=ignores, **fields)
    assert error.param == place
    hint = f" Did you mean '{meant}'?" if meant else ""
    assert error.message == f"Unknown parameter: '{place}'.{hint}"


@pytest.mark.parametrize("ignores", [False, True])
@pytest.mark.parametrize("kind", [ChatRequest, ResponseRequest, MessagesRequest])
def test_other_fields_of_options_are_ignored_in_both_modes(kind: type[Body], ignores: bool) -> None:
    """REGRESSION: only chat completions named them."""
    thinking = {"type": "enabled", "budget_tokens": 9}
    known = read(kind, ignores=ignores, thinking=thinking)[0]
    request, ignored = read(kind, ignores=ignores, thinking={**thinking, "keep": "all"})
    assert request == known and ignored == ["thinking/keep field"]


def test_fields_of_openrouters_reasoning_are_ignored() -> None:
    reasoning = {
        "effort": "low", "summary": "auto", "exclude": True, "mode": "standard", "off": False,
    }  # fmt: skip
    assert read(ChatRequest, ignores=False, reasoning=reasoning)[1] == [
        "reasoning/exclude field", "reasoning/mode field", "reasoning/summary field",
    ]  # fmt: skip


def test_other_typos_are_named_with_the_nearest_field() -> None:
    error = refusal(ChatRequest, ignores=False, temprature=1)
    assert error.message == "Unknown parameter: 'temprature'. Did you mean 'temperature'?"
    assert read(ChatRequest, ignores=True, temprature=1)[1] == ["temprature field"]


@apis
def test_a_field_of_another_api_is_not_ignored(kind: type[Body]) -> None:
    """REGRESSION of the idea: `n` of responses would give one answer in place of two."""
    for name in ("n", "stop", "echo", "best_of", "tool_choice", "logprobs"):
        if name not in kind.model_fields and not (kind is ResponseRequest and name in MOVED):
            assert name in ELSEWHERE
            assert refusal(kind, ignores=True, **{name: 2}).param == name


@apis
def test_each_constraint_of_each_api_is_protected(kind: type[Body]) -> None:
    """A new field that the protocol calls a constraint must be in the list."""
    words = ("format", "tool", "guided", "max_", "stop", "schema", "strict", "regex", "ebnf")
    marks = {"max_tool_calls", "include_schema_in_prompt"}
    named = {name for name in known_names(kind) if any(word in name for word in words)}
    assert named - marks <= set(CONSTRAINTS)


def test_ignored_names_are_bounded() -> None:
    names = {f"brand_new_{number}": 1 for number in range(MAX_IGNORED)}
    assert len(read(ChatRequest, ignores=True, **names)[1]) == MAX_IGNORED
    refusal(ChatRequest, ignores=True, **names, one_more=1)
    refusal(ChatRequest, ignores=True, **dict.fromkeys(names, False), one_more=1)


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [("stop", "stop", 0), ("stop", "stp", 1), ("stop", "sotp", 1), ("stop", "xtop", 1),
     ("tools", "tool", 1), ("", "abc", 3), ("format", "fromta", 2)],
)  # fmt: skip
def test_the_distance_counts_swapped_letters_once(one: str, other: str, edits: int) -> None:
    assert distance(one, other) == distance(other, one) == edits


@pytest.mark.parametrize("name", ["x", "nn", "id", "extra_info", "toolkit_settings"])
def test_other_names_are_near_to_no_constraint(name: str) -> None:
    assert near_constraint(name) is None
