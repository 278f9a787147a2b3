"""Images and other media of all APIs in the common form."""

from collections.abc import Sequence
from typing import Any

import pytest

from app.api.body import validated
from app.common_form import Conversation, common_chat, common_message
from app.conversation import shown_media
from app.errors import ApiError
from app.generation import Media, Message, Text
from app.protocol import ChatRequest, MessagesRequest, ResponseRequest, media_chars
from tests.app.openapi.described import refused_by_document

PNG = "data:image/png;base64,iVBORw0KGgo="
USER = {"role": "user", "content": "hi"}


def chat(*messages: Any) -> Sequence[Message]:
    return common_chat(validated(ChatRequest, {"messages": [*messages]})).messages or ()


def response(*items: Any) -> Sequence[Message]:
    request = validated(ResponseRequest, {"input": [*items]})
    conversation = Conversation()
    assert isinstance(request.input, list)
    conversation.add((f"input[{n}]", item) for n, item in enumerate(request.input))  # type: ignore[misc]
    conversation.close()
    return conversation.messages


def message(*messages: Any) -> Sequence[Message]:
    request = validated(MessagesRequest, {"max_tokens": 1, "messages": [*messages]})
    return common_message(request, lambda sealed: None, 1).messages or ()


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": [*parts]}


def image_url(url: Any, **more: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **more}}


def input_image(**fields: Any) -> dict[str, Any]:
    return {"type": "input_image", **fields}


def image(**source: Any) -> dict[str, Any]:
    return {"type": "image", "source": source}


def output(*parts: Any, kind: str = "function_call_output") -> dict[str, Any]:
    return {"type": kind, "call_id": "c", "output": [*parts]}


def tool_result(*blocks: Any) -> dict[str, Any]:
    return user({"type": "tool_result", "tool_use_id": "t", "content": [*blocks]})


BASE64 = image(type="base64", media_type="image/png", data="iVBORw0KGgo=")
#: read, the message, its media
CASES: dict[str, tuple[Any, dict[str, Any], Media]] = {
    "chat": (
        chat,
        user({"type": "text", "text": "a"}, image_url(PNG, detail="low")),
        Media("image_url", "messages[0].content[1]", PNG, "low"),
    ),
    "chat, a text for the object": (
        chat,
        user({"type": "image_url", "image_url": PNG, "detail": "high"}),
        Media("image_url", "messages[0].content[0]", PNG, "high"),
    ),
    "chat, as in responses": (
        chat,
        user(input_image(image_url=PNG, detail="original")),
        Media("input_image", "messages[0].content[0]", PNG, "original"),
    ),
    "chat, nulls": (
        chat,
        user(image_url("http://a/b.png", detail=None)),
        Media("image_url", "messages[0].content[0]", "http://a/b.png"),
    ),
    "chat, a result": (
        chat,
        {"role": "tool", "tool_call_id": "c", "content": [image_url(PNG)]},
        Media("image_url", "messages[0].content[0]", PNG),
    ),
    "chat, a damaged result": (
        chat,
        {"role": "tool", "tool_call_id": "c", "content": [image_url(3, detail="x")]},
        Media("image_url", "messages[0].content[0]"),
    ),
    "chat, the system": (
        chat,
        {"role": "system", "content": [image_url(PNG)]},
        Media("image_url", "messages[0].content[0]"),
    ),
    "chat, an answer": (
        chat,
        {"role": "assistant", "content": [image_url({})]},
        Media("image_url", "messages[0].content[0]"),
    ),
    "chat, a file": (
        chat,
        user({"type": "file", "file": {"filename": "a.pdf", "file_data": "data:,"}}),
        Media("file", "messages[0].content[0]", title="a.pdf"),
    ),
    "chat, a sound": (
        chat,
        user({"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}),
        Media("input_audio", "messages[0].content[0]"),
    ),
    "chat, a video": (
        chat,
        user({"type": "video_url", "video_url": {"url": "http://a/b.mp4"}}),
        Media("video_url", "messages[0].content[0]"),
    ),
    "responses": (
        response,
        user(input_image(image_url=PNG, detail="auto")),
        Media("input_image", "input[0].content[0]", PNG, "auto"),
    ),
    "responses, a file's id": (
        response,
        user(input_image(file_id="file-1", image_url=None)),
        Media("input_image", "input[0].content[0]"),
    ),
    "responses, a result": (
        response,
        output({"type": "input_text", "text": "a"}, input_image(image_url=PNG)),
        Media("input_image", "input[0].output[1]", PNG),
    ),
    "responses, a result of a custom tool": (
        response,
        output(input_image(image_url=PNG), kind="custom_tool_call_output"),
        Media("input_image", "input[0].output[0]", PNG),
    ),
    "responses, a damaged result": (
        response,
        output(input_image(image_url=[], detail=1)),
        Media("input_image", "input[0].output[0]"),
    ),
    "responses, an answer": (
        response,
        {"role": "assistant", "content": [input_image(image_url=PNG)]},
        Media("input_image", "input[0].content[0]"),
    ),
    "responses, a developer": (
        response,
        {"role": "developer", "content": [input_image(image_url=PNG)]},
        Media("input_image", "input[0].content[0]"),
    ),
    "responses, a file": (
        response,
        user({"type": "input_file", "filename": "a.pdf", "file_url": "http://a/b"}),
        Media("input_file", "input[0].content[0]", title="a.pdf"),
    ),
    "messages": (
        message,
        user(BASE64),
        Media("image", "messages[0].content[0]", PNG),
    ),
    "messages, a URL": (
        message,
        user(image(type="url", url="https://a/b")),
        Media("image", "messages[0].content[0]", "https://a/b"),
    ),
    "messages, a file": (
        message,
        user(image(type="file", file_id="file_1")),
        Media("image", "messages[0].content[0]"),
    ),
    "messages, without a source": (
        message,
        user({"type": "image", "source": None}),
        Media("image", "messages[0].content[0]"),
    ),
    "messages, without data": (
        message,
        user(image(type="base64", media_type="image/png", data=None)),
        Media("image", "messages[0].content[0]"),
    ),
    "messages, a result": (
        message,
        tool_result({"type": "text", "text": "a"}, BASE64),
        Media("image", "messages[0].content[0].content[1]", PNG),
    ),
    "messages, a damaged result": (
        message,
        tool_result(image(type="base64", data=3)),
        Media("image", "messages[0].content[0].content[0]"),
    ),
    "messages, a document": (
        message,
        user({"type": "document", "title": "a", "source": {"type": "base64", "data": "AA=="}}),
        Media("document", "messages[0].content[0]", title="a"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_media_have_their_place_their_url_and_their_detail(name: str) -> None:
    read, given, wanted = CASES[name]
    (said,) = read(given)
    assert [part for part in said.parts if isinstance(part, Media)] == [wanted]


IN_ORDER = {
    "chat": (chat, [{"type": "text", "text": "a"}, image_url(PNG), {"type": "text", "text": "b"}]),
    "responses": (
        response,
        [
            {"type": "input_text", "text": "a"},
            input_image(image_url=PNG),
            {"type": "input_text", "text": "b"},
        ],
    ),
    "messages": (message, [{"type": "text", "text": "a"}, BASE64, {"type": "text", "text": "b"}]),
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_parts_keep_their_order(name: str) -> None:
    read, parts = IN_ORDER[name]
    (said,) = read(user(*parts))
    assert [part.text if isinstance(part, Text) else "" for part in said.parts] == ["a", "", "b"]


#: read, the part of a user, the field that its error names
MISTAKES: list[tuple[Any, Any, str]] = [
    (chat, {"type": "image_url"}, "messages[0].content[0].image_url"),
    (chat, {"type": "image_url", "image_url": {}}, "messages[0].content[0].image_url.url"),
    (chat, {"type": "image_url", "image_url": 3}, "messages[0].content[0].image_url"),
    (chat, image_url(3), "messages[0].content[0].image_url.url"),
    (chat, image_url(PNG, detail="huge"), "messages[0].content[0].image_url.detail"),
    (chat, input_image(image_url=PNG, detail="huge"), "messages[0].content[0].detail"),
    (response, input_image(), "input[0].content[0].image_url"),
    (response, input_image(image_url=3), "input[0].content[0].image_url"),
    (response, input_image(image_url=PNG, detail="huge"), "input[0].content[0].detail"),
    (message, {"type": "image", "source": 3}, "messages[0].content[0].source"),
    (message, image(type="base64", data=3), "messages[0].content[0].source.data"),
    (message, image(type="url", url=3), "messages[0].content[0].source.url"),
]  # fmt: skip


@pytest.mark.parametrize(("read", "part", "param"), MISTAKES)
def test_a_damaged_image_of_a_user_is_refused_with_its_field(
    read: Any, part: Any, param: str
) -> None:
    with pytest.raises(ApiError) as caught:
        read(user(part))
    assert (caught.value.status, caught.value.param) == (400, param)


@pytest.mark.parametrize(
    "last", [user(), user({"type": "browser_state"}), user({"type": "thinking"})]
)
def test_an_image_before_an_empty_message_is_not_in_the_current_one(last: dict[str, Any]) -> None:
    """REGRESSION: that message was left out, and the image of the history was refused."""
    messages = message(user(image(type="url", url="x")), {"role": "assistant", "content": []}, last)
    assert [each.role for each in messages] == ["user", "user"]
    assert shown_media(messages, None, mark=str, refuses=True, most=1).left_out == [
        "messages/0/content/0 image"
    ]


def bodies(read: Any, given: Any) -> tuple[str, dict[str, Any]]:
    """Return the name of a body's schema, and a body with a message or an item."""
    if read is response:
        return "ResponseRequest", {"input": [given]}
    if read is chat:
        return "ChatRequest", {"messages": [given]}
    return "MessagesRequest", {"max_tokens": 1, "messages": [given]}


@pytest.mark.parametrize("name", CASES)
def test_the_document_allows_media(name: str) -> None:
    read, given, _ = CASES[name]
    assert not refused_by_document(*bodies(read, given))


@pytest.mark.parametrize(("read", "part", "param"), MISTAKES)
def test_the_document_refuses_damaged_images_of_users(read: Any, part: Any, param: str) -> None:
    assert refused_by_document(*bodies(read, user(part)))


#: bodies whose media have 1,000 characters, and a few more in other fields of parts
LONG = "A" * 1000
SIZES: dict[str, tuple[Any, dict[str, Any]]] = {
    "chat": (ChatRequest, {"messages": [user(image_url(LONG))]}),
    "a sound": (
        ChatRequest,
        {"messages": [user({"type": "input_audio", "input_audio": {"data": LONG}})]},
    ),
    "a file": (
        ChatRequest,
        {"messages": [user({"type": "file", "file": {"file_data": LONG}})]},
    ),
    "responses": (ResponseRequest, {"input": [output(input_image(image_url=LONG))]}),
    "messages": (
        MessagesRequest,
        {
            "max_tokens": 1,
            "messages": [tool_result(image(type="base64", media_type="a", data=LONG))],
        },
    ),
    "a document": (
        MessagesRequest,
        {
            "max_tokens": 1,
            "messages": [user({"type": "document", "source": {"type": "base64", "data": LONG}})],
        },
    ),
}


@pytest.mark.parametrize("name", SIZES)
def test_characters_of_media_are_counted(name: str) -> None:
    kind, body = SIZES[name]
    assert 1000 <= media_chars(validated(kind, body)) < 1100


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (ChatRequest, {"messages": [user({"type": "text", "text": LONG, "image_url": LONG})]}),
        (ResponseRequest, {"input": LONG}),
        (
            MessagesRequest,
            {
                "max_tokens": 1,
                "messages": [user({"type": "document", "source": {"type": "text", "data": LONG}})],
            },
        ),
    ],
)
def test_text_is_no_media(kind: Any, body: dict[str, Any]) -> None:
    assert media_chars(validated(kind, body)) == 0


def test_the_name_of_a_file_which_prompts_show_counts_as_text() -> None:
    file = {"file_data": "x" * 50, "filename": "n" * 1000}
    part = {"type": "file", "file": file}
    body = {"model": "m", "messages": [{"role": "user", "content": [part]}]}
    assert media_chars(ChatRequest.model_validate(body)) == len("file") + 50
