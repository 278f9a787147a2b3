"""Forced text as drafts: where the grammar leaves one way, the speculator need not guess.

SGLang's NGRAM worker takes its drafts from what was written before; where a request's grammar
forces tokens, a chain of these stands in their place. Verification stays the model's: it may cut
the same text into other tokens, and a draft that it would not have written is refused as any other.

Representation   SGLang's: for each request ``width`` tokens, the first the last one written, and a
                 square of flags, which of them each one follows.
"""

from collections.abc import Sequence
from typing import Any

from .grammar import SwitchyardGrammar


def offer(requests: Sequence[Any], drafts: Any, follows: Any) -> None:
    """Puts forced tokens into the drafts of a batch, in place.

    Args:
        requests: SGLang's, with their grammars.
        drafts: int array, shape (requests * width,).
        follows: array of flags, shape (requests * width * width,).
    """
    if not requests:
        return
    width = len(drafts) // len(requests)
    squares = follows.reshape(len(requests), width, width)
    for number, request in enumerate(requests):
        grammar = getattr(request, "grammar", None)
        if not isinstance(grammar, SwitchyardGrammar):
            continue
        forced = grammar.forced_tokens(width - 1)
        if forced:
            # what is left of the chain is filled up with what nobody will take
            chain = forced + [0] * (width - 1 - len(forced))
            drafts[number * width + 1 : (number + 1) * width] = chain
            for place in range(width):
                squares[number, place, :] = [k <= place for k in range(width)]
