"""Answers of /v1/completions as OpenAI writes them: a text completion and its chunks, and writers.

Both have one shape. The log probabilities are parallel lists; ``top_logprobs`` always has the
token itself, and of two tokens with one text the more likely one. ``text_offset`` is the character
of the text in which a token begins.
"""

import codecs
from collections.abc import Sequence
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypeAliasType, TypedDict

from adapters.formats import ContentDelta

from ..errors import ErrorResponse
from ..generation import ChoiceDeltas, ChoiceEnd, ContentToken
from .chat_objects import Envelope
from .chat_types import Enveloped, TokenCounts
from .logprobs import text_of
from .writer import Batch, ChunkEvents

FinishReason = Literal["stop", "length"]


class TextLogprobs(TypedDict):
    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]]
    text_offset: list[int]


class TextPiece(TypedDict):
    index: int
    text: str
    logprobs: TextLogprobs | None


class TextChoice(TextPiece):
    finish_reason: FinishReason


class TextChunkChoice(TextPiece):
    finish_reason: FinishReason | None


class TextPromptDetails(TypedDict):
    cached_tokens: int


class TextUsage(TokenCounts):
    prompt_tokens_details: TextPromptDetails


class TextCompletionChunk(Enveloped):
    """A part of a text completion; see ChatCompletionChunk for its usage."""

    object: Literal["text_completion"]
    choices: list[TextChunkChoice]
    usage: NotRequired[TextUsage | None]


TextCompletionEvent = TypeAliasType(
    "TextCompletionEvent",
    Annotated[
        TextCompletionChunk | ErrorResponse,
        Field(description="The data of an event, see ChatCompletionEvent."),
    ],
)


class TextCompletion(Enveloped):
    """A whole text completion."""

    object: Literal["text_completion"]
    choices: list[TextChoice]
    usage: TextUsage


class ChoiceText:
    """One choice: takes deltas, returns text and log probabilities. ``echo``: before the text."""

    def __init__(self, echo: str = "") -> None:
        self._echo = echo
        self._offset = len(echo)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def take(self, item: ChoiceDeltas) -> tuple[str, TextLogprobs | None]:
        """Return the new text, after the first call also the echo, and its log probabilities; None:
        they were not asked for.
        """
        text = self._echo + "".join(
            delta.text for delta in item.deltas if isinstance(delta, ContentDelta)
        )
        self._echo = ""
        if item.logprobs is None:
            return text, None
        return text, self._logprobs([each for listed in item.logprobs for each in listed or ()])

    def _logprobs(self, tokens: Sequence[ContentToken]) -> TextLogprobs:
        return {
            "tokens": [text_of(token.data) for token in tokens],
            "token_logprobs": [token.logprob for token in tokens],
            "top_logprobs": [_tops(token) for token in tokens],
            "text_offset": [self._begin(token.data) for token in tokens],
        }

    def _begin(self, data: bytes) -> int:
        begin = self._offset
        self._offset += len(self._decoder.decode(data))
        return begin


def _tops(token: ContentToken) -> dict[str, float]:
    tops: dict[str, float] = {}
    for data, logprob in (*token.top, (token.data, token.logprob)):
        tops.setdefault(text_of(data), logprob)
    return tops


def _joined(items: Sequence[ChoiceDeltas]) -> ChoiceDeltas:
    """Return the items of a choice as one."""
    deltas = [delta for item in items for delta in item.deltas]
    tokens = [each for item in items for each in item.logprobs or ()]
    has_logprobs = any(item.logprobs is not None for item in items)
    return ChoiceDeltas(deltas, tokens if has_logprobs else None)


def text_usage(endings: Sequence[ChoiceEnd], per_prompt: int) -> TextUsage:
    """Return the usage object of choices in order; each prompt, with ``per_prompt`` choices, counts
    once.
    """
    begins = endings[::per_prompt]
    prompt = sum(end.prompt_tokens for end in begins)
    completion = sum(end.completion_tokens for end in endings)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": sum(end.cached_tokens for end in begins)},
    }


def _chunk(envelope: Envelope, choices: list[TextChunkChoice]) -> TextCompletionChunk:
    return {
        "id": envelope.id,
        "object": "text_completion",
        "created": envelope.created,
        "model": envelope.model,
        "system_fingerprint": envelope.system_fingerprint,
        "choices": choices,
    }


class TextWriter:
    """Writes a whole completion. ``echoes``: the text before each of its choices."""

    def __init__(self, envelope: Envelope, echoes: Sequence[str], per_prompt: int) -> None:
        self._envelope = envelope
        self._per_prompt = per_prompt
        self._choices = [ChoiceText(echo) for echo in echoes]
        self._items: list[list[ChoiceDeltas]] = [[] for _ in self._choices]
        self._endings: dict[int, ChoiceEnd] = {}

    def write(self, batch: Batch) -> None:
        """Add items."""
        for number, item in batch:
            if isinstance(item, ChoiceDeltas):
                self._items[number].append(item)
            else:
                self._endings[number] = item

    async def whole(self) -> TextCompletion:
        """Return the completion."""
        endings = [self._endings[number] for number in range(len(self._choices))]
        choices: list[TextChoice] = []
        for number, items in enumerate(self._items):
            text, logprobs = self._choices[number].take(_joined(items))
            reason = endings[number].finish
            choices.append(
                {"index": number, "text": text, "logprobs": logprobs, "finish_reason": reason}
            )
        usage = text_usage(endings, self._per_prompt)
        return {**_chunk(self._envelope, []), "choices": choices, "usage": usage}


class TextChunkWriter(ChunkEvents):
    """Writes the chunks of a completion."""

    def __init__(
        self, envelope: Envelope, echoes: Sequence[str], per_prompt: int, *, include_usage: bool
    ) -> None:
        super().__init__(include_usage=include_usage)
        self._envelope = envelope
        self._per_prompt = per_prompt
        self._choices = [ChoiceText(echo) for echo in echoes]
        self._endings: dict[int, ChoiceEnd] = {}

    def write(self, batch: Batch) -> bytes:
        """Return the chunks of these items."""
        chunks: list[TextCompletionChunk] = []
        for number, item in batch:
            reason: FinishReason | None = None
            text, logprobs = "", None
            if isinstance(item, ChoiceEnd):
                self._endings[number] = item
                reason = item.finish
            else:
                text, logprobs = self._choices[number].take(item)
            if reason or text:
                choice: TextChunkChoice = {
                    "index": number,
                    "text": text,
                    "logprobs": logprobs,
                    "finish_reason": reason,
                }
                chunks.append(_chunk(self._envelope, [choice]))
        return self.encode(chunks)

    def counted(self) -> TextCompletionChunk:
        endings = [self._endings[number] for number in range(len(self._choices))]
        return {**_chunk(self._envelope, []), "usage": text_usage(endings, self._per_prompt)}
