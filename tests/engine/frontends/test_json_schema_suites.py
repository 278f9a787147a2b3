"""Real schemas: MaskBench and the JSON-Schema-Test-Suite, where folders with them are named.

SWITCHYARD_MASKBENCH   a folder of {"schema": ..., "tests": [{"valid": ..., "data": ...}]}
SWITCHYARD_JSTS        the suite's folder of one draft, such as tests/draft2020-12
SWITCHYARD_SWEEP       how many files of MaskBench to look at; 60 unless told

A schema may be refused by name. One that is taken must never accept an invalid instance; a valid one may be rejected
only for the order of its keys or for a number that is written in a way that is not supported.
"""

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine.errors import EngineError, UnsupportedSchema
from tests.engine.frontends.recognise import accepts, schema_language

MASKBENCH, JSTS = os.environ.get("SWITCHYARD_MASKBENCH"), os.environ.get("SWITCHYARD_JSTS")
#: files whose schemas need other documents, or take formats for annotations
OTHER = {"refRemote.json", "vocabulary.json", "dynamicRef.json", "format.json"}


def judge(counts: Counter[str], schema: Any, tests: list[tuple[Any, bool]]) -> None:
    try:
        found = schema_language(schema)
    except UnsupportedSchema as error:
        counts[f"refused {error.keyword}"] += 1
        return
    except EngineError as error:
        valid = any(valid for _, valid in tests)
        counts[f"{type(error).__name__}{' although something is valid' * valid}"] += 1
        return
    counts["taken"] += 1
    for value, valid in tests:
        text = json.dumps(value, ensure_ascii=False)
        if accepts(found, text) != valid:
            counts["valid rejected" if valid else "INVALID TAKEN"] += 1
        else:
            counts["valid accepted" if valid else "invalid rejected"] += 1


@pytest.mark.skipif(not MASKBENCH, reason="SWITCHYARD_MASKBENCH names no folder")
def test_no_invalid_instance_of_maskbench_is_taken() -> None:
    files = sorted(Path(MASKBENCH or "").glob("*.json"))
    count = min(len(files), int(os.environ.get("SWITCHYARD_SWEEP", "60")))
    counts: Counter[str] = Counter()
    for path in random.Random(0).sample(files, count):
        case = json.loads(path.read_text())
        judge(counts, case["schema"], [(test["data"], test["valid"]) for test in case["tests"]])
    print(dict(counts))  # noqa: T201  (what a sweep by hand is for)
    assert counts["taken"] > count // 2
    assert counts["INVALID TAKEN"] == 0
    assert counts["valid rejected"] <= counts["valid accepted"] // 20


@pytest.mark.skipif(not JSTS, reason="SWITCHYARD_JSTS names no folder")
def test_no_invalid_instance_of_the_test_suite_is_taken() -> None:
    counts: Counter[str] = Counter()
    for path in sorted(Path(JSTS or "").glob("*.json")):
        for group in json.loads(path.read_text()) if path.name not in OTHER else ():
            tests = [(test["data"], test["valid"]) for test in group["tests"]]
            judge(counts, group["schema"], tests)
    print(dict(counts))  # noqa: T201
    assert counts["INVALID TAKEN"] == 0
    assert counts["valid rejected"] <= 11
