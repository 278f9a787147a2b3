"""Every field and type of OpenAI's and Anthropic's clients has a treatment, which is documented."""

from dataclasses import replace

import pytest

from tools.client_types import DOCUMENT, Row, UnknownField, rows, table, with_table


def test_the_document_has_the_table_of_these_clients() -> None:
    """A new type of a client fails here, and so does another treatment of the gateway's."""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert with_table(text, table()) == text, "run: python -m tools.client_types"


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.title)
def test_a_new_name_is_named_and_each_has_one_treatment(row: Row) -> None:
    assert len(row.known) > 3
    with pytest.raises(UnknownField, match="'brand_new' has no treatment"):
        list(replace(row, known={*row.known, "brand_new"}).cells())
    for name in row.known:
        assert sum(name in names for names in row.treated.values()) == 1, name
