"""The writers of chat completions: a whole one, or the chunks of a stream, the last is [DONE].

Not here   the objects that they write (chat_objects).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from adapters.formats import Delta, TextDelta, ToolStart
from adapters.text_path import TextEvent

from ..generation import ChoiceDeltas, ChoiceEnd, ToolMode
from .chat_objects import (
    ChoiceStream,
    Envelope,
    MessageBuilder,
    choice_object,
    finish_reason,
    usage,
)
from .chat_types import ChatCompletion, ChatCompletionChunk
from .events import TEXT, event, text_event
from .writer import Batch, ChunkEvents


class CompletionWriter:
    """Writes a whole completion. ``mode``: of the tool choice. With ``legacy`` a call is a
    ``function_call``.
    """

    def __init__(
        self, envelope: Envelope, mode: ToolMode, choices: int, *, legacy: bool = False
    ) -> None:
        self._envelope = envelope
        self._legacy = legacy
        self._mode = mode
        self._messages = [MessageBuilder() for _ in range(choices)]
        self._endings: dict[int, ChoiceEnd] = {}

    def write(self, batch: Batch) -> None:
        """Add items."""
        for number, item in batch:
            if isinstance(item, ChoiceDeltas):
                self._messages[number].add(item)
            else:
                self._endings[number] = item

    async def whole(self) -> ChatCompletion:
        """Return the completion."""
        choices = [
            choice_object(number, message, finish_reason(self._endings[number], self._mode))
            for number, message in enumerate(self._messages)
        ]
        if self._legacy:
            choices = [_legacy_choice(choice) for choice in choices]
        return self._envelope.completion(choices, usage(list(self._endings.values())))


class ChunkWriter(ChunkEvents):
    """Writes the chunks of a completion. With ``legacy`` a call is a ``function_call``."""

    def __init__(
        self,
        envelope: Envelope,
        mode: ToolMode,
        choices: int,
        *,
        include_usage: bool,
        legacy: bool = False,
    ) -> None:
        super().__init__(include_usage=include_usage)
        self._envelope = envelope
        self._legacy = legacy
        self._mode = mode
        self._streams = [ChoiceStream(envelope, number) for number in range(choices)]
        self._endings: list[ChoiceEnd] = []
        self._texts: dict[tuple[int, type[Delta], int], TextEvent] = {}

    def write(self, batch: Batch) -> bytes:
        """Return the chunks of these items."""
        written: list[bytes] = []
        for number, item in batch:
            stream = self._streams[number]
            if isinstance(item, ChoiceEnd):
                self._endings.append(item)
                written += map(self._event, stream.end(finish_reason(item, self._mode)))
            elif item.logprobs is None and stream.has_begun:
                written += [self._delta(number, delta) for delta in item.deltas]
            else:
                written += map(self._event, stream.deltas(item))
        return b"".join(written)

    def _event(self, chunk: ChatCompletionChunk) -> bytes:
        return event(self._extended(chunk))

    def _extended(self, chunk: ChatCompletionChunk) -> Mapping[str, Any]:
        if self._legacy:
            chunk["choices"] = [_legacy_choice(choice) for choice in chunk["choices"]]
        return self.extended(chunk)

    def text_encoder(self, number: int, delta: TextDelta) -> Callable[[str], bytes]:
        if not self._streams[number].has_begun:
            return super().text_encoder(number, delta)
        return self._text_event(number, delta)

    def _delta(self, number: int, delta: Delta) -> bytes:
        """Encode a delta; most are text, whose event is encoded once but for the text."""
        if isinstance(delta, ToolStart):
            return self._event(self._streams[number].chunk(delta))
        return self._text_event(number, delta)(delta.text)

    def _text_event(self, number: int, delta: TextDelta) -> TextEvent:
        key = number, type(delta), getattr(delta, "index", 0)
        found = self._texts.get(key)
        if found is None:
            chunk = self._streams[number].chunk(replace(delta, text=TEXT))
            found = self._texts[key] = text_event(self._extended(chunk))
        return found

    def counted(self) -> ChatCompletionChunk:
        return {**self._envelope.chunk([]), "usage": usage(self._endings)}


def _legacy_choice(choice: Any) -> Any:
    """Return a choice of an answer or of a chunk in the old shape."""
    key = "message" if "message" in choice else "delta"
    said = dict(choice[key])
    for call in said.pop("tool_calls", ()):
        said["function_call"] = call["function"]
    reason = choice["finish_reason"]
    return {
        **choice,
        key: said,
        "finish_reason": "function_call" if reason == "tool_calls" else reason,
    }
