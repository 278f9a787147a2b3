"""The benchmark of many processes at once runs, with few."""

from bench.cache_together import arguments, measure, table


def test_processes_side_by_side_make_less_than_each_alone() -> None:
    asked = arguments(["--vocabulary=bytes", "--processes=3", "--read-seconds=30"])
    alone, *others = measure(asked)
    assert len(others) == 3 and alone.masks > 0
    assert max(each.masks for each in others) <= alone.masks
    assert sum(each.patterns for each in others) < 3 * 2
    assert table([alone, *others]).count("\n") == 5
