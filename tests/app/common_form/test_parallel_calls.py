"""Several calls of one answer, as the Messages API asks for them, in the common form."""

import pytest

from app.api.body import validated
from app.common_form import common_message
from app.protocol import MessagesRequest

TOOL = {"name": "f", "input_schema": {"type": "object"}}


@pytest.mark.parametrize(
    ("choice", "several"),
    [
        (None, None),
        ({"type": "auto"}, None),
        ({"type": "auto", "disable_parallel_tool_use": True}, False),
        ({"type": "any", "disable_parallel_tool_use": False}, True),
    ],
    ids=str,
)
def test_only_a_request_that_says_so_decides_on_several_calls(
    choice: dict[str, object] | None, several: bool | None
) -> None:
    body = {
        "max_tokens": 1,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [TOOL],
        "tool_choice": choice,
    }
    request = validated(MessagesRequest, body)
    assert common_message(request, lambda sealed: None, 1).parallel_tool_calls is several


def test_several_calls_need_the_consent_of_both_fields() -> None:
    body = {
        "max_tokens": 1,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [TOOL],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": False},
        "parallel_tool_calls": False,
    }
    request = validated(MessagesRequest, body)
    assert common_message(request, lambda sealed: None, 1).parallel_tool_calls is False
