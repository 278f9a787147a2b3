"""Usual events read without a JSON parser: never other values than a JSON parser reads."""

import json
from random import Random
from typing import Any

import orjson
import pytest

from adapters.text_path.sglang_events import read_events

META = {"id": "a", "finish_reason": None, "prompt_tokens": 7, "completion_tokens": 3}
EVENT = {"text": "Oslo", "output_ids": [1, 20, 300], "meta_info": META}


def line(event: Any, **options: Any) -> bytes:
    return b"data: " + json.dumps(event, **options).encode() + b"\n\n"


USUAL = {
    "spaces": line(EVENT),
    "no spaces": line(EVENT, separators=(",", ":")).replace(b"data: ", b"data:"),
    "cached tokens": line({**EVENT, "meta_info": {**META, "cached_tokens": 5}}),
    "no new ids": line({**EVENT, "output_ids": []}),
    "another order": line(dict(reversed([*EVENT.items()]))),
    "UTF-8": line({**EVENT, "text": "é 漢 😀 \u2028 \x7f"}, ensure_ascii=False),
    "escapes": line({**EVENT, "text": '"\\/\b\f\n\r\t é \u2028 \x01'}),
    "all values": line({**EVENT, "a": [None, True, False, -1.5, 0, 0.25, "", {}, [], {"b": [{}]}]}),
}
UNUSUAL = {
    "nothing": b"",
    "a comment": b": ping\n\n" + line(EVENT),
    "another field": b"event: x\n" + line(EVENT),
    "CR LF": line(EVENT).replace(b"\n", b"\r\n"),
    "no empty line": line(EVENT)[:-1],
    "the end": b"data: [DONE]\n\n",
    "an error": line({"error": {"message": "m"}, **EVENT}),
    "an error by an escape": line(EVENT).replace(b'"text"', b'"\\u0065rror"'),
    "a finish reason": line({**EVENT, "meta_info": {**META, "finish_reason": {"type": "stop"}}}),
    "no finish reason": line({**EVENT, "meta_info": {"prompt_tokens": 1, "completion_tokens": 1}}),
    "no ids": line({"text": "", "meta_info": META}),
    "no meta_info": line({"output_ids": [1], **META}),
    "ids twice": line(EVENT).replace(b'"text": "Oslo"', b'"output_ids": [1]'),
    "a count twice": line(EVENT).replace(b'"id": "a"', b'"prompt_tokens": 7'),
    "a negative id": line({**EVENT, "output_ids": [-1]}),
    "an id with a fraction": line({**EVENT, "output_ids": [1.0]}),
    "an id of ten digits": line({**EVENT, "output_ids": [1_000_000_000]}),
    "a leading zero": line(EVENT).replace(b"300", b"0300"),
    "an exponent": line(EVENT).replace(b"300", b"3e2"),
    "a true count": line({**EVENT, "meta_info": {**META, "prompt_tokens": True}}),
    "a list in the list": line({**EVENT, "output_ids": [[1]]}),
    "half of a pair": line(EVENT).replace(b"Oslo", b"\\ud83d"),
    "an unknown escape": line(EVENT).replace(b"Oslo", b"\\x41"),
    "a control character": line(EVENT).replace(b"Oslo", b"O\tslo"),
    "invalid UTF-8": line(EVENT).replace(b"Oslo", b"\xc3("),
    "an encoded surrogate": line(EVENT).replace(b"Oslo", b"\xed\xa0\x80"),
    "an overlong character": line(EVENT).replace(b"Oslo", b"\xc0\xaf"),
    "beyond Unicode": line(EVENT).replace(b"Oslo", b"\xf4\x90\x80\x80"),
    "a comma too many": line(EVENT).replace(b"300]", b"300,]"),
    "a comma too few": line(EVENT).replace(b"20, 300", b"20 300"),
    "a bracket too many": line(EVENT).replace(b"}\n", b"}}\n"),
    "a bracket too few": line(EVENT).replace(b"}}", b"}"),
    "a word": line(EVENT).replace(b'"a"', b"nul"),
    "a number that is none": line(EVENT).replace(b'"a"', b"1."),
    "a number out of range": line(EVENT).replace(b'"a"', b"1" * 400),
    "a deep value": line({**EVENT, "a": json.loads("[" * 20 + "]" * 20)}),
}


def read_by_json(data: bytes) -> list[tuple[list[int], int, int, int]]:
    """Return the events of lines of this form. Raises ValueError."""
    found = []
    for part in data.split(b"\n\n")[:-1]:
        event = orjson.loads(part.removeprefix(b"data:"))
        meta = event["meta_info"]
        assert "error" not in event and meta["finish_reason"] is None
        counts = meta["prompt_tokens"], meta["completion_tokens"], meta.get("cached_tokens", 0)
        found.append((event["output_ids"], *counts))
    return found


@pytest.mark.parametrize("what", USUAL)
def test_usual_events(what: str) -> None:
    data = USUAL[what]
    assert read_events(data) == (read_by_json(data), len(data))


@pytest.mark.parametrize("what", UNUSUAL)
def test_unusual_events_are_left(what: str) -> None:
    assert read_events(UNUSUAL[what]) == ([], 0)


@pytest.mark.parametrize("what", UNUSUAL)
def test_events_before_an_unusual_one_are_read(what: str) -> None:
    usual = b"".join(USUAL.values())
    found, used = read_events(usual + UNUSUAL[what])
    assert used == len(usual) and found == read_by_json(usual)


def test_an_event_cut_anywhere_is_left() -> None:
    data = USUAL["all values"]
    for end in range(len(data)):
        assert read_events(data[:end]) == ([], 0)


def test_whatever_is_read_is_what_a_json_parser_reads() -> None:
    """Usual events with random bytes changed, dropped, repeated or swapped."""
    chance, texts = Random("events"), [*USUAL.values()]
    pieces = [b'"', b"\\", b"}", b"]", b",", b":", b"0", b"-", b".", b"e", b"\xc3", b"\xed", b"\n"]
    pieces += [b"null", b"\\u00e9", b"\\ud800", b'"error":', b'"output_ids":[1]', b" ", b"\t", b"1"]
    taken = 0
    for _ in range(40_000):
        data = bytearray(chance.choice(texts))
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(data))
            end = at + chance.choice((0, 1, 1, 2, 5))
            data[at:end] = chance.choice((b"", data[at:end] * 2, chance.choice(pieces)))
        found, used = read_events(bytes(data))
        if found:
            taken += 1
            assert found == read_by_json(bytes(data[:used]))
    assert taken > 1_000
