"""A worker says what became of a task, whatever the task did, and takes the next one."""

import pytest

from bench.worker import Bounds, Here, Setup, workers
from tests.bench import tasks

pytestmark = pytest.mark.program

SETUP = Setup("ours", "bytes")


@pytest.fixture(scope="module")
def worker():
    with workers({"ours": SETUP}, Bounds(seconds=2.0)) as made:
        yield made["ours"]


CASES = [
    ("what a task returns comes back", tasks.size, (), ("ok", 257)),
    ("parts come back as a list", tasks.count, (3,), ("ok", [0, 1, 2])),
    ("a generator without parts is an empty list", tasks.count, (0,), ("ok", [])),
    ("what is too slow is killed", tasks.sleep, (60,), ("time-outs", [])),
    ("the limit is for each part, and earlier parts are kept", tasks.count, (3, 1),
     ("time-outs", [0])),
    ("an end of the process is seen", tasks.leave, (), ("died", [])),
    ("an error of a task is no end of the run", tasks.fail, (), ("failed", [])),
]  # fmt: skip


@pytest.mark.parametrize(
    ("task", "more", "outcome"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_the_outcome_of(worker, task, more, outcome):
    assert tuple(worker.run(task, *more)) == outcome
    assert tuple(worker.run(tasks.size)) == ("ok", 257)


def test_a_runner_in_this_process_answers_alike():
    here = Here(SETUP)
    assert tuple(here.run(tasks.size)) == ("ok", 257)
    assert tuple(here.run(tasks.count, 3)) == ("ok", [0, 1, 2])


def test_options_reach_the_engine():
    switched_off = Here(Setup("ours", "bytes", {"cross_grammar": False}))
    assert not switched_off.engine.compiler.features.cross_grammar


def test_an_engine_that_does_not_start_is_named():
    with (
        workers({"ours": Setup("ours", "bytes", {"no_such_feature": True})}, Bounds()) as made,
        pytest.raises(RuntimeError, match="ours did not start"),
    ):
        made["ours"].run(tasks.size)
