"""Wire texts of families that write Python's literals or Gemma's objects."""

from .compose import Thinking, Wire

_THOUGHT = Thinking(begin="<|channel>thought\n", end="<channel|>", outer="\n", newlines=(1, 1))

LITERALS = (
    Wire(
        formats=("lfm2",),
        f='f(city="Oslo")',
        g="g(n=2)",
        ff="ff()",
        city='city="Oslo"',
        country='city="Oslo", country="NO"',
        n="n=2",
        wrong_n='n="two"',
        section=("<|tool_call_start|>[", "]<|tool_call_end|>"),
        separator=", ",
        mark="<|tool_call_start|>",
    ),
    Wire(
        formats=("llama4_pythonic",),
        f="f(city='Oslo')",
        g="g(n=2)",
        ff="ff()",
        city="city='Oslo'",
        country="city='Oslo', country='NO'",
        n="n=2",
        wrong_n="n='two'",
        section=("[", "]"),
        separator=", ",
        mark="[f(",
        call_is_text=True,
        named_only=True,
    ),
    Wire(
        formats=("gemma_4",),
        f='<|tool_call>call:f{city:<|"|>Oslo<|"|>}<tool_call|>',
        g="<|tool_call>call:g{n:2}<tool_call|>",
        ff="<|tool_call>call:ff{}<tool_call|>",
        city='city:<|"|>Oslo<|"|>',
        country='city:<|"|>Oslo<|"|>,country:<|"|>NO<|"|>',
        n="n:2",
        wrong_n='n:<|"|>two<|"|>',
        mark="<|tool_call>",
        gaps=("\n", "", " "),
        is_open=True,
        thinking=_THOUGHT,
    ),
    Wire(
        formats=("functiongemma",),
        f="<start_function_call>call:f{city:<escape>Oslo<escape>}<end_function_call>",
        g="<start_function_call>call:g{n:2}<end_function_call>",
        ff="<start_function_call>call:ff{}<end_function_call>",
        city="city:<escape>Oslo<escape>",
        country="city:<escape>Oslo<escape>,country:<escape>NO<escape>",
        n="n:2",
        wrong_n="n:<escape>two<escape>",
        mark="<start_function_call>",
        gaps=("\n", "", " "),
        is_open=True,
    ),
)
