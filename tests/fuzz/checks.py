"""One spec, checked in every way there is; what is wrong comes out as a ``Wrong``.

walk       at every place of a random walk over tokens: the mask is that of brute force; the plain
           recogniser takes the same tokens and would stop alike; the event parser takes what the
           matcher takes; masks behind a draft tree are those of forks; rollback leads back.
batch      places of all walks at once give what they gave alone.
replay     the same walk gives the same masks where nothing is kept, where everything is evicted at
           once, and where every part of the engine is switched off that can be.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np

import engine
from tests.engine.cases import Case
from tests.engine.harness import bits, compile_case, new_mask
from tests.reference import Column, Recogniser

Path = list[int]

#: items of a reference column; past it the recogniser is left out, since it costs seconds
COSTLY_ITEMS = 400
#: tokens that the recogniser is asked for at one place
ASKED = 16

#: bytes of token masks that are kept: next to none, so that they are evicted all the time
TOKEN_MASKS = 1 << 14
VARIANTS: dict[str, dict[str, Any]] = {
    "nothing shared": {"features": engine.Features(cross_grammar=False, mask_memo=False)},
    "no tail references": {
        "features": engine.Features(tail_references=False),
        "limits": engine.Limits(token_mask_bytes=TOKEN_MASKS),
    },
    "generations dropped": {
        "limits": engine.Limits(generation_bytes=1, token_mask_bytes=TOKEN_MASKS)
    },
}


class Wrong(AssertionError):
    """Two ways of asking gave two answers."""


class Walker:
    """Walks through one compiled grammar."""

    def __init__(self, compiled: engine.Compiled, rng: Random, *, with_reference: bool) -> None:
        self.compiled, self.rng = compiled, rng
        self.vocabulary = compiled.vocabulary
        # items and keys that must differ are compared by address, and no matter of the recogniser
        with_reference = with_reference and len(engine.Matcher(compiled).place()) == 2
        self.reference = Recogniser(compiled.grammar) if with_reference else None
        self.stops = set(self.vocabulary.stop_token_ids)
        self.special = {*self.vocabulary.special_token_ids, *self.stops}
        self.checked: set[tuple[int, bool]] = set()
        self.mask, self.want = new_mask(self.vocabulary), new_mask(self.vocabulary)
        self.places: list[tuple[engine.Matcher, bytes]] = []

    def walk(self, length: int) -> tuple[Path, list[bytes]]:
        """The tokens taken and the mask before each, and at the end."""
        matcher, parser = engine.Matcher(self.compiled), self.compiled.parser()
        states: list[Column] | None = [self.reference.start()] if self.reference else None
        path: Path = []
        masks: list[bytes] = []
        events: list[engine.Event] = []
        while True:
            allowed = self.check_mask(matcher, path)
            masks.append(self.mask.tobytes())
            if matcher.is_terminated() or len(path) == length:
                break
            self.places.append((matcher.fork(), masks[-1]))
            if states is not None:
                states = self.check_states(matcher, states, allowed, path)
            if self.rng.random() < 0.2:
                self.check_tree(matcher, allowed, path)
            if self.rng.random() < 0.2 and path:
                self.check_rollback(matcher, path, masks)
            token = self.draw(allowed)
            if not matcher.accept_token(token):
                raise Wrong(f"the mask allows {token}, which is not accepted, after {path}")
            path.append(token)
            if states is not None and token not in self.stops:
                states = self.step(states, token)
            if parser is not None:
                parser, more = self.fed(parser, token, path)
                events += more
        if parser is not None:
            self.check_events(parser, events, matcher, path)
        return path, masks

    def draw(self, allowed: Sequence[int]) -> int:
        """Half of the time a token that is not long, which keeps the walk near the start."""
        if self.rng.random() < 0.5:
            short = [t for t in allowed if len(self.vocabulary.tokens[t]) <= 2]
            allowed = short or allowed
        return int(self.rng.choice(list(allowed)))

    # -- checks -----------------------------------------------------------------------------------
    def check_mask(self, matcher: engine.Matcher, path: Path) -> Sequence[int]:
        matcher.fill_bitmask(self.mask)
        place = matcher.place(saturated=True)
        if place not in self.checked:
            self.checked.add(place)
            matcher.brute_force_bitmask(self.want)
            if not np.array_equal(self.mask, self.want):
                wrong = bits(self.mask ^ self.want)[:8]
                raise Wrong(f"mask and brute force differ in {list(wrong)} after {path}")
        allowed = bits(self.mask)
        if not len(allowed):
            raise Wrong(f"an empty mask after {path}")
        return allowed

    def step(self, states: list[Column], token: int) -> list[Column]:
        assert self.reference
        data = b"" if token in self.special else self.vocabulary.tokens[token]
        return self.reference.after_token(states, token, data)

    def check_states(
        self, matcher: engine.Matcher, states: list[Column], allowed: Sequence[int], path: Path
    ) -> list[Column] | None:
        """The states, or None from where on they cost too much."""
        if sum(len(state.items) for state in states) > COSTLY_ITEMS:
            return None
        stops = any(state.accepts() for state in states)
        if matcher.can_stop() != stops:
            raise Wrong(f"may stop: {not stops}, the recogniser says {stops}, after {path}")
        taken = set(map(int, allowed))
        asked = self.rng.sample(sorted(taken), min(ASKED // 2, len(taken)))
        asked += self.rng.sample(range(self.vocabulary.size), min(ASKED // 2, self.vocabulary.size))
        for token in asked:
            after = self.step(states, token)
            if token in self.stops:
                after = [state for state in after or states if state.accepts()]
            wanted = bool(after) and bool(self.vocabulary.tokens[token])
            if token in self.stops and token in taken and wanted:
                continue
            if (token in taken) != wanted:
                raise Wrong(f"{token}: the recogniser says {wanted}, after {path}")
        return states

    def check_tree(self, matcher: engine.Matcher, allowed: Sequence[int], path: Path) -> None:
        size = self.rng.randint(1, 6)
        tokens = [
            self.draw(allowed if self.rng.random() < 0.7 else range(self.vocabulary.size))
            for _ in range(size)
        ]
        parents = [self.rng.randint(-1, node - 1) for node in range(size)]
        masks = np.full((size, self.vocabulary.words), -1, dtype=np.int32)
        taken = engine.fill_bitmask_tree(matcher, tokens, parents, masks)
        for node in range(size):
            way, at = [], node
            while at >= 0:
                way.append(tokens[at])
                at = parents[at]
            fork = matcher.fork()
            wanted = all(fork.accept_token(token) for token in reversed(way))
            self.want[:] = 0
            if wanted:
                fork.fill_bitmask(self.want)
            if taken[node] != wanted or not np.array_equal(masks[node], self.want[0]):
                raise Wrong(f"the draft tree {tokens} {parents} differs at {node} after {path}")

    def check_rollback(self, matcher: engine.Matcher, path: Path, masks: list[bytes]) -> None:
        back = self.rng.randint(1, len(path))
        place, fork = matcher.place()[:2], matcher.fork() if self.rng.random() < 0.5 else matcher
        fork.rollback(back)
        fork.fill_bitmask(self.want)
        if self.want.tobytes() != masks[len(path) - back]:
            raise Wrong(f"another mask after rollback({back}) of {path}")
        if not all(fork.accept_token(token) for token in path[-back:]) or fork.place()[:2] != place:
            raise Wrong(f"another place after rollback({back}) of {path}, and the same tokens")

    # -- the event parser -------------------------------------------------------------------------
    @staticmethod
    def fed(parser: Any, token: int, path: Path) -> tuple[Any, list[engine.Event]]:
        """The parser, as long as it can follow, and its events: left recursion has a limit."""
        try:
            return parser, list(parser.feed(token))
        except engine.LimitExceeded:
            return None, []
        except engine.ParseDivergence as error:
            raise Wrong(f"the parser refuses {token}, the last of {path}: {error}") from error

    def check_events(
        self, parser: Any, events: list[engine.Event], matcher: engine.Matcher, path: Path
    ) -> None:
        try:
            events += parser.finish()
        except engine.LimitExceeded:
            return
        if matcher.can_stop() != parser.is_whole():
            raise Wrong(f"the parser's text is whole: {parser.is_whole()}, after {path}")
        text = b"".join(self.vocabulary.tokens[token] for token in path)
        got = b"".join(event.bytes for event in events)
        if not text.startswith(got) or text[len(got) :] not in (
            b"", *(self.vocabulary.tokens[token] for token in self.stops),
        ):  # fmt: skip
            raise Wrong(f"events hold {got!r} of {text!r}")

    def check_batch(self) -> None:
        """Some of the places of all walks at once."""
        chosen = self.rng.sample(self.places, min(12, len(self.places)))
        masks = np.full((len(chosen), self.vocabulary.words), -1, dtype=np.int32)
        rows = list(range(len(chosen)))
        self.rng.shuffle(rows)
        engine.fill_bitmask_batch([matcher for matcher, _ in chosen], masks, rows)
        for (_, mask), row in zip(chosen, rows, strict=True):
            if masks[row].tobytes() != mask:
                raise Wrong("a batch gives another mask")


def replayed(compiled: engine.Compiled, path: Path) -> Iterator[bytes]:
    matcher, mask = engine.Matcher(compiled), new_mask(compiled.vocabulary)
    for token in [*path, None]:
        matcher.fill_bitmask(mask)
        yield mask.tobytes()
        if token is not None and not matcher.accept_token(token):
            return


def check_variants(
    vocabulary: engine.Vocabulary, case: Case, walks: list[tuple[Path, list[bytes]]], name: str
) -> None:
    """The same walks with a compiler of another kind, whose masks are evicted all the time."""
    compiled = compile_case(engine.Compiler(vocabulary, **VARIANTS[name]), case)
    for path, masks in walks:
        if list(replayed(compiled, path)) != masks:
            raise Wrong(f"{name}: other masks along {path}")


def check_case(
    compiler: engine.Compiler, case: Case, rng: Random, *, small: bool
) -> tuple[int, int]:
    """Checks one spec; how many places and tokens that were.

    Raises:
        engine.SpecError, engine.LimitExceeded: the spec is refused.
        Wrong: two answers to one question.
    """
    compiled = compile_case(compiler, case)
    walker = Walker(compiled, rng, with_reference=small)
    if not small:
        path, masks = walker.walk(12)
        walker.check_batch()
        if list(replayed(compiled, path)) != masks:
            raise Wrong(f"other masks along the same {path}")
        return len(walker.checked), len(path)
    walks = [walker.walk(rng.choice([5, 15, 40])) for _ in range(3)]
    walker.check_batch()
    check_variants(compiled.vocabulary, case, walks, rng.choice(list(VARIANTS)))
    return len(walker.checked), sum(len(path) for path, _ in walks)
