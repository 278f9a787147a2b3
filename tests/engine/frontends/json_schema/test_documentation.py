"""docs/json-schema.md names every keyword and format, and what it says to be refused is."""

import json
import re
from pathlib import Path

import pytest

from engine.errors import UnsupportedSchema
from engine.frontends.json_schema.formats import PATTERNS
from engine.schema_tools.keywords import KNOWN
from tests.engine.frontends.accepting import compiler

TEXT = (Path(__file__).parents[4] / "docs" / "json-schema.md").read_text()
REFUSED = re.findall(r"^\| `(\{.*\})` \| `(\S+)` \|$", TEXT, re.MULTILINE)


def test_every_keyword_and_every_format_is_named() -> None:
    named = set(re.findall(r"`([^` ]+)`", TEXT))
    assert KNOWN | set(PATTERNS) <= named


@pytest.mark.parametrize(("schema", "keyword"), REFUSED)
def test_what_the_table_calls_refused_is_refused_for_its_keyword(schema: str, keyword: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        compiler().compile_json_schema(json.loads(schema))
    assert caught.value.keyword == keyword


def test_the_table_of_what_is_refused_was_found() -> None:
    assert len(REFUSED) > 8
