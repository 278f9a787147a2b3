"""The bytes of a Hugging Face tokenizer's tokens.

Two families are supported: byte-level BPE, whose token strings spell bytes in GPT-2's printable
alphabet, and SentencePiece-like vocabularies, where U+2581 stands for a space and ``<0xNN>`` for a
byte. The tokenizer's decoder decides which one it is, not its name. Other families are refused: the
bytes of a WordPiece token depend on its neighbours.
"""

import json
import re
from functools import lru_cache
from typing import Any

#: decoders of SentencePiece-like vocabularies
_PIECES = ("ByteFallback", "Metaspace")
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>\Z")


@lru_cache(1)
def _byte_alphabet() -> dict[str, int]:
    """Return GPT-2's printable alphabet: character -> byte."""
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [b for b in range(256) if b not in set(kept)]
    pairs = [(chr(b), b) for b in kept] + [(chr(256 + n), b) for n, b in enumerate(moved)]
    return dict(pairs)


def _is_byte_level(tokenizer: Any, vocabulary: dict[str, int]) -> bool:
    """Return whether the tokenizer is byte-level BPE.

    Raises:
        ValueError: it is neither byte-level BPE nor SentencePiece-like.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    decoder = "" if backend is None else json.dumps(json.loads(backend.to_str()).get("decoder"))
    if '"ByteLevel"' in decoder:
        return True
    if "<0x00>" not in vocabulary and not any(f'"{name}"' in decoder for name in _PIECES):
        raise ValueError("unsupported tokenizer: neither byte-level BPE nor SentencePiece-like")
    return False


def _from_byte_level(text: str, alphabet: dict[str, int]) -> bytes:
    if all(c in alphabet for c in text):
        return bytes(alphabet[c] for c in text)
    return text.encode()


def _from_pieces(text: str) -> bytes:
    match = _BYTE_TOKEN.match(text)
    if match:
        return bytes([int(match[1], 16)])
    return text.replace("▁", " ").encode()


def huggingface_tokens(tokenizer: Any, size: int | None = None) -> tuple[list[bytes], list[int]]:
    """Return token bytes by id, and the ids of special tokens.

    Raises:
        ValueError: ``size`` is smaller than the tokenizer needs, or the tokenizer's family is not
            supported.
    """
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    needed = max(vocabulary.values()) + 1
    if size is not None and size < needed:
        raise ValueError(f"size must be >= {needed}, the tokenizer's number of ids, got {size}")
    tokens = [b""] * (size or needed)
    alphabet = _byte_alphabet()
    byte_level = _is_byte_level(tokenizer, vocabulary)
    added = getattr(tokenizer, "added_tokens_decoder", {})
    for text, number in vocabulary.items():
        if number in added:
            tokens[number] = added[number].content.encode()
        else:
            tokens[number] = _from_byte_level(text, alphabet) if byte_level else _from_pieces(text)
    specials = {number for number, token in added.items() if token.special}
    specials.update(getattr(tokenizer, "all_special_ids", ()))
    return tokens, sorted(specials)
