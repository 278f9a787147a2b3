"""The plain format, for models without a call syntax: everything is ordinary text.

A call is written as

    <tool_call>{"name": "f", "arguments": {"city": "Oslo"}}</tool_call>

and further calls on the next lines. <tool_call> alone opens a call (see hermes.py). The marks are
text, not special tokens, so any tokenizer can write them. No JSON value starts like a call, so an
answer that may be either is unambiguous. Turns are "role:" lines.
"""

from dataclasses import fields

from ..tags import TagFamily, UnknownSyntax

PLAIN = TagFamily(
    name="plain",
    begin='<tool_call>{"name": "{name}", "arguments": ',
    end="}</tool_call>",
    trigger="<tool_call>",
    separator="\n",
    between=" \n",
    # no model was trained for it
    parallel_by_default=False,
)

_TEXTS = {field.name: getattr(PLAIN, field.name) for field in fields(PLAIN)}
#: the plain format without tools
UNKNOWN = UnknownSyntax(**_TEXTS | {"name": "unknown"})
