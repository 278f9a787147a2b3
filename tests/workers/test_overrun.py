"""Tokens that a worker sends beyond the end of an answer are cut, whatever the events."""

from typing import Any

import pytest

from .helpers import collect, ids_of, run
from .sglang_fakes import ask, event, streamed

STOP, LENGTH = {"type": "stop"}, {"type": "length"}
#: of the model; 9 ends an answer
STOPS = (9,)
#: (ids of each event, finish reason of the last one, ids of the answer, its end, whether some are
#: cut); at most 4 tokens were asked for
CASES: list[tuple[list[list[int]], Any, list[int], str, bool]] = [
    ([[1, 2, 9]], STOP, [1, 2, 9], "stop", False),
    ([[1, 2], [3, 4]], LENGTH, [1, 2, 3, 4], "length", False),
    ([[1, 2], [9], []], STOP, [1, 2, 9], "stop", False),
    ([[1, 2, 3, 4], []], LENGTH, [1, 2, 3, 4], "length", False),
    ([[1, 2, 3, 9]], STOP, [1, 2, 3, 9], "stop", False),
    # REGRESSION: what follows was passed on
    ([[1, 2, 3, 4, 5]], LENGTH, [1, 2, 3, 4], "length", True),
    ([[1, 2], [3, 4], [5], [6]], LENGTH, [1, 2, 3, 4], "length", True),
    ([[1, 2], [3, 4, 5]], None, [1, 2, 3, 4], "length", True),
    ([[1, 2, 3, 4, 9]], STOP, [1, 2, 3, 4], "length", True),
    ([[1, 9, 2]], STOP, [1, 9], "stop", True),
    ([[1, 9], [2]], STOP, [1, 9], "stop", True),
    ([[1, 9], [2], [3]], None, [1, 9], "stop", True),
    ([[9, 9]], STOP, [9], "stop", True),
    ([[1, 9, 9, 9, 9, 9]], LENGTH, [1, 9], "stop", True),
]


@pytest.mark.parametrize("stop", [(), ("zz",)], ids=["no stop string", "a stop string"])
@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize(("parts", "finish", "ids", "end", "overran"), CASES)
def test_the_answer_ends_at_its_limit_and_at_stop_tokens(
    parts: list[list[int]],
    finish: Any,
    ids: list[int],
    end: str,
    overran: bool,
    size: int,
    stop: tuple[str, ...],
):
    """In pieces that hold one event, and in one that holds all."""
    seen: list[int] = []
    events = []
    for number, part in enumerate(parts, 1):
        seen += part
        events.append(event(list(seen), len(seen), finish if number == len(parts) else None))
    server = streamed(*events)
    whole = server.reply
    server.reply = lambda: _cut_into(whole(), size)
    chunks = run(collect(server.worker(stop_token_ids=STOPS), ask(max_tokens=4, stop=stop)))
    assert ids_of(chunks) == ids
    last = chunks[-1]
    assert (last.finish_reason, last.completion_tokens, last.overran) == (end, len(ids), overran)
    assert [chunk.finish_reason for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert not any(chunk.overran for chunk in chunks[:-1])


def _cut_into(response: Any, size: int) -> Any:
    response.stream.size = size
    return response
