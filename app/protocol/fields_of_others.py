"""Fields of other clients and servers that never change an answer, by the source that has them.

They are marks of a client or of its session, hints for caches, queues and routers, options of media
and of features that are off, and requests for what only another server does, such as a search of
the web. A field that has a meaning here is one of a body (thinking_fields, chat_request).

Not here   fields that would change an answer (unserved_fields), fields of messages and of their
           parts (ignored_fields).
"""

#: a file of a project or a document, and its fields; a field has one source
SOURCES: dict[str, tuple[str, ...]] = {
    "vLLM: vllm/entrypoints/openai/*/protocol.py": (
        *("media_io_kwargs", "mm_processor_kwargs", "priority", "request_id"),
        *("return_mm_kwargs", "return_token_offsets", "routed_experts_prompt_start"),
        *("session_id", "spaces_between_special_tokens", "stream_interval", "truncation_side"),
    ),
    "SGLang: python/sglang/srt/entrypoints/openai/protocol.py": (
        *("custom_labels", "custom_params", "data_parallel_rank", "disagg_prefill_dp_rank"),
        *("images_config", "max_dynamic_patch", "min_dynamic_patch"),
        *("ngram_corpus_id", "return_flat_raw_top_logprobs_b64", "rid", "routed_dp_rank"),
        *("routed_experts_start_len", "use_audio_in_video", "video_config"),
    ),
    "llama.cpp: tools/server/server-schema.cpp": (
        *("adaptive_decay", "backend_sampling", "cache_prompt", "dry_allowed_length", "dry_base"),
        *("dry_penalty_last_n", "dry_sequence_breakers", "dynatemp_exponent", "id_slot"),
        *("min_keep", "mirostat_eta", "mirostat_tau", "n_cache_reuse", "n_discard", "n_keep"),
        *("repeat_last_n", "return_progress", "sse_ping_interval", "timings_per_token"),
        *("verbose", "xtc_threshold"),
    ),
    "text-generation-webui, Aphrodite, SillyTavern: parameters of samplers": (
        *("dry_range", "dynatemp_high", "dynatemp_low", "mirostat_lr", "mirostat_target"),
        *("repetition_penalty_range", "smoothing_curve", "temperature_last"),
    ),
    "Ollama: api/types.go": ("keep_alive",),
    "OpenRouter: docs, typescript-sdk/src/models/chatrequest.ts, responsesrequest.ts": (
        *("cache_control", "debug", "image_config", "models", "plugins", "provider", "route"),
        *("trace", "transforms", "usage"),
    ),
    "LiteLLM: litellm/types/utils.py, litellm/proxy/litellm_pre_call_utils.py": (
        *("allowed_openai_params", "cache", "cache_key", "caching", "caching_groups"),
        *("completion_call_id", "cooldown_time", "custom_llm_provider", "fallbacks"),
        *("litellm_call_id", "litellm_credential_name", "litellm_metadata", "litellm_session_id"),
        *("litellm_trace_id", "max_fallbacks", "max_retries", "no-log", "num_retries"),
        *("request_timeout", "retry_policy", "retry_strategy", "stream_timeout", "tags"),
        *("timeout", "ttl", "turn_off_message_logging"),
    ),
    "Azure OpenAI: chat completions": ("user_security_context",),
    "Vercel AI Gateway: chat completions": ("providerOptions",),
    "Fireworks: chat completions": (
        *("prompt_cache_isolation_key", "prompt_cache_max_len", "speculation"),
    ),
    "MiniMax: chat completions": ("reasoning_split",),
    "Qwen Code: packages/core/src/core/openaiContentGenerator/provider/dashscope.ts": (
        "vl_high_resolution_images",
    ),
    "DashScope (Qwen): chat completions": (
        *("enable_search", "incremental_output", "result_format", "search_options"),
    ),
    "Z.AI (GLM): chat completions": ("tool_stream", "user_id"),
    "xAI, Perplexity, Groq: search of the web": (
        *("citation_options", "exclude_domains", "include_domains", "search_parameters"),
        "search_settings",
    ),
    "VS Code Copilot: src/platform/networking/common/networking.ts": (
        *("intent", "intent_threshold", "snippy"),
    ),
}
