"""Seals: what one key seals for one client, that key opens for that client."""

import pytest

from app.sealing import Seal

KEY = b"a key of the cache"


@pytest.mark.parametrize("text", ["", "I think.", "漢é\n" * 1000])
def test_a_text_comes_back(text: str) -> None:
    sealed = Seal(KEY).seal("me", text)
    assert Seal(KEY).open("me", sealed) == text
    assert sealed != Seal(KEY).seal("me", text)


@pytest.mark.parametrize(
    ("client", "key"), [("you", KEY), ("", KEY), ("me", b"another key of a cache"), ("me", None)]
)
def test_no_other_client_and_no_other_key_opens_it(client: str, key: bytes | None) -> None:
    assert Seal(key).open(client, Seal(KEY).seal("me", "I think.")) is None


def test_a_text_is_none_of_another_kind() -> None:
    sealed = Seal(KEY).seal("me", "I think.")
    assert Seal(KEY).open("me", sealed, "compaction") is None
    assert Seal(KEY).open("me", Seal(KEY).seal("me", "x", "compaction")) is None


@pytest.mark.parametrize("sealed", ["", "é", "AAAA", "A" * 100_000, "?", "AAAAA", "\ud800"])
def test_other_texts_are_no_seals(sealed: str) -> None:
    assert Seal(KEY).open("me", sealed) is None


def test_a_changed_seal_is_none() -> None:
    sealed = Seal(KEY).seal("me", "I think.")
    for at in range(len(sealed) - 2):
        changed = "A" if sealed[at] != "A" else "B"
        assert Seal(KEY).open("me", sealed[:at] + changed + sealed[at + 1 :]) is None
