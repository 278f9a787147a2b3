"""The file of keys: its mistakes have a line, and commands change it as a whole."""

import threading
from pathlib import Path

import pytest

from app.access.followed_file import KeysUnreadable
from app.access.key_entry import digest_of, parse_entry
from app.access.key_file import KeyFile
from tests.app.access.entries import entry


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.jsonl"


def write(path: Path, text: str | bytes) -> None:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


async def test_comments_and_empty_lines_are_skipped(path: Path) -> None:
    write(path, f"# keys\n\n{entry('a')}\n  # more\n{entry('b')}")
    found = await KeyFile(path).load()
    assert found is not None
    assert [each.name for each in found] == ["name-of-a", "name-of-b"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([entry("a"), "{"], "line 2: Invalid JSON"),
        ([entry("a"), "", entry("b", max_running=0)], "line 3: max_running: "),
        ([entry("a", "x"), entry("b", "x")], "line 2: name: the same as in line 1"),
        ([entry("a", "x"), entry("a", "y")], "line 2: sha256: the same as in line 1"),
        ([entry("a"), entry("admin")], "line 2: the key is also in SWITCHYARD_ADMIN_KEYS"),
    ],
)
async def test_a_mistake_is_named_with_its_line(path: Path, lines: list[str], message: str) -> None:
    write(path, "\n".join(lines))
    file = KeyFile(path, reserved={digest_of("admin"): "SWITCHYARD_ADMIN_KEYS"})
    for _ in range(2):
        with pytest.raises(KeysUnreadable, match=message):
            await file.load()


async def test_an_unreadable_file_is_named(path: Path) -> None:
    with pytest.raises(KeysUnreadable, match="cannot be read: No such file"):
        await KeyFile(path).load()
    write(path, b"\xff")
    with pytest.raises(KeysUnreadable, match="not UTF-8"):
        await KeyFile(path).load()


async def test_a_change_is_read_once(path: Path) -> None:
    file = KeyFile(path)
    file.add(parse_entry(entry("a")))
    assert await file.load() is not None
    assert await file.load() is None
    file.add(parse_entry(entry("b")))
    assert await file.load() is None
    assert len(await file.load() or []) == 2
    assert await file.load() is None
    assert file.remove("name-of-a")
    assert not file.remove("name-of-a")
    assert await file.load() is None
    assert [each.name for each in await file.load() or []] == ["name-of-b"]


async def test_a_file_that_is_being_written_revokes_no_key(path: Path) -> None:
    """REGRESSION: the moment between emptying and writing a file revoked all keys."""
    write(path, entry("a"))
    file = KeyFile(path)
    assert len(await file.load() or []) == 1
    for text in ("", entry("a"), f"{entry('a')}\n{entry('b')}"):
        write(path, text)
        assert await file.load() is None
    assert len(await file.load() or []) == 2


def test_commands_keep_comments_and_the_mode_and_refuse_a_used_name(path: Path) -> None:
    file = KeyFile(path)
    file.add(parse_entry(entry("a")))
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text(f"# first\n{path.read_text()}")
    path.chmod(0o640)
    file.add(parse_entry(entry("b")))
    with pytest.raises(KeysUnreadable, match="in use"):
        file.add(parse_entry(entry("c", "name-of-b")))
    assert file.remove("name-of-a")
    assert path.read_text().splitlines()[0] == "# first"
    assert [each.name for each in file.entries()] == ["name-of-b"]
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in path.parent.iterdir()] == ["keys.jsonl"]


def test_a_command_does_not_change_a_broken_file(path: Path) -> None:
    path.write_text("{")
    with pytest.raises(KeysUnreadable, match="line 1"):
        KeyFile(path).add(parse_entry(entry("a")))
    assert path.read_text() == "{"


def test_commands_at_the_same_time_lose_no_key(path: Path) -> None:
    def add(first: int) -> None:
        for number in range(first, first + 20):
            KeyFile(path).add(parse_entry(entry(str(number))))

    threads = [threading.Thread(target=add, args=(20 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(KeyFile(path).entries()) == 80
