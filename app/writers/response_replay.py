"""The events of a stored response, sent again.

They are those of a stream that made the response, except that each text is one piece. So they are
fewer, and have other numbers, but the same ones each time.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from .response_writers import ENDED

Values = dict[str, Any]

#: the fields of a response that begins, which it gets at its end
_BEGUN: Values = {
    "status": "in_progress",
    "output": [],
    "completed_at": None,
    "incomplete_details": None,
    "usage": None,
}
#: events of texts by the type of the part, and of a call's text by the type of the item
_PARTS = {"output_text": "response.output_text", "reasoning_text": "response.reasoning_text"}
_CALLS = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
}


def replayed(response: Mapping[str, Any]) -> Iterator[Values]:
    """Yield the events of a stored response, numbered from 0."""
    for number, event in enumerate(_events(response)):
        yield {**event, "sequence_number": number}


def _events(response: Mapping[str, Any]) -> Iterator[Values]:
    begun = {**response, **_BEGUN}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": _begun(item)}
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] in ("message", "reasoning"):
            for number, part in enumerate(item["content"]):
                yield from _part(part, {**place, "content_index": number})
        elif item["type"] in _CALLS:
            yield from _call(item, place)
        elif item["type"] == "compaction":
            yield {"type": "response.compaction.compacting", **place}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": ENDED[response["status"]], "response": response}


def _begun(item: Values) -> Values:
    """Return an item without its text."""
    begun = {name: each for name, each in item.items() if name != "encrypted_content"}
    if "status" in item:
        begun["status"] = "in_progress"
    if "content" in item:
        begun["content"] = []
    if item["type"] == "compaction":
        begun["encrypted_content"] = ""
    if item["type"] in _CALLS:
        begun[_CALLS[item["type"]][0]] = ""
    return begun


def _part(part: Values, place: Values) -> Iterator[Values]:
    kind, text = _PARTS[part["type"]], part["text"]
    shown = {"logprobs": part["logprobs"]} if "logprobs" in part else {}
    begun = {**part, "text": "", **({"logprobs": []} if shown else {})}
    yield {"type": "response.content_part.added", **place, "part": begun}
    if text:
        yield {"type": f"{kind}.delta", **place, **shown, "delta": text}
    yield {"type": f"{kind}.done", **place, **shown, "text": text}
    yield {"type": "response.content_part.done", **place, "part": part}


def _call(item: Values, place: Values) -> Iterator[Values]:
    field, kind = _CALLS[item["type"]]
    text = item[field]
    name = {"name": item["name"]} if item["type"] == "function_call" else {}
    if text:
        yield {"type": f"{kind}.delta", **place, "delta": text}
    yield {"type": f"{kind}.done", **place, **name, field: text}
