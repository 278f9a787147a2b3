"""A short run of the campaign."""

import pytest

from tests.campaigns.openapi.__main__ import run

pytestmark = pytest.mark.campaign


def test_schemathesis_finds_nothing():
    """Valid requests get documented answers, invalid ones are refused, for every operation."""
    status, report = run(examples=8, seed=1)
    assert status == 0, report[-6000:]
