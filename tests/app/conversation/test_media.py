"""Which media a model sees, which are lines of text, and which are errors."""

from collections.abc import Sequence
from typing import Any

import pytest

from adapters.workers import Image
from app.conversation.media import newest_images, shown_media
from app.errors import ApiError
from app.generation import Media, Message, Text
from app.images import UnreadableImage


class Images(dict[str, Any]):
    """An image for each URL, with the URL as its data."""

    def __missing__(self, url: str) -> Image:
        return Image("image/png", url, url.encode(), 2, 3)


BROKEN = UnreadableImage("it is cut after 3 of 90 bytes.", "invalid_image_format")
LOADED = Images(broken=BROKEN)


def media(at: str, url: str | None = "red", kind: str = "image_url", **more: Any) -> Media:
    return Media(kind, at, url, **more)


FILE = media("messages[0].content[0]", None, "input_file", title="a.pdf")
SAID = Message("assistant", (Text("answer"),))
RESULT = Message("tool", (Text("result"),), call_id="a")


def user(*parts: Any) -> Message:
    return Message("user", parts)


def shown(messages: Sequence[Message], loaded: Any = LOADED, **rules: Any) -> Any:
    rules = {"refuses": True, "most": 3, **rules}
    return shown_media(messages, loaded, mark=lambda number: f"<{number}>", **rules)


def texts(messages: Sequence[Message]) -> list[str]:
    assert not any(isinstance(part, Media) for message in messages for part in message.parts)
    return [message.text for message in messages]


def test_images_of_users_and_results_are_seen_in_their_order() -> None:
    result = Message("tool", (Text("result "), media("messages[2].content[1]", "blue")))
    made = shown([user(media("a", detail="low"), Text(" word")), SAID, result, user(media("b"))])
    assert texts(made.messages) == ["<0> word", "answer", "result <1>", "<2>"]
    assert [image.data for image in made.images] == ["red", "blue", "red"]
    assert made.left_out == ["a detail"]


def test_a_conversation_without_media_stays_as_it_is() -> None:
    messages = (user(Text("word")), SAID)
    assert shown(messages).messages is messages


#: parts that no model sees, and the reason
UNSEEN: dict[str, tuple[Media, Any, str, str]] = {
    "a model without vision": (
        media("messages[0].content[0]"), None, "this model reads text only", "unsupported_media"
    ),
    "a file": (FILE, LOADED, "this model sees images and text only", "unsupported_media"),
    "a sound": (
        media("messages[0].content[0]", None, "input_audio"),
        LOADED, "this model sees images and text only", "unsupported_media",
    ),
    "an image of another server": (
        media("messages[0].content[0]", None, "input_image"),
        LOADED, "it has no URL or data", "unsupported_media",
    ),
    "a file for a model without vision": (
        FILE, None, "this model reads text only", "unsupported_media"
    ),
    "an unreadable image": (
        media("messages[0].content[0]", "broken"),
        LOADED, "it cannot be read: it is cut after 3 of 90 bytes", "invalid_image_format",
    ),
}  # fmt: skip
#: what stands around a message with the part
CURRENT: dict[str, Any] = {
    "alone": lambda part: [user(part, Text(" word"))],
    "behind an answer": lambda part: [user(Text("word")), SAID, user(part)],
    "behind another message": lambda part: [SAID, user(Text("word")), user(part)],
    "before a system message": lambda part: [user(part), Message("system", (Text("rules"),))],
}
HISTORY: dict[str, Any] = {
    "before an answer": lambda part: [user(part), SAID],
    "before an answer and on": lambda part: [user(part), SAID, user(Text("word"))],
    "in a result": lambda part: [SAID, Message("tool", (part,))],
    "in a result before a message": lambda part: [Message("tool", (part,)), user(Text("word"))],
    "before results": lambda part: [user(part), RESULT],
    "behind results": lambda part: [SAID, RESULT, user(Text("word")), user(part)],
    "before another message of the user": lambda part: [user(part), user(Text("word"))],
    "in an answer": lambda part: [user(Text("word")), Message("assistant", (part,))],
    "in a system message": lambda part: [Message("system", (part,)), user(Text("word"))],
}


@pytest.mark.parametrize("where", CURRENT)
@pytest.mark.parametrize("title", UNSEEN)
def test_an_unseen_part_of_the_current_message_is_an_error(title: str, where: str) -> None:
    part, loaded, reason, code = UNSEEN[title]
    with pytest.raises(ApiError) as refused:
        shown(CURRENT[where](part), loaded)
    error = refused.value
    assert (error.status, error.param, error.code) == (400, part.at, code)
    assert error.message == (
        f"Invalid '{part.at}': the part of type '{part.kind}' cannot be shown to the model: "
        f"{reason}."
    )


@pytest.mark.parametrize("where", [*HISTORY, *CURRENT])
@pytest.mark.parametrize("title", UNSEEN)
def test_any_other_is_a_line_of_text_and_named(title: str, where: str) -> None:
    part, loaded, reason, _ = UNSEEN[title]
    if where in HISTORY:
        made = shown(HISTORY[where](part), loaded)
    else:
        made = shown(CURRENT[where](part), loaded, refuses=False)
    about = f" {part.title}" if part.title else ""
    lines = "".join(texts(made.messages))
    if where in ("in an answer", "in a system message") and part.url and loaded:
        reason = "images are seen in messages of users and in results only"
    assert f"[{part.kind}{about}: not shown, {reason}]" in lines
    assert made.left_out == [f"messages/0/content/0 {part.kind}"]
    assert not made.images


@pytest.mark.parametrize(
    ("kind", "words"),
    [("image", "Could not process image: "), ("document", "Could not process PDF: ")],
)
def test_parts_of_anthropic_are_refused_in_its_words(kind: str, words: str) -> None:
    part = media("messages[0].content[0]", None, kind)
    with pytest.raises(ApiError, match=f"{words}the part of type '{kind}' cannot be shown"):
        shown([user(part)], None)


def many(number: int, first: int = 0) -> list[Media]:
    return [media(f"parts[{at}]", f"parts[{at}]") for at in range(first, first + number)]


def seen(made: Any) -> list[str]:
    return [image.data for image in made.images]


def test_of_many_images_the_newest_are_seen() -> None:
    messages = [user(*many(3)), SAID, Message("tool", (*many(1, 3), FILE))]
    made = shown(messages)
    line = "[image_url: not shown, only the newest 3 images are]"
    assert texts(made.messages)[:2] == [f"{line}<0><1>", "answer"]
    assert seen(made) == ["parts[1]", "parts[2]", "parts[3]"]
    assert made.left_out == ["parts/0 image_url", "messages/0/content/0 input_file"]
    assert [part.at for part in newest_images(messages, refuses=True, most=3)] == seen(made)


@pytest.mark.parametrize(("number", "is_allowed"), [(3, True), (4, False)])
def test_a_message_with_more_images_than_a_model_sees_is_an_error(
    number: int, is_allowed: bool
) -> None:
    messages = [user(*many(2)), SAID, user(*many(number, 2))]
    if is_allowed:
        made = shown(messages)
        assert seen(made) == ["parts[2]", "parts[3]", "parts[4]"]
        return
    for step in (shown, lambda messages: newest_images(messages, refuses=True, most=3)):
        with pytest.raises(ApiError, match="at most 3 images are allowed, got 4") as refused:
            step(messages)
        assert (refused.value.param, refused.value.code) == ("parts[5]", "too_many_images")
    assert len(shown(messages, refuses=False).images) == 3


def test_a_model_without_vision_names_no_number_of_images() -> None:
    with pytest.raises(ApiError, match="this model reads text only"):
        shown([user(*many(4))], None)


def test_images_that_a_template_cannot_show_are_unseen_for_that_reason() -> None:
    messages = [user(*many(1)), SAID, user(Text("word"))]
    made = shown(messages, None, reason="it cannot")
    assert texts(made.messages)[0] == "[image_url: not shown, it cannot]"
    with pytest.raises(ApiError, match="to the model: it cannot"):
        shown(messages[:1], None, reason="it cannot")
