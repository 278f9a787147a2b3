"""The tested versions of SGLang are the same everywhere."""

import re
from pathlib import Path

import pytest

from adapters.sglang_plugin.versions import TESTED
from tests.sglang.environment import OLDER, REQUIREMENTS, main, requirements

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("version", TESTED)
def test_each_version_has_a_list_of_requirements(version: str) -> None:
    """It differs from the newest one's in pins alone."""
    lines, newest = requirements(version).splitlines(), REQUIREMENTS.read_text().splitlines()
    assert f"sglang=={version}" in lines
    assert [line.partition("==")[0] for line in lines] == [
        line.partition("==")[0] for line in newest
    ]


def test_another_version_has_none() -> None:
    with pytest.raises(RuntimeError, match=r"must be one of 0\.5\.19, .*got '0\.5\.1'"):
        requirements("0.5.1")


def test_older_versions_take_turns() -> None:
    turns = range(1000, 1000 + len(TESTED) - 1)
    assert {main(["older", str(turn)]) for turn in turns} == {*TESTED[:-1]}
    assert main(["older"]).split() == [*TESTED[:-1]]  # without a turn, all
    assert re.findall(r'^\["(.*)"\]', OLDER.read_text(), re.M) == [*reversed(TESTED[:-1])]


def test_documents_name_them() -> None:
    table = (ROOT / "docs/workers.md").read_text()
    assert re.findall(r"^\| (0\.\d+\.\d+) \|", table, re.M) == [*reversed(TESTED)]
    newest = TESTED[-1]
    for file, text in (
        ("Dockerfile", f"lmsysorg/sglang:v{newest}"),
        ("docker-compose.yml", f"lmsysorg/sglang:v{newest}"),
        ("docs/deployment.md", f"lmsysorg/sglang:v{newest}"),
        ("docs/running.md", f"SGLang {newest} with the plug-in"),
        ("docs/tutorials/sglang-gpu.md", f"pip install sglang=={newest}"),
        ("bench/README.md", f"SGLang {newest} server"),
    ):
        assert text in (ROOT / file).read_text(), file
