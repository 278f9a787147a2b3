"""The slow definition of detours, over matchers instead of rows."""

from collections.abc import Callable, Mapping, Sequence

import engine
from tests.engine.harness import bits, new_mask

#: text -> byte -> second bytes before which the tokenizer writes the text's token
Table = Mapping[bytes, Mapping[int, set[int]]]
#: stands for the end of the text among the second bytes
MAY_END = 0xFF
#: next bytes of a row that is looked at
MAX_LIVE = 40


def greedy(tokens: Sequence[bytes]) -> Callable[[str], list[int]]:
    """A tokenizer that takes the longest token at each place."""
    ids = {token: number for number, token in reversed(list(enumerate(tokens))) if token}
    longest = max(map(len, ids))

    def encode(text: str) -> list[int]:
        data, at, found = text.encode(), 0, []
        while at < len(data):
            size = next(n for n in range(longest, 0, -1) if data[at : at + n] in ids)
            found.append(ids[data[at : at + size]])
            at += size
        return found

    return encode


def vocabulary_of(
    *pieces: str, encode: Callable[[str], list[int]] | None = None
) -> engine.Vocabulary:
    """All bytes, these pieces, and a stop token; ``encode``: `greedy` without one."""
    tokens = [bytes([k]) for k in range(256)] + [piece.encode() for piece in pieces]
    return engine.Vocabulary(
        [*tokens, b"<end>"], stop_token_ids=[len(tokens)], encode=encode or greedy(tokens)
    )


def allowed(matcher: engine.Matcher) -> set[int]:
    """The tokens of a mask."""
    mask = new_mask(matcher.compiled.vocabulary)
    matcher.fill_bitmask(mask)
    return set(bits(mask).tolist())


def accepted(matcher: engine.Matcher) -> set[int]:
    """The tokens that the matcher accepts."""
    mask = new_mask(matcher.compiled.vocabulary)
    matcher.brute_force_bitmask(mask)
    return set(bits(mask).tolist())


def next_bytes(matcher: engine.Matcher) -> set[int]:
    return {byte for byte in range(256) if matcher.fork().accept_bytes(bytes([byte]))}


def detours(matcher: engine.Matcher, table: Table) -> set[int]:
    """The detours of a text's place in a grammar without token edges and bounds on tokens."""
    if len(next_bytes(matcher)) > MAX_LIVE:
        return set()
    tokens, found = matcher.compiled.vocabulary.tokens, set()
    for token, extensions in table.items():
        at = matcher.fork()
        if not at.accept_bytes(token) or at.can_stop():
            continue
        if all(
            byte in extensions and _joins(at, byte, extensions[byte]) for byte in next_bytes(at)
        ):
            found.add(tokens.index(token))
    return found


def _joins(matcher: engine.Matcher, byte: int, before: set[int]) -> bool:
    """Whether the tokenizer writes the shorter token before no text that begins with ``byte``."""
    at = matcher.fork()
    assert at.accept_bytes(bytes([byte]))
    return not next_bytes(at) & before and not (at.can_stop() and MAY_END in before)
