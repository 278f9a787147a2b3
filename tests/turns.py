"""Shares of inputs that never change: each turn runs a tenth, and ten turns in a row run all.

    TURN=1103   runs the share of this turn; `make test` takes the number of commits. Unset: all
    SEED=7      is the first seed of drawn inputs (0); `make test-whole` takes a fresh one

Tests with shares are marked `exact` or `share`, `draws` examples, or run a `part` of a list, or
`one_of` it.
A pytest plugin; it says at the end of a run what the run left out, and which command runs it.
"""

import os
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import hypothesis
import pytest

T = TypeVar("T")

SHARES = 10
#: what pytest never sees here, and the command that runs it
ELSEWHERE = {
    "client frameworks": "make test-clients",
    "comparison with xgrammar": "make test-peers",
    "vLLM's parsers": "make judge-vllm",
    "long campaigns": "make campaign",
}
_TURN, _SEED = os.environ.get("TURN"), int(os.environ.get("SEED", "0"))


def part(whole: Sequence[T]) -> Sequence[T]:
    """Return what this run takes of ten cases or more."""
    return whole[int(_TURN) % SHARES :: SHARES] if _TURN else whole


def one_of(whole: Sequence[T]) -> Sequence[T]:
    """Return one of a few cases, each of which is expensive; all of them without a turn."""
    return [whole[int(_TURN) % len(whole)]] if _TURN else whole


def seeds(whole: int) -> Sequence[int]:
    """Return the seeds of this run, out of ``whole`` seeds."""
    return part(range(_SEED, _SEED + whole))


def draws(whole: int, **options: Any) -> Callable[[Any], Any]:
    """Let hypothesis draw this run's part of ``whole`` examples, the same ones at each repetition.

    Args:
        options: further ones of ``hypothesis.settings``.
    """

    def decorate(test: Any) -> Any:
        share = seeds(whole)
        drawn = hypothesis.settings(max_examples=len(share), **options)(test)
        return hypothesis.seed(share[0])(drawn)

    return decorate


def pytest_report_header() -> str:
    share = f"turn {_TURN}, a tenth of the shares" if _TURN else "all shares"
    return f"{share}; TURN={_TURN or ''} SEED={_SEED} repeats it"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the cases of this turn."""
    left = [item for item in items if not _is_due(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = filter(_is_due, items)


def _is_due(item: pytest.Item) -> bool:
    """Spread the cases over the turns by a hash of their names."""
    if not _TURN or not (item.get_closest_marker("share") or item.get_closest_marker("exact")):
        return True
    return zlib.crc32(item.nodeid.encode()) % SHARES == int(_TURN) % SHARES


class LeftOut:
    """Counts what a run leaves out, in the process that prints its summary."""

    def __init__(self) -> None:
        self._deselected = 0

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._deselected += len(items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over the count of a process of pytest-xdist: all of them collect the same."""
        self._deselected = getattr(node, "workeroutput", {}).get("deselected", self._deselected)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output["deselected"] = self._deselected

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not _TURN:
            return
        terminalreporter.section("not run")
        skipped = Counter(each.longrepr[2] for each in terminalreporter.stats.get("skipped", ()))
        shares = f"{self._deselected} cases of other turns, and nine tenths of the drawn examples"
        for line in [
            f"{shares}: `make test-whole`",
            f"turn {_TURN}: `TURN={_TURN} SEED={_SEED}` before a command repeats its inputs",
            *(f"{what}: `{command}`" for what, command in ELSEWHERE.items()),
            *(f"{number} tests: {reason}" for reason, number in skipped.most_common()),
        ]:
            terminalreporter.line(line)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(LeftOut(), "left-out")
