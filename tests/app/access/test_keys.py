"""The table of keys: who is identified, and how it follows its sources."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from app.access import keys as module
from app.access.followed_file import KeysUnreadable
from app.access.key_entry import KeyEntry, digest_of, parse_entry
from app.access.key_file import KeyFile
from app.access.keys import Keys
from app.errors import ApiError
from app.observability.logs import make_logger
from tests.app.access.entries import entry
from tests.waiting import eventually


class Source:
    """A source that returns what a test sets."""

    name = "Redis"
    may_be_down = True

    def __init__(self, *lines: str) -> None:
        self.entries: list[KeyEntry] | None = [parse_entry(line) for line in lines]
        self.error: str | None = None
        self.loads = 0

    async def load(self) -> list[KeyEntry] | None:
        self.loads += 1
        if self.error is not None:
            raise KeysUnreadable(self.error)
        return self.entries

    async def aclose(self) -> None: ...


def refusal(keys: Keys, key: str) -> tuple[int, str | None, str]:
    with pytest.raises(ApiError) as caught:
        keys.identify(f"Bearer {key}", "address")
    return caught.value.status, caught.value.code, caught.value.message


@pytest.mark.parametrize("header", ["Bearer one", "bearer two", "Bearer  one "])
def test_each_of_the_keys_identifies_a_client(header: str) -> None:
    client = Keys(["one", "two"]).identify(header, "address")
    assert client.name.startswith("api-key-")
    assert client.max_running is None


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Bearer on", "Basic one", "one", "Bearer é"]
)
def test_anything_else_is_401(header: str | None) -> None:
    with pytest.raises(ApiError) as caught:
        Keys(["one", "two"]).identify(header, "address")
    assert (caught.value.status, caught.value.code) == (401, "invalid_api_key")
    assert "WWW-Authenticate" in caught.value.headers


def test_without_sources_a_client_is_its_address() -> None:
    client = Keys().identify(None, "10.0.0.1")
    assert (client.id, client.name) == ("10.0.0.1", "")


async def test_a_source_without_keys_refuses_all() -> None:
    keys = Keys(sources=[Source()])
    await keys.start()
    assert refusal(keys, "one") == (401, "invalid_api_key", "Incorrect API key provided.")
    await keys.aclose()


@pytest.mark.parametrize(("now", "is_valid"), [(0, True), (1e9 - 1, True), (1e9, False)])
async def test_a_key_expires_at_its_time(now: float, is_valid: bool) -> None:
    line = entry("k", expires="2001-09-09T01:46:40Z")  # 10 ** 9 seconds
    keys = Keys(sources=[Source(line)], clock=lambda: now)
    await keys.start()
    if is_valid:
        assert keys.identify("Bearer k", "").name == "name-of-k"
    else:
        assert refusal(keys, "k") == (401, "invalid_api_key", "This API key has expired.")
    await keys.aclose()


async def test_the_first_source_decides_and_operators_keys_are_no_clients() -> None:
    first, second = Source(entry("k", "first")), Source(entry("k", "second"), entry("admin"))
    first.name = "file"
    keys = Keys(sources=[first, second], reserved=[digest_of("admin")])
    await keys.start()
    assert keys.identify("Bearer k", "").name == "first"
    assert refusal(keys, "admin")[0] == 401
    await keys.aclose()


async def test_until_a_source_was_read_unknown_keys_get_503(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.001)
    source = Source(entry("k"))
    source.error = "Redis failed"
    keys = Keys(["given"], [source])
    await keys.start()
    assert keys.identify("Bearer given", "").name.startswith("api-key-")
    assert refusal(keys, "k")[:2] == (503, "keys_unavailable")
    source.error = None
    await eventually(lambda: keys.stats()["known"] == 2)
    assert keys.identify("Bearer k", "").name == "name-of-k"
    assert refusal(keys, "x")[0] == 401
    await keys.aclose()


async def test_a_source_that_fails_keeps_its_keys_and_is_logged_once(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.001)
    log = io.StringIO()
    source = Source(entry("k"))
    keys = Keys(sources=[source], logger=make_logger("info", log))
    await keys.start()
    source.error = "Redis failed"
    await eventually(lambda: keys.stats()["unreadable_sources"] == 1)
    loads = source.loads
    await eventually(lambda: source.loads > loads + 3)
    assert keys.identify("Bearer k", "").name == "name-of-k"
    source.error, source.entries = None, []
    await eventually(lambda: keys.stats() == {"known": 0, "unreadable_sources": 0})
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [line["reason"] for line in lines if line["level"] == "error"] == ["Redis failed"]
    await keys.aclose()


async def test_a_broken_file_aborts_startup(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("{")
    with pytest.raises(KeysUnreadable, match="line 1"):
        await Keys(sources=[KeyFile(path)]).start()
