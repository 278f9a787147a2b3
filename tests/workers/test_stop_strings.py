"""Stop strings are found at the first byte that completes one, however the text is cut into
tokens.
"""

import random

import pytest

from adapters.workers.stop_strings import Hit, StopGate, StopStrings

CASES = [
    # stops, text, the hit over the whole text
    ((), "anything", None),
    (("x",), "abc", None),
    (("b",), "abc", Hit("b", 2)),
    (("abc",), "abc", Hit("abc", 3)),
    (("aab",), "aaab!", Hit("aab", 4)),  # a false start inside a true one
    (("abab",), "abaabab", Hit("abab", 4)),
    (("bc", "abcd"), "abcd", Hit("bc", 3)),  # the one that is complete first
    (("c", "bc", "abc"), "abc", Hit("abc", 3)),  # of two complete at one byte the longer
    (("é",), "caféx", Hit("é", 3)),
    (("\n\n", "END"), "a\nb\n\nEND", Hit("\n\n", 5)),
    (("💡",), "💠💡", Hit("💡", 4)),
]


def naive(stops: tuple[str, ...], data: bytes) -> Hit | None:
    """By definition: the smallest end, then the longest string."""
    found = [(data.find(s.encode()) + len(s.encode()), -len(s.encode()), s) for s in stops]
    found = [hit for hit in found if hit[0] + hit[1] >= 0]
    if not found:
        return None
    end, minus, text = min(found)
    return Hit(text, len(data) - end - minus)


@pytest.mark.parametrize(("stops", "text", "expected"), CASES)
def test_whole_text(stops: tuple[str, ...], text: str, expected: Hit | None) -> None:
    assert StopStrings(stops).feed(text.encode()) == expected == naive(stops, text.encode())


@pytest.mark.parametrize(("stops", "text", "expected"), CASES)
def test_byte_by_byte(stops: tuple[str, ...], text: str, expected: Hit | None) -> None:
    """Fed one byte at a time nothing follows the hit, so the trim is the stop string alone."""
    matcher = StopStrings(stops)
    hits = [matcher.feed(bytes([byte])) for byte in text.encode()]
    first = next((hit for hit in hits if hit is not None), None)
    assert (first and first.text) == (expected and expected.text)
    assert first is None or first.trim == len(first.text.encode())


def test_empty_stop_string_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        StopStrings(["a", ""])


@pytest.mark.parametrize("seed", range(200))
def test_gate_on_random_cuts(seed: int) -> None:
    """A gate never releases a part of the stop string, and all of the text before it comes
    out.
    """
    rng = random.Random(seed)
    stops = tuple("".join(rng.choices("ab", k=rng.randint(1, 5))) for _ in range(rng.randint(0, 3)))
    text = "".join(rng.choices("abc", k=40)).encode()
    tokens: list[bytes] = []
    while text[sum(map(len, tokens)) :]:
        at = sum(map(len, tokens))
        tokens.append(text[at : at + rng.randint(1, 4)])
    gate, fed = StopGate(stops), 0
    out: list[int] = []
    for number, token in enumerate(tokens):
        out += gate.push((number,), token)
        fed += len(token)
        released = b"".join(tokens[n] for n in out)
        if gate.hit is not None:
            assert len(released) <= fed - gate.hit.trim
            break
        assert fed - len(released) <= sum(map(len, stops)) + 4, "held back more than it must"
    out += gate.flush()
    assert out == list(range(len(out)))
    assert gate.hit == naive(stops, text[:fed])
    assert gate.hit is not None or out == list(range(len(tokens)))
    assert gate.hit is not None or naive(stops, text) is None


def test_nothing_is_held_without_stop_strings() -> None:
    gate = StopGate(())
    assert gate.push((7,), b"x") == (7,)
    assert gate.flush() == ()
