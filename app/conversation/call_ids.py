"""Ids of calls and of their results, as a chat template accepts them.

Invariants       I1 equal conversations get equal ids. I2 a result has the id of its call.
Not here         which kind a template accepts (profile), which result answers which call (pairing).
"""

import string
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from .profile import Ids

_ALPHABET = string.ascii_letters + string.digits
_ID_LENGTH = 9

Message = dict[str, Any]


def calls_in(messages: Iterable[Mapping[str, Any]]) -> int:
    """Return the number of calls in these messages."""
    return sum(len(message.get("tool_calls") or ()) for message in messages)


def call_ids_in(messages: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the ids of the calls in these messages."""
    calls = (message.get("tool_calls") or () for message in messages)
    return frozenset(call["id"] for some in calls for call in some)


def set_call_ids(messages: Iterable[Message], kind: Ids) -> None:
    """Change the ids in these messages to ids of this kind."""
    if kind == "nine":
        _rename_calls(messages)
    elif kind != "any":
        _number_calls(messages, by_answer=kind == "numbered_by_answer")


def _rename_calls(messages: Iterable[Message]) -> None:
    """Assign ids of nine letters and digits, unique within a conversation."""
    names: dict[str, str] = {}
    taken: set[str] = set()

    def renamed(old: str) -> str:
        if old not in names:
            names[old] = _short_id(old, taken)
            taken.add(names[old])
        return names[old]

    for message in messages:
        for call in message.get("tool_calls") or ():
            # a later turn may reuse an id for another call
            names.pop(call["id"], None)
            call["id"] = renamed(call["id"])
        if message["role"] == "tool":
            message["tool_call_id"] = renamed(message["tool_call_id"])


def _number_calls(messages: Iterable[Message], *, by_answer: bool) -> None:
    """Give calls and their results ids with the numbers of the calls, as Kimi K2 writes them."""
    names: dict[str, str] = {}
    number = 0
    for message in messages:
        calls = message.get("tool_calls") or ()
        number = 0 if by_answer and calls else number
        for call in calls:
            names[call["id"]] = f"functions.{call['function']['name']}:{number}"
            call["id"] = names[call["id"]]
            number += 1
        if message["role"] == "tool":
            message["tool_call_id"] = names.get(message["tool_call_id"], message["tool_call_id"])


def _short_id(text: str, taken: set[str]) -> str:
    if len(text) == _ID_LENGTH and text not in taken and set(text) <= set(_ALPHABET):
        return text
    number, salt = 0, 0
    while True:
        number = int.from_bytes(sha256(f"{salt}/{text}".encode("utf-8", "surrogatepass")).digest())
        letters = ""
        for _ in range(_ID_LENGTH):
            number, digit = divmod(number, len(_ALPHABET))
            letters += _ALPHABET[digit]
        if letters not in taken:
            return letters
        salt += 1
