"""The benchmark of what is waited for the cache runs, and the gateway with Redis really asks it."""

from bench.cache_latency import BEHIND, arguments, measure, table


def test_every_request_asks_and_a_stopped_redis_is_met() -> None:
    found = measure(arguments(["--requests", "6", "--stops", "2", "--read-seconds", "0.5"]))
    assert found.asked >= 6
    assert (len(found.healthy), len(found.first), len(found.behind)) == (6, 2, 2 * BEHIND)
    assert min(pair.with_redis for pair in found.first) >= 500, "the first one waits"
    assert table(found).count("\n") == 4
