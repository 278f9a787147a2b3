"""One schema and its verdicts on values: ``jsonschema`` with exact decimals.

Numbers are ints and Decimals. Patterns have two readings: that of ECMA-262, in which ``\\d`` and
``\\w`` are of ASCII, and that of Python; in both, ``$`` is the end of the text. A verdict holds if
both readings agree. Formats are those that jsonschema checks; a fault may be due to them alone.
"""

import json
import warnings
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import cache, cached_property, partial
from typing import Any

import jsonschema
from jsonschema import FormatChecker, ValidationError, validators
from jsonschema_specifications import REGISTRY

#: stands for larger exponents
LARGEST = 10**17
#: formats of the standard
FORMATS = (
    "date", "date-time", "time", "duration", "email", "idn-email", "hostname", "idn-hostname",
    "ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference", "uri-template", "uuid",
    "json-pointer", "relative-json-pointer", "regex",
)  # fmt: skip
#: keywords whose values map names to schemas, and those with schemas or lists of them
MAPS = (
    "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"
)  # fmt: skip
NESTED = (
    "additionalProperties", "items", "additionalItems", "prefixItems", "allOf", "anyOf", "oneOf",
    "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties",
    "unevaluatedItems",
)  # fmt: skip


#: ECMA's \\s, inside a class, and its dot
_SPACES = r"\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_DOT = r"[^\n\r\u2028\u2029]"


class Undecidable(Exception):
    """jsonschema cannot tell: a reference leads elsewhere, or a pattern has other readings."""


def number(text: str) -> Decimal:
    """Exactly, except for exponents beyond Decimal's."""
    try:
        return Decimal(text)
    except InvalidOperation:
        digits, exponent = text.lower().split("e")
        return Decimal(f"{digits}e{'-' if exponent.startswith('-') else ''}{LARGEST}")


def exact(value: Any) -> Any:
    """Return a copy whose floats are Decimals."""
    return json.loads(json.dumps(value), parse_float=number)


def is_whole(_: Any, value: Any) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


def is_multiple(value: Any, divisor: Any) -> bool:
    """Exactly, and without writing a number out, because it may be 1e99999."""
    _, digits, exponent = Decimal(value).as_tuple()
    _, parts, scale = Decimal(divisor).as_tuple()
    assert isinstance(exponent, int) and isinstance(scale, int)
    dividend, by = int("".join(map(str, digits))), int("".join(map(str, parts)))
    if exponent >= scale:
        return dividend * pow(10, exponent - scale, by) % by == 0
    return dividend == 0 or (
        scale - exponent <= len(digits) and dividend % (by * 10 ** (scale - exponent)) == 0
    )


def _multiple_of(validator: Any, divisor: Any, value: Any, _: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "number") and not is_multiple(value, divisor):
        yield ValidationError(f"{value} is not a multiple of {divisor}")


def _conditional(base: Any, validator: Any, condition: Any, value: Any, schema: Any) -> Any:
    """``if`` alone requires nothing, and may lead back to itself."""
    if "then" in schema or "else" in schema:
        yield from base.VALIDATORS["if"](validator, condition, value, schema)


@cache
def validator_class(base: Any) -> Any:
    """Return a validator that knows Decimals, divides exactly, and takes 1.0 for an integer."""
    keywords: dict[str, Any] = {"multipleOf": _multiple_of}
    if "if" in base.VALIDATORS:
        keywords["if"] = partial(_conditional, base)
    types = base.TYPE_CHECKER.redefine("integer", is_whole)
    return validators.extend(base, keywords, type_checker=types)


@cache
def _checker() -> FormatChecker:
    made = FormatChecker(formats=())
    known = jsonschema.Draft202012Validator.FORMAT_CHECKER.checkers
    made.checkers = {name: known[name] for name in FORMATS if name in known}
    return made


def for_python(pattern: str, flags: str) -> str:
    """Return an ECMA-262 pattern for Python. With the flag "a", dots and white space are ECMA's and
    other classes of ASCII; with "u", all are those of Python.
    """
    out, inside, k = [], False, 0
    own = {"$": r"\Z"} | ({".": _DOT} if flags == "a" else {})
    while k < len(pattern):
        c = pattern[k]
        if c == "\\":
            out.append(_escape(pattern[k : k + 2], inside) if flags == "a" else pattern[k : k + 2])
            k += 2
            continue
        out.append(c if inside else own.get(c, c))
        inside = (inside or c == "[") and c != "]"
        k += 1
    return f"(?{flags}:{''.join(out)})"


def _escape(escape: str, inside: bool) -> str:
    if escape == r"\s":
        return _SPACES if inside else f"[{_SPACES}]"
    return f"[^{_SPACES}]" if escape == r"\S" and not inside else escape


def with_patterns(schema: Any, flags: str) -> Any:
    """Return the schema with patterns for Python; values of ``enum`` and the like stay."""
    if isinstance(schema, list):
        return [with_patterns(each, flags) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    for keyword, value in schema.items():
        if keyword in NESTED:
            made[keyword] = with_patterns(value, flags)
        elif keyword in MAPS and isinstance(value, dict):
            made[keyword] = {name: with_patterns(one, flags) for name, one in value.items()}
    if isinstance(schema.get("pattern"), str):
        made["pattern"] = for_python(schema["pattern"], flags)
    if isinstance(patterns := made.get("patternProperties"), dict):
        made["patternProperties"] = {for_python(name, flags): one for name, one in patterns.items()}
    return made


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Return the schema and all schemas inside it, as far as keywords tell."""
    if isinstance(schema, list):
        for each in schema:
            yield from subschemas(each)
    elif isinstance(schema, dict):
        yield schema
        for keyword, value in schema.items():
            if keyword in NESTED:
                yield from subschemas(value)
            elif keyword in MAPS and isinstance(value, dict):
                for each in value.values():
                    yield from subschemas(each)


class Document:
    """A schema that is valid by its meta-schema.

    ``schema``: with Decimals and with patterns for Python. ``keywords``: those of its dialect.
    ``plain_references``: ``$ref`` is a pointer from the root, because no schema inside has an id.
    """

    def __init__(self, schema: Any) -> None:
        own = exact(schema)
        base = jsonschema.Draft202012Validator
        if isinstance(own, dict):
            base = validators.validator_for(own, default=base)
        base.check_schema(schema)
        inner = list(subschemas(own))
        patterned = any("pattern" in one or "patternProperties" in one for one in inner)
        self.plain_references = not any("$id" in one or "id" in one for one in inner[1:])
        self.ignores_siblings = (
            base.META_SCHEMA["$schema"]
            .rstrip("#")
            .endswith(("draft-03/schema", "draft-04/schema", "draft-06/schema", "draft-07/schema"))
        )
        self.keywords = frozenset(base.VALIDATORS)
        if isinstance(own, dict):
            # or the validator follows it at every reference to the root
            own.pop("$schema", None)
        readings = [with_patterns(own, flags) for flags in ("a", "u")[: 1 + patterned]]
        self.schema = readings[0]
        self._patterned = patterned
        self._readings = [self._validators(base, reading) for reading in readings]

    @staticmethod
    def _validators(base: Any, schema: Any) -> tuple[Any, Any]:
        """Return validators with and without formats."""
        made = validator_class(base)
        return made(schema, registry=REGISTRY, format_checker=_checker()), made(
            schema, registry=REGISTRY
        )

    @cached_property
    def has_formats(self) -> bool:
        return any("format" in one for one in subschemas(self.schema))

    def resolve(self, reference: str) -> Any:
        """Raises:
        Undecidable: the reference is no pointer from the root.
        """
        if not self.plain_references or not reference.startswith("#"):
            raise Undecidable(reference)
        place = self.schema
        for part in reference[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(place, list) and name.isdigit() and int(name) < len(place):
                place = place[int(name)]
            elif isinstance(place, dict) and name in place:
                place = place[name]
            else:
                raise Undecidable(reference)
        if reference not in ("#", "#/") and not reference.startswith("#/"):
            raise Undecidable(reference)
        return place

    def fault(self, value: Any, schema: Any = None) -> str | None:
        """Return the keyword that the value breaks, ``format`` if formats alone, or None.

        Args:
            schema: a part of ``self.schema``; it has the first reading's patterns.

        Raises:
            Undecidable: readings differ, or the schema cannot be followed.
        """
        found = [self._fault(pair, value, schema) for pair in self._readings]
        if schema is not None and self._patterned and not _is_ascii(value):
            raise Undecidable("a pattern of a part, and characters beyond ASCII")
        if schema is None and len({one is None for one in found}) > 1:
            raise Undecidable("a pattern with other readings")
        return found[0]

    def _fault(self, pair: tuple[Any, Any], value: Any, schema: Any) -> str | None:
        with_formats, without = pair
        if schema is not None:
            with_formats, without = (one.evolve(schema=schema) for one in pair)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                error = next(with_formats.iter_errors(value), None)
                if error is None:
                    return None
                if self.has_formats and without.is_valid(value):
                    return "format"
                return str(error.validator)
        except (TimeoutError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise Undecidable(type(error).__name__) from error


def _is_ascii(value: Any) -> bool:
    return json.dumps(value, ensure_ascii=False, default=str).isascii()
