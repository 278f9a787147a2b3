"""Where a grammar forces text, the drafts are that text; all else is left as it was."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the SGLang worker's own environment has torch")
pytest.importorskip("sglang", reason="the SGLang worker's own environment has SGLang")

from adapters.sglang_plugin.drafts import offer
from adapters.sglang_plugin.grammar import Shared, SwitchyardGrammar
from adapters.sglang_plugin.masks import Masks
from engine import Compiler, LimitExceeded, Vocabulary

from .test_grammar import no_kernel

TOKENS = [bytes([b]) for b in range(256)]
WITH_ENCODE = Compiler(
    Vocabulary([*TOKENS, b"<eos>"], stop_token_ids=[256], encode=lambda text: list(text.encode()))
)
WITHOUT = Compiler(Vocabulary([*TOKENS, b"<eos>"], stop_token_ids=[256]))
WIDTH = 4


def request(pattern: str, compiler: Compiler = WITH_ENCODE) -> Any:
    masks = Masks(can_pin=False, device_kernel=no_kernel)
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
    # the last token of a text is left to the model: more may follow it
    assert offered([request("abcdef"), request("abc[xy]")]) == [
        ([7, *b"abc"], CHAIN),
        ([7, *b"ab", 0], CHAIN),
    ]


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
