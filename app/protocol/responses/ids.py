"""Ids of responses and of their items, and places in requests.

    resp_<32 hex digits>
    msg_<the same digits>o0     output item 0, a message; "i" and a number: an input item

So the id of an item names the response that holds it.
"""

import re
import uuid
from typing import Literal

#: prefixes of the ids of each type of item, as OpenAI has them
_PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "shell_call": "sh",
    "shell_call_output": "sho",
    "local_shell_call": "lsh",
    "local_shell_call_output": "lsho",
    "apply_patch_call": "apc",
    "apply_patch_call_output": "apco",
    "compaction": "cmp",
    "configuration_update": "cu",
    "tool_search_output": "tso",
    "additional_tools": "at",
}
_RESPONSE = re.compile(r"resp_[0-9a-f]{32}")
_ITEM = re.compile(rf"(?:{'|'.join(_PREFIXES.values())})_([0-9a-f]{{32}})[io]\d{{1,5}}")


def new_response_id() -> str:
    """Return a random id."""
    return f"resp_{uuid.uuid4().hex}"


def is_response_id(text: str) -> bool:
    """Whether this server may have made the id."""
    return _RESPONSE.fullmatch(text) is not None


def item_id(kind: str, owner: str, side: Literal["i", "o"], number: int) -> str:
    """Return the id of an input or output item; ``owner``: the id of its response, or of its
    conversation.
    """
    return f"{_PREFIXES[kind]}_{owner.partition('_')[2]}{side}{number}"


def response_of(item: str) -> str | None:
    """Return the id of the response that holds an item; None: no id of ours."""
    found = _ITEM.fullmatch(item)
    return f"resp_{found[1]}" if found else None


def pointer(place: str) -> str:
    """Return ``tools/4/tools/1`` for ``tools[4].tools[1]``."""
    return place.replace("[", "/").replace("]", "").replace(".", "/")
