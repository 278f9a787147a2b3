"""The judge of events finds what is missing, unknown or of another type, in each API."""

from typing import Any

import pytest

from tests.app.wire import check_event

DELTA = {"role": "assistant", "content": "", "reasoning_content": None, "reasoning": None}
CHOICE = {"index": 0, "delta": DELTA, "logprobs": None, "finish_reason": None}
#: (an event, a change of it that is a mistake, the place of the mistake)
EVENTS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {
            "id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [CHOICE],
        },
        {"choices": [{**CHOICE, "finish": "stop"}]}, "/choices/0/finish: unknown",
    ),
    (
        {
            "id": "x", "object": "text_completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "text": "t", "logprobs": None, "finish_reason": None}],
        },
        {"choices": [{"index": 0, "text": 1, "finish_reason": None}]}, "/choices/0/text: 1 is no",
    ),
    (
        {"error": {"message": "m", "type": "t", "param": None, "code": None}},
        {"error": {"type": "t", "param": None, "code": None}}, "/message: missing",
    ),
    (
        {
            "type": "response.output_text.delta", "sequence_number": 1, "item_id": "i",
            "output_index": 0, "content_index": 0, "delta": "d", "logprobs": [],
        },
        {"sequence_number": "1"}, "/sequence_number: '1' is no",
    ),
    (
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "d"}},
        {"delta": {"type": "text_delta"}}, "/delta/text: missing",
    ),
    ({"type": "ping"}, {"n": 1}, "no type"),
    (
        {"type": "error", "error": {"type": "api_error", "message": "m"}, "request_id": "r"},
        {"error": {"type": "odd", "message": "m"}}, "/error: no type",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("event", "change", "mistake"), EVENTS)
def test_the_check_finds_the_mistake(event: dict[str, Any], change: dict[str, Any], mistake: str):
    check_event(event)
    with pytest.raises(AssertionError, match=mistake):
        check_event(event | change)
