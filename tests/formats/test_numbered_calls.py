"""Numbers of calls: the next ones in the first calls of an answer, larger ones in further calls."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from adapters.formats import OutputSpec, Tool, for_own_engine, get_format
from adapters.formats.tags.tag_answer import MAX_EXACT_CALLS, MAX_NUMBERED_TAGS
from adapters.formats.tags.tag_syntax import (
    MAX_COUNTED_TOOLS,
    NUMBER_DIGITS,
    CallIds,
    CallPlace,
)

from .cases import FF, TOOLS
from .harness import compiled_as, encode, is_accepted

#: a call of ff, the texts around all calls, the separator, and whether conversations are counted
WIRES = {
    "kimi_k2": (
        "<|tool_call_begin|>functions.ff:{}<|tool_call_argument_begin|>{{}}<|tool_call_end|>",
        ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        "",
        True,
    ),
    "kimi_k3": (
        '<|open|>call tool="ff" index="{}"<|sep|><|close|>call<|sep|>',
        ("<|open|>tools<|sep|>", "<|close|>tools<|sep|><|close|>message<|sep|>"),
        "",
        False,
    ),
    "command_a": (
        '{{"tool_call_id": "{}", "tool_name": "ff", "parameters": {{}}}}',
        ("<|START_ACTION|>[\n    ", "\n]<|END_ACTION|>"),
        ",\n    ",
        True,
    ),
}
#: calls with exact numbers by tools
EXACT = {3: MAX_EXACT_CALLS, 20: 2, MAX_COUNTED_TOOLS: 1}
REQUIRED = OutputSpec(TOOLS, "required", reasoning="off")


def is_right(name: str, output: OutputSpec, numbers: Sequence[int | str]) -> bool:
    """Whether the grammar accepts calls with these numbers."""
    call, (begin, end), separator, _ = WIRES[name]
    text = begin + separator.join(call.format(number) for number in numbers) + end
    _, grammar = compiled_as(name, output, for_own_engine)
    return is_accepted(grammar, encode(name, text))


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("before", [0, 1, 9, 10, 99, 1234, 123_456])
def test_the_first_call_has_the_next_number(name: str, before: int) -> None:
    """REGRESSION: any number was allowed, also that of an earlier call."""
    counts = WIRES[name][3]
    first = (before if counts else 0) + (name == "kimi_k3")
    for output in (
        REQUIRED,
        replace(REQUIRED, parallel_tool_calls=False),
        replace(REQUIRED, tool_choice="auto"),
    ):
        numbered = replace(output, calls_before=before)
        assert is_right(name, numbered, [first])
        for wrong in {first + 1, first + 10, first - 1, f"0{first}", f"{first}0", ""}:
            assert not is_right(name, numbered, [wrong]), wrong


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("count", [3, 20, MAX_COUNTED_TOOLS])
def test_further_calls_have_the_next_numbers_or_larger_ones(name: str, count: int) -> None:
    """As many calls have exact numbers as the bound on tags allows, and at least the first one."""
    tools = (FF, *(Tool(f"tool_{number}", {}) for number in range(count - 1)))
    first = 12 if WIRES[name][3] else 0
    first += name == "kimi_k3"
    output = replace(REQUIRED, tools=tools, calls_before=12)
    exact = [first + number for number in range(EXACT[count])]
    assert len(exact) * count + count <= MAX_NUMBERED_TAGS
    last = exact[-1]
    for right in (exact, [*exact, last + 1], [*exact, last + 9, 999], [*exact, last + 2, last + 1]):
        assert is_right(name, output, right), right
    for wrong in ([*exact[:-1], last + 1], [*exact, last], [*exact, first], [first, first]):
        assert not is_right(name, output, wrong), wrong
    assert not is_right(name, replace(output, parallel_tool_calls=False), [first, first + 1])


@pytest.mark.parametrize("name", WIRES)
def test_answers_that_nothing_constrains_have_any_numbers(name: str) -> None:
    output = replace(REQUIRED, calls_before=None)
    for numbers in ([5], [3, 2, 2]):
        assert is_right(name, output, numbers)


@pytest.mark.parametrize(
    "first", [0, 1, 8, 9, 10, 19, 20, 99, 100, 999, 1909, 9999, 10_000, 12_399]
)
def test_the_pattern_of_further_numbers_is_exact(first: int) -> None:
    ids = CallIds(numbers="conversation")
    pattern = re.compile(ids.pattern_of(CallPlace(0, is_exact=False), first))
    most = 10 ** max(NUMBER_DIGITS, len(str(first)) + 1)
    near = {
        *range(200),
        *(first + n for n in range(-200, 200)),
        *(10**n for n in range(7)),
        most - 1,
    }
    for number in near:
        assert (pattern.fullmatch(str(number)) is not None) == (first <= number < most), number
    for wrong in ("", "00", f"0{first}", f"{first} ", "x", "-1"):
        assert pattern.fullmatch(wrong) is None


@pytest.mark.parametrize("name", WIRES)
def test_many_tools_share_a_grammar_in_all_turns(name: str) -> None:
    """Beyond a bound, a turn needs no grammar of its own, and numbers are free."""
    for count, is_counted in ((MAX_COUNTED_TOOLS, True), (MAX_COUNTED_TOOLS + 1, False)):
        tools = tuple(Tool(f"tool_{number}", {}) for number in range(count))
        turns = [replace(REQUIRED, tools=tools, calls_before=before) for before in (0, 5)]
        wire, counts = get_format(name), WIRES[name][3]
        first, second = (wire.plan(output, ()).spec_json for output in turns)
        assert wire.counts_calls(turns[0]) == (is_counted and counts)
        assert (first == second) == (not is_counted or not counts)
        named = replace(turns[1], tool_choice="named", tool_name="tool_1")
        assert wire.counts_calls(named) == counts
        assert not wire.counts_calls(replace(turns[1], tool_choice="none"))
