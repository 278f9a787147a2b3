"""Images of requests reach the worker with their places in the prompt."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pytest

from adapters.workers import Chunk, Image, PromptTooLong
from app.common_form import common_chat
from app.conversation.tokenizer import BUILTIN_IMAGE, Rendered, UnshownImages
from app.errors import ApiError
from app.generation import Media
from app.protocol import MessagesRequest, TokenizeRequest
from app.sealing import Seal
from app.service.chat_prompts import UNSHOWN
from app.service.generation_service import weight_of
from app.service.messages_service import MessagesService
from app.service.tokenize_service import TokenizeService
from tests.app.messages import payloads
from tests.app.service.scripted import Service, context, request, script, tokens
from tests.pulling import written


class Unreadable(NamedTuple):
    reason: str
    code: str


class Loader:
    """Reads each URL as an image of this content, but for "broken"."""

    def __init__(self) -> None:
        self.asked: list[list[str | None]] = []

    async def load(self, media: Sequence[Media], client: str) -> Mapping[str, Any]:
        assert client == "me"
        self.asked.append([part.url for part in media])
        return {part.url: self._read(part.url) for part in media if part.url is not None}

    def _read(self, url: str) -> Image | Unreadable:
        name = url.partition(",")[2]
        if name == "broken":
            return Unreadable("it is broken", "invalid_image_format")
        return Image("image/png", name, name.encode(), 1, 1)


def image(name: str, detail: str = "auto") -> dict[str, Any]:
    url = {"url": f"data:image/png;base64,{name}", "detail": detail}
    return {"type": "image_url", "image_url": url}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


SAID = {"role": "assistant", "content": "answer"}
TWO = [user(text("one"), image("red")), SAID, user(image("blue", "low"), text("two"))]


def seen(service: Service, number: int = -1) -> list[str]:
    """The images that a worker got, each at its placeholder."""
    asked = service.worker.asked[number]
    for each in asked.images:
        rest = service.tokenizer.decode(asked.prompt[each.at :])
        assert rest.startswith(BUILTIN_IMAGE)
    return [each.image.data for each in asked.images]


async def test_a_worker_gets_the_images_of_a_prompt_in_its_order() -> None:
    service = Service(script("answer"), images=Loader())
    made = await service.complete_with_headers(messages=TWO)
    assert seen(service) == ["red", "blue"]
    assert service.prompt().count(BUILTIN_IMAGE) == 2
    assert made.headers["x-switchyard-ignored"] == "messages/2/content/0 detail"
    assert made.body["usage"]["prompt_tokens"] == 5


async def test_a_stream_and_each_choice_of_it_have_the_images() -> None:
    service = Service(script("answer"), images=Loader())
    events = await service.stream(messages=TWO, n=3, stream_options={"include_usage": True})
    assert [seen(service, n) for n in range(3)] == [["red", "blue"]] * 3
    assert events[-2]["usage"]["prompt_tokens"] == 5
    urls = [part["image_url"]["url"] for part in (image("red"), image("blue"))]
    assert service.images.asked == [urls]


async def test_a_message_begins_with_the_tokens_that_the_worker_counted() -> None:
    service = Service([Chunk(tokens("word"), None, 1234), *script("s")], images=Loader())
    messages = MessagesService(service.generation, Seal(b"key" * 8))
    source = {"type": "base64", "media_type": "image/png", "data": "red"}
    said = {"role": "user", "content": [{"type": "image", "source": source}]}
    body = {"model": "noise", "max_tokens": 9, "messages": [said], "stream": True}
    stream = await messages.stream(MessagesRequest.model_validate(body), context())
    first = json.loads(payloads((await anext(written(stream))).decode())[0])
    await stream.aclose()
    assert first["message"]["usage"]["input_tokens"] == 1234


async def test_what_is_not_seen_is_named() -> None:
    messages = [user(image("broken"), image("red")), SAID, user(text("two"))]
    service = Service(script("answer"), images=Loader())
    made = await service.complete_with_headers(messages=messages)
    assert seen(service) == ["red"]
    assert made.headers["x-switchyard-ignored"] == "messages/0/content/0 image_url"
    assert "it cannot be read: it is broken" in service.prompt()
    assert service.count("ignored_parts_total", kind="image_url") == 1


async def test_an_unreadable_image_of_the_current_message_is_an_error() -> None:
    service = Service(script("answer"), images=Loader())
    with pytest.raises(ApiError, match="it is broken") as refused:
        await service.complete(messages=[user(text("one"), image("broken"))])
    assert (refused.value.status, refused.value.param) == (400, "messages[0].content[1]")
    assert not service.worker.asked
    service = Service(script("answer"), images=Loader(), unseen_media="text")
    await service.complete(messages=[user(text("one"), image("broken"))])
    assert "it cannot be read: it is broken" in service.prompt()


async def test_a_worker_without_vision_gets_no_image_and_none_is_loaded() -> None:
    service = Service(script("answer"), images=Loader())
    service.worker.sees_images = False
    messages = [user(image("red")), SAID, user(text("two"))]
    made = await service.complete_with_headers(messages=messages)
    assert not service.worker.asked[0].images
    assert "[image_url: not shown, this model reads text only]" in service.prompt()
    assert made.headers["x-switchyard-ignored"] == "messages/0/content/0 image_url"
    with pytest.raises(ApiError, match="this model reads text only"):
        await service.complete(messages=[user(image("red"))])
    assert service.images.asked == []


async def test_images_that_the_template_cannot_show_are_lines_of_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else the session of an agent would end, which sends them with each request."""
    service = Service(script("answer"), images=Loader())
    render = service.tokenizer.render

    def deaf(*asked: Any) -> Rendered:
        prompt = render(*asked)
        if prompt.images:
            raise UnshownImages
        return prompt

    monkeypatch.setattr(service.tokenizer, "render", deaf)
    made = await service.complete_with_headers(messages=[*TWO, SAID, user(text("three"))])
    named = "messages/0/content/1 image_url, messages/2/content/0 image_url"
    assert made.headers["x-switchyard-ignored"] == named
    assert service.prompt().count(f"[image_url: not shown, {UNSHOWN}]") == 2
    assert not seen(service)
    with pytest.raises(ApiError, match=UNSHOWN) as refused:
        await service.complete(messages=TWO)
    assert refused.value.param == "messages[2].content[0]"


async def count(service: Service, messages: list[Any]) -> int:
    read = partial(common_chat, request(messages=messages))
    return await service.generation.count(read, context())


async def test_a_worker_counts_the_tokens_of_a_prompt_with_images() -> None:
    service = Service([Chunk((), "length", 1234, 1)], images=Loader())
    assert await count(service, TWO) == 1234
    (asked,) = service.worker.asked
    assert (asked.max_tokens, asked.spec, len(asked.images)) == (1, None, 2)


async def test_a_prompt_beyond_the_context_is_counted_too() -> None:
    service = Service([PromptTooLong(5000, 4096)], images=Loader())
    assert await count(service, TWO) == 5000


async def test_a_worker_counts_one_prompt_of_a_client_at_a_time() -> None:
    """Counts wait in no queue and for no limit, so a client could fill a worker with them."""
    service = Service([None], images=Loader())
    counts = [asyncio.create_task(count(service, TWO)) for _ in range(3)]
    while not service.worker.open:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    assert len(service.worker.asked) == service.worker.open == 1
    for each in counts:
        each.cancel()
        await asyncio.wait([each])
    assert not service.worker.open
    service.worker.scripts = ([Chunk((), "length", 1234, 1)],)
    assert await count(service, TWO) == 1234


async def test_no_worker_counts_a_prompt_without_images() -> None:
    service = Service(script("answer"), images=Loader())
    few = await count(service, [user(text("one"))])
    assert 0 < few < await count(service, [user(text("one, and some more words"))])
    assert not service.worker.asked


async def test_a_prompt_alone_has_placeholders_of_images_that_are_not_loaded() -> None:
    service = Service(script("answer"), images=Loader())
    tokenizing = TokenizeService(
        service.generation,
        tokenizer=service.tokenizer,
        pool=service.pool,
        offload=service.generation.offload,
    )
    asked = TokenizeRequest.model_validate({"model": "noise", "messages": TWO})
    chat = asked.chat
    assert chat is not None
    ids = service.generation.prompt(common_chat(chat))
    assert service.tokenizer.decode(ids).count(BUILTIN_IMAGE) == 2
    assert b'"count":%d,' % len(ids) in await tokenizing.tokenize(asked, 100, "me")
    assert service.images.asked == []


def test_the_weight_of_a_request_leaves_out_the_bytes_of_images() -> None:
    short, long = (
        common_chat(request(messages=[user(text("one"), image(data * 30))])) for data in "AB"
    )
    assert weight_of(short, 1_000) == weight_of(long, 1_000)
    more = common_chat(request(messages=[user(text("one"), image("A" * 530))]))
    assert weight_of(more, 1_500) == weight_of(short, 1_000)
