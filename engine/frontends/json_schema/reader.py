"""Schemas -> shapes. References, allOf, anyOf and oneOf are worked in here; properties and items
stay places.

What is read is remembered by the identity of the schema object, so that a schema that is referred
to often is read once.

Invariants   I1 nothing is dropped: a keyword is an annotation, or it is in the shape, or it is
             refused by name.
             I2 $ref, allOf and anyOf lead from schema to schema at one place; one that leads back
             to itself is an error.
Cost         linear in the schema, but for meetings of several anyOf at one place, which multiply:
             at most ``SHAPES``.
"""

from typing import Any

from ...errors import LimitExceeded, SpecError, UnsupportedSchema
from ...limits import Limits
from . import keywords
from .evaluate import CircularReference, Evaluator
from .facets import Dialect, own_shape
from .keywords import COMPOSED, is_reference, kind_of
from .references import References
from .shapes import ALL, ANYTHING, Located, Place, Refusal, Shape, meet

#: alternatives that one place may fall apart into
SHAPES = 1_000


class Reader:
    def __init__(self, references: References, limits: Limits, *, refuse_unknown: bool) -> None:
        self.references, self.limits = references, limits
        self.dialect = Dialect(references.is_older, refuse_unknown)
        self.evaluator = Evaluator(self.shapes_at, limits)
        self.followed = False  # whether a $ref was met
        self._read: dict[int, list[Shape]] = {}
        self._open: dict[int, None] = {}
        self._targets: dict[int, Located] = {}
        # places are remembered by identity: what merging made must live as long
        self._places: dict[tuple[int, ...], tuple[Place, list[Shape]]] = {}

    def shapes_at(self, place: Place) -> list[Shape]:
        """The alternatives of a place.

        Raises:
            SpecError, UnsupportedSchema, LimitExceeded: see ``build_json_schema``.
        """
        if not place:
            return [ANYTHING]
        if len(place) == 1:
            return self.read(place[0])
        key = tuple(id(each.schema) for each in place)
        if key not in self._places:
            shapes = [ANYTHING]
            for each in place:
                shapes = self._meetings(shapes, self.read(each), each.pointer)
            self._places[key] = place, shapes
        return self._places[key][1]

    def target(self, located: Located) -> Located:
        """Where a schema leads that is nothing but a reference; so all such places are one."""
        passed: dict[int, None] = {}
        while is_reference(located.schema):
            key = id(located.schema)
            if key in passed:
                raise CircularReference("the reference leads back here", located.pointer)
            passed[key] = None
            self.followed = True
            if key not in self._targets:
                place = f"{located.pointer}/$ref"
                self._targets[key] = self.references.resolve(located.schema["$ref"], place)
            located = self._targets[key]
        self._targets.update(dict.fromkeys(passed, located))
        return located

    def read(self, located: Located) -> list[Shape]:
        schema, pointer = self.target(located)
        if isinstance(schema, bool):
            return [ANYTHING] if schema else []
        if not isinstance(schema, dict):
            raise SpecError(
                f"a schema must be an object or a boolean, not {kind_of(schema)}", pointer
            )
        key = id(schema)
        if key in self._read:
            return self._read[key]
        if key in self._open:
            raise CircularReference("the reference leads back here", pointer)
        # a value that is judged may lead to schemas that nobody has read yet
        depth = len(self._open) + self.evaluator.depth + 1
        if depth > self.limits.spec_depth:
            raise LimitExceeded("spec_depth", self.limits.spec_depth, depth, pointer)
        self._open[key] = None
        try:
            shapes = self._read[key] = self._schema(schema, pointer)
        finally:
            del self._open[key]
        return shapes

    def _schema(self, schema: dict[str, Any], pointer: str) -> list[Shape]:
        self.references.check_base(schema, pointer)
        shapes = [own_shape(schema, pointer, self.dialect)]
        if not COMPOSED.isdisjoint(schema):
            shapes = self._composed(schema, pointer, shapes)
        for keyword in ("enum", "const"):
            if keyword in schema:
                shapes = self._listed(schema[keyword], keyword, pointer, shapes)
        return shapes

    # -- composition ------------------------------------------------------------------------------
    def _composed(self, schema: dict[str, Any], pointer: str, shapes: list[Shape]) -> list[Shape]:
        if "$ref" in schema:
            self.followed = True
            place = f"{pointer}/$ref"
            shapes = self._meetings(
                shapes, self.read(self.references.resolve(schema["$ref"], place)), place
            )
        if "not" in schema:
            shapes = self._negated(schema["not"], pointer, shapes)
        for branch in self._branches(schema, "allOf", pointer):
            shapes = self._meetings(shapes, self.read(branch), branch.pointer)
        for keyword in ("anyOf", "oneOf"):
            if keyword not in schema:
                continue
            place = f"{pointer}/{keyword}"
            groups = [
                self._meetings(shapes, self.read(branch), place)
                for branch in self._branches(schema, keyword, pointer)
            ]
            if keyword == "oneOf" and not self.evaluator.are_disjoint(groups):
                message = "the branches of oneOf are not seen to exclude one another"
                raise UnsupportedSchema(place, "oneOf", message)
            shapes = _united([shape for group in groups for shape in group])
            _bound(len(shapes), place)
        return shapes

    def _branches(self, schema: dict[str, Any], keyword: str, pointer: str) -> list[Located]:
        if keyword not in schema:
            return []
        value, place = schema[keyword], f"{pointer}/{keyword}"
        if not isinstance(value, list) or not value:
            raise SpecError(f"{keyword} must be a non-empty array", place)
        return [Located(branch, f"{place}/{number}") for number, branch in enumerate(value)]

    def _negated(self, schema: Any, pointer: str, shapes: list[Shape]) -> list[Shape]:
        """``not`` of everything and of nothing; all else is refused."""
        if schema is False:
            return shapes
        if keywords.is_true(schema):
            return []
        refusal = Refusal(ALL, f"{pointer}/not", "not")
        return self._meetings(shapes, [Shape(refused=(refusal,))], pointer)

    def _meetings(self, left: list[Shape], right: list[Shape], pointer: str) -> list[Shape]:
        _bound(len(left) * len(right), pointer)
        self.evaluator.pointer = pointer
        found = [meet(a, b, self.evaluator.fits_shape) for a in left for b in right]
        return _united([shape for shape in found if shape is not None])

    # -- enum and const ---------------------------------------------------------------------------
    def _listed(self, listed: Any, keyword: str, pointer: str, shapes: list[Shape]) -> list[Shape]:
        """One shape of the values that fit what the schema says besides; values may be listed
        twice.
        """
        place = f"{pointer}/{keyword}"
        values = [listed] if keyword == "const" else listed
        if not isinstance(values, list):
            raise SpecError("enum must be an array", place)
        if len(values) > self.limits.enum_values:
            raise LimitExceeded("enum_values", self.limits.enum_values, len(values), place)
        fitting = []
        self.evaluator.pointer = place
        for number, value in enumerate(values):
            self.evaluator.check_value(value, place if keyword == "const" else f"{place}/{number}")
            if shapes == [ANYTHING] or any(
                self.evaluator.fits_shape(shape, value) for shape in shapes
            ):
                fitting.append(value)
        return [Shape(values=tuple(fitting))] if fitting else []


def _bound(shapes: int, pointer: str) -> None:
    if shapes > SHAPES:
        message = (
            f"{shapes:,} combinations of alternatives at one place; {SHAPES:,} can be enforced"
        )
        raise UnsupportedSchema(pointer, "anyOf", message)


def _united(shapes: list[Shape]) -> list[Shape]:
    """Shapes without repetitions; all listed values in one."""
    listed = [shape for shape in shapes if shape.values is not None]
    if len(shapes) < 2:
        return shapes
    kept = list({id(shape): shape for shape in shapes if shape.values is None}.values())
    if ANYTHING in kept:
        kept = [ANYTHING]
    if listed:
        kept.append(Shape(values=tuple(value for shape in listed for value in shape.values or ())))
    return kept
