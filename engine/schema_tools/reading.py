"""What the keywords of a JSON Schema come to, one by one, without regard to what can be enforced.

Only schemas that are used are read: those that the root applies, and those that references lead to.
A keyword constrains, or it says nothing here (with a reason), or it is an annotation of the
standard, which is not listed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .document import Path, pointer_of, schemas_below, target_of, value_at
from .words import CONSTRAINTS, KNOWN, NEEDS, OF_TYPE


@dataclass(frozen=True, slots=True)
class Keyword:
    """``says_nothing``: why; "": it constrains."""

    pointer: str
    keyword: str
    says_nothing: str = ""


def keywords_of(schema: Any, is_known_format: Callable[[str], bool]) -> Iterator[Keyword]:
    """The keywords of all used schemas, but for the standard's annotations."""
    for node, place in _used(schema):
        for keyword in node:
            reason = _says_nothing(node, keyword, is_known_format)
            if reason or keyword in CONSTRAINTS:
                yield Keyword(pointer_of((*place, keyword)), keyword, reason)


def _used(schema: Any) -> Iterator[tuple[dict[str, Any], Path]]:
    """Each schema once, by breadth."""
    queue: list[tuple[Any, Path]] = [(schema, ())]
    met: set[int] = set()
    for node, place in queue:
        if not isinstance(node, dict) or id(node) in met:
            continue
        met.add(id(node))
        yield node, place
        queue += schemas_below(node, place)
        reference = node.get("$ref")
        target = target_of(schema, reference) if isinstance(reference, str) else None
        if target is not None:
            queue.append((value_at(schema, target), target))


def _says_nothing(
    node: dict[str, Any], keyword: str, is_known_format: Callable[[str], bool]
) -> str:
    if keyword not in KNOWN:
        return "unknown keyword"
    if NEEDS.get(keyword, keyword) not in node:
        return f"says nothing without {NEEDS[keyword]!r}"
    if keyword == "additionalItems" and not isinstance(node.get("items"), list):
        return "says nothing where 'items' is no array"
    asked = next((kind for kind, asked in OF_TYPE.items() if keyword in asked), None)
    types = _types(node)
    if asked is not None and types and asked not in types:
        return f"says nothing about type {' or '.join(map(repr, types))}"
    if keyword == "format":
        name = node["format"]
        if isinstance(name, str) and not is_known_format(name):
            return f"unknown format {name!r}"
    return ""


def _types(node: dict[str, Any]) -> list[str]:
    """The types that are named; an integer is a number."""
    given = node.get("type")
    names = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return [*names, *(["number"] if "integer" in names else [])]
