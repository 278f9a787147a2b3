"""The keywords that a schema has of its own, read into one shape.

Every value is checked for its form, whether its types are allowed or not. What can't be enforced
goes into the shape as a refusal, which is raised only where it would matter.
"""

from typing import Any, NamedTuple

from ...errors import SpecError
from . import formats, keywords
from .keywords import (
    OF_ARRAYS,
    OF_NUMBERS,
    OF_OBJECTS,
    OF_STRINGS,
    REFUSED,
    count,
    decimal,
    escape,
)
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
)


class Dialect(NamedTuple):
    """``is_older``: the document names a draft before 2020-12. ``refuse_unknown``: formats."""

    is_older: bool
    refuse_unknown: bool


def own_shape(schema: dict[str, Any], pointer: str, dialect: Dialect) -> Shape:
    """The shape of a schema's own keywords; enum, const and composition are left to the reader.

    Raises:
        SpecError: a keyword's value is ill-formed.
    """
    types = keywords.types_of(schema["type"], pointer) if "type" in schema else ALL
    keys = schema.keys()
    refused = [_refusal(schema, key, pointer) for key in schema if key in REFUSED]
    if schema.get("multipleOf") == 1 and schema["multipleOf"] is not True:
        types &= ~FRACTION
    # facets of types that are not allowed are read, too: their keywords must be well-formed
    strings = _strings(schema, pointer, dialect, refused) if keys & OF_STRINGS else None
    numbers = _numbers(schema, pointer) if keys & OF_NUMBERS else None
    arrays = _arrays(schema, pointer, dialect, refused) if keys & OF_ARRAYS else None
    objects = _objects(schema, pointer) if keys & OF_OBJECTS else None
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


def _refusal(schema: dict[str, Any], keyword: str, pointer: str) -> Refusal | None:
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
    schema: dict[str, Any], pointer: str, dialect: Dialect, refused: list[Refusal | None]
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
            if name in formats.REFUSED or dialect.refuse_unknown:
                refused.append(
                    Refusal(STRING, place, "format", f"the format {name!r} can't be enforced")
                )
    return Strings(
        count(schema, "minLength", pointer) or 0,
        count(schema, "maxLength", pointer),
        found["pattern"],
        found["format"],
    )


def _numbers(schema: dict[str, Any], pointer: str) -> Numbers:
    low, low_open = _tightest(schema, pointer, "minimum", "exclusiveMinimum", max)
    high, high_open = _tightest(schema, pointer, "maximum", "exclusiveMaximum", min)
    return Numbers(low, low_open, high, high_open)


def _tightest(
    schema: dict[str, Any], pointer: str, inclusive: str, exclusive: str, tightest: Any
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
    schema: dict[str, Any], pointer: str, dialect: Dialect, refused: list[Refusal | None]
) -> Arrays:
    prefix, items = schema.get("prefixItems", []), schema.get("items", True)
    if not isinstance(prefix, list):
        raise SpecError("prefixItems must be an array", f"{pointer}/prefixItems")
    if isinstance(items, list):
        message = "items as an array can't be enforced; use prefixItems"
        refused.append(Refusal(ARRAY, f"{pointer}/items", "items", message))
        items = True
    if prefix and "items" in schema and dialect.is_older:
        message = "prefixItems beside items means something else in this dialect"
        refused.append(Refusal(ARRAY, f"{pointer}/prefixItems", "prefixItems", message))
    return Arrays(
        tuple(_place(sub, f"{pointer}/prefixItems/{n}") for n, sub in enumerate(prefix)),
        _place(items, f"{pointer}/items"),
        count(schema, "minItems", pointer) or 0,
        count(schema, "maxItems", pointer),
    )


def _objects(schema: dict[str, Any], pointer: str) -> Objects:
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


def _place(schema: Any, pointer: str) -> Place:
    return () if schema is True else (Located(schema, pointer),)
