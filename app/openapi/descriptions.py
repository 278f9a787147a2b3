"""Descriptions of request bodies and of fields without one; docs/api.md has the details."""

_GENERATION = {
    "model": "A served model, by name or alias.",
    "parallel_tool_calls": "`false` allows one call.",
    "include_schema_in_prompt": "`false` leaves the response format out of the prompt.",
    "thinking_token_budget": "Maximum tokens of reasoning; 0 turns it off, -1: no bound.",
    "enable_thinking": "Turns reasoning on or off.",
    "thinking": "Turns reasoning on or off, as with Anthropic and DeepSeek.",
    "chat_template_kwargs": "Variables of the chat template.",
    "stream": "Answer with events.",
    "stream_options": "Only with `stream`.",
    "stop": "Strings that end the answer.",
    "n": "Number of answers.",
    "max_tokens": "Maximum tokens of the answer.",
    "response_format": "The form of the content, enforced by a grammar.",
}
_CONSTRAINTS = {
    "structured_outputs": "A constraint as vLLM has it. A request has one constraint.",
    "guided_json": "A JSON Schema that the content satisfies.",
    "guided_regex": "A regular expression that the content matches.",
    "guided_choice": "Texts, one of which is the content.",
    "guided_grammar": "A grammar of the content, as EBNF or Lark.",
    "json_schema": "A JSON Schema that the content satisfies.",
    "regex": "A regular expression that the content matches.",
    "ebnf": "A grammar of the content, as EBNF.",
}
_CHAT = (
    _GENERATION
    | _CONSTRAINTS
    | {
        "messages": "The conversation.",
        "tools": "Functions and custom tools that the model may call.",
        "tool_choice": "Which tools must or may be called.",
        "functions": "Deprecated: use `tools`.",
        "function_call": "Deprecated: use `tool_choice`.",
        "logprobs": "Log probabilities of the content's tokens.",
        "top_logprobs": "Also of so many most likely tokens; only with `logprobs`.",
        "max_completion_tokens": "Maximum tokens of the answer, with reasoning.",
        "max_tokens": "Deprecated: use `max_completion_tokens`.",
        "reasoning_effort": "How much the model reasons; `none` turns it off.",
        "reasoning": "The same as an object, as with OpenRouter.",
        "verbosity": "How long the answer is.",
    }
)
_COMPLETION = (
    _GENERATION
    | _CONSTRAINTS
    | {
        "prompt": "A text or token ids, or several of either.",
        "add_special_tokens": "`false`: no token such as BOS before a text.",
        "echo": "The prompt before the text.",
        "best_of": "Must equal `n`.",
        "logprobs": "Log probabilities of so many most likely tokens.",
        "max_tokens": "Maximum tokens of the text; default 16.",
    }
)
_RESPONSE = _GENERATION | {
    "input": "A text, or items of a conversation.",
    "instructions": "A system message at the beginning.",
    "previous_response_id": "A stored response that this one continues.",
    "tools": "Functions and custom tools that the model may call.",
    "tool_choice": "Which tools must or may be called.",
    "text": "The form of the text.",
    "reasoning": "How much the model reasons.",
    "max_output_tokens": "Maximum tokens of the output, with reasoning.",
    "max_tool_calls": "No effect: it limits built-in tools.",
    "include": "`message.output_text.logprobs` adds log probabilities; others have no effect.",
    "top_logprobs": "Adds log probabilities, also of so many most likely tokens.",
    "store": "`false` stores nothing.",
    "metadata": "Repeated in the response.",
    "user": "Repeated in the response.",
    "safety_identifier": "Repeated in the response.",
    "prompt_cache_key": "Repeated in the response.",
}

#: descriptions of fields, by table
FIELDS = {"chat": _CHAT, "completion": _COMPLETION, "response": _RESPONSE}
#: of each body: its description, and the table of its fields
REQUESTS = {
    "ChatRequest": ("A chat completion. Null stands for an absent field.", "chat"),
    "CompletionRequest": ("A text completion.", "completion"),
    "ResponseRequest": ("A response. It needs `input` or `previous_response_id`.", "response"),
    "TokenizeRequest": (
        "A text (`prompt`), or a chat (`messages`), whose tokens are those of a chat completion.",
        "chat",
    ),
    "DetokenizeRequest": ("Token ids.", ""),
    "CheckRequest": ("A schema to check; `strict`: by the rules of strict schemas, too.", ""),
    "ExplainRequest": (
        "The fields of a chat completion that determine its grammar, and an output to try. "
        "`format`: a format instead of the model's; `at`: the token before which allowed tokens "
        "are listed; `rule`: the rule that is drawn.",
        "chat",
    ),
    "WarmupRequest": (
        "The grammars of one request, of a list of requests, or of both. Without `tool_choice`: of "
        "every choice that clients may make.",
        "chat",
    ),
    "DrainRequest": ("`force`: even if no other worker is available.", ""),
    "UndrainRequest": ("A worker by name.", ""),
}
