"""The SGLang client and images: what is sent, what its refusals mean, and that none is lost."""

import asyncio
import json
import re
import tracemalloc
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from adapters.workers import Chunk, Image, PromptImage, PromptTooLong, SGLangWorker, WorkerError

from ..pulling import pulled
from .helpers import check_invariants, collect, ids_of, run
from .sglang_fakes import (
    PROMPT,
    RECORDED,
    TOKENS,
    Body,
    MockClient,
    Server,
    ask,
    event,
    streamed,
)

IMAGES = (
    PromptImage(Image("image/png", "iVBORw0K", b"1" * 16, 1, 1, "low"), 0),
    PromptImage(Image("image/jpeg", "/9j/+w==", b"2" * 16, 1, 1), 2),
)
CONTEXT = 100


def seeing(server: Server) -> SGLangWorker:
    """A client of a server whose model sees images, with a context of 100 tokens."""
    worker = server.worker()
    worker.sees_images, worker.max_model_len = True, CONTEXT
    return worker


def refusing(message: str) -> Server:
    return streamed({"error": {"message": message, "type": "x", "code": 400}})


def expanded(prompt: int, *ids: int, finish: Any = None) -> dict[str, Any]:
    """An event of a prompt of so many tokens."""
    made = event(list(ids), len(ids), finish)
    made["meta_info"]["prompt_tokens"] = prompt
    return made


STOP = {"type": "stop", "matched": 6}
DONE = expanded(20, 5, 6, finish=STOP)


@pytest.mark.parametrize(
    ("asked", "limit"),
    [(60, 60), (96, 96), (97, None), (100_000, None)],
)
def test_images_are_sent_beside_the_ids(asked: int, limit: int | None) -> None:
    """URLs in their order; an answer that may fill the context is bounded by the server alone."""
    server = streamed(DONE)
    chunks = run(collect(seeing(server), ask(images=IMAGES, max_tokens=asked)))
    check_invariants(chunks)
    assert (ids_of(chunks), chunks[-1].prompt_tokens) == ([5, 6], 20)
    (body,) = server.sent("/generate")
    assert body["input_ids"] == PROMPT
    assert body["image_data"] == [
        "data:image/png;base64,iVBORw0K",
        "data:image/jpeg;base64,/9j/+w==",
    ]
    assert body["sampling_params"]["max_new_tokens"] == limit


def test_large_images_arrive_whole() -> None:
    data = "abcd" * 100_000
    server = streamed(DONE)
    image = PromptImage(Image("image/webp", data, b"3" * 16, 1, 1), 0)
    run(collect(seeing(server), ask(images=(image,))))
    (body,) = server.sent("/generate")
    assert body["image_data"] == [f"data:image/webp;base64,{data}"]


def test_a_sent_body_is_not_kept_while_the_answer_streams() -> None:
    """With images it is large, and answers take long."""
    size = 8_000_000
    image = PromptImage(Image("image/png", "a" * size, b"4" * 16, 1, 1), 0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        left = int(re.findall(rb"content-length: (\d+)", head.lower())[0])
        while left:
            left -= len(await reader.read(left))
        events = b"data: " + json.dumps(expanded(20, 5)).encode() + b"\n\n"
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + events)
        await writer.drain()
        await reader.read()
        writer.close()

    async def kept() -> int:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        worker = SGLangWorker(f"http://127.0.0.1:{port}", tokens=TOKENS)
        worker.sees_images = True
        async with aclosing(pulled(worker, ask(images=(image,)))) as chunks:
            await anext(chunks)
            held = tracemalloc.get_traced_memory()[0]
        server.close()
        await worker.client.aclose()
        return held

    tracemalloc.start()
    try:
        assert run(kept()) < size
    finally:
        tracemalloc.stop()


def too_much(asked: int, got: int = 70) -> str:
    """SGLang's words for a prompt of ``got`` tokens that leaves too little room."""
    return (
        f"Requested token count exceeds the model's maximum context length of {CONTEXT} tokens. "
        f"You requested a total of {got + asked} tokens: {got} tokens from the input messages and "
        f"{asked} tokens for the completion. Please reduce the number of tokens in the input "
        "messages or the completion to fit within the limit."
    )


class Once:
    """Answers the first request with a refusal, each other one with an answer."""

    def __init__(self, *servers: Server) -> None:
        self.replies = [server.reply for server in servers]

    def __call__(self) -> httpx.Response:
        return self.replies.pop(0)() if len(self.replies) > 1 else self.replies[0]()


def test_an_answer_is_cut_to_the_room_that_images_leave() -> None:
    """Only the server knows how many tokens an image has: its refusal says so, and the same request
    is sent again with the rest.
    """
    end = expanded(70, 5, 6, finish={"type": "length", "length": 2})
    server = Server(Once(refusing(too_much(60)), streamed(end)))
    chunks = run(collect(seeing(server), ask(images=IMAGES, max_tokens=60)))
    assert (ids_of(chunks), chunks[-1].finish_reason) == ([5, 6], "length")
    first, second = server.sent("/generate")
    assert first["rid"] != second["rid"]
    assert [each["sampling_params"]["max_new_tokens"] for each in (first, second)] == [60, 30]
    assert first["image_data"] == second["image_data"]


def test_a_server_that_never_has_room_is_asked_twice() -> None:
    server = refusing(too_much(60))
    with pytest.raises(WorkerError) as caught:
        run(collect(seeing(server), ask(images=IMAGES, max_tokens=60)))
    assert caught.value.status == 400 and len(server.sent("/generate")) == 2


@pytest.mark.parametrize("images", [(), IMAGES], ids=["text", "images"])
@pytest.mark.parametrize("size", [50, 10_000], ids=["in pieces", "at once"])
def test_a_refusal_for_room_behind_a_token_ends_the_answer(
    images: tuple[PromptImage, ...], size: int
) -> None:
    """It comes too late to ask again: the token was passed on."""
    refusal = {"error": {"message": too_much(60), "type": "x", "code": 400}}
    events = [b"data: " + json.dumps(each).encode() for each in (expanded(70, 5), refusal)]
    data = b"".join(line + b"\n\n" for line in events)
    server = Server(lambda: httpx.Response(200, stream=Body(data, size)))
    chunks: list[Chunk] = []

    async def answer() -> None:
        await seeing(server).run(ask(images=images), lambda chunk: not chunks.append(chunk)).wait()

    with pytest.raises(WorkerError, match="leaves room") as caught:
        run(answer())
    assert caught.value.status == 400 and ids_of(chunks) == [5]
    assert len(server.sent("/generate")) == 1


@pytest.mark.parametrize(
    ("message", "got", "limit"),
    [
        (
            "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
            5000,
            4096,
        ),
        (
            "Input length (4095 tokens) exceeds the maximum allowed length (4090 tokens). Use a "
            "shorter input or enable --allow-auto-truncate.",
            4095,
            4090,
        ),
        (
            "Multimodal prompt is too long after expanding multimodal tokens. After expanding "
            "len(req.origin_input_ids_unpadded)=4092 => 4092 >= 4090.",
            4092,
            4090,
        ),
    ],
)
def test_a_prompt_that_images_make_too_long_is_counted_by_the_server(
    message: str, got: int, limit: int
) -> None:
    with pytest.raises(PromptTooLong) as caught:
        run(collect(seeing(refusing(message)), ask(images=IMAGES)))
    assert (caught.value.status, caught.value.got, caught.value.limit) == (400, got, limit)


LOADING = "An exception occurred while loading "


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            f"{LOADING}IMAGE data at index 1: Error while loading data data:image/png;base64,iVB"
            "...: Could not decode image: image file is truncated",
            "the worker cannot read image 2 of the prompt: image file is truncated$",
        ),
        (
            f"{LOADING}multimodal data: Error while loading data data:image/png;base64,iVB...: "
            "Could not decode image: cannot identify image file <_io.BytesIO object at 0x7f8d>",
            "the worker cannot read an image of the prompt: cannot identify image file$",
        ),
        (
            "Could not decode image: image file is truncated",
            "the worker cannot read an image of the prompt: image file is truncated$",
        ),
        (
            "absolute aspect ratio must be smaller than 200, got 2000.0",
            "SGLang: absolute aspect ratio must be smaller than 200, got 2000.0$",
        ),
        (
            "Image count 2 exceeds limit 1 per request.",
            "the worker takes at most 1 images in a prompt, got 2$",
        ),
        # a grammar may spell anything
        (
            f"bad grammar: {LOADING}IMAGE data at index 1: Could not decode image: x",
            "^SGLang: bad grammar",
        ),
        (f"bad grammar: {too_much(1)}", "^SGLang: bad grammar"),
    ],
)
def test_refusals_of_images_are_the_clients(message: str, words: str) -> None:
    with pytest.raises(WorkerError, match=words) as caught:
        run(collect(seeing(refusing(message)), ask(images=IMAGES)))
    assert (caught.value.status, caught.value.reason) == (400, "refused")


@pytest.mark.parametrize("prompt", [2, 3])
def test_a_server_that_leaves_images_out_has_failed(prompt: int) -> None:
    """An image has more tokens than its placeholder: a model without vision would count as many."""
    server = streamed(expanded(prompt, 5), expanded(prompt, 5, 6, finish=STOP))
    with pytest.raises(WorkerError, match="images are missing in a prompt of") as caught:
        run(collect(seeing(server), ask(images=IMAGES)))
    assert (caught.value.status, caught.value.reason) == (502, "protocol")
    assert len(server.sent("/abort_request")) == 1


def test_a_server_that_is_not_known_to_see_images_gets_none() -> None:
    server = streamed(DONE)
    with pytest.raises(WorkerError, match="does not say") as caught:
        run(collect(server.worker(), ask(images=IMAGES)))
    assert caught.value.status == 503 and server.requests == []


INFO = (RECORDED / "server_info.json").read_text()
SEES = '{"has_image_understanding": true}'


@pytest.mark.parametrize(
    ("paths", "sees"),
    [
        ({"/model_info": SEES}, True),
        ({"/get_model_info": SEES}, True),
        ({"/model_info": SEES.replace("true", "false"), "/get_model_info": SEES}, False),
        ({"/model_info": SEES.replace("true", '"yes"')}, False),
        ({"/model_info": "{}"}, False),
        ({"/model_info": "[1]"}, False),
        ({}, False),
        (
            {
                "/model_info": SEES,
                # it would cut a prompt without a word, and only it knows the prompt's length
                "/server_info": INFO[:1] + '"allow_auto_truncate": true, ' + INFO[1:],
            },
            False,
        ),
    ],
)
def test_health_tells_whether_the_model_sees_images(paths: dict[str, str], sees: bool) -> None:
    texts = {"/ready": "", "/server_info": INFO} | paths

    async def answer(request: httpx.Request) -> httpx.Response:
        text = texts.get(request.url.path)
        return httpx.Response(404) if text is None else httpx.Response(200, text=text)

    worker = SGLangWorker("http://worker", tokens=TOKENS, client=MockClient(answer))
    assert worker.sees_images is None
    health = run(worker.health())
    assert (health.ready, worker.sees_images, health.details["sees_images"]) == (True, sees, sees)


def test_a_server_that_was_replaced_loses_its_sight() -> None:
    """Each health check asks again."""
    texts = iter([SEES, "{}"])

    async def answer(request: httpx.Request) -> httpx.Response:
        kinds: dict[str, Callable[[], str]] = {
            "/server_info": lambda: INFO,
            "/model_info": lambda: next(texts),
        }
        make = kinds.get(request.url.path, lambda: "")
        return httpx.Response(200, stream=Body(make().encode()))

    async def work() -> list[bool]:
        worker = SGLangWorker("http://worker", tokens=TOKENS, client=MockClient(answer))
        seen = []
        for _ in range(2):
            await worker.health()
            seen.append(worker.sees_images)
        return seen

    assert run(work()) == [True, False]
