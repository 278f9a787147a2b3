"""Log lines are JSON in ASCII, whatever an event has."""

import io
import json
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any, NamedTuple

import pytest
import structlog

from app.observability.logs import make_logger


class Pair(NamedTuple):
    one: int
    two: int


@dataclass
class Point:
    x: int


class Word(StrEnum):
    ONE = "one"


def lines(value: Any) -> list[str]:
    out = io.StringIO()
    make_logger("info", out).info("request", value=value)
    return out.getvalue().splitlines()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": [1, 2.5, None, True]}, {"a": [1, 2.5, None, True]}),
        ("ä\n\u2028", "ä\n\u2028"),
        ("\ud800", "\ud800"),
        (1 << 70, 1 << 70),
        (Pair(1, 2), [1, 2]),
        (Word.ONE, "one"),
        ({1: 2}, {"1": 2}),
        (Point(1), "Point(x=1)"),
        (date(2026, 1, 2), "2026-01-02"),
        ({3}, "{3}"),
    ],
)
def test_a_line_has_any_value(value: Any, written: Any):
    (line,) = lines(value)
    assert line.isascii()
    assert json.loads(line)["value"] == written


def test_a_line_has_the_event_the_level_the_time_and_what_is_bound():
    with structlog.contextvars.bound_contextvars(request_id="r"):
        (line,) = lines(1)
    found = json.loads(line)
    assert (found["event"], found["level"], found["request_id"]) == ("request", "info", "r")
    assert found["timestamp"].endswith("Z")
    assert not any(" " in part for part in (line.split(",")))


def test_lines_below_the_level_are_not_written():
    out = io.StringIO()
    make_logger("warning", out).info("request")
    assert out.getvalue() == ""
