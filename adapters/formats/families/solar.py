"""Solar Open: thoughts, text and calls as messages; calls in a section, each with an id.

<|think|>...<|end|><|begin|>assistant<|content|>Let me see.<|flush|>
<|tool_calls|><|tool_call:begin|>ID<|tool_call:name|>f<|tool_call:args|>{...}<|tool_call:end|>
<|calls|>

The prompt ends with the first <|begin|>assistant. <|flush|> and <|calls|> end answers, and <|end|>
only a message.

Checked against llama.cpp's copy of the chat template of upstage/Solar-Open-100B
(llama-cpp-python 0.3.36).
"""

from ..output_spec import ThinkingMarks
from ..spelling import word_name
from ..tags import CallIds, Section, TagFamily, TextMarks

SOLAR = TagFamily(
    name="solar",
    section=Section(begin="<|tool_calls|>", end="", trigger="<|tool_calls|>"),
    text=TextMarks(begin="<|content|>", end=""),
    begin="<|tool_call:begin|>{id}<|tool_call:name|>{name}<|tool_call:args|>",
    end="<|tool_call:end|>",
    separator="",
    ids=CallIds(pattern="[a-zA-Z0-9_-]{1,40}"),
    spell=word_name,
    thinking=ThinkingMarks(begin="<|think|>", end="<|end|><|begin|>assistant", ends_turn=True),
    stop_texts=("<|flush|>", "<|calls|>"),
    marks=("<|tool_call:begin|>",),
)
