"""Images in requests: the document refuses what the server refuses, and nothing else."""

from itertools import product
from typing import Any

import pytest

from app.api.body import validated
from app.errors import ApiError
from app.protocol import ChatRequest, MessagesRequest, ResponseRequest
from tests.app.openapi.described import refused_by_document

ABSENT = object()
URLS: list[Any] = [
    *(ABSENT, None, "x", 3, {}, {"url": 3}, {"url": "x"}, {"url": "x", "detail": "low"}),
    *({"url": "x", "detail": None}, {"url": "x", "detail": "odd"}),
]
#: values of fields of an image; all combinations of those of a chat are 120
VALUES = {"image_url": URLS, "file_id": [ABSENT, None, "", 3], "detail": [ABSENT, "high", "odd"]}


def is_refused(kind: Any, fields: dict[str, Any]) -> bool:
    body = {"model": "noise", "max_tokens": 1, **fields}
    if kind is not MessagesRequest:
        del body["max_tokens"]
    try:
        validated(kind, body)
        is_wrong = False
    except ApiError:
        is_wrong = True
    assert refused_by_document(kind.__name__, body) is is_wrong, body
    return is_wrong


@pytest.mark.parametrize("role", ["user", "system"])
@pytest.mark.parametrize(
    ("kind", "field"), [(ChatRequest, "messages"), (ResponseRequest, "input")], ids=["chat", "item"]
)
def test_images_of_openais_apis(kind: Any, field: str, role: str):
    refused = 0
    for values in product(*VALUES.values()):
        part = {name: v for name, v in zip(VALUES, values, strict=True) if v is not ABSENT}
        said = {"role": role, "content": [{"type": "input_image", **part}]}
        refused += is_refused(kind, {field: [said]})
    assert (refused > 0) is (role == "user")


@pytest.mark.parametrize("kind", ["image", "document"])
@pytest.mark.parametrize("field", ["source", "title", "context", "cache_control"])
@pytest.mark.parametrize("value", [None, 3, [None], {"type": 3, "data": [], "url": {}}, "x"])
def test_media_of_anthropics_results(kind: str, field: str, value: Any):
    """No result may end a session."""
    result = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": kind, field: value}]}
    assert not is_refused(MessagesRequest, {"messages": [{"role": "user", "content": [result]}]})
