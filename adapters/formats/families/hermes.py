"""Hermes 2/3, Qwen2.5, Qwen3, QwQ: ChatML, calls as JSON in <tool_call> tags.

    <think>\n...\n</think>\n\nLet me see.
    <tool_call>\n{"name": "f", "arguments": {...}}\n</tool_call><|im_end|>

Reasoning may come first and is optional. In some models <think> and <tool_call> are special tokens,
in others they are text; both work. <tool_call> alone opens a call, whatever the model would write
next: it has no other use, and these models vary the white space after it, which the grammar fixes.

Checked against the chat templates of Qwen3, Qwen3-VL and Qwen/Qwen3-4B-Instruct-2507 in trl 1.16.0,
and llama.cpp's copies of those of Hermes-2-Pro-Llama-3-8B, Hermes-3-Llama-3.1-8B,
Qwen2.5-7B-Instruct and QwQ-32B (llama-cpp-python 0.3.36).
"""

from dataclasses import replace

from ..output_spec import ThinkingMarks
from ..tags import Chat, TagFamily, tool_json

CHATML = Chat(
    begin="<|im_start|>{role}\n",
    end="<|im_end|>\n",
    roles={"tool": "user"},
    result="<tool_response>\n{text}\n</tool_response>",
    results_together=True,
)
_TAUGHT = replace(
    CHATML,
    tells_choice=False,
    tool=tool_json,
    tools=(
        "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n"
        "<tools>\n{tools}\n</tools>\n\n"
        "For each function call, return a json object with function name and arguments "
        "within <tool_call></tool_call> XML tags:\n<tool_call>\n"
        '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
    ),
)

HERMES = TagFamily(
    name="hermes",
    begin='<tool_call>\n{"name": "{name}", "arguments": ',
    end="}\n</tool_call>",
    trigger="<tool_call>",
    separator="\n",
    between=" \n",
    thinking=ThinkingMarks(begin="<think>", end="</think>", inner_newlines=1, outer_newlines=2),
    stop_texts=("<|im_end|>",),
    prompt_tokens=("<|im_start|>", "<|im_end|>"),
    marks=("<tool_call>",),
    chat=_TAUGHT,
)
