"""Random walks through masks that soon lead to an end.

A walk wanders for some tokens and closes from then on: it prefers the stop token, then the quote
within a string, brackets elsewhere, and commas. Where none of them may follow it tries texts that
the schema may be waiting for (`hints`: required names, listed values, texts of its patterns and
formats), whole; so even a recursive schema, or `contains`, comes to an end.
"""

import json
import time
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

import numpy as np

import engine
from tests.conformance.instances import parts
from tests.conformance.schemas import Schema
from tests.engine.harness import bits, new_mask
from tests.vocabularies import VOCABULARIES

from .compositions import FORMATS, PATTERNS
from .instances import InstanceMaker

#: tokens after which a walk is given up, and counts as unfinished
MAX_TOKENS = 400
#: tokens of wandering before a walk closes; each walk draws one
WANDERING = (0, 0, 2, 5, 10, 25)
#: share of tokens of a closing walk that are any: what a pattern still needs is rarely a bracket
ANY = 0.1
#: sum of the weights of all tokens that are not named below, whatever the size of the vocabulary
OTHERS = 40.0
#: hints that are tried where a closing walk can't close
TRIED_HINTS = 8
#: values made for a `contains`
MADE_HINTS = 3
#: keywords of numbers and strings that random digits and letters rarely meet
BOUNDED = frozenset(("multipleOf", "minimum", "exclusiveMinimum", "exclusiveMaximum", "minLength"))
#: bytes after which a value or a key may begin
BEFORE = b"[{:, \n"
#: values that end soon
SHORT_VALUES = ("{}", "[]", "0", "1", "2.5", "true", "false", "null", '""', '"a"')
_WANDERING = {**dict.fromkeys(b"abcdeikmnst0123456789-.:tfn", 4.0), **dict.fromkeys(b'"}]{[,', 8.0)}
_CLOSING = {
    **dict.fromkeys(b"abcdeikmnst0123456789-:", 4.0),
    **dict.fromkeys(b"}]", 20_000.0),
    **dict.fromkeys(b"{[", 50.0),
    ord('"'): 1000.0,
    ord(","): 100.0,
}


def hints(schema: Schema, rng: Random) -> tuple[bytes, ...]:
    """JSON texts of keys and values that the schema speaks of, and short values."""
    maker, found = InstanceMaker(schema, rng), list[Any]()
    for part in parts(schema):
        if not isinstance(part, dict):
            continue
        found += [*part.get("properties", ()), *part.get("required", ()), *part.get("enum", ())]
        found += [part["const"]] if "const" in part else []
        found += [name for names in part.get("dependentRequired", {}).values() for name in names]
        for word, texts in (("pattern", PATTERNS), ("format", FORMATS)):
            found += texts.get(part.get(word, ""), ())
        if "contains" in part:
            found += [maker.value(part["contains"]) for _ in range(MADE_HINTS)]
        if not BOUNDED.isdisjoint(part):
            found.append(maker.value(part))
    texts = (json.dumps(value, ensure_ascii=False) for value in found)
    return tuple(text.encode() for text in dict.fromkeys((*texts, *SHORT_VALUES)))


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
        self._stops = vocabulary.stop_token_ids
        self._quote, self._brace, self._bracket = map(vocabulary.tokens.index, (b'"', b"}", b"]"))

    def _weights(self, named: dict[int, float]) -> np.ndarray:
        tokens = self._vocabulary.tokens
        rest = OTHERS / len(tokens)
        return np.array([named.get(t[0], rest) if len(t) == 1 else rest for t in tokens])

    def walk(
        self, compiled: engine.Compiled, rng: Random, hinted: Sequence[bytes] = ()
    ) -> bytes | None:
        """A finished text; None if it took too long.

        Raises:
            Stuck: nothing may follow, not even the end.
            AssertionError: a token of the mask is not accepted.
        """
        matcher, text = engine.Matcher(compiled), bytearray()
        closes_at = rng.choice(WANDERING)
        for step in range(MAX_TOKENS):
            begin = time.perf_counter()
            matcher.fill_bitmask(self._mask)
            self.slowest_mask = max(self.slowest_mask, time.perf_counter() - begin)
            closes = step >= closes_at
            if not self._mask.any():
                raise Stuck(bytes(text))
            if any(map(self._allows, self._stops)) and (closes or rng.random() < 0.5):
                return bytes(text)
            hint = self._hint(matcher, rng, hinted) if closes and text[-1:] in BEFORE else b""
            if hint:
                text += hint
                continue
            token = self._drawn(closes, rng)
            if token in self._stops:
                return bytes(text)
            if not matcher.accept_token(token):
                raise AssertionError(f"the mask allows {token}, not accepted after {bytes(text)!r}")
            text += self._vocabulary.tokens[token]
        return None

    def _allows(self, token: int) -> bool:
        return bool(self._mask[0, token // 32] >> (token % 32) & 1)

    def _hint(self, matcher: engine.Matcher, rng: Random, hinted: Sequence[bytes]) -> bytes:
        """A hint that was accepted; none where a bracket or a quote ends something."""
        if not hinted or self._allows(self._brace) or self._allows(self._bracket):
            return b""
        for _ in range(TRIED_HINTS):
            if matcher.accept_bytes(hint := rng.choice(hinted)):
                return hint
        return b""

    def _drawn(self, closes: bool, rng: Random) -> int:
        # both brackets are allowed within a string only
        if closes and all(map(self._allows, (self._brace, self._bracket, self._quote))):
            return self._quote
        allowed = bits(self._mask)
        if closes and rng.random() < ANY:
            return int(allowed[rng.randrange(len(allowed))])
        sums = (self._closing if closes else self._wandering)[allowed].cumsum()
        return int(allowed[sums.searchsorted(rng.random() * sums[-1])])


@cache
def walker(vocabulary: str) -> Walker:
    """The one of a vocabulary of tests/vocabularies.py."""
    return Walker(VOCABULARIES[vocabulary]())
