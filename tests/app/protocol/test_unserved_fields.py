"""Fields that are not served: ignored, accepted when they are off, or refused by name."""

import json
from typing import Any

import pytest

from app.errors import ApiError
from app.protocol.chat_request import ChatRequest
from app.protocol.completion_request import CompletionRequest
from app.protocol.responses.request import MOVED, ResponseRequest
from app.protocol.tokenize_request import DetokenizeRequest, TokenizeRequest
from app.protocol.unserved_fields import (
    ELSEWHERE,
    IGNORED,
    INSTEAD,
    OPENAI_IGNORED,
    OPENAI_UNSUPPORTED,
    UNSUPPORTED,
    Body,
)
from tests.app.bodies import parse_as
from tests.app.openapi.described import refused_by_document

MESSAGES = [{"role": "user", "content": "hi"}]
#: a good body of each API
GOOD: dict[type[Body], dict[str, Any]] = {
    ChatRequest: {"messages": MESSAGES},
    CompletionRequest: {"prompt": "hi"},
    ResponseRequest: {"input": "hi"},
    TokenizeRequest: {"messages": MESSAGES},
    DetokenizeRequest: {"tokens": [1]},
}
apis = pytest.mark.parametrize("kind", GOOD, ids=[kind.__name__ for kind in GOOD])


def parse(kind: type[Body], **fields: Any) -> Body:
    return parse_as(kind, json.dumps({**GOOD[kind], **fields}).encode())


def refusal(kind: type[Body], **fields: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        parse(kind, **fields)
    assert caught.value.status == 400
    return caught.value


@apis
def test_a_field_that_never_changes_an_answer_is_ignored(kind: type[Body]) -> None:
    for name in IGNORED:
        if name not in kind.model_fields:
            for value in ("x", 1, [1], {"a": 1}, None):
                assert parse(kind, **{name: value}) == parse(kind)


@apis
def test_a_field_is_accepted_with_null_and_with_the_values_that_mean_off(kind: type[Body]) -> None:
    for name, off in (UNSUPPORTED | ELSEWHERE).items():
        if name in kind.model_fields:
            continue
        moved = kind is ResponseRequest and name in MOVED
        for value in (None, *(() if moved else off)):
            assert parse(kind, **{name: value}) == parse(kind), (name, value)


def test_the_document_has_the_fields_of_openais_client() -> None:
    chat = GOOD[ChatRequest]
    for name in OPENAI_IGNORED:
        assert not refused_by_document("ChatRequest", {**chat, name: "x"})
    for name, off in OPENAI_UNSUPPORTED.items():
        for value in (None, *off):
            assert not refused_by_document("ChatRequest", {**chat, name: value})


@apis
def test_a_field_that_would_change_the_answer_is_refused_by_name(kind: type[Body]) -> None:
    for name in UNSUPPORTED:
        if name in kind.model_fields or (kind is ResponseRequest and name in MOVED):
            continue
        error = refusal(kind, **{name: "something"})
        assert (error.param, error.code) == (name, "unsupported_parameter")
        assert f"'{name}' is not supported by this server." in error.message
        assert error.message.endswith(INSTEAD.get(name, "this server."))
        assert refused_by_document(kind.__name__, {**GOOD[kind], name: "something"})


@apis
def test_a_field_of_another_api_is_unknown_unless_it_is_off(kind: type[Body]) -> None:
    for name in ELSEWHERE:
        if name not in kind.model_fields and not (kind is ResponseRequest and name in MOVED):
            error = refusal(kind, **{name: "something"})
            assert (error.param, error.code) == (name, "unknown_parameter")


#: (field, a value that looks like one that means "off")
NOT_OFF: list[tuple[str, Any]] = [
    ("skip_special_tokens", 1),
    ("no_stop_trim", 0),
    ("length_penalty", True),
    ("length_penalty", 1.5),
    ("n_probs", False),
    ("bad_words", ["x"]),
    ("bad_words", {}),
    ("kv_transfer_params", {"a": 1}),
    ("stop_regex", ["a"]),
    ("prompt_logprobs", 0),
    ("use_beam_search", "false"),
]


@pytest.mark.parametrize(("name", "value"), NOT_OFF)
def test_other_values_are_not_taken_for_off(name: str, value: Any) -> None:
    assert refusal(ChatRequest, **{name: value}).param == name


@apis
def test_null_is_an_absent_field_for_any_name(kind: type[Body]) -> None:
    assert parse(kind, brand_new=None, model=None) == parse(kind)
    assert not refused_by_document(kind.__name__, {**GOOD[kind], "brand_new": None})
    assert refused_by_document(kind.__name__, {**GOOD[kind], "brand_new": 0})
    error = refusal(kind, brand_new=0)
    assert (error.param, error.code) == ("brand_new", "unknown_parameter")


#: objects inside of a request: (fields, place of an unknown name)
NESTED: list[tuple[dict[str, Any], str]] = [
    ({"tools": [{"type": "function", "function": {"name": "f", "x": 0}}]}, "tools[0].function.x"),
    ({"tools": [{"type": "function", "x": 0, "function": {"name": "f"}}]}, "tools[0].x"),
    ({"stream_options": {"include_usage": True, "x": 0}}, "stream_options.x"),
    ({"response_format": {"type": "text", "x": 0}}, "response_format.x"),
]


@pytest.mark.parametrize(("fields", "place"), NESTED)
def test_null_is_an_absent_field_in_objects_too(fields: dict[str, Any], place: str) -> None:
    assert refusal(ChatRequest, **fields).param == place
    parse(ChatRequest, **json.loads(json.dumps(fields).replace('"x": 0', '"x": null')))


HINTS = {
    "cache_control": {"type": "ephemeral"},
    "copilot_cache_control": {"type": "ephemeral"},
    "defer_loading": True,
    "eager_input_streaming": True,
    "return": {"type": "x"},
}


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "f", **HINTS}},
        {"type": "function", "function": {"name": "f"}, **HINTS},
        {"type": "custom", "custom": {"name": "f"}, **HINTS},
    ],
    ids=["function", "tool", "custom"],
)
def test_hints_in_tools_are_ignored(tool: dict[str, Any]) -> None:
    parse(ChatRequest, tools=[tool])
    assert not refused_by_document("ChatRequest", {**GOOD[ChatRequest], "tools": [tool]})


#: requests of other servers with every field at its default: a value, and its fields
DEFAULTS: dict[str, tuple[type[Body], str]] = {
    "vLLM, chat completions": (
        ChatRequest,
        """
        null allowed_token_ids cache_salt chat_template chat_template_kwargs documents
        null ec_transfer_params frequency_penalty kv_transfer_params logit_bias logprob_token_ids
        null max_completion_tokens max_tokens media_io_kwargs min_p mm_processor_kwargs model
        null presence_penalty prompt_logprobs reasoning_effort repetition_detection
        null repetition_penalty response_format return_prompt_text return_token_ids seed session_id
        null return_tokens_as_token_ids stream_interval stream_options structured_outputs
        null temperature thinking_token_budget tools top_k top_p truncate_prompt_tokens
        null truncation_side user vllm_xargs watermarking
        false add_special_tokens continue_final_message echo ignore_eos logprobs stream
        false include_stop_str_in_output return_token_offsets use_beam_search
        true add_generation_prompt include_reasoning parallel_tool_calls return_mm_kwargs
        true skip_special_tokens spaces_between_special_tokens
        0 min_tokens priority routed_experts_prompt_start top_logprobs
        [] bad_words stop stop_token_ids
        1.0 length_penalty
        1 n
        "0f" request_id
        "none" tool_choice
        """,
    ),
    "SGLang, chat completions": (
        ChatRequest,
        """
        null cache_salt chat_template_kwargs custom_logit_processor custom_params ebnf extra_key
        null data_parallel_rank images_config input_ids logit_bias lora_path max_completion_tokens
        null max_dynamic_patch max_tokens min_dynamic_patch min_p mm_processor_kwargs priority
        null reasoning_effort regex repetition_penalty response_format rid sampling_logprobs_mode
        null seed session_id session_params stop stop_regex stop_token_ids stream_options task
        null temperature thinking tools top_k top_logprobs top_p user video_config watermark
        false continue_final_message ignore_eos logprobs no_stop_trim return_cached_tokens_details
        false return_flat_raw_output_top_logprobs return_hidden_states return_input_ids_in_sglext
        false return_meta_info return_output_ids_in_sglext return_prompt_token_ids stream
        false return_routed_experts return_sampling_mask return_spec_tokens_details return_token_ids
        false use_audio_in_video
        true parallel_tool_calls return_flat_raw_top_logprobs_b64 separate_reasoning
        true skip_special_tokens stream_reasoning
        0 min_tokens routed_experts_start_len
        0.0 frequency_penalty presence_penalty
        1 n
        """,
    ),
    "vLLM, completions": (
        CompletionRequest,
        """
        null allowed_token_ids cache_salt ec_transfer_params kv_transfer_params prompt_embeds
        null prompt_logprobs repetition_detection structured_outputs thinking_token_budget
        null truncate_prompt_tokens vllm_xargs watermarking
        false include_stop_str_in_output use_beam_search
        true add_special_tokens skip_special_tokens spaces_between_special_tokens
        0 priority
        1.0 length_penalty
        [] bad_words stop
        "0f" request_id
        """,
    ),
    "SGLang, completions": (
        CompletionRequest,
        """
        null best_of cache_salt custom_labels custom_logit_processor custom_params ebnf extra_key
        null data_parallel_rank images_config json_schema logit_bias logprobs lora_path
        null mm_processor_kwargs priority regex response_format rid seed session_id session_params
        null stop stop_regex stop_token_ids stream_options suffix user watermark
        false echo ignore_eos no_stop_trim return_cached_tokens_details return_hidden_states stream
        false return_routed_experts return_spec_tokens_details return_token_ids
        true skip_special_tokens
        0 min_tokens routed_experts_start_len
        0.0 frequency_penalty min_p presence_penalty
        1.0 repetition_penalty temperature top_p
        1 n
        -1 top_k
        16 max_tokens
        """,
    ),
    "vLLM and SGLang, responses": (
        ResponseRequest,
        """
        null cache_salt data_parallel_rank extra_key include instructions logit_bias metadata
        null max_output_tokens max_tool_calls mm_processor_kwargs previous_input_messages
        null previous_response previous_response_id prompt prompt_cache_key reasoning seed
        null session_id structured_outputs text top_k user vllm_xargs
        false background enable_response_messages ignore_eos include_stop_str_in_output
        true parallel_tool_calls skip_special_tokens store
        0 priority top_logprobs
        0.0 frequency_penalty presence_penalty
        [] stop tools
        "resp_1" request_id
        "auto" service_tier tool_choice
        "disabled" truncation
        """,
    ),
    "vLLM and SGLang, tokenize": (
        TokenizeRequest,
        """
        null chat_template chat_template_kwargs media_io_kwargs mm_processor_kwargs reasoning_effort
        null tool_choice tools
        false add_special_tokens continue_final_message return_token_strs
        true add_generation_prompt
        """,
    ),
    "SGLang, detokenize": (DetokenizeRequest, "true skip_special_tokens"),
    "SillyTavern": (
        ChatRequest,
        """
        null sampler_priority
        false ban_eos_token
        true add_bos_token temperature_last
        0 dry_multiplier epsilon_cutoff eta_cutoff min_keep mirostat_mode nsigma skew
        0 smoothing_factor top_a xtc_probability
        1 guidance_scale smoothing_curve tfs typical_p
        0.1 mirostat_eta xtc_threshold
        2 dry_allowed_length dry_base mirostat_tau
        "" custom_token_bans negative_prompt
        [] banned_strings
        ["x"] dry_sequence_breakers
        """,
    ),
}


@pytest.mark.parametrize("server", DEFAULTS)
def test_the_defaults_of_other_servers_have_no_effect(server: str) -> None:
    kind, text = DEFAULTS[server]
    lines = [line.split() for line in text.strip().splitlines()]
    parse(kind, **{name: json.loads(value) for value, *names in lines for name in names})
