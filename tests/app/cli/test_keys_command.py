"""``switchyard keys``: the key is printed once, and only its hash is stored."""

import json
from pathlib import Path

import pytest

from app.access.key_entry import digest_of
from app.cli import main
from tests.app.cli.command import switchyard

pytestmark = pytest.mark.program


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SWITCHYARD_KEYS_FILE", str(tmp_path / "keys.jsonl"))
    return tmp_path / "keys.jsonl"


def test_a_key_is_created_listed_and_revoked(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--expires", "2031-02-03", "--model", "m", "--model", "n", "--max-running", "4"]
    options += ["--requests-per-minute", "60", "--tokens-per-minute", "9000", "--priority", "low"]
    assert main(["keys", "create", "team", *options]) == 0
    key = capsys.readouterr().out.strip()
    stored = json.loads(path.read_text())
    assert key not in path.read_text()
    assert stored == {
        "name": "team",
        "sha256": digest_of(key).hex(),
        "expires": "2031-02-03T00:00:00Z",
        "models": ["m", "n"],
        "max_running": 4,
        "requests_per_minute": 60,
        "tokens_per_minute": 9000,
        "priority": "low",
    }
    assert main(["keys", "list"]) == 0
    row = capsys.readouterr().out.splitlines()[1].split()
    assert row[:2] == ["team", digest_of(key).hex()[:8]]
    assert row[-4:] == ["4", "60", "9,000", "low"]
    assert main(["keys", "revoke", "team"]) == 0
    assert path.read_text() == ""
    assert main(["keys", "revoke", "team"]) == 1
    assert "no key has the name" in capsys.readouterr().err


def test_an_expired_key_is_marked(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "create", "old", "--expires", "2020-01-01T00:00:00+00:00"]) == 0
    assert main(["keys", "list"]) == 0
    assert "(expired)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message", "status"),
    [
        (["create", "a b"], "name: ", 2),
        (["create", "a", "--max-running", "0"], "max_running: ", 2),
        (["create", "a", "--expires", "soon"], "'soon' is not an ISO time", 2),
        (["create", "used"], "the name 'used' is in use", 1),
        (["list", "--redis"], "SWITCHYARD_ACCESS_REDIS_URL: not set", 2),
        (["list", "--file", "/nowhere/keys"], "/nowhere/keys cannot be read", 1),
        (["create", "a", "--file", "/nowhere/keys"], "/nowhere/keys cannot be changed", 1),
    ],
)
def test_a_mistake_is_one_line(
    path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str, status: int
) -> None:
    assert main(["keys", "create", "used"]) == 0
    capsys.readouterr()
    assert main(["keys", *options]) == status
    told = capsys.readouterr()
    assert message in told.err
    assert (told.out, len(told.err.splitlines())) == ("", 1)


def test_the_place_must_be_known() -> None:
    done = switchyard("keys", "list")
    assert done.returncode == 2
    assert "set SWITCHYARD_KEYS_FILE, or choose --file or --redis" in done.stderr
    both = {"keys_file": "/k", "keys_redis": "true", "redis_url": "redis://h"}
    done = switchyard("keys", "list", cache_trust="network", **both)
    assert done.returncode == 2
    assert "choose --file or --redis" in done.stderr


def test_redis_that_does_not_answer_is_one_line() -> None:
    settings = {"redis_url": "redis://127.0.0.1:1", "cache_trust": "network", "keys_redis": "true"}
    done = switchyard("keys", "list", **settings)
    assert (done.returncode, done.stderr) == (1, "switchyard: Redis failed (ConnectionError)\n")
