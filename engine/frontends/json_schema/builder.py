"""Places of a schema -> rules.

A place becomes a node: a shared rule, a rule with its content (scalars), or a rule of its own (what
may hold objects or arrays), which is declared at once and defined later from a queue. So recursion
costs nothing, and neither a deep schema nor a long chain of references grows Python's stack.

Invariants   I1 one place, one node: places are remembered by the identities of their schemas.
             I2 rules are made in the order of the schema, so equal schemas give equal grammars.
Not here     what schemas mean (reader, shapes), how values are written (objects, arrays, strings,
             numbers, values).
"""

from collections import deque
from typing import Any

from ...errors import SpecError
from ...ir import FAIL, Grammar, Node
from .arrays import build_array
from .document import check_document
from .numbers import any_integer, any_number, build_integer, build_number
from .objects import KeyOrder, build_object
from .productive import is_productive
from .reader import Reader
from .references import References
from .shapes import (
    ANYTHING,
    ARRAY,
    BOOLEAN,
    FRACTION,
    INTEGER,
    NULL,
    OBJECT,
    STRING,
    Located,
    Place,
    Shape,
)
from .strings import build_string
from .text import Text, text_of
from .values import build_values


def build_json_schema(
    grammar: Grammar,
    schema: dict[str, Any] | bool,
    *,
    pointer: str = "",
    any_order: bool = False,
    whitespace: str = "flexible",
    unknown_formats: str = "annotate",
    extra_keys: str = "anywhere",
) -> Node:
    """A JSON value that the schema accepts, without white space around it.

    Args:
        pointer: where the schema stands in what the caller sent; errors name places below it.
        any_order: listed keys may stand in any order (objects with few of them only).
        whitespace: "flexible" or "compact" (none at all).
        unknown_formats: "annotate" or "refuse".
        extra_keys: where additional keys may stand, "anywhere" or "last", that is, behind all
        listed
            ones. "last" is for generation: it is what models write, and a text can't put off a
            required key for ever.

    Raises:
        UnsupportedSchema: a keyword that can't be enforced; SpecError: an ill-formed schema, or one
        that nothing can satisfy; LimitExceeded: too deep, too large.
    """
    if whitespace not in ("flexible", "compact"):
        raise ValueError(f"whitespace must be 'flexible' or 'compact', not {whitespace!r}")
    if unknown_formats not in ("annotate", "refuse"):
        raise ValueError(f"unknown_formats must be 'annotate' or 'refuse', not {unknown_formats!r}")
    if extra_keys not in ("anywhere", "last"):
        raise ValueError(f"extra_keys must be 'anywhere' or 'last', not {extra_keys!r}")
    check_document(schema, grammar.limits.spec_depth, pointer)
    reader = Reader(
        References(schema, pointer), grammar.limits, refuse_unknown=unknown_formats == "refuse"
    )
    order = KeyOrder(any_order=any_order, extra_last=extra_keys == "last")
    builder = Builder(grammar, reader, text_of(grammar, whitespace), order)
    node = builder.place((Located(schema, pointer),))
    builder.finish()
    doubtful = reader.followed or builder.failed
    if grammar.nodes[node][0] == FAIL or (doubtful and not is_productive(grammar, node)):
        raise SpecError("nothing can satisfy this schema", pointer)
    return node


class Builder:
    """One schema document on its way into one grammar."""

    def __init__(self, grammar: Grammar, reader: Reader, text: Text, order: KeyOrder) -> None:
        self.grammar, self.reader, self.text, self.order = grammar, reader, text, order
        self.failed = False  # whether a rule without any text was referred to before that was known
        self._places: dict[tuple[int, ...], Node] = {}
        self._queue: deque[tuple[int, list[Shape], str]] = deque()

    def place(self, place: Place) -> Node:
        """The node of a place; its rule may still wait for its definition."""
        if not place:
            return self.any_value()
        place = tuple([self.reader.target(each) for each in place])
        key = tuple([id(each.schema) for each in place])
        if key not in self._places:
            self._places[key] = self._node(self.reader.shapes_at(place), place[0].pointer)
        return self._places[key]

    def _node(self, shapes: list[Shape], pointer: str) -> Node:
        if shapes == [ANYTHING]:
            return self.any_value()
        if any(shape.types & (ARRAY | OBJECT) and shape.values is None for shape in shapes):
            rule = self.grammar.declare(pointer or "/")
            self._queue.append((rule, shapes, pointer))
            return self.grammar.ref(rule)
        return self.text.ruled(pointer or "/", self._alternatives(shapes, pointer))

    def finish(self) -> None:
        """Defines all rules that wait."""
        while self._queue:
            rule, shapes, pointer = self._queue.popleft()
            node = self._alternatives(shapes, pointer)
            self.failed |= self.grammar.nodes[node][0] == FAIL
            self.grammar.define(rule, node)

    def any_value(self) -> Node:
        """Any JSON value; one rule for the whole grammar."""
        return self.text.shared("any value", lambda: self._alternatives([Shape()], ""))

    # -- alternatives -----------------------------------------------------------------------------
    def _alternatives(self, shapes: list[Shape], pointer: str) -> Node:
        """All alternatives of a place, type by type; an unconstrained type makes its constrained
        twins superfluous.
        """
        g, text = self.grammar, self.text
        for shape in shapes:
            shape.check()
        free = [shape for shape in shapes if shape.values is None]
        nodes: list[Node] = []
        objects = _facets(free, OBJECT, "objects")
        parts = [self._object(each) for each in objects]
        nodes += (
            [text.ruled(f"{pointer}/{n}", part) for n, part in enumerate(parts)]
            if len(parts) > 1
            else parts
        )
        nodes += [self._array(each) for each in _facets(free, ARRAY, "arrays")]
        nodes += [
            build_string(text, each, self.reader.evaluator)
            for each in _facets(free, STRING, "strings")
        ]
        nodes += self._numbers(free)
        if any(shape.types & BOOLEAN for shape in free):
            nodes += [g.bytes(b"true"), g.bytes(b"false")]
        if any(shape.types & NULL for shape in free):
            nodes.append(g.bytes(b"null"))
        values = [value for shape in shapes for value in shape.values or ()]
        return g.alt(*nodes, *build_values(text, values))

    def _object(self, facet: Any) -> Node:
        if facet is None:
            return self.text.shared("any object", lambda: build_object(self, None))
        return build_object(self, facet)

    def _array(self, facet: Any) -> Node:
        if facet is None:
            return self.text.shared("any array", lambda: build_array(self, None))
        return build_array(self, facet)

    def _numbers(self, shapes: list[Shape]) -> list[Node]:
        numbers = _facets(
            [shape for shape in shapes if shape.types & FRACTION], FRACTION, "numbers"
        )
        integers = _facets(
            [shape for shape in shapes if not shape.types & FRACTION], INTEGER, "numbers"
        )
        if None in numbers:
            return [any_number(self.text)]
        made = [build_number(self.text, each) for each in numbers]
        if None in integers:
            return [*made, any_integer(self.text)]
        return [*made, *(build_integer(self.text, each) for each in integers)]


def _facets(shapes: list[Shape], kind: int, name: str) -> list[Any]:
    """What the shapes say of one type; just None where one of them allows all of it."""
    found = [getattr(shape, name) for shape in shapes if shape.types & kind]
    return [None] if None in found else found
