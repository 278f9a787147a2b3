"""Values in the JSON of a SGLang server, checked: counts, ids, text, log probabilities.

A server's log probabilities are lists of [log probability, token id, text or null], for the whole
answer or for the tokens since the last event (see sglang_wire).
"""

from collections.abc import Sequence
from typing import Any

from .base import LEAST_LOGPROB, TokenLogprob

#: SGLang's number for a token that the mask forbids is the lowest of its type, at most -6.5e4
FORBIDDEN = -6e4


def as_count(value: Any) -> int:
    """Return a count or an id. Raises ValueError if it is none."""
    if type(value) is not int or value < 0:
        raise ValueError(f"expected an integer >= 0, got {value!r:.50}")
    return value


def printable(text: str) -> str:
    """Return the text without lone surrogates, which JSON in UTF-8 cannot contain."""
    return text.encode("utf-8", "backslashreplace").decode()


def token_logprobs(
    meta: dict[str, Any], new: Sequence[int], total: int, top: int, vocabulary: int
) -> list[TokenLogprob]:
    """Return the log probabilities of the tokens ``new``, the last ones of ``total``.

    ``top``: number of most likely tokens to report. ``vocabulary``: number of tokens; a model's
    logits may have more.

    Raises:
        ValueError, LookupError, TypeError: the lists do not belong to the tokens.
    """
    listed = meta["output_token_logprobs"]
    at = total - len(new) if len(listed) >= total else 0
    found = []
    for n, number in enumerate(new, at):
        logprob, token, *_ = listed[n]
        if token != number:
            raise ValueError("log probabilities of other tokens")
        best = (meta["output_top_logprobs"][n] or ())[:top] if top else ()
        pairs = [(as_count(other), _real(value)) for value, other, *_ in best]
        allowed = tuple(
            (other, max(value, LEAST_LOGPROB))
            for other, value in pairs
            if value > FORBIDDEN and other < vocabulary
        )
        found.append(TokenLogprob(max(_real(logprob), LEAST_LOGPROB), allowed))
    return found


def _real(value: Any) -> float:
    if type(value) not in (int, float):
        raise ValueError(f"expected a number, got {value!r:.50}")
    return float(value)
