"""Wire texts of families that write JSON arguments between special tokens, in a section."""

from .compose import Thinking, Wire

#: DeepSeek R1 and the hybrids after it
_THINK = Thinking(begin="<think>", end="</think>")

TOKEN_MARKS = (
    Wire(
        formats=("deepseek_v3",),
        f='<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"city": "Oslo"}\n```<｜tool▁call▁end｜>',
        g='<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{"n": 2}\n```<｜tool▁call▁end｜>',
        ff="<｜tool▁call▁begin｜>function<｜tool▁sep｜>ff\n```json\n{}\n```<｜tool▁call▁end｜>",
        section=("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        separator="\n",
        mark="<｜tool▁calls▁begin｜>",
        thinking=_THINK,
    ),
    Wire(
        formats=("deepseek_v31",),
        f='<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"city": "Oslo"}<｜tool▁call▁end｜>',
        g='<｜tool▁call▁begin｜>g<｜tool▁sep｜>{"n": 2}<｜tool▁call▁end｜>',
        ff="<｜tool▁call▁begin｜>ff<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
        section=("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        mark="<｜tool▁calls▁begin｜>",
        thinking=_THINK,
    ),
    Wire(
        formats=("kimi_k2",),
        f='<|tool_call_begin|>functions.f:{#}<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|>',
        g='<|tool_call_begin|>functions.g:{#}<|tool_call_argument_begin|>{"n": 2}<|tool_call_end|>',
        ff="<|tool_call_begin|>functions.ff:{#}<|tool_call_argument_begin|>{}<|tool_call_end|>",
        section=("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        mark="<|tool_calls_section_begin|>",
        ids=("functions.f:{#}", ("functions.f:", "functions.f:1", "functions.f:00", "functions.f:x", "functions.f:-1", "functions.f:12345",
                               "f:0", "functions.f", "call_abc", "functions.f.0")),
        thinking=_THINK,
    ),
    Wire(
        formats=("solar",),
        f='<|tool_call:begin|>a1-B_2<|tool_call:name|>f<|tool_call:args|>{"city": "Oslo"}<|tool_call:end|>',
        g='<|tool_call:begin|>0<|tool_call:name|>g<|tool_call:args|>{"n": 2}<|tool_call:end|>',
        ff="<|tool_call:begin|>call_00000000000000000000000000000000001<|tool_call:name|>ff<|tool_call:args|>{}<|tool_call:end|>",
        section=("<|tool_calls|>", ""),
        mark="<|tool_calls|>",
        text=("<|content|>", ""),
        beside=None,
        thinking=Thinking(
            begin="<|think|>", end="<|end|><|begin|>assistant", inner="", outer="", newlines=(0, 0), is_own=True
        ),
        ids=("a1-B_2", ("", "a 1", "a.1", "é", "call_000000000000000000000000000000000001")),
    ),
)  # fmt: skip
