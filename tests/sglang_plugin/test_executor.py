"""A bounded executor refuses what it has no room for, and lives through what its calls raise."""

import logging
import threading

import pytest

from adapters.sglang_plugin.executor import BoundedExecutor


def test_what_has_no_room_is_refused_at_once() -> None:
    executor, gate, done = BoundedExecutor("tested", 3), threading.Event(), []
    assert executor.submit(gate.wait, 60)
    taken = [executor.submit(done.append, number) for number in range(4)]
    assert taken == [True, True, False, False]
    gate.set()
    executor.wait()
    assert done == [0, 1]
    assert executor.submit(done.append, 5)
    executor.wait()
    assert done == [0, 1, 5]


def test_a_call_that_raises_leaves_its_room_and_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    executor = BoundedExecutor("tested", 1)
    for count in (1, 2, 3):
        with caplog.at_level(logging.ERROR):
            assert executor.submit(int, "no number")
            executor.wait()
        assert [record.exc_info is not None for record in caplog.records] == [True] * count
