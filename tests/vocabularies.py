"""Vocabularies for tests: two real ones out of ``quicktok-v1``, and a small byte-level one."""

import os
import struct
from functools import cache

from engine import Vocabulary

#: name -> (vocabulary file, token that stops)
_REAL = {"llama3": ("llama3", "<|eot_id|>"), "o200k_harmony": ("o200k", "<|return|>")}
REAL_NAMES = tuple(_REAL)

_PIECES = (
    '", "', '": ', '":', '{"', '"}', '"]', '["', "], [", "}, {", "[[", "]]", "},", '"name', '"a"',
    '"b": 1', "true", "false", "null", " true", "12", "123", "0.5", "-1", "e+", "\n", "\n  ",
    "\n    ", "  ", " ", " the", "abc", "ab", "aaaa", "aaaaaaaaaaaaaaaaa", "\\n", '\\"', "\\u00",
    "é", "€", "漢字", "😀", "<function=", "</function>", "<fun", "<tool", ">", '\n{"name": "',
    '", "arguments": ', "2024-", ":00", "T12:", ".com", "://", "x1", "_id", "-", "--",
)  # fmt: skip
_SPECIALS = ("<|start|>", "<|message|>", "<tool_call>", "</tool_call>", "<|call|>", "<|end|>")
_STOP = "<eos>"


def _entries(path: str, head: str, tail: str) -> dict[bytes, int]:
    """quicktok's vocabulary files: a count, then records of length, bytes and number."""
    with open(path, "rb") as file:
        data = file.read()
    (count,) = struct.unpack_from("<I", data, 0)
    at, found = 4, {}
    for _ in range(count):
        before = struct.unpack_from(head, data, at)
        at += struct.calcsize(head)
        token = data[at : at + before[-1]]
        at += len(token)
        after = struct.unpack_from(tail, data, at) if tail else before
        at += struct.calcsize(tail) if tail else 0
        found[token] = after[0]
    return found


def _folder() -> str:
    import quicktok

    return os.path.join(os.path.dirname(quicktok.__file__), "data")


def _special(name: str) -> dict[bytes, int]:
    return _entries(f"{_folder()}/{name}.special", "<IH", "")


@cache
def real_tokens(name: str) -> tuple[list[bytes], dict[str, int]]:
    """Token bytes by id, and the special tokens' ids by text."""
    ordinary = _entries(f"{_folder()}/{_REAL[name][0]}.vocab", "<H", "<I")
    special = _special(name)
    tokens = [b""] * (max([*ordinary.values(), *special.values()]) + 1)
    for text, number in [*ordinary.items(), *special.items()]:
        tokens[number] = text
    return tokens, {text.decode(): number for text, number in special.items()}


@cache
def special_texts(name: str) -> frozenset[str]:
    """Return the texts of the special tokens of ``VOCABULARIES[name]``; builds no vocabulary."""
    if name not in _REAL:
        return frozenset((*_SPECIALS, _STOP))
    return frozenset(text.decode() for text in _special(name))


@cache
def real_vocabulary(name: str) -> Vocabulary:
    tokens, special = real_tokens(name)
    return Vocabulary(
        tokens, stop_token_ids=[special[_REAL[name][1]]], special_token_ids=list(special.values())
    )


@cache
def small_vocabulary() -> Vocabulary:
    """All 256 bytes, and every kind of token that could go wrong.

    Pieces that straddle JSON and tag boundaries, split characters, special and empty tokens.
    """
    tokens = [bytes([b]) for b in range(256)]
    tokens += [piece.encode() for piece in _PIECES]
    tokens += [
        "€".encode()[:2],
        "漢".encode()[1:],
        "😀".encode()[:3],
        b"",
        "字".encode()[2:] + b'"',
    ]
    specials = len(tokens)
    tokens += [text.encode() for text in (*_SPECIALS, _STOP)] + [b""]
    return Vocabulary(
        tokens,
        stop_token_ids=[specials + len(_SPECIALS), specials + _SPECIALS.index("<|call|>")],
        special_token_ids=range(specials, specials + len(_SPECIALS) + 1),
    )


VOCABULARIES = {
    "small": small_vocabulary,
    **{name: (lambda name=name: real_vocabulary(name)) for name in REAL_NAMES},
}
