"""The whole suite by its command: tables are printed, and kept with the plots."""

import pytest

from bench.__main__ import main
from bench.measure import Result
from bench.parts import PARTS, STANDARD
from bench.report import Summary, markdown, table

pytestmark = pytest.mark.campaign

TINY = ["--vocabulary", "bytes", "--schemas", "3", "--sets", "2", "--bfcl", "nowhere"]
TINY += ["--tools", "10", "--rows", "1,2", "--held", "4", "--churn", "20", "--largest", "10"]


def _heads(printed):
    return [line.removeprefix("## ") for line in printed.splitlines() if line.startswith("## ")]


def test_the_benchmark_prints_its_tables_with_a_real_vocabulary(capsys, tmp_path):
    main(["--schemas", "2", "--tools", "10", "--bfcl", str(tmp_path / "nowhere")])
    printed = capsys.readouterr().out
    assert _heads(printed) == [*STANDARD, "summary"]
    for title in ("2 schemas", "tool sets, hermes, qwen3", "tool sets, harmony, o200k_harmony"):
        assert title in printed
    for row in ("first p50", "mask p99.9", "answer avg", "sets of 10 tools: mask p50"):
        assert row in printed


def test_all_parts_are_printed_and_kept(capsys, tmp_path):
    main(["all", *TINY, "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert (tmp_path / "report.md").read_text() == printed
    assert _heads(printed) == [*PARTS, "summary"]
    assert "time-outs" in printed and "failed" not in printed


def test_plots_lie_beside_the_report(tmp_path):
    pytest.importorskip("matplotlib")
    main(["all", *TINY, "--out", str(tmp_path)])
    names = {file.stem for file in tmp_path.glob("*.png")}
    assert {"schemas", "tools-llama", "tools-hermes", "tools-harmony", "large"} <= names
    assert {"batch", "memory", "churn", "growth-tools", "growth-pattern", "ablation"} <= names


WRONG = [["nonsense"], ["--engines", "theirs"], ["--vocabulary", "x"], ["--formats", "x"]]
WRONG += [["--axes", "x"], ["--half", "2"]]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_not_known_is_refused_at_once(wrong):
    with pytest.raises(SystemExit):
        main(wrong)


def test_a_table_is_markdown_with_columns_in_line():
    lines = markdown([["", "a"], ["row", "1,000"]]).splitlines()
    assert lines == ["|     |     a |", "| :-- | ----: |", "| row | 1,000 |"]


def test_a_table_compares_us_with_the_best_peer():
    def result(time):
        made = Result()
        made.times["mask"] = [time]
        return made

    made = table("t", {"ours": result(1.0), "slow": result(8.0), "quick": result(2.0)})
    row = next(line for line in made.splitlines() if "mask p50" in line)
    assert [cell.strip() for cell in row.split("|")[2:-1]] == ["1.0", "8.0", "2.0", "0.500"]


def test_the_summary_has_a_line_for_each_figure_and_a_dash_where_there_is_none():
    summary = Summary(["ours", "slow", "quick"])
    assert summary.table() == ""
    slow = Result()
    slow.times["answer"] = [3.0, 5.0]
    summary.take("t", {"ours": Result(), "slow": slow}, ["answer avg"])
    summary.add("held", "MB", {"ours": 1.0, "slow": None, "quick": 4.0})
    cells = [[c.strip() for c in line.split("|")[1:-1]] for line in summary.table().splitlines()]
    assert cells[0] == ["figure", "ours", "slow", "quick", "ours / best peer"]
    assert cells[2:] == [
        ["t: answer avg (us)", "-", "4.0", "-", "-"],
        ["held (MB)", "1.0", "-", "4.0", "0.250"],
    ]
