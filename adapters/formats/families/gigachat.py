"""GigaChat 3: one call an answer, in a message of its own (3) or behind a token (3.1).

3     <|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "f", "arguments": {...}}
3.1   <|function_call|>{"name": "f", "arguments": {...}}

Checked against llama.cpp's copies of the chat templates of GigaChat3-10B-A1.8B and
GigaChat3.1-10B-A1.8B (llama-cpp-python 0.3.36).
"""

from ..tags import TagFamily

_BEGIN = '{"name": "{name}", "arguments": '

GIGACHAT_3 = TagFamily(
    name="gigachat_3",
    begin=f"<|message_sep|>\n\nfunction call<|role_sep|>\n{_BEGIN}",
    end="}",
    trigger="<|message_sep|>",
    separator="",
    is_parallel=False,
    marks=("function call<|role_sep|>",),
)

GIGACHAT_31 = TagFamily(
    name="gigachat_31",
    begin=f"<|function_call|>{_BEGIN}",
    end="}",
    trigger="<|function_call|>",
    separator="",
    is_parallel=False,
    marks=("<|function_call|>",),
)
