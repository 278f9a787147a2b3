"""Places of a schema -> rules.

A place is a (schema, JSON pointer) pair; every place that is not trivial becomes a rule, so that recursion and sharing work
and the engine builds only what a text visits. References are resolved inside the document only; nothing is ever fetched.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from ...errors import LimitExceeded, SpecError, UnsupportedSchema
from ...ir import FAIL, REF, Grammar, Node
from .arrays import build_array
from .keywords import COMPOSED, TYPES, count, escape, refuse_unsupported, types_of, validating
from .merge import merge
from .numbers import build_integer, build_number
from .objects import build_object
from .strings import build_string
from .text import Text
from .values import accepts, build_value, is_text

#: references and merges that may follow one another at one place before it counts as circular
UNFOLDINGS = 64


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
        whitespace: "flexible" or "compact" (none at all).
        unknown_formats: "annotate" or "refuse".
        extra_keys: where additional keys may stand, "anywhere" or "last", that is, behind all listed ones. "last" is for
            generation: it is what models write, and a text can't put off a required key for ever.

    Raises:
        UnsupportedSchema: a keyword that can't be enforced; SpecError: an ill-formed schema, or one that nothing can
        satisfy; LimitExceeded: too deep, too large.
    """
    if any_order:
        raise UnsupportedSchema(pointer, "any_order", "keys in any order can't be enforced")
    if whitespace not in ("flexible", "compact"):
        raise ValueError(f"whitespace must be 'flexible' or 'compact', not {whitespace!r}")
    if unknown_formats not in ("annotate", "refuse"):
        raise ValueError(f"unknown_formats must be 'annotate' or 'refuse', not {unknown_formats!r}")
    if extra_keys not in ("anywhere", "last"):
        raise ValueError(f"extra_keys must be 'anywhere' or 'last', not {extra_keys!r}")
    check_depth(schema, grammar.limits.spec_depth, pointer)
    node = Builder(
        grammar, schema, pointer, whitespace, unknown_formats, extra_keys
    ).place(schema, pointer)
    if grammar.nodes[node][0] == FAIL:
        raise SpecError("nothing can satisfy this schema", pointer)
    return node


def check_depth(value: Any, maximum: int, pointer: str) -> None:
    """
    Raises:
        LimitExceeded: nested deeper than ``maximum``.
    """
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > maximum:
            raise LimitExceeded("spec_depth", maximum, depth, pointer)
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]


class Builder:
    """One schema document on its way into one grammar."""

    def __init__(
        self,
        grammar: Grammar,
        root: Any,
        pointer: str,
        whitespace: str,
        unknown_formats: str,
        extra_keys: str,
    ) -> None:
        self.grammar, self.root, self.pointer = grammar, root, pointer
        self.text = Text(grammar, whitespace)
        self.unknown_formats = unknown_formats
        self.extra_keys = extra_keys
        self._places: dict[str, Node] = {}
        self._following: list[str] = []

    # -- places ---------------------------------------------------------------------------------------
    def place(self, schema: Any, pointer: str) -> Node:
        """The node of a schema that stands at ``pointer``; a rule of its own unless it is a shared one."""
        if isinstance(schema, bool):
            return self.any_value() if schema else self.grammar.fail()
        if not isinstance(schema, dict):
            raise SpecError(f"a schema must be an object or a boolean, not {_kind(schema)}", pointer)
        if pointer in self._places:
            return self._places[pointer]
        if not validating(schema):
            return self.any_value()
        rule = self.grammar.declare(pointer or "/")
        self._places[pointer] = self.grammar.ref(rule)
        following, self._following = self._following, []
        node = self.build(schema, pointer)
        self._following = following
        self.grammar.define(rule, node)
        if self.grammar.nodes[node][0] in (FAIL, REF):
            self._places[pointer] = node
        return self._places[pointer]

    def any_value(self) -> Node:
        """Any JSON value; one rule for the whole grammar."""
        return self.text.shared("any value", lambda: self._types({}, set(TYPES) - {"integer"}, ""))

    def build(self, schema: dict[str, Any], pointer: str) -> Node:
        """One place, without making a rule of it."""
        if "$id" in schema and schema is not self.root and "$ref" in str(schema):
            raise UnsupportedSchema(f"{pointer}/$id", "$id", "references below an inner $id can't be resolved")
        types = types_of(schema, pointer)
        refuse_unsupported(schema, types, pointer)
        composed = [key for key in COMPOSED if key in schema]
        if "enum" in schema or "const" in schema:
            return self._values(schema, pointer)
        if composed:
            return self._composed(schema, composed[0], pointer)
        return self._types(schema, types, pointer)

    # -- types ----------------------------------------------------------------------------------------
    def _types(self, schema: dict[str, Any], types: set[str], pointer: str) -> Node:
        return self.grammar.alt(*(self._type(schema, name, pointer) for name in TYPES if name in types))

    def _type(self, schema: dict[str, Any], name: str, pointer: str) -> Node:
        if name == "object":
            return build_object(self, schema, pointer)
        if name == "array":
            return build_array(self, schema, pointer)
        if name == "string":
            return build_string(self.text, schema, pointer, unknown_formats=self.unknown_formats)
        if name == "number":
            return build_number(self.text, schema, pointer)
        if name == "integer":
            return build_integer(self.text, schema, pointer)
        return self.grammar.alt(*map(self.grammar.bytes, (b"true", b"false") if name == "boolean" else (b"null",)))

    # -- enum and const -------------------------------------------------------------------------------
    def _values(self, schema: dict[str, Any], pointer: str) -> Node:
        keyword = "enum" if "enum" in schema else "const"
        values = schema["enum"] if keyword == "enum" else [schema["const"]]
        if not isinstance(values, list):
            raise SpecError("enum must be an array", f"{pointer}/enum")
        limit = self.grammar.limits.enum_values
        if len(values) > limit:
            raise LimitExceeded("enum_values", limit, len(values), f"{pointer}/enum")
        rest = {key: value for key, value in validating(schema).items() if key != keyword}
        for key in ("minLength", "maxLength", "minItems", "maxItems"):
            count(rest, key, None, pointer)
        nodes = []
        for value in values:
            if not is_text(value):
                raise SpecError("a lone surrogate or a number that is not finite is not JSON", f"{pointer}/{keyword}")
            if not rest or accepts(rest, value, pointer, self.resolve):
                nodes.append(build_value(self.text, value))
        return self.grammar.alt(*nodes)

    # -- composition ----------------------------------------------------------------------------------
    def _composed(self, schema: dict[str, Any], keyword: str, pointer: str) -> Node:
        """$ref, anyOf, allOf, oneOf: each branch merged with its siblings."""
        rest = {key: value for key, value in validating(schema).items() if key != keyword}
        branches = list(self._branches(schema, keyword, pointer))
        if keyword == "allOf":
            merged: Any = rest
            for branch, place in branches:
                merged = self._merged(merged, branch, keyword, place)
            return self._unfolded(merged, pointer, f"{pointer}/allOf")
        if keyword == "oneOf":
            self._prove_disjoint(branches, pointer)
        if not rest:
            return self.grammar.alt(*(self.place(branch, place) for branch, place in branches))
        return self.grammar.alt(
            *(
                self._unfolded(self._merged(rest, branch, keyword, f"{pointer}/{keyword}"), pointer, place)
                for branch, place in branches
            )
        )

    def _branches(self, schema: dict[str, Any], keyword: str, pointer: str) -> Iterator[tuple[Any, str]]:
        value, place = schema[keyword], f"{pointer}/{keyword}"
        if keyword == "$ref":
            yield self.resolve(value, place)
            return
        if not isinstance(value, list) or not value:
            raise SpecError(f"{keyword} must be a non-empty array", place)
        for number, branch in enumerate(value):
            if not isinstance(branch, dict | bool):
                raise SpecError(f"a schema must be an object or a boolean, not {_kind(branch)}", f"{place}/{number}")
            yield branch, f"{place}/{number}"

    def _merged(self, a: Any, b: Any, keyword: str, pointer: str) -> Any:
        merged = merge(a, b, pointer)
        if merged is None:
            raise UnsupportedSchema(pointer, keyword, f"{keyword} with these siblings can't be enforced")
        return merged

    def _unfolded(self, schema: Any, pointer: str, place: str) -> Node:
        """Builds a merged schema, which stands at no place of the document."""
        if isinstance(schema, bool):
            return self.any_value() if schema else self.grammar.fail()
        self._following.append(place)
        if len(self._following) > UNFOLDINGS:
            raise UnsupportedSchema(pointer, "$ref", "references with siblings that lead back here can't be enforced")
        node = self.build(schema, pointer) if validating(schema) else self.any_value()
        self._following.pop()
        return node

    def _prove_disjoint(self, branches: list[tuple[Any, str]], pointer: str) -> None:
        """oneOf is anyOf where no value fits two branches: their types have nothing in common.

        Raises:
            UnsupportedSchema: they are not seen to be disjoint.
        """
        seen: set[str] = set()
        live = [(branch, place) for branch, place in branches if branch is not False]
        for branch, place in live if len(live) > 1 else ():
            types = types_of(branch, place) if isinstance(branch, dict) and "type" in branch else set(TYPES)
            types = types | ({"integer"} if "number" in types else set())
            if types & seen:
                raise UnsupportedSchema(f"{pointer}/oneOf", "oneOf", "oneOf with overlapping branches can't be enforced")
            seen |= types

    # -- references -----------------------------------------------------------------------------------
    def resolve(self, reference: Any, pointer: str) -> tuple[Any, str]:
        """The schema that a $ref names, and its place.

        Raises:
            SpecError: it names nothing. UnsupportedSchema: it leaves the document.
        """
        if not isinstance(reference, str):
            raise SpecError("$ref must be a string", pointer)
        base = self.root.get("$id", "") if isinstance(self.root, dict) else ""
        local = reference.removeprefix(base) if isinstance(base, str) and base else reference
        if local == "":
            local = "#"
        if not local.startswith("#") or (len(local) > 1 and local[1] != "/"):
            raise UnsupportedSchema(pointer, "$ref", f"the reference {reference!r} leaves the document or names an anchor")
        found: Any = self.root
        place = self.pointer
        for part in unquote(local[1:]).split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                raise SpecError(f"the reference {reference!r} names nothing", pointer)
            place = f"{place}/{escape(key)}"
        if not isinstance(found, dict | bool):
            raise SpecError(f"the reference {reference!r} names no schema", pointer)
        return found, place


def _kind(value: Any) -> str:
    names = {"list": "an array", "str": "a string", "NoneType": "null"}
    return names.get(type(value).__name__, "a number")
