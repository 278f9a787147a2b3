"""Metrics that are read when they are asked for: mappings of numbers, and the process itself.

With several processes, each keeps its numbers in files, and any of them shows those of all; then
``publish`` reads them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from prometheus_client import Gauge, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

#: how gauges of several processes are joined
Across = Literal["livesum", "livemin"]


#: reads a mapping of numbers
Numbers = Callable[[], Mapping[str, int | float]]


class _Mappings:
    """Mappings of numbers by the values of their labels; the label ``what`` is a mapping's key."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, ...], Numbers] = {}

    def add(self, values: tuple[str, ...], read: Numbers) -> None:
        """Add a mapping; ``values``: of the labels besides ``what``."""
        self._read[values] = read

    def _numbers(self) -> dict[tuple[str, ...], float]:
        return {
            (*values, what): float(value)
            for values, read in self._read.items()
            for what, value in read().items()
        }


class Watched(_Mappings, Collector):
    """A gauge family, read on each request."""

    def __init__(self, name: str, text: str, labels: tuple[str, ...]) -> None:
        super().__init__()
        self._name, self._text, self._labels = name, text, (*labels, "what")

    def describe(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(self._name, self._text, labels=self._labels)

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(self._name, self._text, labels=self._labels)
        for labels, value in self._numbers().items():
            family.add_metric(labels, value)
        yield family


class Published(_Mappings):
    """The same for several processes: a gauge in a file."""

    def __init__(self, name: str, text: str, labels: tuple[str, ...], across: Across) -> None:
        super().__init__()
        self._gauge = Gauge(name, text, (*labels, "what"), registry=None, multiprocess_mode=across)
        self._shown: set[tuple[str, ...]] = set()

    def publish(self) -> None:
        """Read the mappings; a key that has gone is 0, since files keep it."""
        numbers = self._numbers()
        for labels in self._shown.difference(numbers):
            self._gauge.labels(*labels).set(0)
        self._shown.update(numbers)
        for labels, value in numbers.items():
            self._gauge.labels(*labels).set(value)


class PublishedProcess:
    """CPU time, memory and files of each process: gauges with the process's number as ``pid``."""

    def __init__(self) -> None:
        self._collector = ProcessCollector(registry=None)
        self._gauges = {
            sample.name: Gauge(
                sample.name, family.documentation, registry=None, multiprocess_mode="liveall"
            )
            for family in self._collector.collect()
            for sample in family.samples
        }

    def publish(self) -> None:
        """Read the numbers of this process."""
        for family in self._collector.collect():
            for sample in family.samples:
                if (gauge := self._gauges.get(sample.name)) is not None:
                    gauge.set(sample.value)
