"""Tokens on which the masks of several engines differ, and a sample of them.

All tokens of every step are compared, except special ones other than the token that stops. A
sample has a token of each of some groups: tokens with one pattern of verdicts, one class of the
first and one of the last byte. Groups that a case has rarely shown come first. A set of masks is
sampled once a case. Each sample has also the token that the text takes next, if an engine forbids
it, and a token of one byte, on which the engines may agree.
"""

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import NamedTuple

import numpy as np

from ..vocabularies import Loaded

#: tokens of a step, single bytes of a step, and tokens of a case
OF_STEP, PROBES, OF_CASE = 3, 1, 110
#: differing tokens of a step that are looked at for groups
SHUFFLED = 2048
_CLASSES = ("\n\r\t", " ", '"', "\\", "{", "}", "[", "]", ":", ",", "-", ".", "eE", "+", "tfn")


def _class(byte: int) -> int:
    for k, members in enumerate(_CLASSES):
        if chr(byte) in members:
            return k
    rules = (
        0x30 <= byte < 0x3A,
        byte < 0x20,
        chr(byte).isalpha() and byte < 0x80,
        byte < 0x80,
        byte < 0xC0,
    )
    return len(_CLASSES) + next((k for k, found in enumerate(rules) if found), len(rules))


#: why a mask leaves out a token of an allowed text: our masks have a longer token instead
#: (docs/engine.md, "Detours"), and llguidance's have only the first token of a forced text
DETOUR, FORCED = "detours", "tokens of forced text"


class Sampled(NamedTuple):
    """``allows``: by engine. ``left_out``: by engine that forbids the token, one of the above."""

    token: int
    allows: dict[str, bool]
    left_out: dict[str, str]


class Step(NamedTuple):
    """``differing``: tokens on which the masks differ, by the engines that allow them."""

    differing: dict[str, int]
    sampled: list[Sampled]


class Comparer:
    """Compares the masks of one vocabulary; ``begin`` starts a case."""

    def __init__(self, loaded: Loaded) -> None:
        self._stop, self._tokens, size = loaded.stop, loaded.tokens, len(loaded.tokens)
        self._longer_by_token: dict[int, list[int]] = {}
        classes = [_class(byte) for byte in range(256)]
        self._classes = np.array(
            [classes[t[0]] * 32 + classes[t[-1]] if t else 0 for t in loaded.tokens], dtype=np.int64
        )
        kept = np.ones((size + 31) // 32 * 32, dtype=np.uint8)
        kept[[token for token in loaded.special.values() if token != loaded.stop]] = 0
        kept[[k for k, token in enumerate(loaded.tokens) if not token]] = 0
        self._kept = np.packbits(kept, bitorder="little").view(np.uint32)
        self._probes = [
            k for k, t in enumerate(loaded.tokens) if len(t) == 1 and 0x20 <= t[0] < 0x7F
        ]
        self.begin(0)

    def begin(self, seed: int) -> None:
        self._random, self._seen, self._left = Random(seed), Counter[int](), OF_CASE
        self._sampled: dict[tuple[bytes, ...], dict[str, int]] = {}
        self._generator = np.random.default_rng(seed)

    def step(self, masks: Mapping[str, bytes], token: int | None) -> Step:
        """Compare the masks of one step. ``token``: the next one of the text."""
        key = tuple(masks.values())
        chosen = self._forced(masks, token)
        if key in self._sampled and not chosen:
            return Step(self._sampled[key], [])
        names = list(masks)
        words = [np.frombuffer(mask, dtype=np.uint32) for mask in masks.values()]
        differ = np.zeros_like(words[0])
        for other in words[1:]:
            differ |= words[0] ^ other
        differ &= self._kept
        ids = np.flatnonzero(np.unpackbits(differ.view(np.uint8), bitorder="little"))
        patterns = np.zeros(len(ids), dtype=np.int64)
        for k, own in enumerate(words):
            patterns |= ((own[ids >> 5] >> (ids & 31)) & 1).astype(np.int64) << k
        counts = np.bincount(patterns, minlength=1)
        differing = {
            ",".join(name for k, name in enumerate(names) if pattern >> k & 1): int(count)
            for pattern, count in enumerate(counts)
            if count
        }
        if key not in self._sampled and self._left > 0:
            chosen += self._of_groups(ids, patterns)
            chosen += self._random.sample(self._probes, PROBES if len(ids) else 2 * PROBES)
        self._left -= len(chosen)
        self._sampled[key] = differing
        by_name = dict(zip(names, words, strict=True))
        return Step(differing, [self._told(one, by_name) for one in dict.fromkeys(chosen)])

    def _told(self, token: int, words: "Mapping[str, np.ndarray]") -> Sampled:
        allows = {name: _has(mask, token) for name, mask in words.items()}
        left_out = {}
        for name, allowed in allows.items():
            if allowed:
                continue
            if name == "ours" and any(_has(words[name], one) for one in self._longer(token)):
                left_out[name] = DETOUR
            elif name == "llguidance" and self._only(words[name]) not in (None, self._stop):
                left_out[name] = FORCED
        return Sampled(token, allows, left_out)

    def _longer(self, token: int) -> list[int]:
        """Return longer tokens that begin with a token of white space or opening brackets."""
        if token not in self._longer_by_token:
            own = self._tokens[token]
            found: list[int] = []
            if own and not own.strip(b" \t\n\r[{"):
                found = [k for k, t in enumerate(self._tokens) if t != own and t.startswith(own)]
            self._longer_by_token[token] = found
        return self._longer_by_token[token]

    @staticmethod
    def _only(mask: "np.ndarray") -> int | None:
        """Return the token of a mask with one alone."""
        at = np.flatnonzero(mask)
        if len(at) != 1 or int(mask[at[0]]).bit_count() != 1:
            return None
        return int(at[0]) * 32 + int(mask[at[0]]).bit_length() - 1

    def _forced(self, masks: Mapping[str, bytes], token: int | None) -> list[int]:
        """Return the next token, behind the text the stop token, if an engine forbids it."""
        wanted = self._stop if token is None else token
        words = [np.frombuffer(mask, dtype=np.uint32) for mask in masks.values()]
        return [] if all(_has(mask, wanted) for mask in words) else [wanted]

    def _of_groups(self, ids: "np.ndarray", patterns: "np.ndarray") -> list[int]:
        if not len(ids):
            return []
        order = self._generator.integers(len(ids), size=min(len(ids), SHUFFLED))
        groups = self._classes[ids[order]] * 8 + patterns[order]
        found, at = np.unique(groups, return_index=True)
        ranked = sorted(
            zip(found.tolist(), at.tolist(), strict=True),
            key=lambda one: (self._seen[one[0]], self._random.random()),
        )[:OF_STEP]
        self._seen.update(group for group, _ in ranked)
        chosen = [int(ids[order[at]]) for _, at in ranked]
        if self._stop in ids and self._stop not in chosen:
            chosen.append(self._stop)
        return chosen


def _has(words: "np.ndarray", token: int) -> bool:
    return bool(int(words[token >> 5]) >> (token & 31) & 1)
