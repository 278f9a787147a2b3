"""Kimi K2: calls in a section, with ids that number the calls of a conversation.

<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{...}
<|tool_call_end|><|tool_calls_section_end|><|im_end|>
"""

from .spelling import word_name
from .tag_family import CallIds, Section, TagFamily

KIMI_K2 = TagFamily(
    name="kimi_k2",
    section=Section(
        begin="<|tool_calls_section_begin|>",
        end="<|tool_calls_section_end|>",
        trigger="<|tool_calls_section_begin|>",
    ),
    begin="<|tool_call_begin|>functions.{name}:{id}<|tool_call_argument_begin|>",
    end="<|tool_call_end|>",
    separator="",
    ids=CallIds(pattern="[0-9]{1,4}", whole="functions.{name}:{id}", is_number=True),
    spell=word_name,
    stop_texts=("<|im_end|>",),
    marks=("<|tool_calls_section_begin|>",),
)
