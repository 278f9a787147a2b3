"""The whole suite by its command: tables are printed, and kept with the plots."""

import pytest

from bench.__main__ import PARTS, main
from bench.measure import Result
from bench.report import markdown, table

TINY = ["--vocabulary", "bytes", "--sample", "2", "--bfcl", "nowhere"]
TINY += ["--rows", "1,2", "--held", "4", "--churn", "20", "--largest", "10"]


def test_the_benchmark_prints_its_tables_with_a_real_vocabulary(capsys, tmp_path):
    main(["--sample", "2", "--bfcl", str(tmp_path / "nowhere")])
    printed = capsys.readouterr().out
    assert "mask p99" in printed
    assert "128,256 tokens" in printed


def test_all_parts_are_printed_and_kept(capsys, tmp_path):
    main(["all", *TINY, "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert (tmp_path / "report.md").read_text() == printed
    heads = [line.removeprefix("## ") for line in printed.splitlines() if line.startswith("## ")]
    assert heads == list(PARTS)
    assert "time-outs" in printed and "failed" not in printed


def test_plots_lie_beside_the_report(tmp_path):
    pytest.importorskip("matplotlib")
    main(["all", *TINY, "--out", str(tmp_path)])
    names = {file.stem for file in tmp_path.glob("*.png")}
    assert {"schemas", "tools", "batch", "memory", "churn", "growth-tools"} <= names


@pytest.mark.parametrize("wrong", [["nonsense"], ["--engines", "theirs"], ["--vocabulary", "x"]])
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
    assert [cell.strip() for cell in row.split("|")[2:-1]] == ["1.0", "8.0", "2.0", "0.50"]
