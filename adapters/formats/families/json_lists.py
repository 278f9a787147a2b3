"""Families that write a JSON list of calls between two marks.

    Phi-4-mini    <|tool_call|>[{"name": "f", "arguments": {...}}, ...]<|/tool_call|>
    Granite 3     <|tool_call|>[{"name": "f", "arguments": {...}}, ...]
    Nemotron v2   <TOOLCALL>[{"name": "f", "arguments": {...}}, ...]</TOOLCALL>
    Apriel        <tool_calls>[{"name": "f", "arguments": {...}, "id": "..."}, ...]</tool_calls>
    FireFunction   functools[{"name": "f", "arguments": {...}}, ...]
    Apertus       <|tools_prefix|>[{"f": {...}}, ...]<|tools_suffix|>

Apriel's id follows the arguments, when a stream has already begun the call, so clients get an id of
the gateway.

Checked against llama.cpp's copies of the chat templates of NVIDIA-Nemotron-Nano-v2,
Apriel-1.6-15b-Thinker, firefunction-v2 and Apertus-8B-Instruct (llama-cpp-python 0.3.36). Those of
Phi-4-mini-instruct and, at 4009206d5fc9, granite-3.1-8b-instruct show no calls.
"""

from ..tags import CallIds, Section, TagFamily

_BEGIN = '{"name": "{name}", "arguments": '

PHI_4_MINI = TagFamily(
    name="phi_4_mini",
    section=Section(begin="<|tool_call|>[", end="]<|/tool_call|>", trigger="<|tool_call|>"),
    begin=_BEGIN,
    end="}",
    separator=", ",
    stop_texts=("<|end|>",),
    marks=("<|tool_call|>", "<|/tool_call|>"),
)

GRANITE_3 = TagFamily(
    name="granite_3",
    section=Section(begin="<|tool_call|>[", end="]", trigger="<|tool_call|>"),
    begin=_BEGIN,
    end="}",
    separator=", ",
    stop_texts=("<|end_of_text|>",),
    marks=("<|tool_call|>", "<|start_of_role|>"),
)

NEMOTRON_V2 = TagFamily(
    name="nemotron_v2",
    section=Section(begin="<TOOLCALL>[", end="]</TOOLCALL>", trigger="<TOOLCALL>"),
    begin=_BEGIN,
    end="}",
    separator=", ",
    marks=("<TOOLCALL>",),
)

#: the template writes a space before the mark, which is text
FIREFUNCTION_V2 = TagFamily(
    name="firefunction_v2",
    section=Section(begin=" functools[", end="]", trigger=" functools["),
    begin=_BEGIN,
    end="}",
    separator=", ",
    stop_texts=("<|eot_id|>",),
    marks=("functools[",),
)

APRIEL = TagFamily(
    name="apriel",
    section=Section(begin="<tool_calls>[", end="]</tool_calls>", trigger="<tool_calls>"),
    begin=_BEGIN,
    end=', "id": "{id}"}',
    separator=", ",
    ids=CallIds(pattern="[a-zA-Z0-9_-]{1,32}"),
    stop_texts=("<|end|>",),
    marks=("<tool_calls>[",),
)

APERTUS = TagFamily(
    name="apertus",
    section=Section(begin="<|tools_prefix|>[", end="]<|tools_suffix|>", trigger="<|tools_prefix|>"),
    begin='{"{name}": ',
    end="}",
    separator=", ",
    stop_texts=("<|assistant_end|>",),
    marks=("<|tools_prefix|>",),
)
