"""The trace of an output: token by token, whether a grammar accepts it, and what may follow.

Bounds     TRACE_SECONDS of time, MAX_TOKENS tokens; the trace then says that it is incomplete.
           Listed tokens and items are bounded, too; lists say how many are left out.
Threads    any one; a budget that is cancelled ends the trace.
"""

import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from engine import Compiled, LimitExceeded, Matcher, WorkBudget

from ..writers import text_of
from .grammar_outline import inspected

#: seconds of a trace; a token mostly takes microseconds
TRACE_SECONDS = 2.0
#: steps of a budget per token: a cancelled request is noticed every INTERVAL = 1,000 steps
TOKEN_STEPS = 100
#: tokens that a trace reads; more would be unreadable
MAX_TOKENS = 2_048
#: allowed tokens that are listed, and characters of each
MAX_LISTED, TOKEN_CHARS = 60, 200
#: parts of a grammar that are listed for a place, and characters of each
MAX_ITEMS, ITEM_CHARS = 12, 240


class TracedToken(TypedDict):
    id: int
    text: str


class Rejection(TypedDict):
    text: Annotated[str, Field(description="The rejected token.")]
    byte: Annotated[int, Field(description="The first rejected byte of it.")]
    accepted_text: str
    expected: Annotated[str, Field(description="Bytes that may stand there.")]
    items: Annotated[list[str], Field(description="Parts of the grammar that are open there.")]
    more_items: int


class AllowedTokens(TypedDict):
    tokens: list[TracedToken]
    count: int
    may_end: bool
    forced: Annotated[str, Field(description="Text that must come next.")]


class OutputTrace(TypedDict):
    tokens: list[TracedToken]
    accepted: Annotated[int, Field(description="Number of accepted tokens.")]
    is_complete: Annotated[bool, Field(description="Whether the output may end here.")]
    rejected: Rejection | None
    problem: Annotated[str | None, Field(description="The reason for reading no further.")]
    at: int
    next: AllowedTokens


@dataclass(frozen=True, slots=True)
class _Read:
    """The matcher after ``accepted`` tokens, and before token ``at``. ``problem``: the reason for
    reading no further, other than a rejected token.
    """

    end: Matcher
    accepted: int
    place: Matcher
    at: int
    problem: str | None = None


def trace(
    compiled: Compiled, ids: Sequence[int], budget: WorkBudget, at: int | None
) -> OutputTrace:
    """Return the trace of these tokens as JSON values.

    ``at``: the token before which allowed tokens are listed; None: after the last accepted one.

    Raises:
        engine.Cancelled: the budget was cancelled.
    """
    shown, texts = ids[:MAX_TOKENS], compiled.vocabulary.tokens
    read = _read(compiled, shown, budget, at)
    problem = read.problem
    is_wrong = problem is None and read.accepted < len(shown)
    if problem is None and not is_wrong and len(ids) > len(shown):
        problem = f"at most {MAX_TOKENS:,} tokens are read, got {len(ids):,}"
    return {
        "tokens": [{"id": number, "text": text_of(texts[number])} for number in shown],
        "accepted": read.accepted,
        "is_complete": problem is None and not is_wrong and read.end.can_stop(),
        "rejected": _rejection(read.end, shown[read.accepted], budget) if is_wrong else None,
        "problem": problem,
        "at": read.at,
        "next": _allowed(read.place),
    }


def _read(compiled: Compiled, ids: Sequence[int], budget: WorkBudget, at: int | None) -> _Read:
    until = time.monotonic() + TRACE_SECONDS
    end, place, accepted, problem = Matcher(compiled), None, 0, None
    for token in ids:
        if accepted == at:
            place = end.fork()
        try:
            budget.spend(TOKEN_STEPS)
            if not end.accept_token(token):
                break
        except LimitExceeded as error:
            problem = str(error)
            break
        accepted += 1
        if time.monotonic() > until:
            problem = f"reading the output took more than {TRACE_SECONDS:g} seconds"
            break
    if place is None or at is None:
        return _Read(end, accepted, end, accepted, problem)
    return _Read(end, accepted, place, at, problem)


def _allowed(matcher: Matcher) -> AllowedTokens:
    """Return the tokens that may follow, the lowest ids first: merges order them by frequency."""
    vocabulary = matcher.compiled.vocabulary
    nothing: AllowedTokens = {"tokens": [], "count": 0, "may_end": False, "forced": ""}
    if matcher.is_terminated():
        return {**nothing, "may_end": True}
    bitmask = array("I", bytes(4 * vocabulary.words))
    row = memoryview(bitmask).cast("B").cast("i", (1, vocabulary.words))
    try:
        matcher.fill_bitmask(row)
        forced = text_of(matcher.forced_bytes())
    except LimitExceeded:
        return nothing
    for number in vocabulary.stop_token_ids:
        bitmask[number >> 5] &= ~(1 << (number & 31))
    listed: list[TracedToken] = [
        {"id": number, "text": text_of(vocabulary.tokens[number])[:TOKEN_CHARS]}
        for number in islice(_bits(bitmask), MAX_LISTED)
    ]
    return {
        "tokens": listed,
        "count": int.from_bytes(bitmask.tobytes(), "little").bit_count(),
        "may_end": matcher.can_stop(),
        "forced": forced[:TOKEN_CHARS],
    }


def _bits(words: Sequence[int]) -> Iterator[int]:
    for index, word in enumerate(words):
        left = word
        while left:
            lowest = left & -left
            yield 32 * index + lowest.bit_length() - 1
            left ^= lowest


def _rejection(matcher: Matcher, token: int, budget: WorkBudget) -> Rejection:
    """Return where in a token the grammar rejects it, and what it expects there."""
    vocabulary, place = matcher.compiled.vocabulary, matcher.fork()
    data = vocabulary.tokens[token]
    at = 0
    if token not in vocabulary.special_token_ids:
        while at < len(data) and place.accept_bytes(data[at : at + 1]):
            at += 1
    if at == len(data):
        at, place = 0, matcher.fork()
    items, more = _items(place, budget)
    return {
        "text": text_of(data)[:TOKEN_CHARS],
        "byte": at,
        "accepted_text": text_of(data[:at])[:TOKEN_CHARS],
        "expected": _expected(place),
        "items": items,
        "more_items": more,
    }


def _expected(place: Matcher) -> str:
    """Return the bytes that may come next, as text: ranges of characters, separated by spaces."""
    allowed = [byte for byte in range(256) if place.fork().accept_bytes(bytes([byte]))]
    parts: list[str] = []
    start = 0
    for at in range(1, len(allowed) + 1):
        if at == len(allowed) or allowed[at] != allowed[at - 1] + 1:
            low, high = allowed[start], allowed[at - 1]
            ends = [_shown(low), *([_shown(high)] if high > low else [])]
            parts.append(("…" if high > low + 1 else " ").join(ends))
            start = at
    return " ".join(parts)


def _shown(byte: int) -> str:
    if byte == 0x20:
        return "space"
    return (
        chr(byte)
        if 0x21 <= byte < 0x7F
        else {9: "\\t", 10: "\\n", 13: "\\r"}.get(byte, f"\\x{byte:02x}")
    )


def _items(place: Matcher, budget: WorkBudget) -> tuple[list[str], int]:
    """Return the parts of the grammar that are open here, and how many are left out; none where too
    much was built to be inspected.
    """
    found = inspected(place, budget)
    if found is None or found.here is None:
        return [], 0
    row = found.rows[found.here[0]]
    items = (*row.kernel, *row.predicted)
    texts = [found.item_text(item, row.number)[:ITEM_CHARS] for item in items[:MAX_ITEMS]]
    return texts, len(items) - len(texts)
