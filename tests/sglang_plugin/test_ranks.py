"""Ranks of one model decide alike, however slow one is: limits count work, and never time."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from . import one_rank

pytestmark = pytest.mark.program

ROOT = Path(__file__).parents[2]
#: of each hundredth of a second, what the slow rank gets
SHARE = 0.1


def rank() -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", one_rank.__name__], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def test_a_rank_that_is_ten_times_slower_decides_the_same() -> None:
    fast, slow = rank(), rank()
    while slow.poll() is None:
        os.kill(slow.pid, signal.SIGSTOP)
        time.sleep(0.01 * (1 - SHARE))
        os.kill(slow.pid, signal.SIGCONT)
        time.sleep(0.01 * SHARE)
    assert fast.stdout is not None and slow.stdout is not None
    first, second = fast.stdout.read(), slow.stdout.read()
    assert fast.wait() == slow.wait() == 0
    told = json.loads(first)
    assert first == second
    # it decided something: answers of both kinds, and masks
    assert told["refused"] > 5 and told["compiled"] > 20 and told["steps"] > 500
    assert told["stopped"] > 2
