"""The constants of a chat template: its texts outside tags, and the strings in its expressions."""

import re
from collections.abc import Callable, Iterator

#: what Jinja takes for the end of a line
_LINE_END = re.compile(r"\r\n|\r|\n")


def with_constants(source: str, change: Callable[[str], str]) -> str:
    """Return a template's source with each constant changed; everything else stays as it is.

    Raises:
        ValueError: the source is no template.
    """
    source = _LINE_END.sub("\n", source)
    pieces, at = [], 0
    for kind, start, end in _tokens(source):
        if kind in ("data", "string"):
            text = source[start:end]
            changed = change(text) if kind == "data" else _changed_literal(text, change)
            pieces += [source[at:start], changed]
            at = end
    return "".join([*pieces, source[at:]])


def _changed_literal(literal: str, change: Callable[[str], str]) -> str:
    """Return a string literal with its value changed."""
    text = literal[1:-1].encode("ascii", "backslashreplace").decode("unicode-escape")
    changed = change(text)
    if changed == text:
        return literal
    escaped = changed.encode("unicode-escape").decode("ascii").replace("'", "\\'")
    return f"'{escaped}'"


def _tokens(source: str) -> Iterator[tuple[str, int, int]]:
    """Yield the kind, the start and the end of each token of Jinja's lexer."""
    from jinja2 import Environment, TemplateSyntaxError

    at = 0
    try:
        for _, kind, text in Environment(keep_trailing_newline=True).lex(source):
            # the lexer leaves out white space that a tag such as {%- strips
            while not source.startswith(text, at):
                at += 1
            yield kind, at, at + len(text)
            at += len(text)
    except TemplateSyntaxError as error:
        raise ValueError(str(error)) from error
