"""The shipped vocabulary is complete, and its encoder loses nothing."""

import pytest

from adapters.workers.noise_vocabulary import Encoder, load
from adapters.workers.tools import make_noise_vocabulary as tool

VOCABULARY = load()


def test_shape() -> None:
    tokens, special = VOCABULARY.tokens, VOCABULARY.special
    assert len(tokens) == 512
    assert tokens[:256] == [bytes([byte]) for byte in range(256)]
    assert len(set(tokens)) == len(tokens)
    assert all(tokens[number] == text.encode() for text, number in special.items())
    assert {'{"', '": ', '", "', '"}}', "  "} <= {t.decode("latin-1") for t in tokens}


def test_every_format_finds_its_control_tokens() -> None:
    assert list(VOCABULARY.special) == tool.SPECIAL
    assert [VOCABULARY.tokens[n].decode() for n in VOCABULARY.stop_ids] == tool.STOP
    assert set(VOCABULARY.stop_ids) <= set(VOCABULARY.special.values())


@pytest.mark.parametrize(
    "text",
    ["", "a", '{"name": "f", "arguments": {}}', "naïve 💡 \x00\x7f\n\t", "<|im_start|", "\ud800"],
)
def test_encoding_loses_nothing(text: str) -> None:
    ids = VOCABULARY.encode(text)
    spelled = b"".join(VOCABULARY.tokens[number] for number in ids)
    assert spelled == text.encode("utf-8", "surrogatepass")


def test_encoding_is_longest_first_and_knows_control_tokens() -> None:
    texts = [VOCABULARY.tokens[n] for n in VOCABULARY.encode('<|im_start|>x{"<tool_call>')]
    assert texts == [b"<|im_start|>", b"x", b'{"', b"<tool_call>"]


def test_encoder_with_no_special_tokens() -> None:
    assert Encoder([b"a", b"b", b"ab"])("aab?") == [0, 2]


def test_a_text_may_end_within_a_longer_token() -> None:
    encoder = Encoder([b"a", b"b", b"ab", b"abba"])
    assert encoder("abb") == [2, 1]
    assert encoder("abbaab") == [3, 2]
