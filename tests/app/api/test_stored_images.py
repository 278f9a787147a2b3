"""Images in stored items: of responses, of conversations and of compacted ones."""

from typing import Any

import httpx
import openai.types.responses as kinds
import pytest
from openai.types.conversations import ConversationItemList

from tests.app.gateway import OPTIONS, Gateway, gateway_fixture
from tests.app.images.files import data_url, picture
from tests.app.wire import mistakes
from tests.waiting import until

gateway = gateway_fixture(format="hermes")

PNG = data_url(picture("PNG"))
IMAGE = {"type": "input_image", "image_url": PNG}
CALL: dict[str, Any] = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
OUTPUT: dict[str, Any] = {"type": "function_call_output", "call_id": "c", "output": ""}
CUSTOM: dict[str, Any] = {"type": "custom_tool_call", "call_id": "d", "name": "g", "input": ""}


def text(words: str) -> dict[str, Any]:
    return {"type": "input_text", "text": words}


def shown(url: str = PNG, detail: str = "auto") -> dict[str, Any]:
    return {"type": "input_image", "detail": detail, "image_url": url}


#: parts as they are sent, and as they are listed
PARTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (IMAGE, shown()),
    ({**IMAGE, "detail": "low", "file_id": None}, shown(detail="low")),
    (
        {"type": "input_image", "file_id": "file-1"},
        {"type": "input_image", "detail": "auto", "file_id": "file-1"},
    ),
    ({"type": "image_url", "image_url": {"url": PNG, "detail": "high"}}, shown(detail="high")),
    (
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:,"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:,"},
    ),
    (
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        text("[input_audio: not shown]"),
    ),
    (text("b"), text("b")),
]
SENT, LISTED = [part for part, _ in PARTS], [part for _, part in PARTS]
ITEMS_SENT: list[dict[str, Any]] = [
    {"role": "user", "content": SENT},
    {"role": "developer", "content": [IMAGE]},
    {"role": "assistant", "content": [{"type": "output_text", "text": "a"}, IMAGE]},
    CALL,
    {"type": "function_call_output", "call_id": "c", "output": SENT},
    CUSTOM,
    {"type": "custom_tool_call_output", "call_id": "d", "output": [IMAGE]},
    {"role": "user", "content": "And?"},
]


def contents(items: list[dict[str, Any]]) -> list[Any]:
    return [item.get("content", item.get("output")) for item in items]


def check_listed(items: list[dict[str, Any]]) -> None:
    said = [
        {"type": "output_text", "text": each, "annotations": []}
        for each in ("a", "[input_image: not shown]")
    ]
    wanted = [LISTED, [shown()], said, None, LISTED, None, [shown()], [text("And?")]]
    assert contents(items) == wanted


def create(gateway: Gateway, path: str, **body: Any) -> dict[str, Any]:
    answer = gateway.post({"model": "noise", **body}, path=path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def listed(gateway: Gateway, path: str) -> list[dict[str, Any]]:
    answer = httpx.get(f"{gateway.url}{path}?order=asc&limit=100", **OPTIONS)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def test_stored_input_keeps_images_of_messages_and_of_results(gateway: Gateway) -> None:
    made = create(gateway, "/v1/responses", input=ITEMS_SENT, max_output_tokens=3)
    items = listed(gateway, f"/v1/responses/{made['id']}/input_items")
    check_listed(items)
    assert [m for item in items for m in mistakes(kinds.ResponseItem, item)] == []
    again = create(gateway, "/v1/responses", input=items, max_output_tokens=3)
    repeated = listed(gateway, f"/v1/responses/{again['id']}/input_items")
    assert contents(repeated) == contents(items)


def test_conversations_keep_images(gateway: Gateway) -> None:
    number = gateway.post({}, path="/v1/conversations").json()["id"]
    path = f"/v1/conversations/{number}/items"
    added = gateway.post({"items": ITEMS_SENT}, path=path).json()
    assert mistakes(ConversationItemList, added) == []
    check_listed(added["data"])
    assert listed(gateway, path) == added["data"]
    answer = create(gateway, "/v1/responses", conversation=number, input="And?")
    assert answer["usage"]["input_tokens"] > 0


def test_a_compaction_keeps_messages_with_images_whole(gateway: Gateway) -> None:
    items = create(gateway, "/v1/responses/compact", input=ITEMS_SENT)["output"]
    assert contents(items) == [LISTED, [shown()], [text("And?")], None]


def test_what_is_too_large_to_be_stored_is_delivered_but_not_begun_in_the_background() -> None:
    """REGRESSION: the latter got 503, which clients retry."""
    image = {**IMAGE, "image_url": f"data:image/png;base64,{'A' * 3000}"}
    asked = {"input": [{"role": "user", "content": [image]}, CALL, OUTPUT], "max_output_tokens": 3}
    with Gateway(responses_max_bytes=2048) as gateway:
        assert create(gateway, "/v1/responses", **asked)["store"] is False
        answer = gateway.post({"model": "noise", "background": True, **asked}, path="/v1/responses")
        error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "response_too_large")
    assert (error["param"], "2,048" in error["message"]) == ("input", True)


@pytest.mark.parametrize("form", ["previous", "reference"])
def test_a_stored_image_is_in_the_prompt_of_what_follows(gateway: Gateway, form: str) -> None:
    """The prompt has the tokens of the whole conversation."""
    first = [{"role": "user", "content": [text("a"), IMAGE]}]
    asked = {"max_output_tokens": 3, "seed": 1}
    before = create(gateway, "/v1/responses", input=first, **asked)
    more = [{"role": "user", "content": "And?"}]
    whole = create(gateway, "/v1/responses", input=[*first, *before["output"], *more], **asked)
    if form == "previous":
        asked["previous_response_id"] = before["id"]
        items: list[Any] = more
    else:
        (stored,) = listed(gateway, f"/v1/responses/{before['id']}/input_items")
        reference = {"type": "item_reference", "id": stored["id"]}
        items = [reference, *before["output"], *more]
    again = create(gateway, "/v1/responses", input=items, **asked)
    assert again["usage"]["input_tokens"] == whole["usage"]["input_tokens"]


def test_a_response_in_the_background_has_the_images_of_its_input(gateway: Gateway) -> None:
    asked = {"input": [{"role": "user", "content": [text("a"), IMAGE]}], "max_output_tokens": 3}
    whole = create(gateway, "/v1/responses", **asked)
    number = create(gateway, "/v1/responses", **asked, background=True)["id"]

    def current() -> Any:
        return httpx.get(f"{gateway.url}/v1/responses/{number}", **OPTIONS).json()

    until(lambda: current()["status"] not in ("queued", "in_progress"))
    made = current()
    assert made["status"] in ("completed", "incomplete"), made
    assert made["usage"]["input_tokens"] == whole["usage"]["input_tokens"]


@pytest.mark.parametrize("is_background", [False, True])
def test_a_part_that_no_model_sees_is_refused_or_named_at_once(
    gateway: Gateway, is_background: bool
) -> None:
    """A response in the background says so before it begins."""
    file = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,"}
    asked = {"model": "noise", "max_output_tokens": 3, "background": is_background}
    current = {"role": "user", "content": [file]}
    answer = gateway.post({**asked, "input": [current]}, path="/v1/responses")
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"] == "input[0].content[0]"
    items = [current, {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
    answer = gateway.post({**asked, "input": items}, path="/v1/responses")
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-switchyard-ignored"] == "input/0/content/0 input_file"
