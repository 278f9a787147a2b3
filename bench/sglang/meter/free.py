"""The grammar backend ``free``: ignores every grammar and allows everything.

It measures a server without grammar work: the server makes all calls, which do nothing. Answers end
at a stop token or at max_new_tokens.
"""

from typing import Any

NAME = "free"


def create(server_args: object, tokenizer: object, vocab_size: int, eos_token_ids: object) -> Any:
    """Return the backend, as SGLang requests it."""
    import torch
    from sglang.srt.constrained.base_grammar_backend import BaseGrammarBackend, BaseGrammarObject

    words = (vocab_size + 31) // 32
    everything = torch.full((1, words), -1, dtype=torch.int32)

    class FreeGrammar(BaseGrammarObject):  # type: ignore[misc]
        """A grammar without state."""

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
        """Returns every grammar at once."""

        def get_cached_or_future_value(self, key: object, require_reasoning: bool) -> Any:
            return FreeGrammar(), True

    return FreeBackend()
