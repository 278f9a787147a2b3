"""The check of prose finds unclear phrases in prose, and ignores code."""

import pytest

from tools.check_prose import findings, prose_of_document, prose_of_source

UNCLEAR = [
    ("What lies in Redis is sealed.", "What lies in Redis is sealed."),
    ("Who waits gets\nnothing.", "Who waits gets nothing."),
    ("the order of what is known", "of what is"),
    ("It is\ntold later.", "is told"),
    ("An empty value means\n  nothing.", "means nothing"),
    ("a mask that nobody asked for", "nobody"),
]
CLEAR = [
    "What does it cost? It is free.",
    "Clients are told apart by key.",
    "The store rejects entries with another key.",
    "regardless of what a client sends",
]


@pytest.mark.parametrize(("text", "phrase"), UNCLEAR)
def test_an_unclear_phrase_is_found_across_lines(text: str, phrase: str) -> None:
    assert [each.phrase for each in findings(text)] == [phrase]


@pytest.mark.parametrize("text", CLEAR)
def test_a_clear_sentence_passes(text: str) -> None:
    assert findings(text) == []


def test_code_and_headings_of_a_document_are_ignored() -> None:
    code = "# What differs.\n\n    nobody\n\n```\nnobody\n```\n\n`nobody` and [x](nobody.md)\n"
    assert [each.line for each in findings(prose_of_document(code + "\nnobody\n"))] == [11]


def test_comments_docstrings_and_messages_of_a_source_are_read() -> None:
    text = (
        '"""A value\nmeans nothing."""\n'
        "nobody = {'nobody': 1}  # nobody\n"
        "#: it is\n#: told\n"
        "raise ValueError('the key says nothing')\n"
        "x = '# nobody'  # ``nobody``\n"
    )
    found = [(each.line, each.phrase) for each in findings(prose_of_source(text))]
    assert found == [
        (2, "means nothing"),
        (3, "nobody"),
        (4, "is told"),
        (6, "says nothing"),
        (7, "nobody"),
    ]
