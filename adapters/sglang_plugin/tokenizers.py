"""SGLang's tokenizers -> the engine's vocabulary.

    byte-level BPE, SentencePiece with byte fallback    Hugging Face's; read by the engine itself
    tiktoken                                            SGLang's own class, and models' own classes
                                                        that hold a tiktoken Encoding

Another tokenizer is refused by name: masks over bytes that are guessed would be wrong.

The vocabulary is as wide as the model's logits; ids beyond the tokenizer's are never allowed.
"""

from collections.abc import Collection
from typing import Any

from engine import Vocabulary

#: attributes under which tokenizers keep a tiktoken Encoding
ENCODING_ATTRIBUTES = ("tokenizer", "model", "encoding", "enc")


class UnsupportedTokenizer(ValueError):
    """Nobody knows the bytes of this tokenizer's tokens; the message names it."""


def read_vocabulary(tokenizer: Any, *, size: int, stop_token_ids: Collection[int]) -> Vocabulary:
    """
    Args:
        size: width of the model's logits.
        stop_token_ids: the model's, beside the tokenizer's own.

    Raises:
        UnsupportedTokenizer: see the file's header; or the tokenizer has more ids than the model.
    """
    stops = sorted({*stop_token_ids, *_own_stops(tokenizer)})
    if not stops or not all(0 <= number < size for number in stops):
        raise UnsupportedTokenizer(
            f"{_name(tokenizer)}: stop tokens {stops} for a model of {size:,} tokens"
        )
    encoding = _encoding(tokenizer)
    try:
        if encoding is not None:
            return _from_tiktoken(encoding, size, stops)
        return Vocabulary.from_huggingface(tokenizer, stop_token_ids=stops, size=size)
    except UnsupportedTokenizer:
        raise
    except (ValueError, AttributeError, TypeError) as error:
        raise UnsupportedTokenizer(f"{_name(tokenizer)}: {error}") from error


def _own_stops(tokenizer: Any) -> list[int]:
    own = [getattr(tokenizer, "eos_token_id", None)]
    own += getattr(tokenizer, "additional_stop_token_ids", None) or ()
    return [number for number in own if isinstance(number, int)]


def _name(tokenizer: Any) -> str:
    return f"the tokenizer {type(tokenizer).__name__}"


def _encoding(tokenizer: Any) -> Any:
    """The tiktoken Encoding inside, known by what it can do; None: there is none."""
    for name in ENCODING_ATTRIBUTES:
        found = getattr(tokenizer, name, None)
        if hasattr(found, "decode_single_token_bytes") and hasattr(found, "n_vocab"):
            return found
    return None


def _from_tiktoken(encoding: Any, size: int, stops: Collection[int]) -> Vocabulary:
    if encoding.n_vocab > size:
        raise UnsupportedTokenizer(
            f"the tokenizer needs {encoding.n_vocab:,} ids, the model has {size:,}"
        )
    tokens = [b""] * size
    for number in range(encoding.n_vocab):
        try:
            tokens[number] = encoding.decode_single_token_bytes(number)
        except KeyError:
            continue  # an id between the others that stands for nothing
    specials = set(encoding._special_tokens.values())
    return Vocabulary(
        tokens,
        stop_token_ids=stops,
        special_token_ids=sorted(specials),
        encode=lambda text: encoding.encode(text, disallowed_special=()),
    )
