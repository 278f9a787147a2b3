"""Forced text as drafts.

SGLang's NGRAM worker drafts tokens that followed the same text before. Where a request's grammar
forces tokens, they replace these drafts, as a chain. Drafts that begin with the forced tokens stay:
they may continue behind them. The model verifies forced tokens as any other draft, and refuses them
where it would write the same text in other tokens.

Representation   SGLang's: ``width`` tokens for each request, of which the first is the last written
                 one; and a square of flags, true where a token (row) follows another one or is it
                 (column).
"""

from collections.abc import Sequence
from typing import Any

from .grammar import SwitchyardGrammar


def offer(requests: Sequence[Any], drafts: Any, follows: Any) -> None:
    """Put forced tokens into the drafts of a batch, in place.

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
            # the drafts have a fixed width; token 0 behind the chain is a guess like any other
            own[1:] = forced + [0] * (width - 1 - len(forced))
            for place in range(width):
                squares[number, place, :] = [k <= place for k in range(width)]


def _begins_with(tokens: list[int], square: list[list[int]], forced: list[int]) -> bool:
    """Whether a path from the first token has the forced tokens, one behind the other."""
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
