"""MiniMax: M1 writes JSON lines, M2 XML, M3 XML whose tags have a prefix and nest.

M1   <tool_calls>\n{"name": "f", "arguments": {...}}\n</tool_calls>
M2   <minimax:tool_call>\n<invoke name="f">\n<parameter name="city">Oslo</parameter>\n
     </invoke>\n</minimax:tool_call>
M3   ]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="f">]<]minimax[>[<city>Oslo
     ]<]minimax[>[</city>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>

Checked against llama.cpp's copies of the chat templates of MiniMax-M1, -M2 and -M3
(llama-cpp-python 0.3.36).
"""

from ..spelling import word_name
from ..tags import Elements, Section, TagFamily

_STOPS = ("[e~[",)
_M3 = "]<]minimax[>["

MINIMAX_M1 = TagFamily(
    name="minimax_m1",
    section=Section(begin="<tool_calls>\n", end="</tool_calls>", trigger="<tool_calls>"),
    begin='{"name": "{name}", "arguments": ',
    end="}\n",
    separator="",
    stop_texts=("<end_of_sentence>",),
    marks=("<tool_calls>", "<beginning_of_sentence>"),
)

MINIMAX_M2 = TagFamily(
    name="minimax_m2",
    section=Section(
        begin="<minimax:tool_call>\n",
        end="</minimax:tool_call>",
        trigger="<minimax:tool_call>",
    ),
    begin='<invoke name="{name}">\n',
    end="</invoke>\n",
    separator="",
    arguments=Elements("minimax_xml", after="\n"),
    spell=word_name,
    stop_texts=_STOPS,
    marks=("<minimax:tool_call>",),
)

MINIMAX_M3 = TagFamily(
    name="minimax_m3",
    section=Section(begin=f"{_M3}<tool_call>\n", end=f"{_M3}</tool_call>", trigger=_M3),
    begin=f'{_M3}<invoke name="{{name}}">',
    end=f"{_M3}</invoke>\n",
    separator="",
    arguments=Elements("minimax_m3_xml"),
    spell=word_name,
    stop_texts=_STOPS,
    marks=(_M3,),
)
