"""Gemma 4 and functiongemma: calls as tokens around an object of Gemma's own notation.

Gemma 4         <|tool_call>call:f{city:<|"|>Oslo<|"|>}<tool_call|>
functiongemma   <start_function_call>call:f{city:<escape>Oslo<escape>}<end_function_call>

Checked against the chat templates of google/gemma-4-E2B-it at 8995379 and
google/diffusiongemma-26B-A4B-it, both in trl 1.16.0. The template of functiongemma is not public:
checked against vLLM's parser (0.33).
"""

from ..output_spec import ThinkingMarks
from ..spelling import word_name
from ..tags import GemmaArguments, TagFamily

GEMMA_4 = TagFamily(
    name="gemma_4",
    begin="<|tool_call>call:{name}{",
    end="}<tool_call|>",
    trigger="<|tool_call>",
    separator="",
    between=" \n",
    arguments=GemmaArguments(),
    spell=word_name,
    thinking=ThinkingMarks(
        begin="<|channel>thought\n", end="<channel|>", inner_newlines=1, outer_newlines=1
    ),
    stop_texts=("<turn|>",),
    marks=("<|tool_call>", "<tool_call|>"),
)

FUNCTIONGEMMA = TagFamily(
    name="functiongemma",
    begin="<start_function_call>call:{name}{",
    end="}<end_function_call>",
    trigger="<start_function_call>",
    separator="",
    between=" \n",
    arguments=GemmaArguments(style="functiongemma"),
    spell=word_name,
    stop_texts=("<end_of_turn>",),
    marks=("<start_function_call>",),
)
