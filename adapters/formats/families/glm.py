"""GLM-4.5, 4.6 and 4.7, Ling, Laguna, and Hunyuan: pairs of keys and values.

    GLM-4.5   <tool_call>f\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>
    GLM-4.7   <tool_call>f<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>
    Hunyuan   <tool_calls:opensource>\n<tool_call:opensource>f<tool_sep:opensource>\n...

Strings are raw, other values are JSON. Checked against the chat template of GLM-4.5 in trl 1.16.0,
and llama.cpp's copies of those of GLM-4.6, GLM-4.7-Flash, Spark2.5, Laguna-XS-2.1, Laguna-S-2.1 and
tencent/Hy3 (llama-cpp-python 0.3.36).
"""

from ..spelling import word_name
from ..tags import Elements, Section, TagFamily

_STOPS = ("<|user|>", "<|observation|>", "<|endoftext|>")

GLM_45 = TagFamily(
    name="glm_45",
    begin="<tool_call>{name}\n",
    end="</tool_call>",
    trigger="<tool_call>",
    separator="\n",
    between=" \n",
    arguments=Elements("glm_xml", after="\n"),
    spell=word_name,
    stop_texts=_STOPS,
    marks=("<tool_call>", "<arg_key>", "</arg_key>\\n"),
)

GLM_47 = TagFamily(
    name="glm_47",
    begin="<tool_call>{name}",
    end="</tool_call>",
    trigger="<tool_call>",
    separator="",
    between=" \n",
    arguments=Elements("glm_xml", glue=""),
    spell=word_name,
    stop_texts=_STOPS,
    marks=("<tool_call>", "<arg_key>"),
)

HUNYUAN = TagFamily(
    name="hunyuan",
    section=Section(
        begin="<tool_calls:opensource>\n",
        end="</tool_calls:opensource>",
        trigger="<tool_calls:opensource>",
    ),
    begin="<tool_call:opensource>{name}<tool_sep:opensource>\n",
    end="</tool_call:opensource>\n",
    separator="",
    arguments=Elements("hunyuan_xml", after="\n"),
    spell=word_name,
    marks=("<tool_call:opensource>",),
)
