"""Walks through grammars for the exactness tests, with one check for each new place."""

import random
import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np

import engine
from tests.engine.cases import Case
from tests.reference import Column, Recogniser

#: how many threads ``in_threads`` begins
THREADS = 8


def compile_case(compiler: engine.Compiler, case: Case) -> engine.Compiled:
    """``spec`` may be a tuple of arguments."""
    spec = case.spec if isinstance(case.spec, tuple) else (case.spec,)
    return getattr(compiler, f"compile_{case.kind}")(*spec)


def new_mask(vocabulary: engine.Vocabulary) -> np.ndarray:
    return np.zeros((1, vocabulary.words), dtype=np.int32)


def masks_along(compiled: engine.Compiled, texts: Sequence[bytes]) -> list[bytes]:
    """The masks before each byte of each text, as far as it is accepted."""
    mask, found = new_mask(compiled.vocabulary), []
    for text in texts:
        matcher = engine.Matcher(compiled)
        for byte in text:
            matcher.fill_bitmask(mask)
            found.append(mask.tobytes())
            if not matcher.accept_bytes(bytes([byte])):
                break
    return found


def in_threads(work) -> list:  # type: ignore[no-untyped-def, type-arg]
    """The result of ``work`` in each thread; all begin together."""
    found: list[object] = [None] * THREADS
    ready = threading.Barrier(THREADS)

    def run(number: int) -> None:
        ready.wait()
        try:
            found[number] = work(number)
        except BaseException as error:
            found[number] = error

    threads = [threading.Thread(target=run, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def bits(mask: np.ndarray) -> np.ndarray:
    """The ids allowed by a mask."""
    return np.unpackbits(mask.view(np.uint8), bitorder="little").nonzero()[0]


def tokenise(vocabulary: engine.Vocabulary, text: bytes, longest: int) -> Iterator[int]:
    """Ids of ``text``, greedily, in tokens of at most ``longest`` bytes."""
    ids = getattr(tokenise, "ids", {})
    if vocabulary.fingerprint not in ids:
        special = set(vocabulary.special_token_ids)
        ids[vocabulary.fingerprint] = {
            t: i for i, t in enumerate(vocabulary.tokens) if i not in special
        }
        tokenise.ids = ids  # type: ignore[attr-defined]
    known = ids[vocabulary.fingerprint]
    at = 0
    while at < len(text):
        size = next(
            n for n in range(min(longest, len(text) - at), 0, -1) if text[at : at + n] in known
        )
        yield known[text[at : at + size]]
        at += size


def masks_of(compiled: engine.Compiled, case: Case) -> list[bytes]:
    """The masks on the way through every sample."""
    found, mask = [], new_mask(compiled.vocabulary)
    for sample in case.samples:
        matcher = engine.Matcher(compiled)
        for token in tokenise(compiled.vocabulary, sample.encode(), 16):
            matcher.fill_bitmask(mask)
            found.append(mask.tobytes())
            assert matcher.accept_token(token)
        matcher.fill_bitmask(mask)
        found.append(mask.tobytes())
    return found


Visit = Callable[[engine.Matcher, list[int]], None]


def walk_samples(compiled: engine.Compiled, case: Case, visit: Visit, longest: int = 16) -> None:
    """Every sample must be accepted; ``visit`` sees each place before a token, and the end."""
    for sample in case.samples:
        matcher, path = engine.Matcher(compiled), []
        for token in tokenise(compiled.vocabulary, sample.encode(), longest):
            visit(matcher, path)
            assert matcher.accept_token(token), (case.name, sample, path)
            path.append(token)
        visit(matcher, path)
        assert matcher.can_stop(), (case.name, sample)


def walk_randomly(
    compiled: engine.Compiled, seed: str, length: int, visit: Visit
) -> engine.Matcher:
    """Uniform draws among the allowed tokens; a mask is never empty. Returns the walk's end."""
    rng = random.Random(seed)
    path: list[int] = []
    matcher = engine.Matcher(compiled)
    mask = new_mask(compiled.vocabulary)
    for _ in range(length):
        visit(matcher, path)
        matcher.fill_bitmask(mask)
        allowed = bits(mask)
        assert len(allowed), ("empty mask", seed, path)
        token = int(allowed[rng.randrange(len(allowed))])
        assert matcher.accept_token(token), ("mask allows what accept refuses", seed, path, token)
        path.append(token)
        if matcher.is_terminated():
            break
    return matcher


def walk_beside(
    compiled: engine.Compiled, reference: Recogniser, rng: random.Random, walks: int, length: int
) -> None:
    """Uniform draws among the bytes that the reference takes, which are those of the mask. A walk
    ends early where nothing can follow. The vocabulary's token b < 256 is byte b.
    """
    mask = new_mask(compiled.vocabulary)
    for _ in range(walks):
        state: Column | None = reference.start()
        matcher = engine.Matcher(compiled)
        for _ in range(length):
            assert state is not None
            matcher.fill_bitmask(mask)
            allowed = [b for b in range(256) if state.step(b) is not None]
            assert [t for t in bits(mask) if t < 256] == allowed
            assert matcher.can_stop() == state.accepts()
            if not allowed:
                break
            byte = rng.choice(allowed)
            assert matcher.accept_bytes(bytes([byte]))
            state = state.step(byte)


class MaskChecker:
    """Compares the mask with brute force over the whole vocabulary, once per distinct place."""

    def __init__(self, compiled: engine.Compiled, name: str, *, saturated: bool) -> None:
        self.name, self.saturated = name, saturated
        self.seen: set[tuple[int, bool]] = set()
        self.got, self.want = new_mask(compiled.vocabulary), new_mask(compiled.vocabulary)

    def __call__(self, matcher: engine.Matcher, path: list[int]) -> None:
        place = matcher.place(saturated=self.saturated)
        if place in self.seen:
            return
        self.seen.add(place)
        matcher.fill_bitmask(self.got)
        matcher.brute_force_bitmask(self.want)
        if not np.array_equal(self.got, self.want):
            tokens = matcher.compiled.vocabulary.tokens
            wrong = [(int(t), tokens[t]) for t in bits(self.got ^ self.want)[:10]]
            raise AssertionError((self.name, [tokens[t] for t in path], wrong))
