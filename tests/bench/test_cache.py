"""The cache's benchmark runs, on the data that is built in."""

from bench.cache import arguments, figures, measure, table
from tests.redis_server import PATIENCE_SECONDS

#: a busy machine fails no test
GIVEN = ["--maskbench=", "--bfcl=", f"--read-seconds={PATIENCE_SECONDS}"]


def test_all_passes_see_the_same_cases_and_the_fresh_one_finds_the_store_filled() -> None:
    found, in_redis = measure(arguments(GIVEN))
    assert list(found) == ["first", "alone", "fresh", "warmed"]
    assert len({len(one.first_us) for one in found.values()}) == 1
    made = {name: one.compiler["triple_made"] for name, one in found.items()}
    assert made["alone"] == made["first"] == made["warmed"] > made["fresh"]
    # what most grammars need is made at start, so that little is left to load ahead
    assert found["fresh"].compiler["store_hits"] >= found["fresh"].start["prefetched"]
    assert found["fresh"].compiler["store_hits"] > 0
    assert in_redis > 0
    assert table(found).count("\n") == 5
    assert any(line.startswith("prefetched") for line in figures(found, in_redis))
