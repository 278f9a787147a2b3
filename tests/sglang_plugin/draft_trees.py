"""Speculative decoding as SGLang does it, with drawn drafts: trees, verification, rollback.

A batch of requests decodes step by step. In each step, drafts are drawn in one of the shapes of
SGLang's algorithms; SGLang's own ``generate_token_bitmask`` makes their masks, as its workers call
it; a model, drawn too, picks a token at each node that it reaches; what it picked is committed.

Representation   a tree is SGLang's: for each node its first child and its next sibling, -1: none.
                 Node 0 is the last committed token.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from sglang.srt.speculative import spec_utils

from adapters.sglang_plugin.grammar import SwitchyardGrammar
from engine import Compiled, Matcher
from tests.engine.harness import bits, new_mask

#: nodes of a tree
WIDTHS = (2, 4, 8, 16)
#: how often a drafted token is one that the grammar allows: draft models know the format
FITTING = 0.8

Parents = list[int]


class Tree(NamedTuple):
    """Tokens and parents of the nodes of a tree, children behind their parents."""

    tokens: list[int]
    parents: Parents

    def links(self) -> tuple[list[int], list[int]]:
        """Return each node's first child and next sibling."""
        children, siblings = [-1] * len(self.tokens), [-1] * len(self.tokens)
        for node in range(len(self.tokens) - 1, 0, -1):
            siblings[node] = children[self.parents[node]]
            children[self.parents[node]] = node
        return children, siblings

    def path(self, node: int) -> list[int]:
        """Return the drafted tokens up to a node."""
        found = []
        while node:
            found.append(self.tokens[node])
            node = self.parents[node]
        return found[::-1]


# -- shapes: each returns the parents of a tree of this many nodes ---------------------------------


def chain(draw: random.Random, width: int) -> Parents:
    """EAGLE, MTP and standalone draft models with --speculative-eagle-topk 1."""
    return [0, *range(width - 1)]


def best_first(draw: random.Random, width: int) -> Parents:
    """EAGLE and EAGLE3: each step expands the best nodes; the best of all stay."""
    topk, parents, leaves = draw.randint(2, 4), [0], [0]
    while len(parents) < width:
        best = draw.sample(leaves, min(topk, len(leaves)))
        leaves = []
        for parent in best:
            for _ in range(min(topk, width - len(parents))):
                leaves.append(len(parents))
                parents.append(parent)
        leaves = leaves or best
    return parents


def merged_chains(draw: random.Random, width: int) -> Parents:
    """NGRAM: chains that begin alike share their beginning."""
    parents, at = [0], 0
    while len(parents) < width:
        if draw.random() < 0.3:
            at = draw.choice([0, at, draw.randrange(len(parents))])
        parents.append(at)
        at = len(parents) - 1
    return parents


def any_tree(draw: random.Random, width: int) -> Parents:
    return [0, *(draw.randrange(node) for node in range(1, width))]


SHAPES: Sequence[Callable[[random.Random, int], Parents]] = (
    chain,
    best_first,
    merged_chains,
    any_tree,
)


@dataclass
class Request:
    """A request as SGLang's scheduler has it. ``committed``: the tokens of its answer so far."""

    compiled: Compiled | None
    grammar: SwitchyardGrammar | None
    committed: list[int] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return self.grammar is not None and self.grammar.is_terminated()

    def matcher(self, drafted: Sequence[int]) -> Matcher | None:
        """Return a new matcher behind the answer and a path of drafts; None: it does not fit, or
        the answer has ended on the way.
        """
        assert self.compiled is not None
        matcher = Matcher(self.compiled)
        for token in self.committed:
            assert matcher.accept_token(token)
        for token in drafted:
            if not matcher.accept_token(token) or matcher.is_terminated():
                return None
        return matcher


class Batch:
    """Requests that decode together; see the file's header.

    Args:
        size: of the vocabulary, as SGLang knows it.
    """

    def __init__(self, draw: random.Random, requests: Sequence[Request], size: int) -> None:
        self._draw = draw
        self._size = size
        self.requests = list(requests)
        self.trees = self.nodes = self.accepted = 0

    def step(self) -> None:
        """Decode one step of each request. Raises AssertionError for a mask that is not exact."""
        running = [request for request in self.requests if not request.is_over]
        if not any(request.grammar for request in running):
            return
        width, shape = self._draw.choice(WIDTHS), self._draw.choice(SHAPES)
        trees = [self._tree(request, shape(self._draw, width)) for request in running]
        mask = self._masks(running, trees)
        for number, (request, tree) in enumerate(zip(running, trees, strict=True)):
            if request.grammar is None:
                continue
            rows = mask[number * width : (number + 1) * width]
            self._check(request, tree, rows)
            self._commit(request, tree, rows)
            self.trees += 1

    def roll_back(self) -> None:
        """Take some committed tokens back, as SGLang does with those beyond a stop string."""
        for request in self.requests:
            count = self._draw.randint(0, min(3, len(request.committed)))
            if request.grammar is not None and count:
                request.grammar.rollback(count)
                del request.committed[-count:]

    def _tree(self, request: Request, parents: Parents) -> Tree:
        tree = Tree([request.committed[-1] if request.committed else 0], parents)
        for parent in parents[1:]:
            tree.tokens.append(self._drafted(request, tree.path(parent)))
        return tree

    def _drafted(self, request: Request, path: list[int]) -> int:
        if request.compiled is not None and self._draw.random() < FITTING:
            matcher = request.matcher(path)
            if matcher is not None:
                return int(self._draw.choice(allowed_after(matcher)))
        # a draft model may have more ids than the tokenizer
        return self._draw.randrange(self._size + 2)

    def _masks(self, requests: Sequence[Request], trees: Sequence[Tree]) -> Any:
        links = [tree.links() for tree in trees]
        mask, _ = spec_utils.generate_token_bitmask(
            [SimpleNamespace(grammar=request.grammar) for request in requests],
            torch.tensor([children for children, _ in links]),
            torch.tensor([siblings for _, siblings in links]),
            torch.tensor([tree.tokens for tree in trees]),
            self._size,
        )
        return mask

    def _check(self, request: Request, tree: Tree, rows: Any) -> None:
        """Compare the mask of each node with brute force over the vocabulary."""
        for node in range(len(tree.tokens)):
            self.nodes += 1
            matcher = request.matcher(tree.path(node))
            got = rows[node].numpy()
            if matcher is None:
                assert (got == -1).all(), ("no mask behind a draft that does not fit", tree, node)
                continue
            want = new_mask(matcher.compiled.vocabulary)
            matcher.brute_force_bitmask(want)
            assert np.array_equal(got, want[0]), ("another mask than brute force", tree, node)

    def _commit(self, request: Request, tree: Tree, rows: Any) -> None:
        """Walk down as far as the model picks drafts, and commit what it picked."""
        grammar, node = request.grammar, 0
        assert grammar is not None
        while not grammar.is_terminated():
            token = int(self._draw.choice(bits(rows[node : node + 1].numpy())))
            grammar.accept_token(token)
            request.committed.append(token)
            child = next(self._children(tree, node, token), None)
            if child is None:
                return
            self.accepted += 1
            node = child

    def _children(self, tree: Tree, node: int, token: int) -> Iterator[int]:
        for child in range(node + 1, len(tree.tokens)):
            if tree.parents[child] == node and tree.tokens[child] == token:
                yield child


def allowed_after(matcher: Matcher) -> Any:
    mask = new_mask(matcher.compiled.vocabulary)
    matcher.fill_bitmask(mask)
    return bits(mask)
