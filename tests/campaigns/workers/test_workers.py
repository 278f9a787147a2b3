"""REGRESSION: one bad worker of two costs attempts, and never a request before its first output."""

import re
from collections.abc import Iterator
from typing import get_args

import pytest

from adapters.workers import FailureReason

from .campaign import World, world
from .faults import FAULTS

pytestmark = pytest.mark.campaign

#: while a fault lasts; ``python -m tests.campaigns.workers`` sends a thousand
REQUESTS = 32


@pytest.fixture(scope="module")
def both(short_backoffs: None) -> Iterator[World]:
    with world() as made:
        yield made


@pytest.mark.parametrize("name", FAULTS)
def test_one_bad_worker_of_two(both: World, name: str) -> None:
    assert both.run(FAULTS[name], REQUESTS).complaints == []


def test_the_reasons_of_failures_are_a_closed_set(both: World) -> None:
    text = both.gateway.get("/metrics").text
    reasons = set(re.findall(r'^switchyard_worker_failures_total{.*?reason="(.*?)"', text, re.M))
    assert reasons <= set(get_args(FailureReason))
