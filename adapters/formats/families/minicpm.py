"""MiniCPM 5: one element for each argument.

    <function name="f"><param name="city">Oslo</param></function>

The marks are text, so only the name of an offered tool opens a call (see llama3.py).

Checked against llama.cpp's copy of the chat template of openbmb/MiniCPM5-1B
(llama-cpp-python 0.3.36).
"""

from ..output_spec import ThinkingMarks
from ..spelling import word_name
from ..tags import Elements, TagFamily
from .hermes import CHATML

MINICPM_5 = TagFamily(
    name="minicpm_5",
    begin='<function name="{name}">',
    end="</function>",
    trigger='<function name="{name}">',
    separator="\n",
    between=" \n",
    arguments=Elements("minicpm_xml"),
    spell=word_name,
    thinking=ThinkingMarks(begin="<think>", end="</think>", inner_newlines=1, outer_newlines=2),
    stop_texts=("<|im_end|>",),
    marks=('<function name="', '<param name="'),
    chat=CHATML,
)
