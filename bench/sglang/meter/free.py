"""The grammar backend ``free``: takes every grammar's text unread and allows everything.

What a server does under it, it does without any grammar work: its calls are made all the same, and
do nothing. Answers end at a stop token or at max_new_tokens.
"""

from typing import Any

NAME = "free"


def create(server_args: object, tokenizer: object, vocab_size: int, eos_token_ids: object) -> Any:
    """SGLang's way to ask for a backend."""
    import torch
    from sglang.srt.constrained.base_grammar_backend import BaseGrammarBackend, BaseGrammarObject

    words = (vocab_size + 31) // 32
    everything = torch.full((1, words), -1, dtype=torch.int32)

    class FreeGrammar(BaseGrammarObject):  # type: ignore[misc]
        """Has no state."""

        def accept_token(self, token: int) -> None:
            return

        def rollback(self, k: int) -> None:
            return

        def is_terminated(self) -> bool:
            return False

        def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: object) -> Any:
            return everything.expand(batch_size, words)

        def fill_vocab_mask(self, vocab_mask: object, idx: int) -> None:
            return

        @staticmethod
        def fill_vocab_mask_batched(entries: object, vocab_mask: object) -> None:
            return

        @staticmethod
        def move_vocab_mask(vocab_mask: Any, device: object) -> Any:
            return vocab_mask

        @staticmethod
        def apply_vocab_mask(logits: object, vocab_mask: object) -> None:
            return

        def copy(self) -> "FreeGrammar":
            return FreeGrammar()

    class FreeBackend(BaseGrammarBackend):  # type: ignore[misc]
        """Every grammar is there at once."""

        def get_cached_or_future_value(self, key: object, require_reasoning: bool) -> Any:
            return FreeGrammar(), True

    return FreeBackend()
