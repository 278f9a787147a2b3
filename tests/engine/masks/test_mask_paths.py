"""Every way to a mask gives the same mask.

For each grammar of the table a fresh compiler records the masks along its samples and along a
random walk. All other paths follow the same tokens: warm, loaded from a store, with everything
that can be dropped dropped all the time, in batches, in trees of drafts, rolled back, in eight
threads, and with each feature switched off.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import pytest

import engine
from engine.frontends.structural_tag.tag_styles import STYLES
from tests.engine.cases import CASES, Case
from tests.engine.harness import (
    THREADS,
    compile_case,
    in_threads,
    new_mask,
    walk_randomly,
    walk_samples,
)
from tests.engine.memory_log import MemoryLog, Redis, loaded
from tests.vocabularies import real_vocabulary, small_vocabulary

pytestmark = pytest.mark.usefixtures("every_mask_shared")

#: every format of the structural-tag language
FORMATS = {
    "any_text",
    "any_tokens",
    "const_string",
    "dispatch",
    "exclude_token",
    "grammar",
    "json_schema",
    "optional",
    "or",
    "plus",
    "qwen_xml_parameter",
    "regex",
    "repeat",
    "sequence",
    "star",
    "tag",
    "tags_with_separator",
    "token",
    "token_dispatch",
    "token_triggered_tags",
    "triggered_tags",
}

Walk = list[int]


@dataclass(frozen=True)
class Trace:
    """The first compile of a grammar: tokens, and the masks before each and after the last."""

    walks: list[Walk]
    masks: list[bytes]
    places: int


def digest(mask: np.ndarray) -> bytes:
    return blake2b(mask.tobytes(), digest_size=16).digest()


def trace(compiled: engine.Compiled, case: Case) -> Trace:
    walks: list[Walk] = []
    masks: list[bytes] = []
    places, mask = set(), new_mask(compiled.vocabulary)

    def visit(matcher: engine.Matcher, path: Walk) -> None:
        if not path:
            walks.append(path)
        matcher.fill_bitmask(mask)
        masks.append(digest(mask))
        places.add(matcher.place())

    walk_samples(compiled, case, visit)
    end = walk_randomly(compiled, f"paths {case.name}", 60, visit)
    end.fill_bitmask(mask)
    masks.append(digest(mask))
    return Trace(walks, masks, len(places))


# -- ways to follow a trace ------------------------------------------------------------------------
def forwards(compiled: engine.Compiled, walks: list[Walk]) -> list[bytes]:
    """Mask, token, mask, token."""
    return [digest(mask) for walk in walks for mask in _masks_on(compiled, walk)]


def _masks_on(compiled: engine.Compiled, walk: Walk) -> Iterator[np.ndarray]:
    matcher, mask = engine.Matcher(compiled), new_mask(compiled.vocabulary)
    for token in walk:
        matcher.fill_bitmask(mask)
        yield mask
        assert matcher.accept_token(token)
    matcher.fill_bitmask(mask)
    yield mask


def in_a_batch(compiled: engine.Compiled, walks: list[Walk]) -> list[bytes]:
    """All places of all walks at once, before any mask was made."""
    matchers = []
    for walk in walks:
        matcher = engine.Matcher(compiled)
        matchers.append(matcher.fork())
        for token in walk:
            assert matcher.accept_token(token)
            matchers.append(matcher.fork())
    masks = np.zeros((len(matchers), compiled.vocabulary.words), dtype=np.int32)
    engine.fill_bitmask_batch(matchers, masks, range(len(matchers)), threads=2)
    return [digest(mask) for mask in masks]


def as_a_tree(compiled: engine.Compiled, walks: list[Walk]) -> list[bytes]:
    """The tokens of a walk as a draft."""
    found = []
    for walk in walks:
        matcher = engine.Matcher(compiled)
        masks = np.zeros((len(walk) + 1, compiled.vocabulary.words), dtype=np.int32)
        matcher.fill_bitmask(masks, len(walk))
        assert all(engine.fill_bitmask_tree(matcher, walk, range(-1, len(walk) - 1), masks))
        found += [digest(masks[n]) for n in range(-1, len(walk))]
    return found


def rolled_back(compiled: engine.Compiled, walks: list[Walk]) -> list[bytes]:
    """Backwards from the end, with some tokens taken once more on the way."""
    rng, mask = random.Random(7), new_mask(compiled.vocabulary)
    found = []
    for walk in walks:
        matcher, masks = engine.Matcher(compiled), []
        for token in walk:
            assert matcher.accept_token(token)
        for at in range(len(walk), -1, -1):
            again = rng.randrange(min(len(walk) - at, 3) + 1)
            for token in walk[at : at + again]:
                assert matcher.accept_token(token)
                if rng.random() < 0.5:
                    matcher.fill_bitmask(mask)
            matcher.rollback(again)
            matcher.fill_bitmask(mask)
            masks.append(digest(mask))
            if at:
                matcher.rollback(1)
        found += masks[::-1]
    return found


# -- where the grammar comes from ------------------------------------------------------------------
class Dropping:
    """A compiler whose caches hold next to nothing."""

    def __init__(self, vocabulary: engine.Vocabulary, **options: Any) -> None:
        limits = engine.Limits(
            generation_bytes=1, mask_bytes=1, token_mask_bytes=1, automaton_bytes=1
        )
        self.compiler = engine.Compiler(vocabulary, limits=limits, **options)


class Paths:
    """One compiler for each path, so that later cases meet what earlier ones left in its caches."""

    def __init__(self, vocabulary: engine.Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.redis = Redis()
        self.traces: dict[str, Trace] = {}
        self.first = engine.Compiler(vocabulary, store=MemoryLog(self.redis))
        self.others = engine.Compiler(vocabulary)
        self.dropping = Dropping(vocabulary).compiler
        self.featureless = {
            name: engine.Compiler(vocabulary, features=engine.Features(**{name: False}))
            for name in ("cross_grammar", "mask_memo", "tail_references", "count_registers")
        }

    def trace(self, case: Case) -> Trace:
        if case.name not in self.traces:
            self.traces[case.name] = trace(compile_case(self.first, case), case)
        return self.traces[case.name]

    def fresh(self, case: Case) -> engine.Compiled:
        """A grammar without walks, with a store that knows what the trace taught."""
        self.first.flush()
        return compile_case(loaded(self.redis, self.vocabulary), case)

    def follow(self, name: str, case: Case, walks: list[Walk]) -> list[bytes]:
        return getattr(self, f"path_{name}")(case, walks)

    def path_warm(self, case: Case, walks: list[Walk]) -> list[bytes]:
        return forwards(compile_case(self.first, case), walks)

    def path_loaded(self, case: Case, walks: list[Walk]) -> list[bytes]:
        return forwards(self.fresh(case), walks)

    def path_dropped(self, case: Case, walks: list[Walk]) -> list[bytes]:
        compiled = compile_case(self.dropping, case)
        found = forwards(compiled, walks)
        assert rolled_back(compiled, walks) == in_a_batch(compiled, walks) == found
        assert compiled.stats()["mask_bytes"] == 0
        return found

    def path_batch(self, case: Case, walks: list[Walk]) -> list[bytes]:
        compiled = compile_case(self.others, case)
        found = in_a_batch(compiled, walks)
        assert in_a_batch(compiled, walks) == found
        return found

    def path_tree(self, case: Case, walks: list[Walk]) -> list[bytes]:
        return as_a_tree(compile_case(self.others, case), walks)

    def path_rollback(self, case: Case, walks: list[Walk]) -> list[bytes]:
        return rolled_back(compile_case(self.featureless["tail_references"], case), walks)

    def path_features(self, case: Case, walks: list[Walk]) -> list[bytes]:
        found = {
            name: forwards(compile_case(compiler, case), walks)
            for name, compiler in self.featureless.items()
        }
        masks = found.pop("cross_grammar")
        for name, others in found.items():
            assert others == masks, name
        return masks

    def path_threads(self, case: Case, walks: list[Walk]) -> list[bytes]:
        """Eight threads on one cold grammar whose generations change all the time."""
        limits = engine.Limits(generation_bytes=50_000, mask_bytes=5_000)
        compiler = engine.Compiler(self.vocabulary, limits=limits)
        compiled = compile_case(compiler, case)
        ways: list[Callable[[engine.Compiled, list[Walk]], list[bytes]]]
        ways = [forwards, in_a_batch, rolled_back, as_a_tree]
        found = in_threads(lambda number: ways[number % len(ways)](compiled, walks))
        assert found == [found[0]] * THREADS
        return found[0]


PATHS = [name.removeprefix("path_") for name in vars(Paths) if name.startswith("path_")]


@pytest.fixture(scope="module")
def small() -> Paths:
    return Paths(small_vocabulary())


@pytest.fixture(scope="module")
def real() -> Paths:
    return Paths(real_vocabulary("llama3"))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_path_gives_the_same_masks(small: Paths, case: Case, path: str) -> None:
    expected = small.trace(case)
    assert small.follow(path, case, expected.walks) == expected.masks


@pytest.mark.exact
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "case", [case for case in CASES if not case.needs][1::4], ids=lambda case: case.name
)
def test_every_path_gives_the_same_masks_of_a_real_vocabulary(
    real: Paths, case: Case, path: str
) -> None:
    expected = real.trace(case)
    assert real.follow(path, case, expected.walks) == expected.masks


# -- what that covers ------------------------------------------------------------------------------
def _values(spec: Any, key: str) -> set[Any]:
    """All texts that stand under a key, anywhere in a spec."""
    if isinstance(spec, dict):
        own = {spec[key]} if isinstance(spec.get(key), str) else set()
        return own.union(*(_values(value, key) for value in spec.values()))
    if isinstance(spec, list):
        return set().union(*(_values(value, key) for value in spec))
    return set()


def test_the_traces_cover_a_thousand_states_and_every_format(small: Paths) -> None:
    assert sum(small.trace(case).places for case in CASES) >= 1000
    tags = [case.spec for case in CASES if case.kind == "structural_tag"]
    assert set().union(*(_values(spec, "type") for spec in tags)) >= FORMATS
    assert set().union(*(_values(spec, "style") for spec in tags)) >= set(STYLES)


def test_the_traces_take_special_tokens_and_stop_tokens(small: Paths) -> None:
    taken = {token for case in CASES for walk in small.trace(case).walks for token in walk}
    vocabulary = small_vocabulary()
    assert taken >= set(vocabulary.stop_token_ids)
    assert len(taken & set(vocabulary.special_token_ids)) >= 5
