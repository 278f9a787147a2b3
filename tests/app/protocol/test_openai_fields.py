"""Every field of OpenAI's client is served, ignored or refused on purpose, and documented so."""

import pytest

from app.protocol.unserved_fields import IGNORED, INSTEAD, UNSUPPORTED
from tools.openai_fields import (
    DOCUMENT,
    UnknownField,
    client_fields,
    rows,
    table,
    with_table,
    with_tables,
)


def test_the_document_has_the_tables_of_this_client() -> None:
    """A new field of the client fails here, and so does a change of the gateway's fields."""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert with_tables(text) == text, "run: python -m tools.openai_fields"


def test_a_new_field_of_the_client_is_named() -> None:
    with pytest.raises(UnknownField, match="'brand_new'"):
        list(rows([*client_fields(), "brand_new"]))


def test_no_field_is_in_two_tables() -> None:
    """A field that an API does not serve has one treatment."""
    assert not set(IGNORED) & set(UNSUPPORTED)
    assert len(IGNORED) == len(set(IGNORED))
    assert {name.partition(".")[0] for name in INSTEAD} <= {
        *UNSUPPORTED,
        *("stream_options", "prefix", "partial"),
    }


def test_a_document_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="no marks"):
        with_table("text", table())
