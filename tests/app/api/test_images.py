"""Images in each API: seen in messages, histories and results, or refused or named."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import anthropic
import openai
import pytest
from openai.types.responses import Response

from adapters.workers import Generation
from app.images.fetching import ImageFetcher
from tests.app.gateway import Gateway
from tests.app.image_requests import (
    APIS,
    KINDS,
    PLACES,
    Clients,
    data_of,
    field,
    ignored,
    image,
    pictures,
    request,
    text,
    urls_of,
)
from tests.app.small_tokenizer import TEMPLATE, folder
from tests.app.wire import check
from tests.campaigns.three_apis.campaign import recorded

COUNTS = (1, 2, 16)
#: the noise worker's placeholder
PLACEHOLDER = "[image]"


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with Gateway(format="hermes", reasoning="on") as running:
        yield running


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tokenizer whose chat template shows texts only."""
    return folder(tmp_path_factory.mktemp("tokenizer"), TEMPLATE)


@pytest.fixture(scope="module")
def blind(tokenizer: str) -> Iterator[Gateway]:
    """A model that sees no images."""
    with Gateway(tokenizer=tokenizer) as running:
        yield running


@pytest.fixture(scope="module")
def lenient(tokenizer: str) -> Iterator[Gateway]:
    """A model that sees no images, and answers the current message in spite of them."""
    with Gateway(tokenizer=tokenizer, unseen_media="text") as running:
        yield running


@pytest.fixture
def generations() -> Iterator[list[Generation]]:
    with recorded() as some:
        yield some


@cache
def tokenizer_at(path: str | None) -> Any:
    from app.conversation.tokenizer import load_tokenizer

    return load_tokenizer(path, "hermes")


def prompt_of(generation: Generation, path: str | None = None) -> str:
    assert isinstance(generation.prompt, list)
    text: str = tokenizer_at(path).decode(generation.prompt)
    return text


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("place", PLACES)
def test_images_reach_the_worker_in_their_order(
    gateway: Gateway, generations: list[Generation], place: str, count: int, stream: bool
):
    """All three APIs give one prompt, with a placeholder for each image."""
    clients, files = Clients.of(gateway), pictures(count)
    for api in APIS:
        headers = clients.ask(api, request(api, place, urls_of(files)), stream=stream)
        assert "x-switchyard-ignored" not in headers
    first, *others = generations
    assert len(others) == len(APIS) - 1
    assert {tuple(each.prompt) for each in others} == {tuple(first.prompt)}
    for generation in generations:
        assert [each.image.data for each in generation.images] == data_of(files)
        starts = [each.at for each in generation.images]
        assert starts == sorted(set(starts))
        assert prompt_of(generation).count(PLACEHOLDER) == count


@pytest.mark.parametrize("api", APIS)
def test_an_image_that_the_model_cannot_see_is_refused_in_the_current_message(
    blind: Gateway, generations: list[Generation], api: str
):
    body = request(api, "last", urls_of(pictures(2)))
    with pytest.raises((openai.BadRequestError, anthropic.BadRequestError)) as refused:
        Clients.of(blind).ask(api, body)
    assert field(api, "last", 0) in str(refused.value)
    assert KINDS[api] in str(refused.value)
    if isinstance(refused.value, openai.BadRequestError):
        assert refused.value.param == field(api, "last", 0)
    assert generations == []


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("place", ["history", "result"])
@pytest.mark.parametrize("api", APIS)
def test_an_image_that_the_model_cannot_see_is_a_line_elsewhere(
    blind: Gateway,
    generations: list[Generation],
    tokenizer: str,
    api: str,
    place: str,
    count: int,
    stream: bool,
):
    body = request(api, place, urls_of(pictures(count)))
    headers = Clients.of(blind).ask(api, body, stream=stream)
    named = ignored(api, place, count)
    assert named.startswith(headers["x-switchyard-ignored"].removesuffix("..."))
    (generation,) = generations
    assert generation.images == ()
    assert prompt_of(generation, tokenizer).count(f"[{KINDS[api]}: not shown") == count


@pytest.mark.parametrize("api", APIS)
def test_a_setting_makes_it_a_line_in_the_current_message_too(
    lenient: Gateway, generations: list[Generation], tokenizer: str, api: str
):
    headers = Clients.of(lenient).ask(api, request(api, "last", urls_of(pictures(2))))
    assert headers["x-switchyard-ignored"] == ignored(api, "last", 2)
    assert prompt_of(generations[0], tokenizer).count(f"[{KINDS[api]}: not shown") == 2


def test_a_response_about_an_image_is_completed(gateway: Gateway):
    """The case of Open Responses: an item with its type, an image without a detail."""
    parts = [
        text("responses", "What is it?"),
        {"type": "input_image", "image_url": urls_of(pictures(1))[0]},
    ]
    item: Any = {"type": "message", "role": "user", "content": parts}
    client = Clients.of(gateway).openai
    response = client.responses.create(model="noise", input=[item], extra_body={"seed": 1})
    check(Response, response.to_dict())
    assert response.status == "completed" and response.output


@pytest.mark.parametrize("api", APIS)
def test_a_session_goes_on_after_a_message_with_an_image(blind: Gateway, api: str):
    """Its client sends the refused message again with each later turn."""
    body = request(api, "history", urls_of(pictures(1)))
    assert Clients.of(blind).ask(api, body)["x-switchyard-ignored"] == ignored(api, "history", 1)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("api", APIS)
def test_text_that_looks_like_a_placeholder_is_no_image(
    gateway: Gateway, generations: list[Generation], api: str, place: str
):
    body = request(api, place, urls_of(pictures(1)))
    marked = _with_text(body, f"{PLACEHOLDER} <image> <|image_pad|>")
    Clients.of(gateway).ask(api, marked)
    (generation,) = generations
    assert len(generation.images) == 1
    prompt = prompt_of(generation)
    assert prompt.count("<image> <|image_pad|>") == 1


def _with_text(value: Any, text: str) -> Any:
    """Return a body with another text in front of its images."""
    if isinstance(value, list):
        return [_with_text(each, text) for each in value]
    if isinstance(value, dict):
        kind = value.get("type")
        if kind in ("text", "input_text"):
            return {"type": kind, "text": text}
        return {name: _with_text(each, text) for name, each in value.items()}
    return value


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("detail", ["low", "high", "original", "auto"])
def test_a_detail_without_effect_is_named(gateway: Gateway, api: str, detail: str):
    body = request(api, "last", [])
    parts = (body.get("messages") or body["input"])[0]["content"]
    (url,) = urls_of(pictures(1))
    parts.append(image(api, url, detail=detail))
    headers = Clients.of(gateway).ask(api, body)
    named = headers.get("x-switchyard-ignored", "")
    assert named.endswith(" detail") == (detail != "auto")


def test_files_and_sounds_are_refused_by_name_in_the_current_message(gateway: Gateway):
    data = "JVBERi0xLjQ="
    pdf = {"type": "base64", "media_type": "application/pdf", "data": data}
    parts: list[tuple[str, dict[str, Any]]] = [
        ("chat", {"type": "file", "file": {"filename": "a.pdf", "file_data": data}}),
        ("chat", {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}),
        ("responses", {"type": "input_file", "filename": "a.pdf", "file_data": data}),
        ("messages", {"type": "document", "source": pdf, "title": "a.pdf"}),
    ]
    clients = Clients.of(gateway)
    for api, part in parts:
        body = request(api, "last", [])
        (body.get("messages") or body["input"])[0]["content"].append(part)
        with pytest.raises((openai.BadRequestError, anthropic.BadRequestError)) as refused:
            clients.ask(api, body)
        assert part["type"] in str(refused.value)
        assert field(api, "last", 0) in str(refused.value)


@contextmanager
def serving(file: bytes) -> Iterator[tuple[str, list[str]]]:
    """A web server with one image: its URL, and the paths that were asked for."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.send_header("content-type", "image/png")
            self.send_header("content-length", str(len(file)))
            self.end_headers()
            self.wfile.write(file)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}/a.png", paths
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_images_of_an_allowed_host_are_fetched_once_a_request(
    monkeypatch: pytest.MonkeyPatch, generations: list[Generation]
):
    """The server of the test has an address that is not public, which is allowed here."""
    defaults = ImageFetcher.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "check", lambda host, addresses: None)
    (file,) = pictures(1)
    with serving(file) as (url, paths):
        host = url.split("/")[2]
        with Gateway(format="hermes", image_hosts=host) as gateway:
            for api in APIS:
                Clients.of(gateway).ask(api, request(api, "last", [url, url]))
    assert [[each.image.data for each in one.images] for one in generations] == [
        data_of([file, file])
    ] * len(APIS)
    assert paths == ["/a.png"] * len(APIS)


@pytest.mark.parametrize("api", APIS)
def test_a_host_that_is_not_allowed_is_named(
    gateway: Gateway, generations: list[Generation], api: str
):
    """In a history, the session goes on."""
    clients, url = Clients.of(gateway), "https://example.org/a.png"
    with pytest.raises((openai.BadRequestError, anthropic.BadRequestError)) as refused:
        clients.ask(api, request(api, "last", [url]))
    assert "example.org" in str(refused.value) and "SWITCHYARD_IMAGE_HOSTS" in str(refused.value)
    for place in PLACES[1:]:
        headers = clients.ask(api, request(api, place, [url]))
        assert headers["x-switchyard-ignored"] == ignored(api, place, 1)
    assert [each.images for each in generations] == [(), ()]
