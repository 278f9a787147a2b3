"""The benchmark runs, and counts what is wrong beside what is slow."""

from bench.__main__ import main
from bench.data import builtin_schemas, builtin_tools
from bench.engines import Ours
from bench.measure import measure_schemas, measure_tools
from bench.vocabularies import load


def test_the_whole_benchmark_prints_its_tables(capsys, tmp_path):
    main(["--sample", "2", "--bfcl", str(tmp_path / "nowhere")])
    printed = capsys.readouterr().out
    assert "mask p99" in printed
    assert "128,256 tokens" in printed


def test_our_engine_takes_what_is_right_and_nothing_else():
    loaded = load("llama3")
    engines = {"ours": Ours(loaded)}
    schemas = measure_schemas(engines, loaded, builtin_schemas())["ours"]
    assert dict(schemas.counts) == {"schemas taken": 3}
    tools = measure_tools(engines, loaded, builtin_tools())["ours"]
    assert dict(tools.counts) == {"tool sets taken": 1}
    assert len(tools.times["mask"]) > 100


def test_a_wrong_verdict_would_be_counted():
    loaded = load("llama3")
    case = builtin_schemas()[0]
    swapped = [case._replace(texts=[(text, not valid) for text, valid in case.texts])]
    counts = measure_schemas({"ours": Ours(loaded)}, loaded, swapped)["ours"].counts
    assert counts["valid rejected"] == counts["invalid taken"] == 1
