"""Random walks over masks, and a matcher's verdict on one text."""

from functools import cache
from random import Random

import engine
from tests.engine.harness import bits, new_mask

#: after so many tokens a walk is drawn towards its end, and after so many more it is given up
PATIENCE, MAX_STEPS = 40, 400

#: pieces that straddle JSON tokens, keys of drawn schemas, whole and split characters, escapes
_PIECES = (
    '{"', '"}', '"]', '["', '", "', '":', '": ', '{"a":', '"a":', '"b":', '"ab":', '"x-1":',
    ',"a":', ', "b": ', '"ab": ', '"a"', '"b"', '"ab"', '"x-1"', '""', "[[", "]]", "[]", "{}",
    "[1", "[0,", ",1", ", 2", "],", "},", "}]", "true", "false", "null", "tr", "als", " true",
    "12", "123", "10", "00", "0.5", ".5", ".0", ".00", "-1", "-0", "e+", "e1", "E-2", "1e", "\n",
    "\n  ", "\n    ", "  ", " ", "aa", "aaa", "bb", "abc", "x-", '-1"', "cab", "\\n", '\\"',
    "\\u00", "\\u0061", "\\u0062", "\\u", "006", "\\/", "\\\\", "\\ud83d", "\\ude00", "\\uD8",
    "é", "€", "漢字", "😀", 'a"', 'b"', '":"', '":[', '":{', '":1', '":true', '":null', '},"', ',"',
    ",[", "2024-", "-01", "-29", ":00", "T12:", "Z", "10.", ".1.", "::", "@", ".com", "://", "http",
    "%20",
)  # fmt: skip
_SPLIT = ("€".encode()[:2], "漢".encode()[1:], "😀".encode()[:3], "字".encode()[2:] + b'"')


@cache
def vocabulary() -> engine.Vocabulary:
    """All bytes, pieces, and one stop token: 390 in all."""
    tokens = [bytes([b]) for b in range(256)]
    tokens += [*dict.fromkeys(piece.encode() for piece in _PIECES if len(piece.encode()) > 1)]
    tokens += [*_SPLIT, b"<eos>"]
    stop = len(tokens) - 1
    return engine.Vocabulary(tokens, stop_token_ids=[stop], special_token_ids=[stop])


def weight(token: bytes) -> float:
    """Letters of drawn schemas are drawn more often than others."""
    if len(token) > 1:
        return 12.0
    if token in b'"}]':
        return 10.0
    return 6.0 if token in b"abx1:,-02.{[tfn" else 0.6


@cache
def weights() -> list[float]:
    return [weight(token) for token in vocabulary().tokens]


@cache
def closing() -> list[float]:
    """The same where a walk is to end."""
    enders = b'"}]'
    return [
        5000.0
        if token in (b'"', b"}", b"]")
        else 5.0
        if token[-1:] in enders
        else each / len(token)
        for token, each in zip(vocabulary().tokens, weights(), strict=True)
    ]


def drawn(allowed: list[int], is_late: bool, rng: Random) -> int:
    """Late in a walk a closing one, mostly: what a pattern still needs is rarely one."""
    if is_late and rng.random() < 0.3:
        return rng.choice(allowed)
    table = closing() if is_late else weights()
    return rng.choices(allowed, [table[each] for each in allowed])[0]


class DeadEnd(AssertionError):
    """A mask without any token."""


def walk(compiled: engine.Compiled, rng: Random) -> bytes | None:
    """A text; None if it did not end.

    Raises:
        DeadEnd: nothing may follow, and the text may not end.
    """
    matcher, text = engine.Matcher(compiled), bytearray()
    mask, stop = new_mask(compiled.vocabulary), compiled.vocabulary.stop_token_ids[0]
    for step in range(MAX_STEPS):
        matcher.fill_bitmask(mask)
        allowed = bits(mask).tolist()
        if not allowed:
            raise DeadEnd(bytes(text))
        if stop in allowed and (step > PATIENCE or len(allowed) == 1 or rng.random() < 0.5):
            return bytes(text)
        token = drawn(allowed, step >= PATIENCE, rng)
        if token == stop:
            return bytes(text)
        assert matcher.accept_token(token), (bytes(text), token)
        text += compiled.vocabulary.tokens[token]
    return None


def takes(compiled: engine.Compiled, text: str | bytes) -> bool:
    matcher = engine.Matcher(compiled)
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return matcher.accept_bytes(data) and matcher.can_stop()
