"""SGLang's tokenizers -> the engine's vocabulary.

    byte-level BPE, SentencePiece with byte fallback    of Hugging Face; the engine reads them
    tiktoken                                            SGLang's class, and classes of models that
                                                        contain a tiktoken Encoding

Any other tokenizer is refused by name: masks over guessed bytes would be wrong.

The vocabulary is as wide as the model's logits; ids beyond the tokenizer's are never allowed.
"""

from collections.abc import Collection
from typing import Any

from engine import Vocabulary

#: attributes under which tokenizers keep a tiktoken Encoding
ENCODING_ATTRIBUTES = ("tokenizer", "model", "encoding", "enc")


class UnsupportedTokenizer(ValueError):
    """The bytes of this tokenizer's tokens are unknown; the message names the tokenizer."""


def read_vocabulary(tokenizer: Any, *, size: int, stop_token_ids: Collection[int]) -> Vocabulary:
    """
    Args:
        size: width of the model's logits.
        stop_token_ids: stop tokens of the model, in addition to those of the tokenizer.

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
    """Return the tiktoken Encoding inside, recognised by its methods; None: there is none."""
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
            continue  # an unused id between the others
    specials = set(encoding._special_tokens.values())
    return Vocabulary(
        tokens,
        stop_token_ids=stops,
        special_token_ids=sorted(specials),
        encode=lambda text: encoding.encode(text, disallowed_special=()),
    )
