"""The vocabulary of the noise worker: 512 tokens, shipped as data.

Representation   ids 0..255 are the single bytes; then frequent pieces of source code and JSON, most
                 frequent first; then the control tokens of every format that the gateway knows, as
                 text.
Invariants       I1 no two tokens are equal. I2 every byte string can be encoded. I3 ids never
                 change: tests and seeds rely on them; a new file would be a new vocabulary.
Cost             ``load`` reads a file of a few KB; ``encode`` takes about 0.1 us a byte.
Not here         how the file was made: tools/make_noise_vocabulary.py.
"""

import itertools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from typing import NamedTuple

#: bytes per search, which holds the GIL for about 0.2 ms
STRIDE = 1 << 10
#: searches between two pauses: about a millisecond
PAUSE_EVERY = 8


class Encoder:
    """A tokenizer that takes the longest matching token, from left to right.

    The result is a correct tokenization, but not that of a trained tokenizer. The vocabulary must
    contain every byte that may occur in a text; other bytes are dropped. ``pause``: called every
    PAUSE_EVERY searches in a long text.
    """

    def __init__(
        self,
        tokens: Sequence[bytes],
        special_ids: Iterable[int] = (),
        *,
        pause: Callable[[], None] = lambda: None,
    ) -> None:
        self._pause = pause
        special = set(special_ids)
        self._ids = {token: n for n, token in reversed(list(enumerate(tokens))) if n not in special}
        pieces = list(filter(None, self._ids))
        self._longest = max(map(len, pieces), default=1)
        # skip a byte that begins no token
        self._pieces = re.compile(_longest_first(pieces) + b"|.", re.DOTALL)
        self._special = {tokens[n]: n for n in sorted(special, reverse=True) if tokens[n]}
        self._split = re.compile(b"(" + (_longest_first(self._special) or rb"(?!)") + b")")

    def __call__(self, text: str) -> list[int]:
        ids: list[int] = []
        for part in self._split.split(text.encode("utf-8", "surrogatepass")):
            if part in self._special:
                ids.append(self._special[part])
            else:
                self._ordinary(part, ids)
        return ids

    def _ordinary(self, part: bytes, ids: list[int]) -> None:
        at = 0
        for number in itertools.count(1):
            if at >= len(part):
                break
            if not number % PAUSE_EVERY:
                self._pause()
            end = at + STRIDE + self._longest
            found = self._pieces.findall(part, at, end)
            at = min(end, len(part))
            if at < len(part):
                # a token near the end of this piece may continue in the next one
                least = end - self._longest
                while at > least:
                    at -= len(found.pop())
            ids += [self._ids[piece] for piece in found if piece in self._ids]


def _longest_first(pieces: Iterable[bytes]) -> bytes:
    """Return a pattern that matches the longest of the byte strings, grouped by first byte."""
    by_first: dict[bytes, list[bytes]] = {}
    for piece in sorted(pieces, key=len, reverse=True):
        by_first.setdefault(piece[:1], []).append(re.escape(piece[1:]))
    return b"|".join(
        re.escape(first) + b"(?:" + b"|".join(rests) + b")" for first, rests in by_first.items()
    )


class NoiseVocabulary(NamedTuple):
    """Token bytes by id, control tokens by text, and the ids that end an answer."""

    tokens: list[bytes]
    special: dict[str, int]
    stop_ids: list[int]
    #: ids of a text; the text of a control token becomes that token
    encode: Encoder


def load(*, pause: Callable[[], None] = lambda: None) -> NoiseVocabulary:
    """Read the shipped file. ``pause``: see Encoder."""
    file = resources.files(__package__).joinpath("data", "noise_vocabulary.json")
    data = json.loads(file.read_text("utf-8"))
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [piece.encode("latin-1") for piece in data["pieces"]]
    special = {text: len(tokens) + n for n, text in enumerate(data["special"])}
    tokens += [text.encode() for text in special]
    stop_ids = [special[text] for text in data["stop"]]
    return NoiseVocabulary(
        tokens, special, stop_ids, Encoder(tokens, special.values(), pause=pause)
    )
