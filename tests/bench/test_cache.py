"""The cache's benchmark runs, on the data that is built in."""

from bench.cache import arguments, figures, measure, table


def test_all_passes_see_the_same_cases_and_the_fresh_one_finds_the_store_filled() -> None:
    found, in_redis = measure(arguments(["--vocabulary", "bytes", "--maskbench=", "--bfcl="]))
    assert list(found) == ["alone", "first", "fresh", "warmed"]
    assert len({len(one.first_us) for one in found.values()}) == 1
    assert found["alone"].compiler["triple_made"] == found["first"].compiler["triple_made"] > 0
    assert found["fresh"].compiler["triple_made"] <= found["first"].compiler["triple_made"]
    assert in_redis >= 0
    assert table(found).count("\n") == 5
    assert all(figures(found, in_redis))
