"""Operators' tools when Redis, or who stands in its place, answers in shapes of its own: what they
do ends well or with ``RedisUnusable``, and no exception of another kind.
"""

import io
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext

import pytest

from cache import RedisStore, RedisUnusable, dump, export_namespace, import_namespace
from cache.entries import Entry
from cache.replies import MOST_NUMBER
from cache.seal import Seal
from tests.cache.answering_server import answering_server, array, bulk
from tests.cache.stores import BOUNDS, SECRET

KEY = b"masks/5/aa/1"
SEALED = Seal(SECRET).wrap(b"ns:" + KEY, b"a value")
SECONDS = 20.0

#: what a Redis with one entry says
RIGHT: dict[bytes, bytes] = {
    b"PING": b"+PONG\r\n",
    b"SCAN": array(bulk(b"0"), array(bulk(b"ns:" + KEY))),
    b"MEMORY": b":100\r\n",
    b"TTL": b":50\r\n",
    b"GETRANGE": bulk(SEALED),
    b"ZSCORE": bulk(b"3"),
    b"ZCARD": b":1\r\n",
    b"ZREVRANGE": array(bulk(b"1"), bulk(b"3")),
    b"INFO": bulk(b"# Server\r\nredis_version:7.0.15\r\nused_memory:1000\r\n"),
    b"SET": b"+OK\r\n",
    b"SETBIT": b":0\r\n",
    b"EXPIRE": b":1\r\n",
    b"ZINCRBY": bulk(b"1"),
    b"ZREMRANGEBYRANK": b":0\r\n",
    b"ZADD": b":1\r\n",
}


def survey(store: RedisStore) -> object:
    """Bytes, time to live and uses of the one group."""
    found = store.namespace().survey(SECONDS)
    assert found.is_whole
    told = [f"{group.bytes} {group.most_ttl} {group.most_uses}" for group in found.groups]
    return " ".join(told) or "gone"


def exported(store: RedisStore) -> object:
    file = io.BytesIO()
    done = export_namespace(store, file, seconds=SECONDS)
    return done.entries, done.left_out


def imported(store: RedisStore) -> object:
    file = io.BytesIO()
    dump.write(file, [Entry(KEY, b"a value", 3)], Seal(SECRET))
    return import_namespace(store, io.BytesIO(file.getvalue())).entries


ACTS: dict[str, Callable[[RedisStore], object]] = {
    "survey": survey,
    "export": exported,
    "import": imported,
}


def done(act: str, answers: Mapping[bytes, bytes]) -> object:
    with answering_server(answers) as url:
        store = RedisStore(url, namespace="ns", key=SECRET, bounds=BOUNDS)
        try:
            return ACTS[act](store)
        finally:
            store.close()


def test_what_is_right_is_taken() -> None:
    assert done("survey", RIGHT) == "100 50 3"
    assert done("export", RIGHT) == (1, 0)
    assert done("import", RIGHT) == 1


SHAPES: dict[str, bytes] = {
    "text": b"+OK\r\n",
    "bytes": bulk(b"abc"),
    "no bytes": bulk(b""),
    "not UTF-8": bulk(b"\xff\xfe:\xff\r\n"),
    "nothing": b"$-1\r\n",
    "no array": b"*-1\r\n",
    "an empty array": array(),
    "a number": b":7\r\n",
    "a negative number": b":-5\r\n",
    "a number beyond all": b":" + b"9" * 4_300 + b"\r\n",
    "a number that is text": bulk(b"9" * 400),
    "no number": bulk(b"nan"),
    "two numbers": array(b":1\r\n", b":2\r\n"),
    "two texts": array(bulk(b"0"), bulk(b"1")),
    "nested": array(array(array(bulk(b"0"))), array(array())),
    "keys that are none": array(bulk(b"0"), array(b":1\r\n", b"$-1\r\n", array())),
    "a place that is none": array(bulk(b"-1"), array()),
    "a place that is a number": array(b":0\r\n", array()),
    "a place beyond all": array(bulk(b"9" * 21), array()),
    "three things": array(bulk(b"0"), array(), array()),
    "another type": b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
    "an error": b"-ERR no\r\n",
    "an error without words": b"-\r\n",
}


#: what is asked, by whom -> the shapes that are answers, and what comes of them; no other is one
ANSWERS: dict[tuple[str, bytes], dict[str, object]] = {
    ("survey", b"SCAN"): {},
    ("survey", b"MEMORY"): {"nothing": "gone", "no array": "gone", "a number": "7 50 3"},
    ("survey", b"TTL"): {"a number": "100 7 3"},
    ("survey", b"ZCARD"): {"a number": "100 50 3", "another type": "100 50 3"},
    ("survey", b"ZREVRANGE"): {
        "two texts": "100 50 1",
        "an empty array": "100 50 0",
        "another type": "100 50 0",
    },
    ("survey", b"INFO"): dict.fromkeys(
        ("an error", "an error without words", "another type"), "100 50 3"
    ),
    ("export", b"SCAN"): {},
    ("export", b"GETRANGE"): {
        "no bytes": (0, 0),
        **dict.fromkeys(
            ("text", "bytes", "not UTF-8", "no number", "a number that is text", "another type"),
            (0, 1),
        ),
    },
    ("export", b"ZSCORE"): dict.fromkeys(
        ("nothing", "no array", "no number", "a number that is text", "another type"), (1, 0)
    ),
    ("import", b"PING"): {},
    ("import", b"SET"): {"text": 1},
    ("import", b"ZADD"): {"a number": 1, "another type": 1},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("act", "command"), ANSWERS, ids=str)
def test_what_is_no_answer_is_unusable_and_nothing_else_is_raised(
    act: str, command: bytes, shape: str
) -> None:
    taken = ANSWERS[act, command]
    with nullcontext() if shape in taken else pytest.raises(RedisUnusable):
        assert done(act, {**RIGHT, command: SHAPES[shape]}) == taken.get(shape)


def test_sums_of_the_largest_numbers_can_be_shown() -> None:
    many = array(*(bulk(b"ns:%b%d" % (KEY, number)) for number in range(900)))
    largest = b":%d\r\n" % MOST_NUMBER
    told = {**RIGHT, b"SCAN": array(bulk(b"0"), many), b"MEMORY": largest, b"TTL": largest}
    assert done("survey", told) == f"{900 * MOST_NUMBER} {MOST_NUMBER} 3"
    with pytest.raises(RedisUnusable, match="MEMORY USAGE"):
        done("survey", {**told, b"MEMORY": b":%d\r\n" % (MOST_NUMBER + 1)})


# -- Sentinels ------------------------------------------------------------------------------------

PRIMARY = (b"name", b"ours", b"ip", b"127.0.0.1", b"port", b"1", b"flags", b"master")


def fields(**changed: bytes) -> bytes:
    """Of one primary as a Sentinel tells them."""
    pairs = dict(zip(PRIMARY[::2], PRIMARY[1::2], strict=True))
    pairs |= {name.encode(): value for name, value in changed.items()}
    return array(*(bulk(each) for pair in pairs.items() for each in pair))


def ask(*masters: bytes) -> str:
    """What comes of asking a primary that these Sentinels name, and nobody listens at."""
    with ExitStack() as stack:
        urls = [
            stack.enter_context(answering_server({**RIGHT, b"SENTINEL": each})) for each in masters
        ]
        hosts = ",".join(url.removeprefix("redis://").removesuffix("/0") for url in urls)
        address = f"redis+sentinel://{hosts}/ours"
        store = RedisStore(address, namespace="ns", key=SECRET, bounds=BOUNDS)
        try:
            with pytest.raises(RedisUnusable) as caught:
                survey(store)
        finally:
            store.close()
    return str(caught.value)


@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_a_sentinel_answers_nothing_else_is_raised(shape: str) -> None:
    assert "MasterNotFoundError" in ask(SHAPES[shape]) or "error" in shape or "type" in shape


NOBODY: dict[str, bytes] = {
    "another name": fields(name=b"theirs"),
    "no host": fields(ip=b""),
    "a host with a line end": fields(ip=b"a\n"),
    "port 0": fields(port=b"0"),
    "port 65536": fields(port=b"65536"),
    "a port of many digits": fields(port=b"9" * 4_300),
    "a port that is text": fields(port=b"http"),
    "a replica": fields(flags=b"slave"),
    "a primary that is down": fields(flags=b"master,s_down"),
    "a primary that all hold to be down": fields(flags=b"master,o_down"),
    "an odd number of words": array(bulk(b"name"), bulk(b"ours"), bulk(b"ip")),
    "a host that is a number": array(bulk(b"name"), bulk(b"ours"), bulk(b"ip"), b":1\r\n"),
}


@pytest.mark.parametrize("told", NOBODY.values(), ids=NOBODY)
def test_who_is_no_primary_is_not_connected_to(told: bytes) -> None:
    assert "MasterNotFoundError" in ask(array(told))


def test_ours_is_found_beside_others_and_behind_a_sentinel_that_tells_nothing() -> None:
    named = "(ConnectionError)"  # nobody listens there
    assert named in ask(array(NOBODY["no host"], fields(), b":1\r\n"))
    assert named in ask(SHAPES["a number"], array(fields()))
