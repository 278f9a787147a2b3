"""Families that write Python calls: Llama 4, LFM2 and OLMo 3.

    Llama 4   [f(city="Oslo"), g(n=2)]<|eot|>
    LFM2      <|tool_call_start|>[f(city='Oslo'), g(n=2)]<|tool_call_end|>
    OLMo 3    <function_calls>f(city="Oslo")\ng(n=2)</function_calls>

The values of OLMo 3 are JSON. The template of OLMo 3 Think shows no tools and no calls.

Llama 4 writes the list without marks, so only the name of an offered tool behind the bracket opens
one in free text. LFM2 is checked against the chat templates of LiquidAI/LFM2-1.2B since 40f3da0,
LiquidAI/LFM2.5-230M since 13a5383 and LiquidAI/LFM2.5-VL-3B (in trl 1.16.0), OLMo 3 against those
of allenai/Olmo-3-7B-Instruct at d42dc9de and Olmo-3-7B-Think at 361b459d, Llama 4 against vLLM's
parser (0.33): the template of its makers writes the JSON of Llama 3.
"""

from dataclasses import replace

from engine import STYLES

from ..spelling import word_name
from ..tags import PythonArguments, Section, TagFamily, tool_json
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

OLMO_3 = TagFamily(
    name="olmo_3",
    section=Section(begin="<function_calls>", end="</function_calls>", trigger="<function_calls>"),
    begin="{name}(",
    end=")",
    separator="\n",
    arguments=PythonArguments(STYLES["python"]._replace(constants=("true", "false", "null"))),
    spell=word_name,
    stop_texts=("<|im_end|>",),
    marks=("<function_calls>", "<functions>"),
    chat=replace(
        CHATML,
        roles={"tool": "environment"},
        result="{text}",
        results_together=False,
        tells_choice=False,
        tool=tool_json,
        tools=(
            "You are provided with function signatures within <functions></functions> XML tags. "
            "You may call one or more functions to assist with the user query. Output any function "
            "calls within <function_calls></function_calls> XML tags. Do not make assumptions "
            "about what values to plug into functions.<functions>[{tools}]</functions>"
        ),
        tool_separator=", ",
    ),
)
