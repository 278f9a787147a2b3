"""Keyword use: which keywords of a JSON Schema constrain, whether they are enforceable or not.

Only used schemas count: those that the root applies, directly or through references. A keyword
constrains, or has no effect for a reason, or is a standard annotation, which is not listed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..json_pointer import Path, pointer_of
from .document import schemas_below, target_of, value_at
from .keywords import CONSTRAINTS, KNOWN, NEEDS, OF_TYPE


@dataclass(frozen=True, slots=True)
class Keyword:
    """A use of a keyword. ``no_effect``: the reason; "": the keyword constrains."""

    pointer: str
    keyword: str
    no_effect: str = ""


def keywords_of(schema: Any, is_known_format: Callable[[str], bool]) -> Iterator[Keyword]:
    """Yield the keywords of all used schemas, except the standard's annotations."""
    for node, place in _used(schema):
        for keyword in node:
            reason = _no_effect(node, keyword, is_known_format)
            if reason or keyword in CONSTRAINTS:
                yield Keyword(pointer_of((*place, keyword)), keyword, reason)


def _used(schema: Any) -> Iterator[tuple[dict[str, Any], Path]]:
    """Yield each used schema once, breadth first."""
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


def _no_effect(node: dict[str, Any], keyword: str, is_known_format: Callable[[str], bool]) -> str:
    if keyword not in KNOWN:
        return "unknown keyword"
    if NEEDS.get(keyword, keyword) not in node:
        return f"has no effect without {NEEDS[keyword]!r}"
    if keyword == "additionalItems" and not isinstance(node.get("items"), list):
        return "has no effect if 'items' is not an array"
    constrained = next((kind for kind, words in OF_TYPE.items() if keyword in words), None)
    types = _types(node)
    if constrained is not None and types and constrained not in types:
        return f"has no effect on type {' or '.join(map(repr, types))}"
    if keyword == "format":
        name = node["format"]
        if isinstance(name, str) and not is_known_format(name):
            return f"unknown format {name!r}"
    return ""


def _types(node: dict[str, Any]) -> list[str]:
    """Return the listed types; "integer" includes "number"."""
    given = node.get("type")
    names = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return [*names, *(["number"] if "integer" in names else [])]
