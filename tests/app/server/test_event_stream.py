"""The bytes of events: one line each, whatever the client takes for a line end."""

import json
from typing import Any

import pytest
from pydantic_core import to_json

from app.errors import ApiError
from app.writers.events import event, named_event, one_line
from app.writers.response_writers import ResponseEventWriter, ResponseWriter

#: what str.splitlines splits at and JSON leaves as it is, and texts that share bytes with it
LINE_ENDS = "\x85\u2028\u2029"
TEXTS = ["", "a", *LINE_ENDS, f"a{LINE_ENDS * 2}b", "\u2027\u202a\u2019", "\u00c5\u0105\U0001f600"]


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_an_event_is_one_line_and_the_same_value(text: str):
    """REGRESSION: U+0085, U+2028 and U+2029 were raw, and some clients split lines there."""
    value = {"type": "t", text: [text, {"a": text}]}
    for data, head in ((event(value), "data: "), (named_event(value), "event: t\ndata: ")):
        shown = data.decode()
        assert shown.removesuffix("\n\n").splitlines() == shown.removesuffix("\n\n").split("\n")
        assert json.loads(shown.removeprefix(head)) == value
    assert one_line(to_json("a")) == b'"a"'


def test_the_first_and_the_last_events_of_a_response_are_one_line_each():
    begun: dict[str, Any] = {"id": "resp_1", "instructions": LINE_ENDS, "output": []}
    begun["background"] = False
    writer = ResponseEventWriter(ResponseWriter(begun, None))
    for data in (writer.begin(), writer.failed(ApiError(500, LINE_ENDS))):
        assert len(data.decode().splitlines()) == data.count(b"\n")
