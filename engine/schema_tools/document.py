"""A JSON Schema as a document: paths, references, and copies with one change.

Representation   a path is a tuple of reference tokens (RFC 6901); indices of arrays are text.
Invariants       I1 arguments are never changed: copies share all values that are not on the path.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from ..json_pointer import Path, path_of
from .keywords import DEFINITIONS, OF_LIST, OF_NAMES, OF_ONE, REFERENCES


def value_at(schema: Any, path: Path) -> Any:
    """Return the value at the path; None if there is none."""
    for step in path:
        if isinstance(schema, dict):
            schema = schema.get(step)
        elif isinstance(schema, list) and step.isdecimal() and int(step) < len(schema):
            schema = schema[int(step)]
        else:
            return None
    return schema


def count_values(schema: Any) -> int:
    """Return the number of values in the document, including itself."""
    count, stack = 1, [schema]
    while stack:
        value = stack.pop()
        if isinstance(value, dict | list):
            count += len(value)
            children = value.values() if isinstance(value, dict) else value
            stack += [child for child in children if isinstance(child, dict | list)]
    return count


# -- steps into subschemas -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """A step from the schema at ``holder`` into a subschema that its keyword applies."""

    holder: Path
    keyword: str

    @property
    def place(self) -> Path:
        return (*self.holder, self.keyword)


def steps_down(
    schema: Any, start: Path, path: Path, *, through_definitions: bool = False
) -> tuple[list[Step], Path]:
    """Return the steps from the schema at ``start`` along the path, and the rest of the path.

    Each step leads into a subschema that is applied or, with ``through_definitions``, defined.
    """
    steps: list[Step] = []
    here, at = value_at(schema, start), len(start)
    while at < len(path) and isinstance(here, dict):
        length = _length(path[at], here.get(path[at]), through_definitions)
        below = value_at(here, path[at : at + length]) if 0 < length <= len(path) - at else None
        if not isinstance(below, dict | bool):
            break
        steps.append(Step(path[:at], path[at]))
        here, at = below, at + length
    return steps, path[at:]


def _length(keyword: str, value: Any, through_definitions: bool) -> int:
    """Return the number of tokens from a schema into its keyword's subschemas; 0: it has none."""
    if keyword in OF_ONE and isinstance(value, dict | bool):
        return 1
    if keyword in OF_LIST and isinstance(value, list):
        return 2
    named = keyword in OF_NAMES or (through_definitions and keyword in DEFINITIONS)
    return 2 if named and isinstance(value, dict) else 0


def schemas_below(schema: dict[str, Any], place: Path) -> Iterator[tuple[Any, Path]]:
    """Yield the subschemas that a schema applies, with their paths, in document order."""
    for keyword, value in schema.items():
        length = _length(keyword, value, False)
        if length == 1:
            yield value, (*place, keyword)
        elif length:
            children = value.items() if isinstance(value, dict) else enumerate(value)
            for step, child in children:
                yield child, (*place, keyword, str(step))


# -- references ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference: the path of its keyword, and its target in this document.

    ``target`` is None if the reference leaves the document, or if its target is unknown. Then
    ``may_be_any`` is true: for dynamic references, and for most references in documents with an
    inner $id.
    """

    path: Path
    target: Path | None
    may_be_any: bool = False


def find_references(schema: Any) -> list[Reference]:
    """Return all references of a document, including look-alikes (in a const)."""
    names = _Names(schema.get("$id", schema.get("id")) if isinstance(schema, dict) else None)
    found: list[tuple[Path, str]] = []
    #: (value, the entry of its container, its key there)
    stack: list[Any] = [(schema, None, "")] if isinstance(schema, dict) else []
    while stack:
        entry = stack.pop()
        value = entry[0]
        children = value.items() if isinstance(value, dict) else enumerate(value)
        for key, child in children:
            if isinstance(child, dict | list):
                stack.append((child, entry, str(key)))
            elif key in REFERENCES and isinstance(child, str):
                found.append(((*_path(entry), str(key)), child))
            elif key in ("$id", "id") and isinstance(child, str):
                names.has_inner_ids |= entry[1] is not None
            elif key in ("$anchor", "$dynamicAnchor") and isinstance(child, str):
                names.anchors.setdefault(child, []).append(_path(entry))
    return [names.reference(schema, path, value) for path, value in found]


def _path(entry: Any) -> Path:
    steps = []
    while entry[1] is not None:
        steps.append(entry[2])
        entry = entry[1]
    return tuple(reversed(steps))


class _Names:
    """Resolves the references of one document."""

    def __init__(self, base: Any) -> None:
        self.base = base.rstrip("#") if isinstance(base, str) else ""
        self.has_inner_ids = False
        self.anchors: dict[str, list[Path]] = {}

    def reference(self, schema: Any, path: Path, text: str) -> Reference:
        """Return the reference with this text at this path."""
        unknown = Reference(path, None, may_be_any=True)
        if path[-1] != "$ref" or self.has_inner_ids:
            return unknown
        if self.base and text.startswith(self.base) and text[len(self.base) :][:1] in ("", "#"):
            text = text[len(self.base) :] or "#"
        if text == "#" or text.startswith("#/"):
            return Reference(path, target_of(schema, text))
        if text.startswith("/") and not self.base:
            # a pointer without its "#", if it names anything
            return Reference(path, target_of(schema, f"#{text}"))
        if text.startswith("#"):
            named = self.anchors.get(text[1:], [])
            return unknown if len(named) > 1 else Reference(path, named[0] if named else None)
        # a relative reference may be another spelling of the document's base
        return unknown if self.base and "://" not in text else Reference(path, None)


def target_of(schema: Any, reference: str) -> Path | None:
    """Return the path that a reference names in this document; None: there is none."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    here, steps = schema, []
    for step in path_of(unquote(reference[1:])):
        index = str(int(step[:20])) if isinstance(here, list) and step.isdecimal() else step
        here = value_at(here, (index,))
        if here is None:
            return None
        steps.append(index)
    return tuple(steps)


# -- copies ----------------------------------------------------------------------------------------


def without(schema: Any, path: Path) -> Any:
    """Return a copy without the member or item at the path."""

    def drop(holder: Any) -> Any:
        if isinstance(holder, list):
            return [value for number, value in enumerate(holder) if number != int(path[-1])]
        return {key: value for key, value in holder.items() if key != path[-1]}

    return _changed(schema, path[:-1], drop)


def renamed(schema: Any, path: Path, name: str) -> Any:
    """Return a copy in which the member at the path has another name and the same position."""

    def rename(holder: dict[str, Any]) -> dict[str, Any]:
        return {name if key == path[-1] else key: value for key, value in holder.items()}

    return _changed(schema, path[:-1], rename)


def extended(schema: Any, path: Path, keywords: dict[str, Any]) -> Any:
    """Return a copy in which the schema at the path has these keywords, too; it keeps its own."""
    return _changed(schema, path, lambda holder: {**keywords, **holder})


def _changed(schema: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(schema)
    step, rest = path[0], path[1:]
    if isinstance(schema, list):
        number = int(step)
        return [*schema[:number], _changed(schema[number], rest, change), *schema[number + 1 :]]
    return {**schema, step: _changed(schema[step], rest, change)}
