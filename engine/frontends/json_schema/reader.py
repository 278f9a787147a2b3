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
from . import formats, keywords
from .evaluate import CircularReference, Evaluator
from .keywords import (
    COMPOSED,
    OF_ARRAYS,
    OF_NUMBERS,
    OF_OBJECTS,
    OF_STRINGS,
    REFUSED,
    count,
    decimal,
    escape,
    is_reference,
    kind_of,
)
from .references import References
from .shapes import (
    ALL,
    ANYTHING,
    ARRAY,
    FRACTION,
    NUMBER,
    OBJECT,
    STRING,
    Arrays,
    Located,
    Named,
    Numbers,
    Objects,
    Place,
    Refusal,
    Shape,
    Strings,
    meet,
)

#: alternatives that one place may fall apart into
SHAPES = 1_000


class Reader:
    def __init__(self, references: References, limits: Limits, *, refuse_unknown: bool) -> None:
        self.references, self.limits = references, limits
        self.refuse_unknown = refuse_unknown
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
        if len(self._open) >= self.limits.spec_depth:
            raise LimitExceeded("spec_depth", self.limits.spec_depth, len(self._open) + 1, pointer)
        self._open[key] = None
        try:
            shapes = self._read[key] = self._schema(schema, pointer)
        finally:
            del self._open[key]
        return shapes

    def _schema(self, schema: dict[str, Any], pointer: str) -> list[Shape]:
        self.references.check_base(schema, pointer)
        base = self._base(schema, pointer)
        shapes = [base]
        if not COMPOSED.isdisjoint(schema):
            shapes = self._composed(schema, pointer, shapes)
        for keyword in ("enum", "const"):
            if keyword in schema:
                shapes = self._listed(schema[keyword], keyword, pointer, shapes)
        return shapes

    # -- one schema's own keywords ----------------------------------------------------------------
    def _base(self, schema: dict[str, Any], pointer: str) -> Shape:
        types = keywords.types_of(schema["type"], pointer) if "type" in schema else ALL
        keys = schema.keys()
        refused = [self._refusal(schema, key, pointer) for key in schema if key in REFUSED]
        if schema.get("multipleOf") == 1 and schema["multipleOf"] is not True:
            types &= ~FRACTION
        # facets of types that are not allowed are read, too: their keywords must be well-formed
        strings = self._strings(schema, pointer, refused) if keys & OF_STRINGS else None
        numbers = self._numbers(schema, pointer) if keys & OF_NUMBERS else None
        arrays = self._arrays(schema, pointer, refused) if keys & OF_ARRAYS else None
        objects = self._objects(schema, pointer) if keys & OF_OBJECTS else None
        live = tuple(each for each in refused if each is not None and each.types & types)
        if types == ALL and not live and not (strings or numbers or arrays or objects):
            return ANYTHING
        return Shape(
            types,
            None,
            strings if types & STRING else None,
            numbers if types & NUMBER else None,
            arrays if types & ARRAY else None,
            objects if types & OBJECT else None,
            live,
        )

    def _refusal(self, schema: dict[str, Any], keyword: str, pointer: str) -> Refusal | None:
        if keyword == "multipleOf":
            number = decimal(schema[keyword], f"{pointer}/{keyword}")
            if number <= 0:
                raise SpecError("multipleOf must be greater than 0", f"{pointer}/{keyword}")
            if number == 1:
                return None
        if keywords.is_vacuous(schema, keyword):
            return None
        return Refusal(REFUSED[keyword], f"{pointer}/{escape(keyword)}", keyword)

    def _strings(
        self, schema: dict[str, Any], pointer: str, refused: list[Refusal | None]
    ) -> Strings:
        found: dict[str, tuple[Named, ...]] = {"pattern": (), "format": ()}
        for keyword in found:
            if keyword in schema:
                place, value = f"{pointer}/{keyword}", schema[keyword]
                if not isinstance(value, str):
                    raise SpecError(f"{keyword} must be a string", place)
                found[keyword] = (Named(value, place),)
        for name, place in found["format"]:
            if name not in formats.PATTERNS:
                found["format"] = ()
                if name in formats.REFUSED or self.refuse_unknown:
                    refused.append(
                        Refusal(STRING, place, "format", f"the format {name!r} can't be enforced")
                    )
        return Strings(
            count(schema, "minLength", pointer) or 0,
            count(schema, "maxLength", pointer),
            found["pattern"],
            found["format"],
        )

    def _numbers(self, schema: dict[str, Any], pointer: str) -> Numbers:
        low, low_open = self._tightest(schema, pointer, "minimum", "exclusiveMinimum", max)
        high, high_open = self._tightest(schema, pointer, "maximum", "exclusiveMaximum", min)
        return Numbers(low, low_open, high, high_open)

    def _tightest(
        self, schema: dict[str, Any], pointer: str, inclusive: str, exclusive: str, tightest: Any
    ) -> Any:
        """(bound or None, whether it is excluded). Draft 4 writes ``exclusiveMinimum: true`` beside
        ``minimum``.
        """
        value, is_open = None, False
        if inclusive in schema:
            value = decimal(schema[inclusive], f"{pointer}/{inclusive}", tightest=tightest)
        other = schema.get(exclusive, False)
        if isinstance(other, bool):
            if other and value is None:
                raise SpecError(
                    f"{exclusive}: true needs {inclusive} beside it", f"{pointer}/{exclusive}"
                )
            return value, other
        bound = decimal(other, f"{pointer}/{exclusive}", tightest=tightest)
        if value is None or tightest(value, bound) == bound:
            value, is_open = bound, True
        return value, is_open

    def _arrays(
        self, schema: dict[str, Any], pointer: str, refused: list[Refusal | None]
    ) -> Arrays:
        prefix, items = schema.get("prefixItems", []), schema.get("items", True)
        if not isinstance(prefix, list):
            raise SpecError("prefixItems must be an array", f"{pointer}/prefixItems")
        if isinstance(items, list):
            message = "items as an array can't be enforced; use prefixItems"
            refused.append(Refusal(ARRAY, f"{pointer}/items", "items", message))
            items = True
        if prefix and "items" in schema and self.references.is_older:
            message = "prefixItems beside items means something else in this dialect"
            refused.append(Refusal(ARRAY, f"{pointer}/prefixItems", "prefixItems", message))
        return Arrays(
            tuple(_place(sub, f"{pointer}/prefixItems/{n}") for n, sub in enumerate(prefix)),
            _place(items, f"{pointer}/items"),
            count(schema, "minItems", pointer) or 0,
            count(schema, "maxItems", pointer),
        )

    def _objects(self, schema: dict[str, Any], pointer: str) -> Objects:
        properties = schema.get("properties", {})
        if not isinstance(properties, dict):
            raise SpecError("properties must be an object", f"{pointer}/properties")
        required = keywords.names_of(schema.get("required", []), f"{pointer}/required")
        return Objects(
            {
                name: _place(sub, f"{pointer}/properties/{escape(name)}")
                for name, sub in properties.items()
            },
            required,
            _place(schema.get("additionalProperties", True), f"{pointer}/additionalProperties"),
            max(count(schema, "minProperties", pointer) or 0, len(required)),
            count(schema, "maxProperties", pointer),
            pointer,
        )

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
        for number, value in enumerate(values):
            self.evaluator.check_value(value, place if keyword == "const" else f"{place}/{number}")
            if shapes == [ANYTHING] or any(
                self.evaluator.fits_shape(shape, value) for shape in shapes
            ):
                fitting.append(value)
        return [Shape(values=tuple(fitting))] if fitting else []


def _place(schema: Any, pointer: str) -> Place:
    return () if schema is True else (Located(schema, pointer),)


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
