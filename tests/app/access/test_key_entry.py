"""Entries of keys: which are accepted, and what errors say."""

import json
from datetime import UTC, datetime

import pytest

from app.access.key_entry import (
    MAX_BYTES,
    MAX_LIMIT,
    EntryRefused,
    digest_of,
    new_key,
    parse_entry,
    parse_time,
)
from tests.app.access.entries import entry


def test_an_entry_gives_its_client_the_name_the_scope_and_the_limits() -> None:
    client = parse_entry(
        entry("k", "team", models=["m"], max_running=2, requests_per_minute=3, priority="high")
    ).client()
    assert (client.name, client.priority, client.max_running) == ("team", "high", 2)
    assert (client.requests_per_minute, client.tokens_per_minute) == (3, None)
    assert client.may_use("m") and not client.may_use("other")
    assert digest_of("k").hex().startswith(client.id)


@pytest.mark.parametrize(
    ("models", "usable"),
    [
        (["m"], ["m"]),
        (["m:law"], ["m:law"]),
        (["m:*"], ["m:law", "m:tax"]),
        (["m", "m:*"], ["m", "m:law", "m:tax"]),
        (["m:*:law", "*", "m*", "m:"], []),
        (None, ["m", "m:law", "m:tax", "n:law"]),
    ],
)
def test_an_adapter_needs_an_entry_of_its_own(models: list[str] | None, usable: list[str]) -> None:
    """The model's does not include what was trained later, perhaps on data of others."""
    client = parse_entry(entry("k", **({} if models is None else {"models": models}))).client()
    ids = [("m", None), ("m", "law"), ("m", "tax"), ("n", "law")]
    shown = [model if adapter is None else f"{model}:{adapter}" for model, adapter in ids]
    assert [name for name, each in zip(shown, ids, strict=True) if client.may_use(*each)] == usable


def test_an_entry_survives_its_text() -> None:
    made = parse_entry(entry("k", expires="2030-01-01T00:00:00+02:00", tokens_per_minute=MAX_LIMIT))
    assert parse_entry(made.as_json()) == made


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{", "Invalid JSON"),
        ("[]", "Input should be an object"),
        ("{}", "name: "),
        ('{"name": "a"}', "sha256: "),
        ('{"name": "a", "sha256": "sk-secret"}', "sha256: "),
        (entry("k", "a b"), "name: "),
        (entry("k", "a\n"), "name: "),
        (entry("k", "x" * 65), "name: "),
        (entry("k", max_running=0), "max_running: "),
        (entry("k", max_running=True), "max_running: "),
        (entry("k", requests_per_minute=1.5), "requests_per_minute: "),
        (entry("k", tokens_per_minute=MAX_LIMIT + 1), "tokens_per_minute: "),
        (entry("k", expires="2030-01-01T00:00:00"), "expires: "),
        (entry("k", expires="soon"), "expires: "),
        (entry("k", models=[]), "models: "),
        (entry("k", priority="urgent"), "priority: "),
        (entry("k", limit=1), "limit: "),
    ],
)
def test_an_error_names_the_field_and_quotes_no_value(text: str, place: str) -> None:
    with pytest.raises(EntryRefused) as caught:
        parse_entry(text)
    assert str(caught.value).startswith(place)
    assert "sk-secret" not in str(caught.value)


def test_a_large_entry_is_refused_unread_and_messages_are_short() -> None:
    made = entry("k", models=["m"])
    parse_entry(made + " " * (MAX_BYTES - len(made)))
    with pytest.raises(EntryRefused, match=f"larger than {MAX_BYTES:,} bytes, got 65,537"):
        parse_entry(made + " " * (MAX_BYTES - len(made) + 1))
    with pytest.raises(EntryRefused) as caught:
        parse_entry(json.dumps({"\x1b\n" * 5000: 1}))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200


def test_keys_are_long_and_differ() -> None:
    keys = {new_key() for _ in range(100)}
    assert len(keys) == 100
    assert min(map(len, keys)) > 40


def test_a_time_without_a_zone_is_utc() -> None:
    assert parse_time("2030-01-02") == datetime(2030, 1, 2, tzinfo=UTC)
    assert parse_time("2030-01-02T00:00:00+01:00") < parse_time("2030-01-02")
