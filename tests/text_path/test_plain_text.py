"""One path at a time: what opens it, what it moves, and what it leaves."""

import math
from bisect import bisect_left
from dataclasses import dataclass
from random import Random

import pytest

from adapters.formats import (
    ContentDelta,
    OutputSpec,
    ReasoningDelta,
    ToolArguments,
    for_own_engine,
)
from adapters.text_path import TextPath, TokenStarts
from tests.formats.cases import AUTO, FREE, quiet
from tests.formats.harness import compiled_as, encode

from .test_faults import event

STOPS = (256,)


@dataclass
class Deadline:
    at: float = 0.0


class Path:
    """A path in free text, behind its first token."""

    def __init__(self) -> None:
        _, grammar = compiled_as("hermes", quiet(FREE), for_own_engine)
        self.parser = grammar.parser()
        self.parser.feed(ord("x"))
        self.counted: list[tuple[int, ...]] = []
        self.written: list[bytes] = []
        self.starts = TokenStarts()
        self.path = TextPath(self.parser, self.starts, lambda *counts: self.counted.append(counts))
        self.path.enter(1, 100, 0, STOPS)
        self.seen = 1

    def open(self, *, holds_newlines: bool = False) -> "Path":
        self.path.open(str.encode, self.written.append, holds_newlines=holds_newlines)
        return self

    def push(self, text: str, made: int = 0) -> bool:
        """Send a text as the next event; return whether the path took it."""
        ids = [*text.encode()]
        data = event(ids, made or self.seen + len(ids))
        used = self.path.push(data)
        assert used in (0, len(data))
        if used:
            self.seen += len(ids)
        return used > 0


def test_a_text_is_written_and_counted() -> None:
    made = Path().open()
    assert made.push("ab") and made.push("c")
    assert made.written == [b"ab", b"c"]
    assert made.counted == [(2, 3, 0), (1, 3, 0)]
    assert made.path.close() == 3 and made.starts.size == 3
    assert made.path.leave() == (4, 97, 3, 0)


def test_a_closed_path_takes_nothing() -> None:
    made = Path()
    assert not made.push("a")
    made.open()
    assert made.push("a") and made.path.close() == 1
    assert made.path.close() == 0 and not made.push("a")
    assert made.written == [b"a"]


def test_a_text_that_is_held_back_is_left() -> None:
    made = Path().open(holds_newlines=True)
    assert made.push("a\nb") and not made.push("a\n") and not made.push("\n")
    made.path.close()
    assert made.open().push("a\n")


def test_what_is_left_changes_nothing() -> None:
    made = Path().open()
    assert not made.push("<tool_call>") and not made.push("")
    assert made.path.push(event([0xC3], 2)) == 0
    assert not made.push("a", made=9) and not made.push("a", made=1)
    assert made.path.leave() == (1, 100, 0, 0)
    assert made.written == made.counted == [] and made.path.close() == 0


def test_a_deadline_moves_with_each_text() -> None:
    made, deadline = Path().open(), Deadline()
    made.path.keep_deadline(deadline, lambda: 5.0, 60.0)
    assert deadline.at == 0.0 and made.push("a") and deadline.at == 65.0
    made.path.keep_deadline(deadline, lambda: 5.0, math.inf)
    deadline.at = 0.0
    assert made.push("a") and deadline.at == 0.0


def test_a_client_that_pauses_in_a_write_leaves_no_deadline() -> None:
    """A pause takes the deadline back; the text that caused it must not set it again."""
    made, deadline = Path(), Deadline()

    def pause(data: bytes) -> None:
        made.path.keep_deadline(deadline, lambda: 6.0, math.inf)
        deadline.at = math.inf

    made.path.open(str.encode, pause)
    made.path.keep_deadline(deadline, lambda: 5.0, 60.0)
    assert made.push("a") and deadline.at == math.inf
    assert made.push("b") and deadline.at == math.inf


def test_what_the_client_raises_comes_out() -> None:
    made = Path()

    def write(data: bytes) -> None:
        raise OSError("gone")

    made.path.open(str.encode, write)
    with pytest.raises(OSError, match="gone"):
        made.push("a")


def test_starts_of_tokens() -> None:
    chance, starts, known, size = Random(1), TokenStarts(), [], 0
    for _ in range(300):
        length = chance.choice((0, 1, 1, 2, 7))
        starts.take([0], [b"x" * length])
        known.append(size)
        size += length
    assert starts.size == size
    for _ in range(300):
        begin, end = chance.randrange(size + 2), chance.choice((None, chance.randrange(size + 2)))
        count = bisect_left(known, size if end is None else end) - bisect_left(known, begin)
        assert starts.between(begin, end) == max(0, count)


CALL = '<tool_call>\n{"name": "f", "arguments": {"city": "O'
#: the begin of an answer in the format of Hermes, and the delta that text adds to there
ANSWERS = [
    ("content", quiet(AUTO), "Hello", ContentDelta("")),
    ("a call's arguments", quiet(AUTO), CALL, ToolArguments(0, "")),
    ("a call's begin", quiet(AUTO), '<tool_call>\n{"na', None),
    ("behind a call", quiet(AUTO), CALL + '"}}\n</tool_call>', None),
    ("what may be a mark", quiet(AUTO), "Hello <tool", None),
    ("half of a character", quiet(AUTO), "café", None),
    ("a thought", OutputSpec(), "<think>\nHm", ReasoningDelta("")),
    ("a thought's line feed", OutputSpec(), "<think>\nHm\n", None),
]


@pytest.mark.parametrize(("what", "output", "text", "expected"), ANSWERS)
def test_where_text_may_pass(what: str, output: OutputSpec, text: str, expected: object) -> None:
    plan, grammar = compiled_as("hermes", output, for_own_engine)
    parser, reader = grammar.parser(), plan.reader()
    ids = encode("hermes", text)
    for token in ids[:-1] if what == "half of a character" else ids:
        reader.feed(parser.feed(token))
    node = parser.text_node()
    assert (None if node is None else reader.next_text(node)) == expected
