"""Events come out the same whatever the pieces they arrive in, and only LF ends a line."""

import pytest

from adapters.workers.sse import EventDecoder, EventTooLong

STREAM = (
    'data: {"a":"\u2028\x85\x0b"}\r\n\r\n: comment\n\nevent: x\ndata:{"b":"é"}\n\ndata: [DONE]\n\n'
)
PAYLOADS = ['{"a":"\u2028\x85\x0b"}', '{"b":"é"}', "[DONE]"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_any_pieces(size: int) -> None:
    decoder, raw, found = EventDecoder(), STREAM.encode(), []
    for at in range(0, len(raw), size):
        found += decoder.push(raw[at : at + size])
    assert [payload.decode() for payload in found] == PAYLOADS


def test_the_bound_and_one_past_it() -> None:
    assert EventDecoder(10).push(b"data: 1234\n" * 3) == [b"1234"] * 3
    decoder = EventDecoder(10)
    decoder.push(b"data: 12")
    with pytest.raises(EventTooLong, match="at most 10 bytes allowed, got 11"):
        decoder.push(b"345\n")
