"""Real vocabularies out of the package quicktok-v1: tokens by id, special tokens, tokenizer."""

import struct
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
#: name -> (vocabulary file, the token that stops)
NAMES = {
    "llama3": ("llama3", "<|eot_id|>"),
    "qwen3": ("qwen3", "<|im_end|>"),
    "o200k_harmony": ("o200k", "<|return|>"),
}


class Loaded(NamedTuple):
    """``encoding`` is a tiktoken Encoding; ``stop`` the id of the token that stops."""

    encoding: Any
    tokens: list[bytes]
    special: dict[str, int]
    stop: int


def _records(path: Path, *, number_first: bool) -> dict[bytes, int]:
    """A count, then records of a length, bytes, and the token's number before or after them."""
    data = path.read_bytes()
    (count,) = struct.unpack_from("<I", data, 0)
    at, found = 4, {}
    for _ in range(count):
        if number_first:
            number, size = struct.unpack_from("<IH", data, at)
            at += 6
            found[data[at : at + size]] = number
            at += size
        else:
            (size,) = struct.unpack_from("<H", data, at)
            token = data[at + 2 : at + 2 + size]
            (found[token],) = struct.unpack_from("<I", data, at + 2 + size)
            at += 6 + size
    return found


@cache
def load(name: str) -> Loaded:
    import quicktok
    import tiktoken

    file, stop = NAMES[name]
    folder = Path(quicktok.__file__).parent / "data"
    ranks = _records(folder / f"{file}.vocab", number_first=False)
    marks = _records(folder / f"{name}.special", number_first=True)
    special = {text.decode(): number for text, number in marks.items()}
    tokens = [b""] * (max(*ranks.values(), *marks.values()) + 1)
    for token, number in (*ranks.items(), *marks.items()):
        tokens[number] = token
    encoding = tiktoken.Encoding(
        name=name, pat_str=_SPLIT, mergeable_ranks=ranks, special_tokens=special
    )
    return Loaded(encoding, tokens, special, special[stop])
