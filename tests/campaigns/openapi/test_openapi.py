"""A short run of the campaign."""

import pytest

from tests.campaigns.openapi.__main__ import ALONE, run
from tests.turns import part, seeds

pytestmark = pytest.mark.campaign


def test_schemathesis_finds_nothing():
    """Valid requests get documented answers, invalid ones are refused, for every operation."""
    status, report = run(examples=8, seed=seeds(10)[0], part=part, phases=ALONE)
    assert status == 0, report[-6000:]


def test_schemathesis_finds_nothing_along_links():
    status, report = run(examples=8, seed=seeds(10)[0], phases="stateful")
    assert status == 0, report[-6000:]
