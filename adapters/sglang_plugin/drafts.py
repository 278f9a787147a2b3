"""Forced text as drafts: where the grammar leaves one way, the speculator need not guess.

SGLang's NGRAM worker takes its drafts from what was written before; where a request's grammar
forces tokens, a chain of these stands in their place. But drafts that begin with them, and may go
on behind, stay. Verification stays the model's: it may cut the same text into other tokens, and a
draft that it would not have written is refused as any other.

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
        own = drafts[number * width : (number + 1) * width]
        if forced and not _begins_with(own.tolist(), squares[number].tolist(), forced):
            # what is left of the chain is filled up with what nobody will take
            own[1:] = forced + [0] * (width - 1 - len(forced))
            for place in range(width):
                squares[number, place, :] = [k <= place for k in range(width)]


def _begins_with(tokens: list[int], square: list[list[int]], forced: list[int]) -> bool:
    """Whether these drafts have the forced tokens, one behind the other."""
    path = [bool(place == 0) for place in range(len(tokens))]
    at = 0
    for token in forced:
        for node in range(at + 1, len(tokens)):
            path[node] = True
            if tokens[node] == token and [bool(flag) for flag in square[node]] == path:
                at = node
                break
            path[node] = False
        else:
            return False
    return True
