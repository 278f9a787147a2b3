"""The benchmark for a GPU with a real server, with a tiny model on this processor."""

import json
from pathlib import Path

import pytest

from bench.gpu.__main__ import main

from .environment import NEWEST, is_before

SMALL = (
    "kernel steps throughput first-text soak --device cpu --shape tiny --vocabulary sized@4096 "
    "--backends switchyard --batches 1,4 --seconds 0.1 --tokens 120 --sets 2 --soak 5"
)


@pytest.mark.skipif(is_before(NEWEST), reason="the meter measures inside the newest version")
def test_every_part_finds_something_and_nothing_wrong(server_python: Path, tmp_path: Path) -> None:
    main([*SMALL.split(), "--python", str(server_python), "--out", str(tmp_path)])
    told = json.loads((tmp_path / "findings.json").read_text())
    assert told == {"ours": [], "answers": []}
    (masks,) = json.loads((tmp_path / "kernel.json").read_text())
    assert len(masks["records"]) == 6 and masks["findings"] == []
    (served,) = json.loads((tmp_path / "served.json").read_text())
    records = served["records"]
    assert {"steps", "throughput", "first-text", "soak", "counters"} == records.keys()
    assert [each["steps"] > 0 for each in records["steps"]] == [True] * 4
    assert served["checked"] > 0 and records["counters"]["accepts"] > 0
