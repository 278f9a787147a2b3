"""Strings: lengths, patterns and formats, all judged on the decoded value.

A length alone is a counted repetition. A pattern alone is emitted as it stands. Together they are intersected, unless the
pattern's own lengths lie within the bounds, or the pattern is a single class repeated, whose counts simply meet the bounds.
"""

from typing import Any

from ...errors import SpecError, UnsupportedSchema
from ...ir import ANY_CHAR, Node
from ..char_automaton import from_branches, with_length
from ..regex import Branch, branches, emit, emit_search
from ..regex_syntax import Cat, Repeat, Set, parse
from . import formats
from .keywords import count
from .text import Text


def build_string(text: Text, schema: dict[str, Any], pointer: str, *, unknown_formats: str) -> Node:
    g = text.grammar
    minimum = count(schema, "minLength", 0, pointer) or 0
    maximum = count(schema, "maxLength", None, pointer)
    if maximum is not None and maximum < minimum:
        return g.fail()
    found = _patterns(text, schema, pointer, unknown_formats)
    if not found:
        if minimum == 0 and maximum is None:
            return text.any_string()
        return text.quoted(g.repeat(g.json_chars(ANY_CHAR), minimum, maximum))
    if len(found) > 1:
        raise UnsupportedSchema(f"{pointer}/format", "format", "a pattern beside a format can't be enforced")
    return text.quoted(_body(text, found[0], minimum, maximum, pointer))


def _patterns(text: Text, schema: dict[str, Any], pointer: str, unknown_formats: str) -> list[list[Branch]]:
    """What ``pattern`` and ``format`` ask for, as branches."""
    limits = text.grammar.limits
    found = []
    if "pattern" in schema:
        place = f"{pointer}/pattern"
        if not isinstance(schema["pattern"], str):
            raise SpecError("pattern must be a string", place)
        tree = parse(schema["pattern"], pointer=place, limits=limits)
        found.append(branches(tree, pointer=place))
    if "format" in schema:
        place, name = f"{pointer}/format", schema["format"]
        if not isinstance(name, str):
            raise SpecError("format must be a string", place)
        if name in formats.PATTERNS:
            tree = parse(formats.PATTERNS[name], pointer=place, limits=limits)
            found.append(branches(tree, pointer=place))
        elif name in formats.REFUSED or unknown_formats == "refuse":
            raise UnsupportedSchema(place, "format", f"the format {name!r} can't be enforced")
    return found


def _body(text: Text, found: list[Branch], minimum: int, maximum: int | None, pointer: str) -> Node:
    g = text.grammar
    if minimum == 0 and maximum is None:
        return emit_search(g, found)
    single = _single_class(found)
    if single is not None:
        low = max(single.minimum, minimum)
        bounds = [n for n in (single.maximum, maximum) if n is not None]
        return g.repeat(emit(g, single.body, inside_json=True), low, min(bounds) if bounds else None)
    place = f"{pointer}/pattern"
    limit = g.limits.pattern_states
    automaton = from_branches(found, limit=limit, pointer=place)
    if not automaton.edges:
        return g.fail()
    shortest, longest = automaton.lengths()
    if minimum <= shortest and (maximum is None or (longest is not None and longest <= maximum)):
        return emit_search(g, found)
    return with_length(automaton, minimum, maximum, limit=limit, pointer=place).to_node(g)


def _single_class(found: list[Branch]) -> Repeat | None:
    """The repetition, if the pattern is nothing but one class repeated between both anchors."""
    if len(found) != 1 or not (found[0].at_start and found[0].at_end):
        return None
    tree = found[0].tree
    if isinstance(tree, Cat) and len(tree.parts) == 1:
        tree = tree.parts[0]
    return tree if isinstance(tree, Repeat) and isinstance(tree.body, Set) else None
