"""Answers of /v1/completions as OpenAI writes them: a text completion, and its chunks.

Both have one shape. The log probabilities are parallel lists; ``top_logprobs`` always has the
token itself, and of two tokens with one text the more likely one. ``text_offset`` is the character
of the text in which a token begins.
"""

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.formats import ContentDelta

from ..generation.choice_decoder import ChoiceDeltas, ChoiceEnd
from ..generation.content_logprobs import ContentToken
from .logprobs import text_of


class TextChoice:
    """One choice: takes deltas, returns text and log probabilities. ``echo``: before the text."""

    def __init__(self, echo: str = "") -> None:
        self._echo = echo
        self._offset = len(echo)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def take(self, item: ChoiceDeltas) -> tuple[str, dict[str, Any] | None]:
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

    def _logprobs(self, tokens: Sequence[ContentToken]) -> dict[str, Any]:
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


def joined(parts: Iterable[tuple[str, dict[str, Any] | None]]) -> tuple[str, dict[str, Any] | None]:
    """Return the parts of a choice as one."""
    texts: list[str] = []
    lists: dict[str, Any] | None = None
    for text, logprobs in parts:
        texts.append(text)
        if logprobs is not None:
            lists = lists or {name: [] for name in logprobs}
            for name, values in logprobs.items():
                lists[name] += values
    return "".join(texts), lists


def text_choice(
    number: int, text: str, logprobs: dict[str, Any] | None, reason: str | None
) -> dict[str, Any]:
    """Return a choice of an answer or of a chunk."""
    return {"index": number, "text": text, "logprobs": logprobs, "finish_reason": reason}


def text_usage(endings: Sequence[ChoiceEnd], per_prompt: int) -> dict[str, Any]:
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


@dataclass(frozen=True, slots=True)
class TextEnvelope:
    """The fields that every object of one answer repeats."""

    id: str
    created: int
    model: str
    system_fingerprint: str

    def completion(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        """Return an answer without usage, or a chunk."""
        return {
            "id": self.id,
            "object": "text_completion",
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.system_fingerprint,
            "choices": choices,
        }
