"""The simulation of the pool's policies: its figures are those of its seed."""

import pytest

from app.pool.policies import POLICIES
from app.settings.model import PolicyName
from bench.policy_sim import rows, simulate


@pytest.mark.parametrize("name", POLICIES)
def test_figures_depend_on_the_seed_alone(name: PolicyName):
    one, again, other = (simulate(name, seed=seed, conversations=40) for seed in (1, 1, 2))
    assert one == again != other
    assert 0 <= one.met <= 1 <= one.total and 0 < one.prefill <= 1


def test_a_row_for_each_policy():
    header, *lines = rows(conversations=20, workers=2, busy=1, seed=3, slow=10)
    assert header.split()[0] == "policy"
    assert [line.split()[0] for line in lines] == list(POLICIES)
