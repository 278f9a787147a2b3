"""Seconds of CPU that each layer and file of tests takes; a pytest plugin.

`--durations N` prints the layers and the N slowest files, and names each layer that takes over 5 %
more than ``durations.json`` has. A warning, never a failure: machines differ.
`--keep-durations` after a whole run writes that file.

Calibration   Each process times a fixed loop every five seconds. Figures are compared as multiples
              of the loop, so that a slower or a busier machine changes little.
"""

import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

KEPT = Path(__file__).with_suffix(".json")
#: by their marks, of which the first counts; others are "unit"
LAYERS = ("share", "exact", "program", "campaign", "server")
#: layers of which each turn runs other cases (turns.py), so that their seconds vary
VARYING = ("share", "exact")
GROWTH = 1.05
#: seconds between two runs of the loop
INTERVAL = 5.0
#: files that take less are not kept
SHORT = 2.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep-durations", action="store_true", help="write tests/durations.json")


def loop_seconds() -> float:
    """CPU seconds of a fixed piece of Python, some 10 ms."""
    begun, total = time.thread_time(), 0
    for n in range(200_000):
        total ^= n
    return time.thread_time() - begun


class Meter:
    """Measures each test, where it runs; the report carries the figures to the main process."""

    def __init__(self) -> None:
        self._used, self._next = 0.0, 0.0

    def pytest_runtest_logstart(self) -> None:
        self._used = self._cpu()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        report: Any = yield
        report.layer = next((name for name in LAYERS if item.get_closest_marker(name)), "unit")
        before, self._used = self._used, self._cpu()
        report.cpu_seconds, report.loop_seconds = self._used - before, None
        if time.monotonic() > self._next:
            report.loop_seconds = loop_seconds()
            self._used, self._next = self._cpu(), time.monotonic() + INTERVAL
        return report

    @staticmethod
    def _cpu() -> float:
        """Of this process, its threads, and its children that have ended."""
        return sum(os.times()[:4])


class Table:
    """Adds up the reports, in the process that prints the summary."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests: Counter[str] = Counter()
        self._cpu: defaultdict[str, float] = defaultdict(float)
        self._wall: defaultdict[str, float] = defaultdict(float)
        self._loops: list[float] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not hasattr(report, "layer"):
            return  # of a process that crashed
        if report.loop_seconds:
            self._loops.append(report.loop_seconds)
        for name in (report.layer, report.nodeid.split("::")[0]):
            self._tests[name] += report.when == "setup"
            self._cpu[name] += report.cpu_seconds
            self._wall[name] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        many = self._config.getoption("durations")
        if many is None or not self._loops:
            return
        terminalreporter.section("seconds of layers and files")
        files = sorted(self._cpu.keys() - {*LAYERS, "unit"}, key=self._wall.__getitem__)[::-1]
        layers = [name for name in ("unit", *LAYERS) if name in self._cpu]
        terminalreporter.line("     CPU     wall   tests")
        for name in [*layers, *files[: many or None]]:
            cpu, wall = self._cpu[name], self._wall[name]
            terminalreporter.line(f"{cpu:8.1f} {wall:8.1f} {self._tests[name]:7} {name}")
        if self._config.getoption("keep_durations"):
            self._keep(layers, files)
        elif self._is_whole():
            for line in self._grown():
                terminalreporter.line(line, yellow=True)

    def _is_whole(self) -> bool:
        """Whether the run is one of `make test`, and selects tests by layer only."""
        everywhere = self._config.args == self._config.getini("testpaths")
        return "TURN" in os.environ and everywhere and not self._config.option.keyword

    def _loop(self) -> float:
        return sum(self._loops) / len(self._loops)

    def _grown(self) -> Iterator[str]:
        kept = json.loads(KEPT.read_text())
        scale = kept["loop"] / self._loop()
        for name in kept["layers"]:
            before, now = kept["layers"][name], self._cpu[name] * scale
            if now > before * GROWTH:
                yield (
                    f"WARNING: the layer {name} takes {now:.0f} s of CPU on the machine of "
                    f"{KEPT.name}, which has {before:.0f} s: find the test that grew, or keep the "
                    'new figures with `make test ARGS="--keep-durations"`'
                )

    def _keep(self, layers: list[str], files: list[str]) -> None:
        found = {
            "loop": round(self._loop(), 5),
            "layers": {name: round(self._cpu[name], 1) for name in layers if name not in VARYING},
            "files": {
                name: round(self._wall[name], 1) for name in files if self._wall[name] > SHORT
            },
        }
        KEPT.write_text(json.dumps(found, indent=1) + "\n")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the slowest files first where processes share the tests, so that all end together."""
    if hasattr(config, "workerinput"):
        seconds = json.loads(KEPT.read_text())["files"]
        items.sort(key=lambda item: -seconds.get(item.nodeid.split("::")[0], 0.0))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Meter(), "meter")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Table(config), "table")
