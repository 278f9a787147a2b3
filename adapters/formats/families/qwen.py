"""Qwen3-Coder, Qwen3.5, Nemotron 3, Step 3.5, and Seed-OSS: one element for each argument.

    <tool_call>\n<function=f>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>

Strings are raw, other values are JSON. Seed-OSS writes no line feeds around values and has a name
of its own for the call. Checked against the chat templates of Qwen3.5-4B, Qwen3.6-27B,
Qwen/Qwen3.8-27B and nvidia/NVIDIA-Nemotron-3-Nano, -3-Ultra and -3.5-Lightning in trl 1.16.0, and
llama.cpp's copies of those of Qwen3-Coder and ByteDance's Seed-OSS (llama-cpp-python 0.3.36).
"""

from ..output_spec import ThinkingMarks
from ..spelling import word_name
from ..tags import Elements, TagFamily
from .hermes import CHATML

QWEN_CODER = TagFamily(
    name="qwen_coder",
    begin="<tool_call>\n<function={name}>\n",
    end="</function>\n</tool_call>",
    trigger="<tool_call>",
    separator="\n",
    between=" \n",
    arguments=Elements("qwen_coder_xml", after="\n"),
    spell=word_name,
    thinking=ThinkingMarks(begin="<think>", end="</think>", inner_newlines=1, outer_newlines=2),
    stop_texts=("<|im_end|>",),
    marks=("<function=", "<parameter="),
    chat=CHATML,
)

SEED_OSS = TagFamily(
    name="seed_oss",
    begin="<seed:tool_call>\n<function={name}>\n",
    end="</function>\n</seed:tool_call>",
    trigger="<seed:tool_call>",
    separator="\n",
    between=" \n",
    arguments=Elements("qwen_xml", after="\n"),
    spell=word_name,
    stop_texts=("<seed:eos>",),
    marks=("<seed:tool_call>",),
)
