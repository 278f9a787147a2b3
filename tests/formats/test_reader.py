"""Deltas add up to the same message for any chunking, and truncation loses nothing."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.formats import (
    ContentDelta,
    FormatPlan,
    Reader,
    ToolArguments,
    ToolStart,
    get_format,
)
from adapters.formats.parts import CONTENT, VALUE, Kind
from adapters.formats.reading.reader import TagWhitespace

from .cases import AUTO, FREE, REQUIRED, SPECIALS, Said, quiet


class Event(NamedTuple):
    """Like the engine's, so that this file needs no built engine."""

    kind: str
    node: str
    bytes: bytes


def node(plan: FormatPlan, kind: Kind, tool: str = "") -> str:
    """The first node of the spec with this role."""
    return next(p for p, role in plan.roles.items() if (role.kind, role.tool) == (kind, tool))


def body(plan: FormatPlan, tag: str, kind: Kind) -> str:
    """The first node with this role inside of ``tag``."""
    return next(p for p, role in plan.roles.items() if role.kind is kind and p.startswith(tag))


# -- random answers: segments, their events, and what they mean by the letter of reader.Layout ----

Segment = tuple[str, str]
texts = st.text(alphabet=st.sampled_from("ab \n;é漢😀\t"), max_size=8)
hermes_answers = st.tuples(
    st.none() | texts,
    st.lists(
        st.tuples(st.just("content"), texts) | st.tuples(st.sampled_from(["f", "g"]), texts),
        max_size=5,
    ),
)
HERMES = get_format("hermes").plan(AUTO, SPECIALS["hermes"])
BETWEEN = " \n"


def events_of(thought: str | None, segments: Iterable[Segment]) -> list[Event]:
    out = []
    if thought is not None:
        tag = node(HERMES, Kind.THOUGHT)
        inside = body(HERMES, tag, Kind.REASONING)
        out += [
            Event("open", tag, b"<think>"),
            Event("text", inside, thought.encode()),
            Event("close", tag, b"</think>"),
        ]
    for name, text in segments:
        if name == "content":
            out.append(Event("text", node(HERMES, Kind.CONTENT), text.encode()))
            continue
        tag = node(HERMES, Kind.CALL, name)
        arguments = body(HERMES, tag, Kind.ARGUMENTS)
        out += [
            Event("open", tag, b"<tool_call>..."),
            Event("text", arguments, text.encode()),
            Event("close", tag, b"}\n</tool_call>"),
        ]
    return out


def meaning(thought: str | None, segments: list[Segment]) -> Said:
    said = Said(reasoning=(thought or "").removeprefix("\n").removesuffix("\n"))
    gaps: list[str] = [""]  # the content before, between and behind the calls
    for name, text in segments:
        if name == "content":
            gaps[-1] += text
        else:
            said.calls.append((name, text))
            gaps.append("")
    if thought is not None:
        gaps[0] = gaps[0].removeprefix("\n").removeprefix("\n")
    behind = [gap if gap.strip(BETWEEN) else "" for gap in gaps[1:]]
    said.content = "".join([gaps[0], *behind])
    return said


def read(reader: Reader, feeds: Iterable[Iterable[Event]]) -> Said:
    said = Said()
    for events in feeds:
        said.add(reader.feed(events))
    return said.add(reader.finish())


def chopped(events: list[Event], cut: Callable[[int], int]) -> list[Event]:
    """The same events with every text in pieces; ``cut`` picks a size from 1 to its argument."""
    out = []
    for event in events:
        data = event.bytes
        while event.kind == "text" and len(data) > 1:
            size = cut(len(data))
            out.append(event._replace(bytes=data[:size]))
            data = data[size:]
        out.append(event._replace(bytes=data))
    return out


@given(hermes_answers, st.data())
def test_every_chunking_gives_the_message_that_the_whole_answer_gives(
    answer: tuple[str | None, list[Segment]], data: st.DataObject
) -> None:
    thought, segments = answer
    whole = events_of(thought, segments)
    pieces = chopped(whole, lambda size: data.draw(st.integers(1, size)))
    feeds = []
    while pieces:
        size = data.draw(st.integers(1, len(pieces)))
        feeds.append(pieces[:size])
        pieces = pieces[size:]
    expected = meaning(thought, segments)
    assert read(HERMES.reader(), [whole]) == expected
    assert read(HERMES.reader(), feeds) == expected


@given(hermes_answers, st.data())
def test_a_cut_off_answer_is_a_beginning_of_the_whole_message(
    answer: tuple[str | None, list[Segment]], data: st.DataObject
) -> None:
    """Up to the last line feed of reasoning, which may be its mark, and a broken character."""
    whole = events_of(*answer)
    pieces = chopped(whole, lambda size: 1)
    cut = data.draw(st.integers(0, len(pieces)))
    said = read(HERMES.reader(), [pieces[:cut]])
    for broken in ("content", "reasoning"):
        setattr(said, broken, getattr(said, broken).removesuffix("�"))
    said.reasoning = said.reasoning.removesuffix("\n")
    if said.calls and said.calls[-1][1].endswith("�"):
        said.calls[-1] = (said.calls[-1][0], said.calls[-1][1][:-1])
    assert said.starts(read(HERMES.reader(), [whole]))


# -- single rules ---------------------------------------------------------------------------------


def test_half_a_character_waits_and_becomes_a_replacement_only_at_the_end() -> None:
    plan = get_format("hermes").plan(FREE, SPECIALS["hermes"])
    content = node(plan, Kind.CONTENT)
    euro = "€".encode()
    reader = plan.reader()
    assert reader.feed([Event("text", content, b"a" + euro[:2])])[0].text == "a"
    assert reader.feed([Event("text", content, euro[2:])])[0].text == "€"
    assert reader.feed([Event("text", content, euro[:1])]) == []
    assert reader.finish()[0].text == "�"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("", ""),
        (" \n", ""),
        ("\n", ""),
        ("\nDone.", "\nDone."),
        (" x \n", " x \n"),
    ],
)
def test_only_white_space_behind_a_call_is_no_content(written: str, shown: str) -> None:
    said = read(HERMES.reader(), [events_of(None, [("f", "{}"), ("content", written)])])
    assert said.content == shown


@pytest.mark.parametrize(
    ("format", "gap", "shown"),
    [
        ("llama3_json", "; ", ""),
        ("llama3_json", ";x", ";x"),
        ("llama3_function", "\n", ""),
        ("llama3_function", ";", ";"),
        ("plain", "\n", ""),
    ],
)
def test_what_may_stand_between_calls_is_the_familys_own(format: str, gap: str, shown: str) -> None:
    plan = get_format(format).plan(AUTO, SPECIALS[format])
    call = node(plan, Kind.CALL, "f")
    one = [
        Event("open", call, b"("),
        Event("text", body(plan, call, Kind.ARGUMENTS), b"{}"),
        Event("close", call, b")"),
    ]
    between = Event("text", node(plan, Kind.CONTENT), gap.encode())
    said = read(plan.reader(), [[*one, between, *one]])
    assert (said.content, said.calls) == (shown, [("f", "{}"), ("f", "{}")])


def test_calls_are_counted_and_their_arguments_stand_as_written() -> None:
    plan = get_format("hermes").plan(quiet(REQUIRED), SPECIALS["hermes"])
    reader = plan.reader()
    tag = node(plan, Kind.CALL, "g")
    inside = body(plan, tag, Kind.ARGUMENTS)
    written = b'{ "n":\n  1e0 }'
    deltas = []
    for number in range(2):
        deltas += reader.feed(
            [
                Event("open", tag, b"<tool_call>"),
                Event("text", inside, written[:5]),
                Event("text", inside, written[5:]),
                Event("close", tag, b"</tool_call>"),
            ]
        )
        assert reader.tool_calls_started == number + 1
    assert deltas == [
        ToolStart(0, "g"),
        ToolArguments(0, written.decode()),
        ToolStart(1, "g"),
        ToolArguments(1, written.decode()),
    ]


def test_the_formats_own_marks_are_never_shown() -> None:
    plan = get_format("harmony").plan(AUTO, SPECIALS["harmony"])
    reader = plan.reader()
    for pointer, role in plan.roles.items():
        if role.kind is Kind.SYNTAX:
            assert reader.feed([Event("text", pointer, b"<|channel|>")]) == []
    assert reader.feed([Event("text", "/format/elements/0/begin", b"x")]) == []
    assert reader.finish() == []


def test_neighbouring_deltas_of_one_kind_are_one() -> None:
    content = node(HERMES, Kind.CONTENT)
    deltas = HERMES.reader().feed([Event("text", content, b"a")] * 3)
    assert [delta.text for delta in deltas] == ["aaa"]


def test_text_and_a_value_behind_it_stay_apart() -> None:
    """REGRESSION: read together they became one delta, and stop strings cut the value."""
    roles = {"/text": CONTENT, "/value": VALUE}
    events = [Event("text", "/text", b"a"), Event("text", "/value", b"1")]
    wanted = [ContentDelta("a"), ContentDelta("1", is_value=True)]
    assert Reader(roles, TagWhitespace()).feed(events) == wanted
    assert Reader(roles, TagWhitespace()).feed(events[::-1]) == wanted[::-1]
