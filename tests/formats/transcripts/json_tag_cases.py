"""Wire texts of families that write each call as JSON or with a JSON body, without a section."""

from .compose import Thinking, Wire

#: ChatML models; Qwen3 writes a line feed inside each mark and two behind
THINK = Thinking(begin="<think>", end="</think>", is_own=True)
#: the same marks, in models whose calls are text
LENT = Thinking(begin="<think>", end="</think>", holds_calls=True)

TAGS = (
    Wire(
        formats=("plain",),
        f='<tool_call>{"name": "f", "arguments": {"city": "Oslo"}}</tool_call>',
        g='<tool_call>{"name": "g", "arguments": {"n": 2}}</tool_call>',
        ff='<tool_call>{"name": "ff", "arguments": {}}</tool_call>',
        mark="<tool_call>",
        separator="\n",
        gaps=("\n", "", " ", "\n\n "),
        is_open=True,
        call_is_text=True,
        thinking=LENT,
    ),
    Wire(
        formats=("hermes", "qwen3"),
        f='<tool_call>\n{"name": "f", "arguments": {"city": "Oslo"}}\n</tool_call>',
        g='<tool_call>\n{"name": "g", "arguments": {"n": 2}}\n</tool_call>',
        ff='<tool_call>\n{"name": "ff", "arguments": {}}\n</tool_call>',
        mark="<tool_call>",
        separator="\n",
        gaps=("\n", "", " ", "\n\n "),
        is_open=True,
        thinking=THINK,
    ),
    Wire(
        formats=("llama3_json",),
        f='{"name": "f", "parameters": {"city": "Oslo"}}',
        g='{"name": "g", "parameters": {"n": 2}}',
        ff='{"name": "ff", "parameters": {}}',
        mark='{"name": "f"',
        lead="<|python_tag|>",
        separator="; ",
        gaps=("; ", "", ";", "\n"),
        is_open=True,
        call_is_text=True,
        named_only=True,
        thinking=LENT,
    ),
    Wire(
        formats=("llama3_function",),
        f='<function=f>{"city": "Oslo"}</function>',
        g='<function=g>{"n": 2}</function>',
        ff="<function=ff>{}</function>",
        mark="<function=f>",
        gaps=("\n", "", " "),
        is_open=True,
        call_is_text=True,
        named_only=True,
        thinking=LENT,
    ),
    Wire(
        formats=("mistral_v11",),
        f='[TOOL_CALLS]f[CALL_ID]abcdef123[ARGS]{"city": "Oslo"}',
        g='[TOOL_CALLS]g[CALL_ID]abcdef124[ARGS]{"n": 2}',
        ff="[TOOL_CALLS]ff[CALL_ID]000000000[ARGS]{}",
        mark="[TOOL_CALLS]",
        is_open=True,
        ids=("abcdef123", ("", "abcdef12", "abcdef1234", "abcdef-12", "abcdé1234", "abcdef 12")),
        thinking=Thinking(begin="[THINK]", end="[/THINK]", inner="", outer="", newlines=(0, 0)),
    ),
    Wire(
        formats=("mistral_v13",),
        f='[TOOL_CALLS]f[ARGS]{"city": "Oslo"}',
        g='[TOOL_CALLS]g[ARGS]{"n": 2}',
        ff="[TOOL_CALLS]ff[ARGS]{}",
        mark="[TOOL_CALLS]",
        is_open=True,
        ids=("[ARGS]", ("", "[CALL_ID]abcdef123[ARGS]", "[ARGS][ARGS]")),
        thinking=Thinking(begin="[THINK]", end="[/THINK]", inner="", outer="", newlines=(0, 0)),
    ),
    Wire(
        formats=("gigachat_3",),
        f='<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "f", "arguments": {"city": "Oslo"}}',
        g='<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "g", "arguments": {"n": 2}}',
        ff='<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "ff", "arguments": {}}',
        mark="<|message_sep|>",
        is_parallel=False,
    ),
    Wire(
        formats=("gigachat_31",),
        f='<|function_call|>{"name": "f", "arguments": {"city": "Oslo"}}',
        g='<|function_call|>{"name": "g", "arguments": {"n": 2}}',
        ff='<|function_call|>{"name": "ff", "arguments": {}}',
        mark="<|function_call|>",
        is_parallel=False,
    ),
)
