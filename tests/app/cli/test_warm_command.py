"""``switchyard warm``: what files may hold, what is left in a real Redis, and how it ends."""

import json
import os
import subprocess
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from app.cli import warmup_files
from app.cli.environment import Unusable
from app.cli.terminal import with_progress
from app.cli.warmup_files import WarmupEntry, read_entries
from app.conversation.tokenizer import HuggingFaceTokenizer
from app.errors import ApiError
from app.protocol.warmup_request import GrammarRequest
from tests.app.cli.command import PATIENCE, arguments, environment, numbers, switchyard
from tests.app.examples import ALARM, LIGHT, TOOLS, body, json_schema, tool
from tests.app.gateway import Gateway
from tests.app.operators import BACK, MAIL
from tests.app.small_tokenizer import TEMPLATE, folder
from tests.redis_server import RedisServer

pytestmark = pytest.mark.program

KEY = "a key of sixteen bytes or more"
ALARMS = json.dumps(ALARM)


# -- files ----------------------------------------------------------------------------------------


def specs_of(path: Path, text: str) -> list[WarmupEntry]:
    path.write_text(text)
    return read_entries(path)


def outline(spec: WarmupEntry) -> tuple[int, str, str]:
    """Line, pointer, and what kind of request stands there."""
    request = spec.request
    if isinstance(request, ApiError):
        return spec.line, spec.pointer, f"refused: {request.param}"
    kinds = [name for name in ("tools", "response_format", "tool_choice") if getattr(request, name)]
    return spec.line, spec.pointer, " ".join(kinds) or "nothing"


PART = {"tools": TOOLS, "response_format": json_schema(ALARM)}
#: what a file holds -> its text, and the requests in it
FILES: dict[str, tuple[str, list[tuple[int, str, str]]]] = {
    "a chat completion": (
        json.dumps(body(**PART, tool_choice="auto"), indent=2),
        [(1, "", "tools response_format tool_choice")],
    ),
    "one without tools": (json.dumps(body()), [(1, "", "nothing")]),
    "parts of one": (json.dumps(PART), [(1, "", "tools response_format")]),
    "tools": (json.dumps(TOOLS, indent=2), [(1, "", "tools")]),
    "a schema": (f"\n\n{ALARMS}\n", [(3, "", "response_format")]),
    "a schema of a tool": (
        json.dumps({"type": "object", "properties": {"tools": {}}}),
        [(1, "", "response_format")],
    ),
    "a warm-up": (
        json.dumps({"requests": [PART, ALARM]}),
        [(1, "/requests/0", "tools response_format"), (1, "/requests/1", "response_format")],
    ),
    "many in one array": (
        json.dumps([PART, TOOLS, [ALARM, TOOLS]]),
        [
            (1, "/0", "tools response_format"),
            (1, "/1", "tools"),
            (1, "/2/0", "response_format"),
            (1, "/2/1", "tools"),
        ],
    ),
    "lines": (
        f"{json.dumps(PART)}\n\n{json.dumps(TOOLS)}\r\n{ALARMS}",
        [(1, "", "tools response_format"), (3, "", "tools"), (4, "", "response_format")],
    ),
    "lines of which some are wrong": (
        f'{ALARMS}\n{{"a"\n5\n{{"tools": 5}}\n{json.dumps([tool("a b", LIGHT)])}',
        [
            (1, "", "response_format"),
            (2, "", "refused: None"),
            (3, "", "refused: None"),
            (4, "", "refused: tools"),
            (5, "", "refused: tools[0].function.name"),
        ],
    ),
    "lines of which the first is wrong": (
        f'{{"a"\n5\n{ALARMS}\n',
        [(1, "", "refused: None"), (2, "", "refused: None"), (3, "", "response_format")],
    ),
    "JSON that is broken, with lines that are not": (
        '{\n  "a": [\n    1,\n    {}\n  ]\n',
        [(1, "", "refused: None")],
    ),
    "an array with a line that is JSON": ('[\n{"type": "null"}\n]', [(1, "/0", "response_format")]),
    "JSON that is broken": ('{\n"a": 1,\n}', [(1, "", "refused: None")]),
    "a number that is none": ('{"maximum": 1e999}', [(1, "", "refused: None")]),
    "nothing": ("\n", []),
    "nothing in an array": ("[]", []),
}


@pytest.mark.parametrize("case", FILES.values(), ids=FILES.keys())
def test_what_a_file_may_hold(tmp_path: Path, case: tuple[str, list[tuple[int, str, str]]]):
    text, expected = case
    assert [outline(spec) for spec in specs_of(tmp_path / "file", text)] == expected


def test_all_fields_of_a_chat_that_make_its_grammar_are_read(tmp_path: Path):
    chat = {"messages": [], "tools": [tool("f", {})], "tool_choice": "required", "n": 2}
    chat |= {"parallel_tool_calls": True, "json_layout": "compact"}
    (entry,) = specs_of(tmp_path / "chats", json.dumps(chat))
    assert isinstance(entry.request, GrammarRequest)
    read = entry.request.model_dump(exclude_none=True)
    assert read.keys() == chat.keys() - {"messages", "n"}


def test_a_schema_is_compiled_as_a_response_format_that_is_not_strict(tmp_path: Path):
    (spec,) = specs_of(tmp_path / "file", ALARMS)
    assert isinstance(spec.request, GrammarRequest)
    shown = spec.request.model_dump(by_alias=True, exclude_none=True)
    assert shown == {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "schema", "schema": ALARM},
        }
    }


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(warmup_files, "MAX_FILE_BYTES", len(ALARMS))
    assert len(specs_of(tmp_path / "file", ALARMS)) == 1
    with pytest.raises(Unusable, match=f"{len(ALARMS) + 1:,} bytes, and at most"):
        specs_of(tmp_path / "file", ALARMS + " ")


# -- the command ----------------------------------------------------------------------------------


@pytest.fixture
def settings(redis_server: RedisServer) -> dict[str, Any]:
    return {
        "redis_url": redis_server.url,
        "cache_key": KEY,
        "cache_prefetch_seconds": 60,
    }


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.jsonl"
    lines = [{"tools": [tool("send", MAIL), tool("b", LIGHT)]}, ALARM, {"tools": [tool("x", BACK)]}]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def keys(server: RedisServer) -> Iterator[bytes]:
    with Redis.from_url(server.url) as client:
        yield from client.scan_iter(b"switchyard:masks/*")


def test_what_it_compiled_a_gateway_finds(
    settings: dict[str, Any], file: Path, redis_server: RedisServer
):
    done = switchyard("warm", file, **settings)
    assert done.returncode == 0, done.stderr
    found = numbers(done.stdout)
    assert [found[name] for name in ("compiled", "refused", "relaxed", "grammars")] == [
        "3",
        "0",
        "1",
        "8",
    ]
    assert int(found["masks"].replace(",", "")) > 0
    assert int(found["artifacts published"]) >= len(list(keys(redis_server))) > 0
    assert "warming: 3 of 3" in done.stderr
    with Gateway(**settings) as gateway:
        sent = body(tools=[tool("send", MAIL), tool("b", LIGHT)], max_completion_tokens=1)
        assert gateway.post(sent).status_code == 200
        loaded = "shared_masks_loaded"
        gateway.eventually(lambda: gateway.metric("switchyard_compiler", what=loaded) > 0)
        assert gateway.metric("switchyard_compiler", what="shared_masks_refused") == 0


def test_of_a_model_only_the_tokenizer_is_needed(
    settings: dict[str, Any], file: Path, tmp_path: Path, redis_server: RedisServer
):
    model = folder(tmp_path / "model", TEMPLATE)
    done = switchyard("warm", file, model=model, **settings)
    assert done.returncode == 0, done.stderr
    assert numbers(done.stdout)["compiled"] == "3"
    vocabulary = HuggingFaceTokenizer(model).vocabulary.fingerprint
    assert all(vocabulary.encode() in key for key in keys(redis_server))
    assert list(keys(redis_server))


def test_what_is_refused_is_listed_by_its_place_and_the_rest_compiled(
    settings: dict[str, Any], file: Path
):
    strict = {"tools": [tool("ok", LIGHT), tool("x", BACK, strict=True)]}
    file.write_text("\n".join([ALARMS, json.dumps(strict), "{", json.dumps([ALARM, strict])]))
    done = switchyard("warm", file, strict_profile="extended", **settings)
    assert done.returncode == 1
    found = numbers(done.stdout)
    assert (found["compiled"], found["refused"]) == ("2", "3")
    place = "tools[1].function.parameters"
    listed = [line.split(maxsplit=2) for line in done.stdout.splitlines() if str(file) in line]
    assert [(line[0], line[1]) for line in listed] == [
        (f"{file}:2", place),
        (f"{file}:3", "-"),
        (f"{file}:4#/1", place),
    ]
    assert "at /properties/a/pattern: " in listed[0][2]


def test_a_redis_that_is_down_is_told_and_everything_compiled(
    settings: dict[str, Any], file: Path, redis_server: RedisServer
):
    redis_server.kill()
    url = redis_server.url.replace("127.0.0.1", ":hidden@127.0.0.1")
    done = switchyard("warm", "--wait", "1", file, **{**settings, "redis_url": url})
    assert done.returncode == 1
    found = numbers(done.stdout)
    assert (found["compiled"], found["artifacts published"]) == ("3", "0")
    assert "switchyard: Redis did not take everything in time" in done.stderr
    assert "hidden" not in done.stderr + done.stdout


def test_a_redis_without_room_is_told(
    settings: dict[str, Any], file: Path, redis_server: RedisServer
):
    with Redis.from_url(redis_server.url) as client:
        client.config_set("maxmemory", 1)
    done = switchyard("warm", file, **settings)
    assert done.returncode == 1
    assert "artifacts could not be published" in done.stderr


def test_it_does_not_end_before_redis_has_all(
    settings: dict[str, Any], file: Path, redis_server: RedisServer
):
    """The server stands still until the last grammar was compiled, and takes all after that."""
    redis_server.pause()
    process = subprocess.Popen(
        arguments("warm", "--wait", PATIENCE, file),
        env=environment(**settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "3 of 3" in line:
            break
    redis_server.resume()
    process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, 1)  # 1: what was being written as the server stood still
    assert list(keys(redis_server))


#: what is wrong -> settings, arguments, what is said
USELESS: dict[str, tuple[dict[str, str], list[str], str]] = {
    "no store": ({"redis_url": ""}, ["FILE"], "SWITCHYARD_REDIS_URL"),
    "no key": ({"cache_key": ""}, ["FILE"], "SWITCHYARD_CACHE_KEY"),
    "a short key": ({"cache_key": "hidden"}, ["FILE"], "16 bytes or more, got 6"),
    "no URL": ({"redis_url": "redis://:hid/den@host:x"}, ["FILE"], "SWITCHYARD_REDIS_URL"),
    "another server": ({"redis_url": "http://:hidden@host"}, ["FILE"], "SWITCHYARD_REDIS_URL"),
    "no such file": ({}, ["FILE", "/no/such/file"], "/no/such/file cannot be read"),
    "no such tokenizer": ({"tokenizer": "/no/such/folder"}, ["FILE"], "SWITCHYARD_TOKENIZER"),
    "a setting": ({"port": "x"}, ["FILE"], "SWITCHYARD_PORT"),
    "no file": ({}, [], "FILE"),
    "an option": ({}, ["--no-such-option", "FILE"], "--no-such-option"),
}


@pytest.mark.parametrize("case", USELESS.values(), ids=USELESS.keys())
def test_a_mistake_is_told_before_anything_is_done(
    file: Path, case: tuple[dict[str, str], list[str], str]
):
    wrong, given, words = case
    usual = {"redis_url": "redis://127.0.0.1:1", "cache_key": KEY}
    named = [str(file) if each == "FILE" else each for each in given]
    done = switchyard("warm", *named, **{**usual, **wrong})
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert "hid" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_terminal_shows_a_bar():
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    with os.fdopen(theirs, "w") as terminal:
        assert list(with_progress([1, 2, 3], "warming", terminal)) == [1, 2, 3]
    shown = b""
    with suppress(OSError):  # a terminal raises this when its writer has closed it
        while more := os.read(ours, 10_000):
            shown += more
    os.close(ours)
    assert b"warming: 100%" in shown
    assert b"3/3" in shown


@pytest.mark.parametrize(("count", "lines"), [(0, 0), (1, 1), (10, 10), (11, 6), (1_000, 10)])
def test_elsewhere_there_are_lines_and_few(tmp_path: Path, count: int, lines: int):
    with (tmp_path / "out").open("w+") as out:
        assert len(list(with_progress(range(count), "warming", out))) == count
        out.seek(0)
        told = out.read().splitlines()
    assert len(told) == lines
    assert told[-1:] == ([f"warming: {count:,} of {count:,}"] if count else [])
