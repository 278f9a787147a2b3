"""The benchmark of the cache runs, on the data that is built in."""

import pytest

from bench.cache import arguments, figures, measure, table

pytestmark = pytest.mark.campaign

GIVEN = ["--maskbench=", "--bfcl=", "--shared=2"]


def test_the_fresh_replica_loads_what_the_first_one_made() -> None:
    found = measure(arguments(GIVEN))
    assert list(found.passes) == ["first", "alone", "twin", "fresh"]
    assert len({len(one.first_us) for one in found.passes.values()}) == 1
    made = {name: one.counts["token_mask_made"] for name, one in found.passes.items()}
    assert made["alone"] == made["twin"] > made["fresh"]
    assert found.passes["fresh"].counts["shared_masks_loaded"] >= found.redis_entries > 0
    assert len(found.delays) == 2
    assert min(found.delays) > 0
    assert table(found).count("\n") == 5
    assert "fresh / alone" in figures(found)
