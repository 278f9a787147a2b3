"""Requests with images in the words of each API, sent with the official clients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anthropic
import openai
from anthropic.types import Message
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from tests.app.gateway import Gateway
from tests.app.pictures import base64_of, data_url, png
from tests.app.wire import check, check_event

APIS = ("chat", "responses", "messages")
PLACES = ("last", "history", "result")
TEXT, AGAIN, RESULT = "What is this?", "And now?", "It is:"
#: the type of an image in each API
KINDS = {"chat": "image_url", "responses": "input_image", "messages": "image"}
_TYPES = {"chat": ChatCompletion, "responses": Response, "messages": Message}
_CALL = {"name": "look", "arguments": "{}"}


def pictures(count: int) -> list[bytes]:
    """Return so many different images."""
    return [png(1 + number % 3, (number, 0, 255 - number)) for number in range(count)]


def image(api: str, url: str, **more: Any) -> dict[str, Any]:
    """Return the part of an image in an API. ``more``: such as its detail."""
    if api == "chat":
        return {"type": "image_url", "image_url": {"url": url, **more}}
    if api == "responses":
        return {"type": "input_image", "image_url": url, "detail": "auto", **more}
    if not url.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    head, _, data = url.partition(",")
    media_type = head.removeprefix("data:").removesuffix(";base64")
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def text(api: str, said: str) -> dict[str, Any]:
    return {"type": "input_text" if api == "responses" else "text", "text": said}


def request(api: str, place: str, urls: Sequence[str], limit: int = 16) -> dict[str, Any]:
    """Return a request with images behind a text, at one of PLACES."""
    said = RESULT if place == "result" else TEXT
    parts = [text(api, said), *(image(api, url) for url in urls)]
    messages: list[dict[str, Any]] = [{"role": "user", "content": parts}]
    if place == "history":
        messages += [{"role": "assistant", "content": "Red."}, {"role": "user", "content": AGAIN}]
    elif place == "result":
        messages = [{"role": "user", "content": TEXT}, *_loop(api, parts)]
    if api == "responses":
        return {"model": "noise", "max_output_tokens": limit, "input": messages}
    body = {"model": "noise", "messages": messages}
    return body | {"max_tokens" if api == "messages" else "max_completion_tokens": limit}


def _loop(api: str, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a call and its result."""
    if api == "chat":
        call = {"id": "call_1", "type": "function", "function": _CALL}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": parts},
        ]
    if api == "responses":
        return [
            {"type": "function_call", "call_id": "call_1", **_CALL},
            {"type": "function_call_output", "call_id": "call_1", "output": parts},
        ]
    use = {"type": "tool_use", "id": "call_1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": parts}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def field(api: str, place: str, number: int) -> str:
    """Return the path of an image of ``request``, as errors name it."""
    at = 2 if place == "result" else 0
    if api == "responses":
        return f"input[{at}].{'output' if place == 'result' else 'content'}[{number + 1}]"
    if api == "messages" and place == "result":
        return f"messages[{at}].content[0].content[{number + 1}]"
    return f"messages[{at}].content[{number + 1}]"


def ignored(api: str, place: str, count: int) -> str:
    """Return the header that names the images of ``request`` as not shown."""
    paths = (field(api, place, number) for number in range(count))
    pointers = (path.replace("[", "/").replace("]", "").replace(".", "/") for path in paths)
    return ", ".join(f"{pointer} {KINDS[api]}" for pointer in pointers)


@dataclass(frozen=True, slots=True)
class Clients:
    """The official clients of a gateway."""

    openai: openai.OpenAI
    anthropic: anthropic.Anthropic

    @classmethod
    def of(cls, gateway: Gateway) -> "Clients":
        options: dict[str, Any] = {"api_key": "one", "max_retries": 0}
        return cls(
            openai.OpenAI(base_url=f"{gateway.url}/v1", **options),
            anthropic.Anthropic(base_url=gateway.url, **options),
        )

    def ask(self, api: str, body: Mapping[str, Any], *, stream: bool = False) -> Mapping[str, str]:
        """Return the headers of an answer, which is of the client's types."""
        calls: dict[str, Any] = {
            "chat": self.openai.chat.completions,
            "responses": self.openai.responses,
            "messages": self.anthropic.messages,
        }
        raw = calls[api].with_raw_response.create(**body, stream=stream)
        answer = raw.parse()
        if stream:
            events = [event.to_dict() for event in answer]
            assert events
            for event in events:
                check_event(event)
        else:
            check(_TYPES[api], answer.to_dict())
        headers: Mapping[str, str] = raw.headers
        return headers


def urls_of(files: Sequence[bytes]) -> list[str]:
    """Return the data URLs of PNG files."""
    return [data_url(file) for file in files]


def data_of(files: Sequence[bytes]) -> list[str]:
    """Return the files as workers get them."""
    return [base64_of(file) for file in files]
