"""Metrics of several processes: one answer has the numbers of all."""

from pathlib import Path

import pytest
from prometheus_client import values
from prometheus_client.parser import text_string_to_metric_families

from app.observability.metrics import Metrics, drop_gauges, keep_values_in


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(values, "ValueClass", values.ValueClass)
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    return str(tmp_path)


def process(folder: str, number: int, running: int = 0) -> Metrics:
    """The metrics of a process with so many running generations and one healthy worker."""
    keep_values_in(folder, number)
    made = Metrics(folder)
    made.watch("workers_running", "Open generations", lambda: {"0:w": running})
    made.watch("workers_available", "Healthy", lambda: {"0:w": number}, across="livemin")
    made.describe("m", version="1")
    made.publish()
    return made


async def shown(metrics: Metrics) -> dict[str, float]:
    """Samples by name and labels."""
    families = text_string_to_metric_families((await metrics.exposition()).decode())
    samples = [sample for family in families for sample in family.samples]
    found = {f"{each.name}{sorted(each.labels.values())}": each.value for each in samples}
    assert len(found) == len(samples), "a series is shown twice"
    return found


def counted(found: dict[str, float]) -> dict[str, float]:
    """Without the numbers of the process, which change between two requests."""
    return {name: value for name, value in found.items() if not name.startswith("process_")}


async def test_every_process_shows_the_numbers_of_all(folder: str):
    first, second = process(folder, 0, running=2), process(folder, 1, running=3)
    first.requests.labels("GET", "/", 200).inc()
    second.requests.labels("GET", "/", 200).inc(4)
    first.request_seconds.labels("/").observe(0.2)
    second.request_seconds.labels("/").observe(0.02)
    first.in_flight.inc()
    second.in_flight.inc(2)
    found = await shown(first)
    assert counted(found) == counted(await shown(second))
    assert found["switchyard_http_requests_total['/', '200', 'GET']"] == 5
    assert found["switchyard_http_request_duration_seconds_count['/']"] == 2
    assert found["switchyard_http_request_duration_seconds_bucket['/', '0.025']"] == 0 + 1
    assert found["switchyard_requests_in_flight[]"] == 3
    assert found["switchyard_workers_running['0:w']"] == 5
    assert found["switchyard_workers_available['0:w']"] == 0
    assert found["switchyard_build_info['1', 'm']"] == 1


async def test_a_process_that_starts_again_continues_its_counters_and_not_its_gauges(folder: str):
    first, second = process(folder, 0), process(folder, 1, running=3)
    second.requests.labels("GET", "/", 200).inc(4)
    second.in_flight.inc(2)
    drop_gauges(folder, 1)
    found = await shown(first)
    assert found["switchyard_http_requests_total['/', '200', 'GET']"] == 4
    assert found["switchyard_requests_in_flight[]"] == 0
    assert found["switchyard_workers_running['0:w']"] == 0
    again = process(folder, 1, running=1)
    again.requests.labels("GET", "/", 200).inc()
    found = await shown(first)
    assert found["switchyard_http_requests_total['/', '200', 'GET']"] == 5
    assert found["switchyard_workers_running['0:w']"] == 1


async def test_a_watched_key_that_has_gone_is_zero(folder: str):
    numbers = {"a": 1, "b": 2}
    keep_values_in(folder, 0)
    metrics = Metrics(folder)
    metrics.watch("sizes", "Sizes", lambda: numbers)
    assert (await shown(metrics))["switchyard_sizes['a']"] == 1
    del numbers["a"]
    found = await shown(metrics)
    assert (found["switchyard_sizes['a']"], found["switchyard_sizes['b']"]) == (0, 2)


async def test_one_process_needs_no_folder():
    metrics = Metrics()
    metrics.watch("sizes", "Sizes", lambda: {"a": 1})
    metrics.describe("m", version="1")
    metrics.publish()
    found = await shown(metrics)
    assert (found["switchyard_sizes['a']"], found["switchyard_build_info['1', 'm']"]) == (1, 1)


async def test_each_process_shows_its_processor_time_and_memory(folder: str):
    """Several processes have a series each, of which that of an ended one goes."""
    alone = await shown(Metrics())
    assert alone["process_cpu_seconds_total[]"] > 0
    assert alone["process_resident_memory_bytes[]"] > 1 << 20
    first, _ = process(folder, 0), process(folder, 1)
    found = await shown(first)
    for number in "01":
        assert found[f"process_resident_memory_bytes['{number}']"] > 1 << 20
        assert found[f"process_cpu_seconds_total['{number}']"] > 0
    drop_gauges(folder, 1)
    assert "process_open_fds['1']" not in await shown(first)
