"""Drawn schemas say what ``jsonschema`` says; ``make walks`` goes on from there."""

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import engine
from tests.turns import draws, seeds

from .checks import check_schema
from .schemas import documents
from .walking import vocabulary
from .walks import Campaign

pytestmark = pytest.mark.campaign

SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)


def test_a_short_campaign_finds_nothing() -> None:
    campaign, share = Campaign(), seeds(800)
    for seed in share:
        campaign.run(seed)
    assert campaign.findings == []
    assert campaign.counts["walks"] > 10 * campaign.counts["cut off"]
    assert min(campaign.counts["valid"], campaign.counts["invalid"]) > len(share)


@given(documents, st.integers(0, 1 << 30))
@draws(120, suppress_health_check=SLOW)
def test_drawn_schemas_mean_what_the_oracle_says(schema: Any, seed: int) -> None:
    """As the campaign, with schemas that hypothesis makes smaller."""
    check_schema(engine.Compiler(vocabulary()), schema, Random(seed), walks=2, values=20)
