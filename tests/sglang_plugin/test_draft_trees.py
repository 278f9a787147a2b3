"""Masks of draft trees equal brute force at every node, step after step, whatever was rejected."""

import random

import pytest

pytest.importorskip("torch", reason="the SGLang worker's own environment has torch")
pytest.importorskip("sglang", reason="the SGLang worker's own environment has SGLang")

from adapters.sglang_plugin import versions
from adapters.sglang_plugin.grammar import Shared, SwitchyardGrammar, walk_tree
from adapters.sglang_plugin.mask_buffers import MaskBuffers
from engine import Compiler
from tests.engine.cases import CASES
from tests.engine.harness import compile_case
from tests.turns import seeds
from tests.vocabularies import small_vocabulary

from .draft_trees import Batch, Request
from .standins import no_kernel

COMPILER = Compiler(small_vocabulary())
SIZE = COMPILER.vocabulary.size
#: trees of a seed
TREES = 100
#: of a request, before another one takes its place
STEPS = 12


@pytest.fixture(scope="module", autouse=True)
def _our_walk() -> None:
    versions.check().add_tree_walk(walk_tree)


def batch_of(draw: random.Random) -> Batch:
    """One to four requests; some have no grammar."""
    masks = MaskBuffers(can_pin=False, device_kernel=no_kernel)
    shared = Shared(masks, COMPILER.vocabulary.stop_token_ids, COMPILER.vocabulary.words)
    requests = [Request(None, None)] * draw.randint(0, 1)
    for case in draw.sample(CASES, draw.randint(1, 3)):
        compiled = compile_case(COMPILER, case)
        requests.append(Request(compiled, SwitchyardGrammar(compiled, shared)))
    draw.shuffle(requests)
    return Batch(draw, requests, SIZE)


@pytest.mark.parametrize("seed", seeds(1000))
def test_masks_of_trees_equal_brute_force(seed: int) -> None:
    """A turn has 10,000 trees. The model picks allowed tokens only, so no token is ever refused."""
    draw = random.Random(seed)
    trees = accepted = 0
    while trees < TREES:
        batch = batch_of(draw)
        for _ in range(STEPS):
            batch.step()
            if draw.random() < 0.1:
                batch.roll_back()
        trees += batch.trees
        accepted += batch.accepted
    assert accepted
