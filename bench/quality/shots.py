"""Examples for base models: a conversation with the right answers, before the question of a case.

A model without a chat template has learned no conversation, so nothing but examples can tell it to
answer.
"""

import json
from dataclasses import replace
from typing import Any

from app.cli.quality import QUESTION, Case

_CALLS = (
    ("Book a table for four at Luigi's.", "book_table", {"restaurant": "Luigi's", "guests": 4}),
    ("How warm will it be in Oslo?", "forecast", {"city": "Oslo", "unit": "celsius"}),
)
_EXTRACTIONS = (
    (
        "The blue bicycle costs 310 euros and is sold.",
        {"color": "blue", "price": 310, "sold": True},
    ),
    ("Anna and Ben meet in Rome.", {"names": ["Anna", "Ben"], "city": "Rome"}),
)


def with_shots(case: Case) -> Case:
    """Return the case behind two examples of its kind."""
    messages = [each for number in (0, 1) for each in _shot(case, number)]
    return replace(case, messages=[*messages, *case.messages])


def _shot(case: Case, number: int) -> list[dict[str, Any]]:
    if not case.is_call:
        text, value = _EXTRACTIONS[number]
        answer = {"role": "assistant", "content": json.dumps(value)}
        return [{"role": "user", "content": QUESTION + text}, answer]
    question, name, arguments = _CALLS[number]
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return [
        {"role": "user", "content": question},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": "done"},
    ]
