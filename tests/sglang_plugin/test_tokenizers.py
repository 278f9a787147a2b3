"""Tokens' bytes are read from every kind of tokenizer that SGLang passes, or it is refused."""

from typing import Any

import pytest
import tiktoken
from tokenizers import AddedToken, Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from adapters.sglang_plugin.tokenizers import UnsupportedTokenizer, read_vocabulary

from .standins import byte_level, word_piece


def sentencepiece() -> Any:
    pieces = ["<unk>", *(f"<0x{n:02X}>" for n in range(256)), "▁", "▁a", "é"]
    model = models.BPE(
        {c: n for n, c in enumerate(pieces)}, [], unk_token="<unk>", byte_fallback=True
    )
    tokenizer = Tokenizer(model)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer.add_special_tokens([AddedToken("<eos>", special=True)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>")


class Tiktoken:
    """As SGLang's own class: an Encoding inside."""

    eos_token_id = 300
    additional_stop_token_ids = frozenset({301})

    def __init__(self) -> None:
        ranks = {bytes([n]): n for n in range(256)} | {b"ab": 256}
        special = {"<eos>": 300, "<end>": 301}
        self.tokenizer = tiktoken.Encoding(
            "test", pat_str=r"[\s\S]", mergeable_ranks=ranks, special_tokens=special
        )


def test_byte_level_tokens_are_their_bytes() -> None:
    made = read_vocabulary(byte_level(), size=300, stop_token_ids=())
    assert {made.tokens[n] for n in range(256)} == {bytes([b]) for b in range(256)}
    assert made.tokens[256:] == [b"<eos>", b"<tool>"] + [b""] * 42
    assert made.stop_token_ids == (256,) and made.special_token_ids == (256,)


def test_pieces_are_text_or_single_bytes() -> None:
    made = read_vocabulary(sentencepiece(), size=261, stop_token_ids=())
    assert [made.tokens[n] for n in (1, 11, 256, 257, 258, 259, 260)] == [
        b"\x00", b"\n", b"\xff", b" ", b" a", "é".encode(), b"<eos>",
    ]  # fmt: skip


def test_tiktoken_is_read_by_its_encoding() -> None:
    made = read_vocabulary(Tiktoken(), size=310, stop_token_ids=(302,))
    assert made.tokens[97] == b"a" and made.tokens[256] == b"ab" and made.tokens[257] == b""
    assert made.tokens[300] == b"<eos>" and made.special_token_ids == (300, 301, 302)
    assert made.stop_token_ids == (300, 301, 302)
    assert made.encode is not None and list(made.encode("ab<eos>"))[-1] == ord(">")


def test_the_models_stop_tokens_count_beside_the_tokenizers() -> None:
    made = read_vocabulary(byte_level(), size=300, stop_token_ids={257})
    assert made.stop_token_ids == (256, 257)


class WordPiece:
    """Nobody knows where its spaces go."""

    eos_token_id = 1

    def get_vocab(self) -> dict[str, int]:
        return {"hello": 0, "##lo": 1}


@pytest.mark.parametrize(
    ("tokenizer", "size", "words"),
    [
        (WordPiece(), 10, "WordPiece"),
        (word_piece(), 10, "TokenizersBackend|PreTrainedTokenizerFast"),
        (object(), 10, "object: stop tokens"),
        (byte_level(), 257, "size must be >= 258, .*got 257"),
        (Tiktoken(), 301, "stop tokens|needs"),
    ],
)
def test_another_tokenizer_is_refused_by_name(tokenizer: Any, size: int, words: str) -> None:
    with pytest.raises(UnsupportedTokenizer, match=words):
        read_vocabulary(tokenizer, size=size, stop_token_ids=())
