"""Send changed histories to gateways of several formats, and render them with chat templates."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from adapters.formats import OutputSpec
from app.api.body import validated
from app.common_form import Conversation, ToolNames, common_chat, common_message, common_response
from app.conversation.history import plain_messages
from app.conversation.pairing import paired
from app.errors import ApiError
from app.generation import GenerationRequest
from app.protocol.anthropic.request import MessagesRequest
from app.protocol.chat_request import ChatRequest
from app.protocol.responses.items import LeftOutItem
from app.protocol.responses.request import ResponseRequest
from tests.app.conversation.chat_templates import tokenizer_of
from tests.app.gateway import OPTIONS, Gateway
from tests.campaigns.replayed_histories.histories import (
    CHAT,
    MESSAGES,
    RESPONSES,
    bounded,
    changed,
    generated,
    kinds,
    recorded,
)

#: of the gateways that all histories are sent to
FORMATS = ("hermes", "harmony", "llama3_json", "qwen_coder")


@dataclass(slots=True)
class Findings:
    """``sent``: requests by kind, ``refused``: those without an answer; ``unseen``: those that are
    refused for an image of the current message; ``texts``: examples; ``slowest``: seconds of an
    answer.
    """

    sent: Counter[str] = field(default_factory=Counter)
    unseen: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    texts: dict[tuple[str, str], str] = field(default_factory=dict)
    slowest: float = 0.0

    def add(self, where: str, kind: str, status: int, text: str) -> None:
        """Count one answer."""
        self.sent[kind] += 1
        if status != 200:
            (self.errors if status >= 500 else self.refused)[kind] += 1
            self.texts.setdefault((kind, where), text[:300])


def cases(number: int, seed: int, folder: Path | None) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield kind of change, path and body, so many for each API; half of them from the recorded
    requests, if any.
    """
    rng = random.Random(seed)
    records = list(recorded(folder)) if folder else []
    for path in (CHAT, RESPONSES, MESSAGES):
        bodies = [body for where, body in records if where == path]
        known = kinds(path)
        for count in range(number):
            is_recorded = bodies and rng.random() < 0.5
            body = rng.choice(bodies) if is_recorded else generated(path, rng)
            kind = known[count % len(known)]
            yield kind, path, bounded(path, changed(path, body, kind, rng))


def through_gateways(
    some: Sequence[tuple[str, str, dict[str, Any]]], formats: Sequence[str], found: Findings
) -> None:
    """Send all to a gateway of each format."""
    for name in formats:
        with Gateway(format=name) as gateway, httpx.Client(**OPTIONS) as client:
            for kind, path, body in some:
                answer = client.post(gateway.url + path, json=body)
                if answer.status_code == 400 and is_of_current(body, answer.json()["error"]):
                    found.unseen[kind] += 1
                    continue
                found.add(f"{name} {path}", kind, answer.status_code, answer.text)
                found.slowest = max(found.slowest, answer.elapsed.total_seconds())


def is_of_current(body: dict[str, Any], error: dict[str, Any]) -> bool:
    """Whether an error is about a part that is no text in the current message: the last one of the
    user, not directly behind results.
    """
    named = _UNSEEN.match(error["message"])
    if named is None:
        return False
    history, at = body[named[1]], int(named[2])
    return (
        history[at].get("role") == "user"
        and not any(map(_is_turn, history[at + 1 :]))
        and not (at and history[at - 1].get("role") == "tool")
    )


_UNSEEN = re.compile(r"Invalid '(messages|input)\[(\d+)\]\.content\[\d+\]': (Could|the part of)")


def _is_turn(item: dict[str, Any]) -> bool:
    """Whether an item is of the user or of the assistant, or a result."""
    is_step = item.get("type") in ("function_call", "function_call_output", "custom_tool_call")
    return is_step or item.get("role") in ("assistant", "tool", "user")


def through_templates(
    some: Sequence[tuple[str, str, dict[str, Any]]], templates: Sequence[str], found: Findings
) -> None:
    """Render all with each chat template."""
    for kind, path, body in some:
        try:
            request = _common(path, body)
        except ApiError as error:
            found.add("any template", kind, error.status, error.message)
            continue
        for name in templates:
            try:
                messages = paired(plain_messages(request.messages)).messages
                tokenizer_of(name).render(messages, (), OutputSpec())
                found.add(name, kind, 200, "")
            except ApiError as error:
                found.add(name, kind, error.status, error.message)


def _common(path: str, body: dict[str, Any]) -> GenerationRequest:
    if path == CHAT:
        return common_chat(validated(ChatRequest, body))
    if path == MESSAGES:
        return common_message(validated(MessagesRequest, body), lambda sealed: None, 1)
    request = validated(ResponseRequest, body)
    names = ToolNames(request.tools or ())
    conversation = Conversation(names.flat)
    items = request.input if isinstance(request.input, list) else []
    conversation.add(("input", item) for item in items if not isinstance(item, LeftOutItem))
    conversation.close()
    return common_response(request, conversation, names)
