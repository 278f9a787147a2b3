"""The vocabulary of the noise worker: 512 tokens, shipped as data.

Representation   ids 0..255 are the single bytes; then frequent pieces of source code and JSON, most
                 frequent first; then the control tokens of every format that the gateway knows, as
                 text.
Invariants       I1 no two tokens are equal. I2 every byte string can be encoded. I3 ids never
                 change: tests and seeds rely on them; a new file would be a new vocabulary.
Cost             ``load`` reads a file of a few KB; ``encode`` is one dictionary look-up a length
                 tried.
Not here         how the file was made: tools/make_noise_vocabulary.py.
"""

import json
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import NamedTuple


class NoiseVocabulary(NamedTuple):
    """Token bytes by id, control tokens by text, and the ids that end an answer."""

    tokens: list[bytes]
    special: dict[str, int]
    stop_ids: list[int]

    def encode(self, text: str) -> list[int]:
        """Ids of a text; control tokens are recognised where their text stands."""
        return Encoder(self.tokens, self.special.values())(text)


def load() -> NoiseVocabulary:
    """Reads the shipped file."""
    file = resources.files(__package__).joinpath("data", "noise_vocabulary.json")
    data = json.loads(file.read_text("utf-8"))
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [piece.encode("latin-1") for piece in data["pieces"]]
    special = {text: len(tokens) + n for n, text in enumerate(data["special"])}
    tokens += [text.encode() for text in special]
    return NoiseVocabulary(tokens, special, [special[text] for text in data["stop"]])


class Encoder:
    """Text -> ids by the longest token that fits, from left to right.

    A correct tokenization of every text, not the one that a trained tokenizer would choose. The
    vocabulary must hold every single byte that a text may hold; a byte that no token starts with is
    left out.
    """

    def __init__(self, tokens: Sequence[bytes], special_ids: Iterable[int] = ()) -> None:
        special = set(special_ids)
        self._ids = {token: n for n, token in reversed(list(enumerate(tokens))) if n not in special}
        lengths: dict[int, set[int]] = {}
        for token in filter(None, self._ids):
            lengths.setdefault(token[0], set()).add(len(token))
        #: by first byte the lengths of the tokens that begin with it, longest first
        self._lengths = {byte: sorted(each, reverse=True) for byte, each in lengths.items()}
        self._special = {tokens[n]: n for n in sorted(special, reverse=True) if tokens[n]}
        longest_first = sorted(self._special, key=len, reverse=True)
        pattern = b"|".join(re.escape(text) for text in longest_first) or rb"(?!)"
        self._split = re.compile(b"(" + pattern + b")")

    def __call__(self, text: str) -> list[int]:
        ids: list[int] = []
        for part in self._split.split(text.encode("utf-8", "surrogatepass")):
            if part in self._special:
                ids.append(self._special[part])
            else:
                self._ordinary(part, ids)
        return ids

    def _ordinary(self, part: bytes, ids: list[int]) -> None:
        at, known, lengths = 0, self._ids, self._lengths
        while at < len(part):
            step = 1
            for length in lengths.get(part[at], ()):
                # behind the part's end a slice is shorter, and only the rest of the part is left
                number = known.get(part[at : at + length])
                if number is not None:
                    ids.append(number)
                    step = length
                    break
            at += step
