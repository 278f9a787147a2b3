"""Log probabilities as OpenAI writes them: of a chat completion's choice, and of a legacy one's.

A token that is no UTF-8 by itself is shown with U+FFFD; ``bytes`` has its bytes. In the legacy form
``top_logprobs`` has the tokens' texts as keys; of two tokens with one text, the more likely one
stays.
"""

from collections.abc import Iterable

from typing_extensions import TypedDict

from ..generation import ContentToken


class TopLogprob(TypedDict):
    token: str
    logprob: float
    bytes: list[int]


class TokenLogprob(TopLogprob):
    top_logprobs: list[TopLogprob]


class ChoiceLogprobs(TypedDict):
    content: list[TokenLogprob] | None
    refusal: None


def logprobs_object(tokens: Iterable[ContentToken]) -> ChoiceLogprobs:
    """Return ``choices[].logprobs`` of the tokens of content."""
    return {"content": [token_object(token) for token in tokens], "refusal": None}


def token_object(token: ContentToken) -> TokenLogprob:
    """Return one entry of a list of log probabilities."""
    top = [_entry(data, logprob) for data, logprob in token.top]
    return {**_entry(token.data, token.logprob), "top_logprobs": top}


def _entry(data: bytes, logprob: float) -> TopLogprob:
    return {"token": text_of(data), "logprob": logprob, "bytes": list(data)}


def text_of(data: bytes) -> str:
    """Return a token's text."""
    return data.decode("utf-8", "replace")
