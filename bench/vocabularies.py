"""Real vocabularies of the package quicktok-v1: tokens by id, special tokens, tokenizer.

``sized@N`` is a vocabulary of N tokens: the first ones of one list, then the special tokens of
o200k_harmony. The list has o200k's tokens by rank (a prefix of them is again a result of byte-pair
merging), then those of llama3 and qwen3 that o200k lacks, then pairs of neighbours in o200k.
``bytes`` is a small vocabulary for tests.
"""

import struct
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_LETTERS, _SYMBOLS = r"[^\r\n\p{L}\p{N}]?\p{L}+", r" ?[^\s\p{L}\p{N}]+[\r\n]*"
_LLAMA = rf"{_WORDS}|{_LETTERS}|\p{{N}}{{1,3}}|{_SYMBOLS}|{_REST}"
_QWEN = rf"{_WORDS}|{_LETTERS}|\p{{N}}|{_SYMBOLS}|{_REST}"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_WORDS}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_WORDS}?"
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_REST}"
)


class _Source(NamedTuple):
    """The vocabulary's file, its stop token, and its tokenizer's pattern of words."""

    file: str
    stop: str
    words: str


NAMES = {
    "llama3": _Source("llama3", "<|eot_id|>", _LLAMA),
    "qwen3": _Source("qwen3", "<|im_end|>", _QWEN),
    "o200k_harmony": _Source("o200k", "<|return|>", _O200K),
}


class Loaded(NamedTuple):
    """``encoding`` is a tiktoken Encoding; ``stop`` the id of the token that stops."""

    encoding: Any
    tokens: list[bytes]
    special: dict[str, int]
    stop: int


def _records(path: Path, *, number_first: bool) -> dict[bytes, int]:
    """Read a count, then records: a length, bytes, and the token's id before or after them."""
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


def _ranks(file: str) -> dict[bytes, int]:
    return _records(_folder() / f"{file}.vocab", number_first=False)


def _special(name: str) -> dict[str, int]:
    found = _records(_folder() / f"{name}.special", number_first=True)
    return {text.decode(): number for text, number in found.items()}


def _folder() -> Path:
    import quicktok

    return Path(quicktok.__file__).parent / "data"


def _loaded(
    name: str, ranks: dict[bytes, int], special: dict[str, int], stop: str, words: str
) -> Loaded:
    import tiktoken

    tokens = [b""] * (max(*ranks.values(), *special.values()) + 1)
    for token, number in (*ranks.items(), *((t.encode(), n) for t, n in special.items())):
        tokens[number] = token
    encoding = tiktoken.Encoding(
        name=name, pat_str=words, mergeable_ranks=ranks, special_tokens=special
    )
    return Loaded(encoding, tokens, special, special[stop])


def _sized(size: int) -> Loaded:
    own = sorted(known := _ranks("o200k"), key=known.__getitem__)
    pairs = (a + b for a, b in pairwise(own))
    listed = dict.fromkeys(chain(own, _ranks("llama3"), _ranks("qwen3")))
    special = _special("o200k_harmony")
    wanted = size - len(special)
    if wanted < 256:
        raise ValueError(f"a vocabulary of {size} tokens; {len(special)} are special")
    while len(listed) < wanted:
        listed[next(pairs)] = None
    taken = list(listed)[:wanted]
    marks = {text: wanted + k for k, text in enumerate(sorted(special, key=special.__getitem__))}
    ranks = {token: rank for rank, token in enumerate(taken)}
    return _loaded(f"sized@{size}", ranks, marks, "<|return|>", _O200K)


@cache
def load(name: str) -> Loaded:
    if name == "bytes":
        ranks = {bytes((k,)): k for k in range(256)}
        return _loaded(name, ranks, {"<|end|>": 256}, "<|end|>", _LLAMA)
    if name.startswith("sized@"):
        return _sized(int(name.removeprefix("sized@")))
    source = NAMES[name]
    return _loaded(name, _ranks(source.file), _special(name), source.stop, source.words)
