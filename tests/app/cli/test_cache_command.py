"""``switchyard cache``: tables of gateways and of a real Redis; a namespace to a file and back."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from socket import socket
from time import monotonic, sleep
from typing import Any

import pytest
from redis import Redis

from app.cli import gateways
from app.cli.gateways import show_gateways
from app.cli.terminal import MAX_SHOWN, table
from app.settings import GatewaySettings
from tests.app.cli.command import PATIENCE as LONG
from tests.app.cli.command import arguments, environment, switchyard
from tests.app.examples import LIGHT, tool
from tests.app.gateway import Gateway
from tests.app.operators import BEARER, KEY, MAIL, warm
from tests.cache.hostile_server import hostile_server
from tests.redis_server import RedisServer

pytestmark = pytest.mark.program

CACHE_KEY = "a key of sixteen bytes or more"
OTHER_KEY = "the other site's cache key"


def rows(output: str) -> dict[str, list[str]]:
    """Return a table's cells by the first cell of each line; columns are two spaces apart."""
    lines = (line.split("  ") for line in output.splitlines() if line)
    cells = ([cell.strip() for cell in line if cell.strip()] for line in lines)
    return {row[0]: row[1:] for row in cells if row}


def test_a_table_has_numbers_on_the_right_and_dashes_for_nothing():
    assert table([("a", "n"), ("long", 1_234), ("b", None)]) == (
        "a         n\nlong  1,234\nb         -"
    )


def test_a_cell_is_one_line_that_no_terminal_obeys():
    forged = "a\x1b]0;title\x07\x1b[2J\r\nfake  1\u202e\x9b\ud800"
    first, second = table([(forged,), ("a" * (MAX_SHOWN + 1),)]).splitlines()
    assert first == "a?]0;title??[2J??fake  1???"
    assert second == "a" * (MAX_SHOWN - 3) + "..."


# -- gateways -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Gateway, Gateway]]:
    """Two gateways of one Redis; the second was started when the first was warm, and warmed too."""
    server = RedisServer()
    server.start()
    settings = {
        "admin_keys": f"{KEY},another",
        "redis_url": server.url,
        "cache_key": CACHE_KEY,
        "cache_prefetch_seconds": 60,
    }
    sent = {"tools": [tool("send", MAIL)], "tool_choice": "required"}
    with Gateway(**settings) as first:
        assert warm(first, sent).json()["stored"] is True
        with Gateway(**settings, format="harmony") as second:
            loaded = "shared_masks_loaded"
            second.eventually(lambda: second.metric("switchyard_compiler", what=loaded) > 0)
            assert warm(second, sent).json()["stored"] is True
            yield first, second
    server.close()


def test_gateways_stand_side_by_side(pair: tuple[Gateway, Gateway]):
    urls = [gateway.url for gateway in pair]
    done = switchyard("cache", "stats", "--url", urls[0], urls[1] + "/", admin_keys=KEY)
    assert done.returncode == 0, done.stderr
    found = rows(done.stdout)
    assert done.stdout.splitlines()[0].split() == [url.removeprefix("http://") for url in urls]
    assert found["format"] == ["hermes", "harmony"]
    assert int(found["artifacts masks loaded"][1]) > 0
    assert int(found["artifacts masks published"][0]) > 0
    assert int(found["log written"][0]) > 0
    assert found["following"] == ["1", "1"]
    assert KEY not in done.stdout + done.stderr


def test_a_gateway_that_does_not_answer_is_told_beside_the_others(pair: tuple[Gateway, Gateway]):
    url = pair[0].url
    urls = [url, "http://user:hidden@127.0.0.1:1", "nonsense"]
    done = switchyard("cache", "stats", "--url", *urls, admin_keys=KEY)
    assert done.returncode == 1
    assert rows(done.stdout)["format"] == ["hermes"]
    assert "127.0.0.1:1: no answer (ConnectError)" in done.stderr
    assert "nonsense: no answer" in done.stderr
    assert "hidden" not in done.stderr


def test_gateways_behind_one_address_have_a_column_each(pair: tuple[Gateway, Gateway]):
    url = pair[0].url
    done = switchyard("cache", "stats", "--url", url, url, url + "/v2", admin_keys=KEY)
    assert rows(done.stdout)["format"] == ["hermes", "hermes"]
    assert f"{url.removeprefix('http://')}/v2: 404: " in done.stderr


def test_what_is_no_address_is_told_without_its_password(pair: tuple[Gateway, Gateway]):
    urls = ["http://user:hidden@[::1", "user:hidden@host", pair[0].url]
    done = switchyard("cache", "stats", "--url", *urls, admin_keys=KEY)
    assert done.returncode == 1
    assert rows(done.stdout)["format"] == ["hermes"]
    assert "[::1: no answer (" in done.stderr
    assert "host: no answer (" in done.stderr
    assert "hidden" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_gateway_that_goes_on_for_ever_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """It sends something again and again, in its head or in its body."""
    monkeypatch.setattr(gateways, "ASKED_SECONDS", 1.0)
    for head in (b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nx-head: "):

        def trickle(connection: socket, head: bytes = head) -> None:
            connection.sendall(head)
            while True:
                connection.sendall(b" ")
                sleep(0.1)

        with hostile_server(trickle) as server:
            url = server.url.replace("redis://", "http://").removesuffix("/0")
            assert show_gateways(GatewaySettings(admin_keys=KEY), [url]) == 1
        assert "no whole answer in 1 seconds" in capsys.readouterr().err


def test_a_key_that_is_not_theirs_is_their_answer(pair: tuple[Gateway, Gateway]):
    done = switchyard("cache", "stats", "--url", pair[0].url, admin_keys="wrong-key")
    assert (done.returncode, done.stdout) == (1, "")
    assert "401: Incorrect API key provided." in done.stderr
    assert "wrong-key" not in done.stderr
    done = switchyard("cache", "stats", "--url", pair[0].url)
    assert done.returncode == 2
    assert "SWITCHYARD_ADMIN_KEYS" in done.stderr


def reply(status: int, body: bytes) -> bytes:
    return b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%b" % (status, len(body), body)


#: what comes -> what is said
ANSWERS: dict[str, tuple[bytes, str]] = {
    "no HTTP": (b"hello\r\n\r\n", "no answer (RemoteProtocolError)"),
    "no JSON": (reply(200, b"{]"), "200: its answer is no JSON"),
    "a proxy's page": (reply(502, b"<html>"), "502: its answer is no JSON"),
    "no object": (reply(200, b"[]"), "it is no gateway"),
    "another object": (reply(200, b'{"object":"x"}'), "it is no gateway"),
    "much": (b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 2_000_000, "more than 1,048,576 bytes"),
    "an error": (reply(500, b"{}"), "500: no error object"),
    "escapes": (reply(500, b'{"error":{"message":"\\u001b[2J\\nx"}}'), "500: ?[2J?x"),
    "depth": (reply(200, b"[" * 100_000), "200: its answer is nested too deeply"),
}


@pytest.mark.parametrize("case", ANSWERS.values(), ids=ANSWERS.keys())
def test_what_is_no_gateway_is_an_error(case: tuple[bytes, str]):
    answer, words = case
    with hostile_server(lambda connection: connection.sendall(answer)) as server:
        url = server.url.replace("redis://", "http://").removesuffix("/0")
        done = switchyard("cache", "stats", "--url", url, admin_keys=KEY)
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.removesuffix("\n").isprintable()


# -- Redis ----------------------------------------------------------------------------------------


@pytest.fixture
def settings(redis_server: RedisServer) -> dict[str, Any]:
    """Of a Redis that was filled."""
    return filled({"redis_url": redis_server.url, "cache_key": CACHE_KEY})


def filled(settings: dict[str, Any]) -> dict[str, Any]:
    with Gateway(admin_keys=KEY, **settings) as gateway:
        sent = {"tools": [tool("send", MAIL), tool("b", LIGHT)]}
        assert warm(gateway, sent, BEARER).json()["stored"] is True
    return settings


def dumped(url: str, kind: bytes = b"") -> dict[bytes, bytes]:
    """Return the entries in Redis, of all kinds or one, without the keys that index them."""
    help_of_ours = (b"switchyard:log", b"switchyard:hot/")
    with Redis.from_url(url) as client:
        keys = list(client.scan_iter(b"switchyard:%b*" % kind))
        return {key: client.get(key) for key in keys if not key.startswith(help_of_ours)}


def test_what_lies_in_redis_is_counted_by_kind_and_vocabulary(settings: dict[str, Any]):
    done = switchyard("cache", "stats", **settings)
    assert done.returncode == 0, done.stderr
    masks = dumped(settings["redis_url"], b"masks/")
    version, _vocabulary, entries, size, ttl, used, uses = rows(done.stdout)["masks"]
    assert int(entries) == int(used) == len(masks) > 0
    assert int(size.replace(",", "")) > sum(map(len, masks.values()))
    assert int(version) > 0
    assert ttl.startswith("604,")
    assert int(uses) >= 1
    assert "maxmemory_policy" in done.stdout


def test_a_key_in_redis_is_shown_and_not_obeyed(redis_server: RedisServer):
    with Redis.from_url(redis_server.url) as client:
        client.set(b"switchyard:masks/8/\x1b]0;pwned\x07\x1b[2J\r\nfake 1/x", b"")
    done = switchyard("cache", "stats", redis_url=redis_server.url, cache_key=CACHE_KEY)
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace("\n", "").isprintable()
    assert not any(line.startswith("fake") for line in done.stdout.splitlines())
    assert "pwned" in done.stdout


def test_an_export_comes_back_in_another_redis(
    settings: dict[str, Any], redis_server: RedisServer, tmp_path: Path
):
    file = tmp_path / "cache.swc"
    before = dumped(redis_server.url)
    done = switchyard("cache", "export", file, **settings)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"exported {len(before)} entries" in done.stdout
    assert list(tmp_path.iterdir()) == [file]
    redis_server.kill()
    redis_server.start()
    done = switchyard("cache", "import", file, **settings)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"imported {len(before)} entries" in done.stdout
    assert dumped(redis_server.url) == before


def test_a_site_with_another_key_imports_with_the_key_of_the_file(
    settings: dict[str, Any], redis_server: RedisServer, tmp_path: Path
):
    file, key_file = tmp_path / "cache.swc", tmp_path / "key"
    key_file.write_text(CACHE_KEY + "\n")
    before = dumped(redis_server.url)
    assert switchyard("cache", "export", file, **settings).returncode == 0
    redis_server.kill()
    redis_server.start()
    there = {**settings, "cache_key": OTHER_KEY}
    refused = switchyard("cache", "import", file, **there)
    assert refused.returncode == 1
    assert "another cache key" in refused.stderr
    assert dumped(redis_server.url) == {}
    done = switchyard("cache", "import", file, "--key-file", key_file, **there)
    assert done.returncode == 0, done.stderr
    after = dumped(redis_server.url)
    assert set(after) == set(before)
    assert all(after[key] != before[key] for key in after)
    with Gateway(admin_keys=KEY, cache_prefetch_seconds=60, **there) as gateway:
        gateway.eventually(
            lambda: gateway.metric("switchyard_compiler", what="shared_masks_loaded") > 0
        )
        assert gateway.metric("switchyard_compiler", what="shared_masks_refused") == 0


def test_a_damaged_file_changes_nothing(settings: dict[str, Any], tmp_path: Path):
    file = tmp_path / "cache.swc"
    assert switchyard("cache", "export", file, **settings).returncode == 0
    before = dumped(settings["redis_url"])
    for data in (file.read_bytes()[:-1], b"{}", b""):
        file.write_bytes(data)
        done = switchyard("cache", "import", file, **settings)
        assert (done.returncode, done.stdout) == (1, "")
        assert "Traceback" not in done.stderr
        assert dumped(settings["redis_url"]) == before


def test_what_another_key_sealed_is_left_out_and_told(settings: dict[str, Any], tmp_path: Path):
    done = switchyard("cache", "export", tmp_path / "f", **{**settings, "cache_key": OTHER_KEY})
    assert done.returncode == 1
    assert "were left out: not sealed with this cache key" in done.stderr
    assert "exported 0 entries" in done.stdout


@pytest.mark.parametrize("command", [["stats"], ["export", "FILE"], ["import", "FILE"]])
def test_a_redis_that_is_down_is_told_and_leaves_no_file(
    settings: dict[str, Any], redis_server: RedisServer, tmp_path: Path, command: list[str]
):
    file = tmp_path / "cache.swc"
    if command[0] == "import":
        assert switchyard("cache", "export", file, **settings).returncode == 0
    kept = list(tmp_path.iterdir())
    redis_server.kill()
    named = [str(file) if each == "FILE" else each for each in command]
    done = switchyard("cache", *named, **settings)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].startswith("switchyard: Redis failed (")
    assert list(tmp_path.iterdir()) == kept


#: what is wrong -> settings, arguments, what is said
USELESS: dict[str, tuple[dict[str, str], list[str], str]] = {
    "no Redis": ({"redis_url": ""}, ["stats"], "SWITCHYARD_REDIS_URL"),
    "no key": ({"cache_key": ""}, ["export", "f"], "SWITCHYARD_CACHE_KEY"),
    "no such file": ({}, ["import", "/no/such/file"], "/no/such/file cannot be read"),
    "no such folder": ({}, ["export", "/no/such/file"], "/no/such/file cannot be written"),
    "a file as a folder": ({}, ["export", "/etc/passwd/x"], "/etc/passwd/x cannot be written"),
    "a folder that takes no file": ({}, ["export", "/proc/x"], "/proc/x cannot be written"),
    "no such key": ({}, ["import", "f", "--key-file", "/no/key"], "/no/key cannot be read"),
    "an empty key": ({}, ["import", "f", "--key-file", "/dev/null"], "16 bytes or more, got 0"),
    "no file": ({}, ["import", "/dev/stdin"], "/dev/stdin must be a file"),
    "a key without an end": ({}, ["import", "f", "--key-file", "/dev/zero"], "is larger than"),
    "nothing": ({}, [], "stats"),
}


@pytest.mark.parametrize("case", USELESS.values(), ids=USELESS.keys())
def test_a_mistake_is_told(case: tuple[dict[str, str], list[str], str]):
    wrong, given, words = case
    usual = {"redis_url": "redis://127.0.0.1:1", "cache_key": CACHE_KEY}
    done = switchyard("cache", *given, **{**usual, **wrong})
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("letters", "status"), [(250, 0), (300, 2)])
def test_a_file_may_have_as_long_a_name_as_the_system_takes(
    settings: dict[str, Any], tmp_path: Path, letters: int, status: int
):
    done = switchyard("cache", "export", tmp_path / ("a" * letters), **settings)
    assert done.returncode == status, done.stderr
    assert len(done.stderr.splitlines()) == (1 if status else 0)
    assert len(list(tmp_path.iterdir())) == (0 if status else 1)
    assert "Traceback" not in done.stderr


def test_an_export_that_is_stopped_leaves_no_file(
    settings: dict[str, Any], redis_server: RedisServer, tmp_path: Path
):
    """The server stands still, so that the file is begun and not ended."""
    redis_server.pause()
    with subprocess.Popen(
        arguments("cache", "export", tmp_path / "f"), env=environment(**settings)
    ) as process:
        until = monotonic() + LONG
        while not list(tmp_path.iterdir()) and monotonic() < until:
            sleep(0.01)
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(signal.SIGTERM)
        redis_server.resume()
        assert process.wait(LONG) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_leaves_ends_a_command_quietly(settings: dict[str, Any]):
    with subprocess.Popen(
        arguments("cache", "stats"),
        env=environment(**settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(LONG) == 141


def test_the_report_is_json_that_nothing_of_a_key_is_in(pair: tuple[Gateway, Gateway]):
    text = json.dumps(pair[0].lines())
    assert KEY not in text
    assert CACHE_KEY not in text
