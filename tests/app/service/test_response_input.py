"""Earlier items that the store has lost or damaged."""

from typing import Any

import pytest

from app.common_form import Conversation, ToolNames
from app.errors import ApiError
from app.protocol import ResponseRequest
from app.service.response_input import ResponseInput
from app.state import Chain

DAMAGED: list[dict[str, Any]] = [
    {"type": "message", "role": 5},
    {"type": "configuration_update", "text": {"format": {"type": "json_schema"}}},
    {"type": "configuration_updat"},
    {"type": "item_reference", "id": "msg_1"},
    {"type": "compaction_trigger"},
    {"type": []},
    {},
]


@pytest.mark.parametrize("item", DAMAGED, ids=str)
@pytest.mark.parametrize(
    ("earlier", "message"),
    [
        ({"previous_response_id": "resp_1"}, "Previous response with id 'resp_1' not found."),
        ({"conversation": "conv_1"}, "Conversation with id 'conv_1' not found."),
    ],
)
def test_a_damaged_item_is_an_error_that_names_its_place(
    item: dict[str, Any], earlier: dict[str, Any], message: str
) -> None:
    """REGRESSION: of a conversation, the error named an earlier response; and an item that no
    prompt shows was lost, or an internal error."""
    request = ResponseRequest.model_validate({"model": "m", "input": "Hi", **earlier})
    found = ResponseInput(request, Chain((), (item,), 1), [], ToolNames((), ()), 1)
    with pytest.raises(ApiError) as caught:
        found.fill(Conversation({}, lambda *_: None))
    assert caught.value.message == message
