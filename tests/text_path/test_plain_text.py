"""One path at a time: what opens it, what it moves, and what it leaves."""

import json
import time
from bisect import bisect_left
from random import Random
from unittest.mock import Mock

import pytest

from adapters.formats import (
    ContentDelta,
    OutputSpec,
    ReasoningDelta,
    ToolArguments,
    ToolInput,
    for_own_engine,
)
from adapters.text_path import ChunkedBody, TextEvent, TextPath, TokenCounts, TokenStarts
from app.writers.events import quoted
from tests.formats.cases import AUTO, FREE, quiet
from tests.formats.harness import compiled_as, encode

from .streams import OUTPUTS
from .test_faults import event

STOPS = (256,)


class Path:
    """A path in free text, behind its first token."""

    def __init__(self) -> None:
        _, grammar = compiled_as("hermes", quiet(FREE), for_own_engine)
        self.parser = grammar.parser()
        self.parser.feed(ord("x"))
        self.counts = TokenCounts()
        self.written: list[bytes] = []
        self.starts = TokenStarts()
        self.path = TextPath(self.parser, self.starts, self.counts)
        self.path.enter(1, 100, 0, STOPS)
        self.seen = 1

    @property
    def counted(self) -> tuple[int, int, int]:
        return self.counts.completion, self.counts.prompt, self.counts.cached

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
    assert made.counted == (3, 3, 0)
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
    assert made.written == [] and made.counted == (0, 0, 0) and made.path.close() == 0


def test_what_is_held_back_is_counted_and_not_written() -> None:
    made = Path().open()
    assert made.push("ab")
    first = made.path.last_at
    assert made.push("<tool") and made.push("_")
    assert made.written == [b"ab"] and made.path.last_at > first
    assert made.counted == (8, 3, 0)
    assert not made.push("!"), "the text before it belongs to the same event"
    assert made.path.close() == 2 and made.starts.size == 8


def test_a_path_for_marks_takes_nothing_else() -> None:
    made = Path()
    made.path.open_for_marks()
    assert not made.path.is_open
    made.parser.feed(ord("<"))
    made.path.open_for_marks()
    assert made.path.is_open and made.push("tool") and not made.push("!")
    assert made.written == [] and made.path.close() == 0 and made.starts.size == 4


def test_the_time_of_the_last_text() -> None:
    made = Path().open()
    before = time.perf_counter()
    assert made.path.last_at < 0 and made.counts.first_at is None
    assert made.push("a")
    first = made.path.last_at
    assert made.counts.first_at == made.counts.last_at == first
    assert made.push("b") and before <= first <= made.path.last_at <= time.perf_counter()
    assert (made.counts.first_at, made.counts.last_at) == (first, made.path.last_at)


TEXTS = [
    "a",
    'a"',
    "\\",
    "\n\x00\x1f\x7f",
    "é",
    "漢字",
    "😀",
    *"\x80\x85\xa0’\u2028\u2029",
    "a" * 90,
]


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
@pytest.mark.parametrize("head", [b"x" * size for size in (0, 6, 7, 246, 247, 5000)])
def test_the_chunk_of_a_text(text: str, head: bytes) -> None:
    """Sizes of one digit and more; texts that JSON has as they are, and others."""
    made, transport = Path(), Mock(is_closing=Mock(return_value=False))
    encode = TextEvent((head + b'["', b'","', b'"]'), quoted)
    body = ChunkedBody(transport)
    body.source = made
    made.path.open(encode, body)
    assert made.push(text)
    event = b"%s[%s,%s]" % (head, quoted(text), quoted(text))
    assert encode(text) == event and json.loads(event[len(head) :]) == [text, text]
    transport.write.assert_called_once_with(b"%x\r\n%s\r\n" % (len(event), event))
    assert body.has_written


def test_a_body_that_takes_no_more() -> None:
    made, transport = Path(), Mock(is_closing=Mock(return_value=True))
    body = ChunkedBody(transport)
    made.path.open(TextEvent((b'"', b'"'), quoted), body)
    assert made.push("a") and not transport.is_closing.called
    body.source = made
    assert made.push("b") and transport.is_closing.called
    assert not transport.write.called and not body.has_written


def test_a_path_that_is_closed_in_a_write() -> None:
    made, transport = Path(), Mock(is_closing=Mock(return_value=False))
    transport.write.side_effect = lambda data: made.path.close()
    body = ChunkedBody(transport)
    body.source = made
    made.path.open(TextEvent((b'"', b'"'), quoted), body)
    assert made.push("a") and not made.push("b")
    assert transport.write.call_count == 1


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


ELEMENT = "<tool_call>\n<function=f>\n<parameter=city>\nO"
INPUT = '<tool_call>\n{"name": "f", "arguments": {"input": "O'
#: format, output, begin of an answer; more text, and what it adds to which delta
TRANSLATED = [
    ("hermes", quiet(AUTO), CALL, '\\n"', '\\n"', ToolArguments(0, "")),
    ("qwen_coder", quiet(AUTO), ELEMENT, '\n"', '\\n\\"', ToolArguments(0, "")),
    ("hermes", quiet(OUTPUTS["a custom tool"]), INPUT, "\\n", "\n", ToolInput(0, "")),
]


@pytest.mark.parametrize(("name", "output", "begin", "text", "shown", "delta"), TRANSLATED)
def test_text_that_passes_translated(
    name: str, output: OutputSpec, begin: str, text: str, shown: str, delta: object
) -> None:
    plan, grammar = compiled_as(name, output, for_own_engine)
    parser, reader = grammar.parser(), plan.reader()
    reader.feed(parser.feed_all(encode(name, begin)))
    node = parser.text_node()
    assert node is not None and reader.next_text(node) == delta
    assert shown == (text if reader.translate is None else reader.translate(text))
