"""--enable-strict-thinking: SGLang's own filter on masks of this backend, beside its grammars."""

import types
from typing import Any

import pytest

pytest.importorskip("torch", reason="the SGLang worker's own environment has torch")
pytest.importorskip("sglang", reason="the SGLang worker's own environment has SGLang")

from sglang.srt.constrained.base_grammar_backend import GrammarMask, GrammarRow
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarObject

from adapters.sglang_plugin import versions
from adapters.sglang_plugin.backend import SwitchyardBackend
from adapters.sglang_plugin.mask_buffers import MaskBuffers
from adapters.sglang_plugin.options import Options
from adapters.sglang_plugin.settings import Settings
from engine import Compiler
from tests.engine.frontends.random_schemas import byte_vocabulary

from .standins import no_kernel

WIDTH = 257
CALL, END = ord("<"), ord(";")


class Tokenizer:
    """One token for each byte."""

    def encode(self, text: str, **_: Any) -> list[int]:
        return list(text.encode())

    def decode(self, tokens: list[int], **_: Any) -> str:
        return bytes(tokens).decode()


class Detector:
    """SGLang's detector of a model whose thinking ends with ";", and has no "<"."""

    think_end_token, think_excluded_tokens = ";", ["<"]

    def get_think_end_token_ids(self, tokenizer: Any) -> list[int]:
        return [END]

    def get_answer_frame(self) -> None:
        return None


@pytest.fixture
def backend() -> SwitchyardBackend:
    masks = MaskBuffers(can_pin=False, device_kernel=no_kernel)
    made = SwitchyardBackend(Compiler(byte_vocabulary()), masks, Settings(), Options(";"))
    parser = types.SimpleNamespace(detector=Detector())
    made.filter_thinking(versions.installed().strict_filter(made, parser, Tokenizer()))
    return made


def allowed(grammars: list[Any]) -> list[set[int]]:
    """As SamplingBatchInfo.update_regex_vocab_mask and GrammarMask.apply: the tokens of each."""
    import torch

    first = grammars[0]
    mask = first.allocate_vocab_mask(vocab_size=WIDTH, batch_size=len(grammars), device="cpu")
    entries = [GrammarRow(row, grammar) for row, grammar in enumerate(grammars)
               if not grammar.finished and not grammar.is_terminated()]  # fmt: skip
    first.fill_vocab_mask_batched(entries, mask)
    logits = torch.zeros(len(grammars), WIDTH)
    GrammarMask(first, first.move_vocab_mask(mask, "cpu")).apply(logits)
    return [set((row == 0).nonzero().flatten().tolist()) for row in logits]


ALL = set(range(WIDTH))


def test_thinking_without_a_grammar_is_filtered_and_then_free(backend: SwitchyardBackend) -> None:
    assert backend.enable_strict_thinking
    made = backend.init_strict_reasoning_grammar(True)
    assert isinstance(made, ReasonerGrammarObject)  # SGLang sets a request's bound on this class
    assert allowed([made]) == [ALL - {CALL}]
    made.max_think_tokens = 2
    for token in b"hm":
        made.accept_token(token)
    assert allowed([made]) == [{END}]
    made.rollback(1)
    assert allowed([made]) == [ALL - {CALL}]
    made.accept_token(END)
    assert allowed([made]) == [ALL] and not made.is_terminated()
    assert allowed([backend.init_strict_reasoning_grammar(False)]) == [ALL]


def test_filters_and_grammars_share_a_batch(backend: SwitchyardBackend) -> None:
    thinking, grammar = backend.init_strict_reasoning_grammar(True), backend.dispatch_regex("[ab]")
    for batch in ([thinking, grammar], [grammar, thinking]):
        found = dict(zip(map(id, batch), allowed(batch), strict=True))
        assert found == {id(thinking): ALL - {CALL}, id(grammar): {ord("a"), ord("b")}}
    assert backend.shared.masks.failures == backend.shared.counters.errors == 0


def test_a_draft_tree_of_a_filter_is_sglangs(backend: SwitchyardBackend) -> None:
    from adapters.sglang_plugin.grammar import walk_tree

    assert not walk_tree(backend.init_strict_reasoning_grammar(True), None, None, None, None)


def test_a_server_that_is_not_strict_has_no_filters() -> None:
    masks = MaskBuffers(can_pin=False, device_kernel=no_kernel)
    made = SwitchyardBackend(Compiler(byte_vocabulary()), masks, Settings(), Options(";"))
    assert not made.enable_strict_thinking and made.init_strict_reasoning_grammar(True) is None
