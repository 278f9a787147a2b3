"""Inkling: messages of the model with their kind, and in calls the name of the tool.

    <|message_model|><|content_thinking|>Which city?<|end_message|>
    <|message_model|><|content_text|>Let me see.<|end_message|>
    <|message_model|>f<|content_invoke_tool_json|>{"name":"f","args":{"city":"Oslo"}}<|end_message|>
    <|content_model_end_sampling|>

without line feeds. The model begins each message itself: a prompt ends behind the last one. JSON
has no white space, and arguments are sorted by name; the prompt shows schemas with sorted keys, so
the members of objects inside arguments are, too. Checked against tml-renderers 0.2.1, the program
of its makers; there is no chat template. The tokenizers of checkpoints name the token before the
definitions of tools <|unused_200024|>.
"""

from dataclasses import replace

from ..addressed.addressed_family import AddressedFamily
from ..addressed.inkling_prompt import InklingPrompt
from ..argument_schema import ALL_LEVELS
from ..output_spec import COMPACT

_FAMILY = AddressedFamily(
    name="inkling",
    text="<|message_model|><|content_text|>",
    thought="<|message_model|><|content_thinking|>",
    begin='<|message_model|>{name}<|content_invoke_tool_json|>{"name":"{name}","args":',
    close="}",
    end="<|end_message|>",
    mark="<|end_message|>",
    tail="<|end_message|>",
    layout=COMPACT,
    sorted_levels=ALL_LEVELS,
    stop_texts=("<|content_model_end_sampling|>",),
    prompt_tokens=(
        *("<|message_system|>", "<|message_user|>", "<|message_model|>", "<|message_tool|>"),
        *("<|content_text|>", "<|content_thinking|>", "<|content_invoke_tool_json|>"),
        *("<|content_xml|>", "<|end_message|>", "<|content_model_end_sampling|>"),
    ),
    marks=("<|message_model|>", "<|content_invoke_tool_json|>"),
    prompt=InklingPrompt(),
)

_XML, _UNUSED = "<|content_xml|>", "<|unused_200024|>"
INKLING = replace(
    _FAMILY,
    variants=(
        replace(
            _FAMILY,
            prompt_tokens=tuple(_UNUSED if t == _XML else t for t in _FAMILY.prompt_tokens),
            prompt=InklingPrompt(definitions=_UNUSED),
        ),
    ),
)
