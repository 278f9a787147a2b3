"""The tested versions of SGLang are the same everywhere."""

import re
from pathlib import Path

import pytest

from adapters.sglang_plugin.versions import TESTED
from tests.sglang.environment import OLDER, REQUIREMENTS, older, requirements

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
    assert {older(turn) for turn in range(1000, 1000 + len(TESTED) - 1)} == {*TESTED[:-1]}
    assert re.findall(r'^\["(.*)"\]', OLDER.read_text(), re.M) == [*reversed(TESTED[:-1])]


def test_documents_name_them() -> None:
    table = (ROOT / "docs/workers.md").read_text()
    assert re.findall(r"^\| (0\.\d+\.\d+) \|", table, re.M) == [*reversed(TESTED)]
    for file in ("Dockerfile", "docker-compose.yml"):
        assert f"lmsysorg/sglang:v{TESTED[-1]}" in (ROOT / file).read_text()
