"""Lines of the keys of a TOML text: ``tomllib`` reports positions of syntax errors only.

The text is divided into statements: a header, or a key with its value, each the fewest lines that
``tomllib`` accepts alone. So the library decides where a string or an array ends.

Cost   linear in the number of statements, quadratic in the lines of one statement.
"""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from .error import KeyPath

#: lines of one statement; the lines of keys after a longer one stay unknown
MOST_STATEMENT_LINES: Final = 500


def lines_of(text: str) -> dict[KeyPath, int]:
    """Return the line, from 1, of every table and key of a valid TOML text."""
    found: dict[KeyPath, int] = {}
    tables: Counter[KeyPath] = Counter()
    table: KeyPath = ()
    for line, statement in _statements(text):
        named = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            table = _header(named, tables)
            for size in range(1, len(table) + 1):
                found.setdefault(table[:size], line)
        else:
            for path in _paths(named, table):
                found.setdefault(path, line)
    return found


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each statement with the number of its first line."""
    start, statement = 0, ""
    for number, line in enumerate(text.split("\n"), start=1):
        if not statement:
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            start = number
        statement += line + "\n"
        if _is_whole(statement):
            yield start, statement
            statement = ""
        elif number - start > MOST_STATEMENT_LINES:
            return


def _is_whole(statement: str) -> bool:
    try:
        tomllib.loads(statement)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _header(named: Mapping[str, Any], tables: "Counter[KeyPath]") -> KeyPath:
    """Return the path of the table that a header opens, and count it if it is one of an array."""
    path: KeyPath = ()
    value: Any = named
    while value:
        (name, value), *_ = value.items()
        path = (*path, name)
        if isinstance(value, list):  # [[name]]
            tables[path] += 1
            return (*path, tables[path] - 1)
        if path in tables:
            path = (*path, tables[path] - 1)
    return path


def _paths(value: Any, path: KeyPath) -> Iterator[KeyPath]:
    """Yield the paths of all keys in a value, and of the tables in its arrays."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*path, key)
        yield from _paths(inner, (*path, key))
