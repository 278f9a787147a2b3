"""Random walks through masks that soon lead to an end.

A walk wanders for some tokens and closes from then on: it prefers the stop token, then brackets,
quotes and commas, so that even a recursive schema comes to an end.
"""

import time
from functools import cache
from random import Random

import numpy as np

import engine
from tests.engine.harness import bits, new_mask
from tests.vocabularies import VOCABULARIES

#: tokens after which a walk is given up, and counts as unfinished
MOST_TOKENS = 400
#: tokens of wandering before a walk closes; each walk draws one
WANDERING = (0, 0, 2, 5, 10, 25)
#: share of tokens of a closing walk that are any: what a pattern still needs is rarely a bracket
ANY = 0.1
#: sum of the weights of all tokens that are not named below, whatever the size of the vocabulary
OTHERS = 40.0
_WANDERING = {**dict.fromkeys(b"abcdeikmnst0123456789-.:tfn", 4.0), **dict.fromkeys(b'"}]{[,', 8.0)}
_CLOSING = {
    **dict.fromkeys(b"abcdeikmnst0123456789-:", 4.0),
    **dict.fromkeys(b"}]", 20_000.0),
    ord('"'): 1000.0,
    ord(","): 100.0,
}


class Stuck(AssertionError):
    """An empty mask. `text` is what was written until then."""

    def __init__(self, text: bytes) -> None:
        super().__init__(f"an empty mask after {text!r}")
        self.text = text


class Walker:
    """Walks with one vocabulary, and the slowest mask that it met, in seconds."""

    def __init__(self, vocabulary: engine.Vocabulary) -> None:
        self.slowest_mask = 0.0
        self._vocabulary = vocabulary
        self._mask = new_mask(vocabulary)
        self._wandering = self._weights(_WANDERING)
        self._closing = self._weights(_CLOSING)

    def _weights(self, named: dict[int, float]) -> np.ndarray:
        tokens = self._vocabulary.tokens
        rest = OTHERS / len(tokens)
        return np.array([named.get(t[0], rest) if len(t) == 1 else rest for t in tokens])

    def walk(self, compiled: engine.Compiled, rng: Random) -> bytes | None:
        """A finished text; None if it took too long.

        Raises:
            Stuck: nothing may follow, not even the end.
            AssertionError: a token of the mask is not accepted.
        """
        matcher, text = engine.Matcher(compiled), bytearray()
        closes_at = rng.choice(WANDERING)
        for step in range(MOST_TOKENS):
            begin = time.perf_counter()
            matcher.fill_bitmask(self._mask)
            self.slowest_mask = max(self.slowest_mask, time.perf_counter() - begin)
            allowed = bits(self._mask)
            if not len(allowed):
                raise Stuck(bytes(text))
            token = self._drawn(allowed, step >= closes_at, rng)
            if token in self._vocabulary.stop_token_ids:
                return bytes(text)
            if not matcher.accept_token(token):
                raise AssertionError(f"the mask allows {token}, not accepted after {bytes(text)!r}")
            text += self._vocabulary.tokens[token]
        return None

    def _drawn(self, allowed: np.ndarray, closes: bool, rng: Random) -> int:
        for stop in self._vocabulary.stop_token_ids:
            if self._mask[0, stop // 32] >> (stop % 32) & 1 and (closes or rng.random() < 0.5):
                return int(stop)
        if closes and rng.random() < ANY:
            return int(allowed[rng.randrange(len(allowed))])
        sums = (self._closing if closes else self._wandering)[allowed].cumsum()
        return int(allowed[sums.searchsorted(rng.random() * sums[-1])])


@cache
def walker(vocabulary: str) -> Walker:
    """The one of a vocabulary of tests/vocabularies.py."""
    return Walker(VOCABULARIES[vocabulary]())
