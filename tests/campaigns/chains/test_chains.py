"""A short run of the campaign."""

import pytest

from tests.campaigns.chains.campaign import run

pytestmark = pytest.mark.campaign


def test_no_conversation_gets_a_wrong_answer_while_redis_is_killed_and_started():
    """A kill loses conversations, whose clients get an error; all others go on."""
    watch = run(chains=40, rounds=2, seed=1)
    assert watch.wrong == []
    assert watch.kills == 2
    assert watch.lost and watch.unavailable and watch.turns > 2 * 40
