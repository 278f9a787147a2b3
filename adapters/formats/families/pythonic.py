"""Families that write a list of Python calls: Llama 4 and LFM2.

    Llama 4   [f(city="Oslo"), g(n=2)]<|eot|>
    LFM2      <|tool_call_start|>[f(city='Oslo'), g(n=2)]<|tool_call_end|>

Llama 4 writes the list without marks, so only the name of an offered tool behind the bracket opens
one in free text.
"""

from dataclasses import replace

from ..spelling import word_name
from ..tags import PythonArguments, Section, TagFamily
from .hermes import CHATML

LLAMA4_PYTHONIC = TagFamily(
    name="llama4_pythonic",
    section=Section(begin="[", end="]", trigger="[{name}("),
    begin="{name}(",
    end=")",
    separator=", ",
    arguments=PythonArguments(),
    spell=word_name,
    stop_texts=("<|eot|>", "<|eom|>"),
    marks=("<|header_start|>", "<|eot|>"),
)

LFM2 = TagFamily(
    name="lfm2",
    section=Section(
        begin="<|tool_call_start|>[", end="]<|tool_call_end|>", trigger="<|tool_call_start|>"
    ),
    begin="{name}(",
    end=")",
    separator=", ",
    arguments=PythonArguments(quote="'"),
    spell=word_name,
    stop_texts=("<|im_end|>",),
    marks=("<|tool_call_start|>", "<|tool_call_end|>"),
    # results have a role of their own
    chat=replace(CHATML, roles={}, result="{text}", results_together=False),
)
