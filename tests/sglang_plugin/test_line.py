"""A bounded line refuses what it has no room for, and lives through what its calls raise."""

import threading

from adapters.sglang_plugin.line import Line


def test_what_has_no_room_is_refused_at_once() -> None:
    line, gate, done = Line("tested", 3), threading.Event(), []
    assert line.put(gate.wait, 60)
    assert [line.put(done.append, number) for number in range(4)] == [True, True, False, False]
    gate.set()
    line.wait()
    assert done == [0, 1]
    assert line.put(done.append, 5)
    line.wait()
    assert done == [0, 1, 5]


def test_a_call_that_raises_leaves_its_room() -> None:
    line = Line("tested", 1)
    for _ in range(3):
        assert line.put(int, "no number")
        line.wait()
