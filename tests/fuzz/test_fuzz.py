"""A campaign of a few hundred specs finds nothing; ``make fuzz`` goes on from there."""

import pytest

from tests.fuzz.__main__ import Campaign
from tests.turns import seeds
from tests.vocabularies import REAL_NAMES

pytestmark = pytest.mark.campaign

SEEDS = 300
GROUPS = 10


@pytest.mark.parametrize("group", range(GROUPS))
def test_a_short_campaign_finds_nothing(group: int) -> None:
    campaign = Campaign(REAL_NAMES[0], share=0)
    for seed in seeds(SEEDS)[group::GROUPS]:
        campaign.run(seed)
    assert campaign.findings == []
    assert campaign.counts["places"] > 0
