"""Kimi K2: calls in a section, with ids that number the calls of a conversation. Kimi K3: elements
for thoughts, text, calls and their arguments.

    K2   <|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>
         {...}<|tool_call_end|><|tool_calls_section_end|><|im_end|>
    K3   <|open|>response<|sep|>...<|close|>response<|sep|><|open|>tools<|sep|>
         <|open|>call tool="f" index="1"<|sep|>
         <|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|>
         <|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>

K2 is checked against the chat templates of moonshotai/Kimi-K2-Instruct-0905 at 94a4053e and
moonshotai/Kimi-K2-Thinking, K3 against llama.cpp's copy of Kimi-K3's (llama-cpp-python 0.3.36).
"""

from ..output_spec import ThinkingMarks
from ..spelling import word_name
from ..tags import CallIds, Elements, Section, TagFamily, TextMarks

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
    ids=CallIds(whole="functions.{name}:{id}", numbers="conversation"),
    spell=word_name,
    stop_texts=("<|im_end|>",),
    marks=("<|tool_calls_section_begin|>",),
)

KIMI_K3 = TagFamily(
    name="kimi_k3",
    section=Section(
        begin="<|open|>tools<|sep|>",
        end="<|close|>tools<|sep|>",
        trigger="<|open|>tools<|sep|>",
    ),
    text=TextMarks(
        begin="<|open|>response<|sep|>",
        end="<|close|>response<|sep|>",
        is_beside_calls=True,
    ),
    tail="<|close|>message<|sep|>",
    begin='<|open|>call tool="{name}" index="{id}"<|sep|>',
    end="<|close|>call<|sep|>",
    separator="",
    arguments=Elements("kimi_k3_xml"),
    ids=CallIds(whole="", numbers="answer", first=1),
    spell=word_name,
    thinking=ThinkingMarks(begin="<|open|>think<|sep|>", end="<|close|>think<|sep|>"),
    stop_texts=("<|end_of_msg|>",),
    marks=("<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"),
)
