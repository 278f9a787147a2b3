"""Where a grammar forces text, the drafts are that text; all else is left as it was."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the SGLang worker's own environment has torch")
pytest.importorskip("sglang", reason="the SGLang worker's own environment has SGLang")

from adapters.sglang_plugin.drafts import offer
from adapters.sglang_plugin.grammar import Shared, SwitchyardGrammar
from adapters.sglang_plugin.mask_buffers import MaskBuffers
from engine import Compiler, LimitExceeded, Vocabulary

from .standins import no_kernel

TOKENS = [bytes([b]) for b in range(256)]
WITH_ENCODE = Compiler(
    Vocabulary([*TOKENS, b"<eos>"], stop_token_ids=[256], encode=lambda text: list(text.encode()))
)
WITHOUT = Compiler(Vocabulary([*TOKENS, b"<eos>"], stop_token_ids=[256]))
WIDTH = 4


def request(pattern: str, compiler: Compiler = WITH_ENCODE) -> Any:
    masks = MaskBuffers(can_pin=False, device_kernel=no_kernel)
    shared = Shared(masks, [256], compiler.vocabulary.words)
    return SimpleNamespace(grammar=SwitchyardGrammar(compiler.compile_regex(pattern), shared))


def offered(requests: list[Any]) -> list[tuple[list[int], list[list[int]]]]:
    drafts = np.full(len(requests) * WIDTH, 7, dtype=np.int64)
    follows = np.full(len(requests) * WIDTH * WIDTH, 9, dtype=np.uint8)
    offer(requests, drafts, follows)
    squares = follows.reshape(-1, WIDTH, WIDTH)
    return [
        (drafts[n * WIDTH : (n + 1) * WIDTH].tolist(), squares[n].tolist())
        for n in range(len(requests))
    ]


CHAIN = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
LEFT = ([7] * WIDTH, [[9] * WIDTH] * WIDTH)


def test_forced_text_is_the_draft() -> None:
    assert offered([request("abcdef"), request("ab[xy]")]) == [
        ([7, *b"abc"], CHAIN),
        ([7, *b"ab", 0], CHAIN),
    ]


# by SGLang: "x" last; behind it "a" and "b"; behind "a" another "c" than behind "b"
TREE = [*b"xabcc"]
TREE_FOLLOWS = [
    [1, 0, 0, 0, 0],
    [1, 1, 0, 0, 0],
    [1, 0, 1, 0, 0],
    [1, 0, 1, 1, 0],
    [1, 1, 0, 0, 1],
]


@pytest.mark.parametrize(
    ("pattern", "stays"),
    [
        ("ac[xy]", True),
        ("bc[xy]", True),
        ("a[xy]", True),
        ("acd", False),
        ("cc[xy]", False),
        ("acde[xy]", False),
        ("abd", False),
    ],
)
def test_drafts_that_begin_with_the_forced_text_stay(pattern: str, stays: bool) -> None:
    """SGLang's n-grams after the forced text are kept: they add to the forced text."""
    drafts, follows = np.array(TREE), np.array(TREE_FOLLOWS, dtype=np.uint8).reshape(-1)
    offer([request(pattern)], drafts, follows)
    is_tree = drafts.tolist() == TREE and follows.reshape(5, 5).tolist() == TREE_FOLLOWS
    assert is_tree == stays
    if not stays:
        assert follows.reshape(5, 5).tolist() == np.tri(5, dtype=int).tolist()


@pytest.mark.parametrize(
    "left",
    [
        SimpleNamespace(grammar=None),
        SimpleNamespace(grammar="another engine's"),
        SimpleNamespace(),
        request("[ab]cd"),
        request("abc", WITHOUT),
    ],
)
def test_everything_else_is_left_as_it_was(left: Any) -> None:
    assert offered([left, request("abcd")]) == [LEFT, ([7, *b"abc"], CHAIN)]
    offer([], np.zeros(0), np.zeros(0))


def test_a_failure_ends_its_own_request_only() -> None:
    broken = request("abcd")

    class Broken:
        compiled = WITH_ENCODE.compile_regex("a")

        def forced_tokens(self, most: int) -> list[int]:
            raise LimitExceeded("rows", 1, 2)

    broken.grammar._matcher = Broken()
    assert offered([broken, request("abcd")])[0] == LEFT
    with pytest.raises(ValueError, match="failed"):
        broken.grammar.accept_token(97)
