"""Step 3: calls in a section, each with an element for each argument.

    <｜tool_calls_begin｜>\n<｜tool_call_begin｜>\nfunction<｜tool_sep｜><steptml:invoke name="f">
    <steptml:parameter name="city">Oslo</steptml:parameter></steptml:invoke><｜tool_call_end｜>\n
    <｜tool_calls_end｜><|EOT|>

The chat template teaches this syntax, but misspells a mark in past calls, and shows results of
tools only under other names of the role. Prompts have neither error. Values are shown as Python
writes them; the grammar requires JSON in lists and objects. Checked against the chat template of
stepfun-ai/step3 at 4ad74b5d.
"""

from engine import Style

from ..spelling import word_name
from ..tags import Elements, Section, TagFamily

STEP_3 = TagFamily(
    name="step_3",
    section=Section(
        begin="<｜tool_calls_begin｜>\n",
        end="<｜tool_calls_end｜>",
        trigger="<｜tool_calls_begin｜>",
    ),
    begin='<｜tool_call_begin｜>\nfunction<｜tool_sep｜><steptml:invoke name="{name}">',
    end="</steptml:invoke><｜tool_call_end｜>\n",
    separator="",
    arguments=Elements(
        Style(
            '<steptml:parameter name="{key}">',
            "</steptml:parameter>",
            constants=("True", "False", "None"),
        )
    ),
    spell=word_name,
    stop_texts=("<|EOT|>",),
    corrections=(
        ("<｜tool_call_begin>｜>", "<｜tool_call_begin｜>"),
        (r"\Atool_response\Z", "tool"),
    ),
    marks=("<｜tool_call_begin｜>", "<steptml:invoke"),
)
