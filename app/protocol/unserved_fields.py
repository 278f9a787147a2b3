"""Fields of requests that the gateway does not serve, the same for every API.

    IGNORED       never change an answer (fields_of_others)
    UNSUPPORTED   would change it: refused by name, except for null and the values that mean "off"
    ELSEWHERE     fields of another API here: unknown, except for the same
    others        null stands for an absent field; another value is an unknown parameter

Read   openai-python (tools.openai_fields); the requests of chat completions, completions,
       responses and /tokenize of vLLM (main at 002032ee) and SGLang 0.5.23; server-schema.cpp of
       llama.cpp (0177c342); the documented fields of OpenRouter, LiteLLM, Mistral, Groq, Together,
       Fireworks, DashScope, LMDeploy, TensorRT-LLM, Aphrodite and text-generation-webui.
"""

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from pydantic import ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from .fields_of_others import SOURCES
from .unknown_fields import NOTHING
from .validation import MAX_NAMES, Exact, is_off

#: OpenAI's fields of chat completions that never change an answer: marks and hints
OPENAI_MARKS = (
    *("metadata", "prediction", "prompt_cache_key", "prompt_cache_options"),
    *("prompt_cache_retention", "safety_identifier", "service_tier", "store", "user"),
)
#: those that ask for what only OpenAI's server does
OPENAI_IGNORED = (*OPENAI_MARKS, "web_search_options")
#: all such fields; an answer names those that were used, except for the marks
IGNORED: tuple[str, ...] = (
    *OPENAI_IGNORED,
    *(name for names in SOURCES.values() for name in names),
)
_NAMED = frozenset(IGNORED) - frozenset(OPENAI_MARKS)


def _all(*names: str, off: tuple[Any, ...] = ()) -> dict[str, tuple[Any, ...]]:
    return dict.fromkeys(names, off)


#: OpenAI's fields of chat completions that would change the answer, with the values beside null
#: that leave it as it is
OPENAI_UNSUPPORTED: dict[str, tuple[Any, ...]] = {
    **_all("audio", "moderation"),
    "modalities": (["text"],),
}
#: all such fields
UNSUPPORTED: dict[str, tuple[Any, ...]] = OPENAI_UNSUPPORTED | {
    # what the answer would have besides
    **_all("return_cached_tokens_details", "return_hidden_states", off=(False,)),
    **_all("return_input_ids_in_sglext", "return_meta_info", "return_prompt_text", off=(False,)),
    **_all("return_output_ids_in_sglext", "return_prompt_token_ids", off=(False,)),
    **_all("return_routed_experts", "return_sampling_mask", "return_token_ids", off=(False,)),
    **_all("return_flat_raw_output_top_logprobs", "return_spec_tokens_details", off=(False,)),
    **_all("return_tokens", "return_tokens_as_token_ids", "post_sampling_probs", off=(False,)),
    **_all("enable_response_messages", "perf_metrics_in_response", "raw_output", off=(False,)),
    **_all(
        "return_context_logits", "return_generation_logits", "return_perf_metrics", off=(False,)
    ),
    **_all("logprob_token_ids", "prompt_logprobs", "sampling_logprobs_mode", "response_fields"),
    **_all("echo_last", "n_probs", off=(0,)),
    # the text of the answer
    **_all("include_stop_str_in_output", "no_stop_trim", off=(False,)),
    **_all("parse_tool_calls", "skip_special_tokens", off=(True,)),
    **_all("include_reasoning", "separate_reasoning", "stream_reasoning", off=(True,)),
    "reasoning_format": ("parsed", "auto", "deepseek"),
    # the prompt
    **_all("add_generation_prompt", "add_bos_token", "do_preprocess", off=(True,)),
    **_all("continue_final_message", "safe_prompt", off=(False,)),
    **_all("data_sources", "documents", off=([],)),
    **_all("chat_template", "input_ids", "previous_input_messages", "previous_response", "task"),
    **_all("prompt_embeds", "prompt_mode", "prompt_truncate_len", "truncate_prompt_tokens"),
    "negative_prompt": ("",),
    "context_length_exceeded_behavior": ("error",),
    # where it ends
    **_all("early_stopping", "ban_eos_token", off=(False,)),
    "stop_regex": ([], ""),
    **_all("n_predict", "t_max_predict_ms", off=(-1,)),
    **_all("max_length", "max_new_tokens", "repetition_detection"),
    # how tokens are drawn
    "num_beams": (1,),
    "do_sample": (True,),
    **_all("use_beam_search", "token_healing", "watermarking", off=(False,)),
    **_all("guidance_scale", "length_penalty", "repeat_penalty", "tfs", "tfs_z", off=(1,)),
    **_all("encoder_repetition_penalty", "typical", "typical_p", off=(1,)),
    **_all("dry_multiplier", "dynatemp_range", "epsilon_cutoff", "eta_cutoff", off=(0,)),
    **_all("mirostat", "mirostat_mode", "n_indent", "no_repeat_ngram_size", off=(0,)),
    **_all("nsigma", "penalty_alpha", "skew", "smoothing_factor", "top_a", off=(0,)),
    **_all("top_p_min", "xtc_probability", off=(0,)),
    "top_n_sigma": (-1, 0),
    "adaptive_target": (-1,),
    "dynamic_temperature": (False,),
    **_all("bad_words", "banned_strings", "banned_tokens", "lora", "logit_processors", off=([],)),
    "custom_token_bans": ("",),
    **_all("allowed_token_ids", "custom_logit_processor", "embedding_bias", "lora_path"),
    **_all("lora_request", "random_seed", "samplers", "sampler_priority", "sampler_seed"),
    **_all("thinking_budget", "watermark"),
    # constraints and tools
    **_all("format", "grammar", "guided_decoding_backend"),
    "guided_whitespace_pattern": (),
    **_all("json_mode", "disable_tool_validation", off=(False,)),
    "response_schema": (),
    # what other servers do besides
    "deferred": (False,),
    **_all("compound_custom", "guardrails", "safety_model"),
    **_all("kv_transfer_params", "ec_transfer_params", "session_params", "vllm_xargs", off=({},)),
    **_all("bootstrap_host", "bootstrap_port", "bootstrap_room", "disaggregated_params"),
    **_all("extra_body", "nvext", "options", off=({},)),
}

#: fields that only some APIs have, with the values that mean "off": unknown in others
ELSEWHERE: dict[str, tuple[Any, ...]] = {
    **_all("n", "best_of", off=(1,)),
    **_all("echo", "ignore_eos", "logprobs", "return_token_strs", off=(False,)),
    **_all("add_special_tokens", "include_schema_in_prompt", "stream", off=(False,)),
    **_all("min_tokens", "top_logprobs", off=(0,)),
    **_all("stop_token_ids", "tools", "functions", off=([],)),
    **_all("tool_choice", "function_call", off=("none", "auto")),
    "parallel_tool_calls": (True, False),
    "stop": ([], ""),
    "suffix": ("",),
    **_all("chat_template_args", "chat_template_kwargs", off=({},)),
    **_all("enable_thinking", "preserve_thinking", off=(False,)),
    "reasoning_effort": ("none",),
    "thinking_token_budget": (0, -1),
    "verbosity": ("medium",),
}

_NEVER_CUT = "A prompt is never cut."
_CONTINUE = "Ask for the continuation in a message of the user."
_FINAL_TEXT = "The content never contains a stop string or a control token."
#: what to do instead
INSTEAD: dict[str, str] = {
    "add_generation_prompt": "The prompt always ends where the answer begins.",
    "allowed_token_ids": "Use 'logit_bias', or a constraint such as 'guided_regex'.",
    "bad_words": "Use 'logit_bias'.",
    "banned_strings": "Use 'logit_bias'.",
    "chat_template": "The operator chooses the chat template.",
    "continue_final_message": _CONTINUE,
    "context_length_exceeded_behavior": _NEVER_CUT,
    "do_sample": "Use 'temperature': 0.",
    "documents": "Put the documents into a message.",
    "extra_body": "Put its fields directly into the body.",
    "format": "Use 'response_format'.",
    "grammar": "Use 'guided_grammar'.",
    "guided_decoding_backend": "The operator chooses the workers' grammar backend.",
    "guided_whitespace_pattern": "Use 'json_layout'.",
    "include_reasoning": "Use 'reasoning_effort': 'none', or ignore 'reasoning_content'.",
    "include_stop_str_in_output": _FINAL_TEXT,
    "json_mode": "Use 'response_format'.",
    "max_length": "Use 'max_tokens'.",
    "max_new_tokens": "Use 'max_tokens'.",
    "n_predict": "Use 'max_tokens'.",
    "n_probs": "Use 'logprobs' and 'top_logprobs'.",
    "no_stop_trim": _FINAL_TEXT,
    "nvext": "Put its fields directly into the body.",
    "options": "Put its fields directly into the body, by OpenAI's names.",
    "parse_tool_calls": "Calls are always in 'tool_calls'.",
    "partial": _CONTINUE,
    "prefix": _CONTINUE,
    "prompt_truncate_len": _NEVER_CUT,
    "random_seed": "Use 'seed'.",
    "repeat_penalty": "Use 'repetition_penalty'.",
    "response_schema": "Use 'response_format'.",
    "return_cached_tokens_details": "The number of cached tokens is in 'usage'.",
    "return_prompt_token_ids": "POST /tokenize returns the tokens of a prompt.",
    "return_token_ids": "The numbers of tokens are in 'usage'.",
    "sampler_seed": "Use 'seed'.",
    "separate_reasoning": "Reasoning is always in 'reasoning_content'.",
    "skip_special_tokens": _FINAL_TEXT,
    "stop_regex": "Use 'stop'.",
    "stream_options.continuous_usage_stats": "Use 'include_usage' for the last chunk.",
    "stream_reasoning": "Streams always contain the reasoning while it is written.",
    "thinking_budget": "Use 'thinking_token_budget'.",
    "truncate_prompt_tokens": _NEVER_CUT,
}


def unsupported_field(name: str, place: str = "") -> PydanticCustomError:
    """Return the error of a field that would change the answer; ``place``: before its name."""
    instead = f" {INSTEAD[name]}" if name in INSTEAD else ""
    return PydanticCustomError(
        "unsupported_parameter",
        "Unsupported parameter: '{name}' is not supported by this server.{instead}",
        {"name": place + name, "instead": instead},
    )


def without_unserved(
    body: Mapping[str, Any], served: Collection[str], ignored: Collection[str] = ()
) -> dict[str, Any]:
    """Return the fields of a body that are served or unknown. ``ignored``: of this API alone.
    Raises PydanticCustomError.
    """
    kept: dict[str, Any] = {}
    for name, value in body.items():
        if name in served:
            kept[name] = value
        elif name in ignored:
            pass
        elif name in UNSUPPORTED:
            if not is_off(value, UNSUPPORTED[name]):
                raise unsupported_field(name)
        elif name not in IGNORED and not is_off(value, ELSEWHERE.get(name, ())):
            kept[name] = value
    return kept


class Body(Exact):
    """A request: the fields that an API serves, beside those of the tables above. The OpenAPI
    document has the docstrings of bodies and of their fields.

    ``ignored``: further ones without effect in this API. ``silent``: those that answers do not
    name, also of the tables.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)
    ignored: ClassVar[Collection[str]] = ()
    silent: ClassVar[Collection[str]] = ()

    @model_validator(mode="before")
    @classmethod
    def _served(cls, value: Any) -> Any:
        if not isinstance(value, dict) or len(value) > MAX_NAMES:
            return value
        return without_unserved(value, cls.model_fields, cls.ignored)

    @classmethod
    def ignored_in(cls, body: Mapping[str, Any]) -> list[str]:
        """Return the fields of a valid body that have no effect, and are named to the client."""
        named = [name for name in body if name in _NAMED or name in cls.ignored]
        if not named:
            return []
        without = {*cls.model_fields, *cls.silent}
        named = sorted(name for name in named if name not in without)
        return [f"{name} field" for name in named if body[name] not in NOTHING]
