"""Solar Open: calls in a section, each with an id before the tool's name.

<|tool_calls|><|tool_call:begin|>ID<|tool_call:name|>f<|tool_call:args|>{...}<|tool_call:end|>
<|calls|>
"""

from ..spelling import word_name
from ..tags import CallIds, Section, TagFamily

SOLAR = TagFamily(
    name="solar",
    section=Section(begin="<|tool_calls|>", end="<|calls|>", trigger="<|tool_calls|>"),
    begin="<|tool_call:begin|>{id}<|tool_call:name|>{name}<|tool_call:args|>",
    end="<|tool_call:end|>",
    separator="",
    ids=CallIds(pattern="[a-zA-Z0-9_-]{1,40}"),
    spell=word_name,
    stop_texts=("<|end|>",),
    marks=("<|tool_call:begin|>",),
)
