"""Arguments in the styles that write objects and lists as nested elements.

Elements contain strings raw, and numbers, booleans and null as JSON. Other styles are built by
json_schema.arguments, which enforces more keywords. A schema is divided into *cases*, each of one
type, only as far as a style requires. Schemas that cannot be divided are refused by name.

Text       a raw string contains neither the text that ends its element nor a special token, so it
           ends at the first occurrence. Raw strings have no white space around them; other values
           and elements have that of JSON text: none, a space, or a newline and an indent.
Keys       listed keys in their order, then required keys that are not listed, then additional keys,
           which are names of letters, digits and _. If the end of an element repeats its key, there
           are no additional keys; by default, an object with listed keys then has none.
Order      any_order: each listed key at most once, all required ones; additional keys follow.
Captures   regions of the document's node, with the suffixes of tag_styles.Region: the parser's
           events then show keys and values, and whether a value is a raw string or JSON.
Ambiguity  if a text is both an allowed raw string and JSON of another allowed type, it is JSON.
Refused    keywords other than ``properties``, ``required`` and ``additionalProperties`` in an
           object that is written as elements; constants that contain the end of their element.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ...errors import LimitExceeded, SpecError, UnsupportedSchema
from ...grammar.ir import Grammar, Node
from ...json_pointer import escape, path_of
from ..json_schema.formats import MOST as MOST_OF_FORMATS
from ..json_schema.formats import PATTERNS
from ..regex.char_automaton import Bound, CharAutomaton, bounded_node, intersection, words
from ..regex.char_nfa import from_tree
from ..regex.regex_syntax import Chars, cat, parse
from .tag_formats import JsonSchema
from .tag_styles import OPEN_INTEGER, SCALARS, STYLES, TYPES, Region, Style
from .tag_vocabulary import TagVocabulary

#: keywords that do not constrain values
ANNOTATIONS = frozenset(
    ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
     "$schema", "$id", "$comment", "$defs", "definitions")
)  # fmt: skip
OBJECT_KEYWORDS = frozenset(("type", "properties", "required", "additionalProperties"))
ARRAY_KEYWORDS = frozenset(("type", "items", "minItems", "maxItems"))
STRING_KEYWORDS = frozenset(("type", "minLength", "maxLength", "pattern", "format"))
#: keywords that constrain values of one type only
APPLY_TO = {
    "string": STRING_KEYWORDS,
    "number": frozenset(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
    ),
    "array": ARRAY_KEYWORDS.union(
        ("prefixItems", "uniqueItems", "contains", "minContains", "maxContains")
    ),
    "object": OBJECT_KEYWORDS.union(
        ("minProperties", "maxProperties", "patternProperties", "propertyNames",
         "dependentRequired", "dependentSchemas")
    ),
}  # fmt: skip
#: the largest count; the engine's registers hold 32 bits
MOST = 2**31 - 1
#: listed keys in any order; the automaton has a state for each set of them
ANY_ORDER_KEYS = 8
#: length of a chain of references
FOLLOWED = 32

BuildSchema = Callable[..., Node]


@dataclass(slots=True)
class Case:
    """The values of one type.

    ``raw`` builds the node of a string from the text that it must not contain; ``integers`` builds
    the node of the integers among numbers.
    """

    kind: str
    raw: Callable[[str], Node] | None
    node: Node
    integers: Callable[[], Node] | None = None


class XmlBuilder:
    """Adds one schema in one style to a grammar."""

    def __init__(
        self, grammar: Grammar, vocabulary: TagVocabulary, build_schema: BuildSchema,
        made: JsonSchema,
    ) -> None:  # fmt: skip
        self.g = grammar
        self.vocabulary = vocabulary
        self.build_schema = build_schema
        self.made = made
        self.style = STYLES[made.style]
        self.root = made.schema
        self._rules: dict[str, Node] = {}
        self._gap = -1
        self._depth = 0

    def build(self) -> Node:
        """Add the elements of the root schema, which must describe an object."""
        place = self.made.schema_pointer
        schema, place = self._followed({} if self.root is True else self.root, place)
        if schema is False or schema.get("type", "object") != "object":
            raise UnsupportedSchema(place, "type", "arguments in XML must be an object")
        return self._members(schema, place)

    @property
    def _is_closed_by_key(self) -> bool:
        return "{key}" in self.style.close

    # -- elements ---------------------------------------------------------------------------------
    def _members(self, schema: dict[str, Any], place: str) -> Node:
        """Add the elements of an object, with white space before each and after the last."""
        g = self.g
        self._check_keywords(schema, OBJECT_KEYWORDS, place)
        listed, required = schema.get("properties", {}), schema.get("required", [])
        if not isinstance(listed, dict):
            raise SpecError("must be an object", f"{place}/properties")
        if not isinstance(required, list) or not all(isinstance(key, str) for key in required):
            raise SpecError("must be a list of strings", f"{place}/required")
        extra = schema.get("additionalProperties", not (self._is_closed_by_key and listed))
        rest = {key: extra for key in dict.fromkeys(required) if key not in listed}
        members: list[tuple[Node, bool]] = []
        for key, value in {**listed, **rest}.items():
            where = f"properties/{escape(str(key))}" if key in listed else "additionalProperties"
            name = self._key(key, place)
            element = self._element(name, value, f"{place}/{where}")
            member = g.fail() if self._is_excluded(name) else g.seq(self._gap_mark(), element)
            members.append((member, key in required))
        parts = [member if needed else g.optional(member) for member, needed in members]
        if self.made.any_order:
            parts = [self._in_any_order(members, place)]
        if extra is not False:
            if self._is_closed_by_key:
                message = "an additional element would have to repeat its name at its end"
                raise UnsupportedSchema(place, "additionalProperties", message)
            names = self._names([*listed, *rest])
            element = self._element(names, extra, f"{place}/additionalProperties")
            parts.append(g.repeat(g.seq(self._gap_mark(), element), 0, None))
        return g.seq(*parts, self._gap_mark())

    def _in_any_order(self, members: list[tuple[Node, bool]], place: str) -> Node:
        """Add members in any order, each at most once; a state is the set of members written."""
        count = len(members)
        if count > ANY_ORDER_KEYS:
            message = f"{count} keys in any order can't be enforced; {ANY_ORDER_KEYS} can"
            raise UnsupportedSchema(f"{place}/properties", "properties", message)
        required = sum(1 << k for k, (_, needed) in enumerate(members) if needed)
        rules = [self.g.ref(self.g.rule("element", member)) for member, _ in members]
        edges = [
            (seen, rule, seen | 1 << k)
            for seen in range(1 << count)
            for k, rule in enumerate(rules)
            if not seen >> k & 1
        ]
        whole = [seen for seen in range(1 << count) if seen & required == required]
        return self.g.graph(1 << count, edges, whole)

    def _element(self, key: Node | str, schema: Any, place: str, opening: str = "") -> Node:
        g = self.g
        name = key if isinstance(key, str) else "{key}"
        head, has_key, tail = (opening or self.style.open).partition("{key}")
        if not has_key:
            head, tail = "", head
        close = self.style.close.replace("{key}", name)
        by_open: dict[tuple[str, Region], list[Node]] = {}
        # JSON before raw strings: the parser prefers the first way to read a text
        cases = sorted(self._with_open_integers(self._cases(schema, place)), key=_is_raw)
        for case in cases:
            region = _region_of(case, self.style)
            begin = tail.replace("{type}", self.style.types.get(case.kind, ""))
            if case.raw is not None:
                inner = self._captured(Region.TEXT, case.raw(self.style.guard or close))
            elif region is not Region.JSON:
                inner = g.seq(self._gap_mark(), case.node, self._gap_mark())
            else:
                inner = self._captured(Region.VALUE, case.node)
                if not self.style.guard:
                    inner = g.seq(self._gap_mark(), inner, self._gap_mark())
            by_open.setdefault((begin, region), []).append(inner)
        values = [
            self._tag(region, self._literal(begin), g.alt(*inner), self._literal(close))
            for (begin, region), inner in by_open.items()
        ]
        if not has_key:
            return g.alt(*values)
        written = self._literal(key) if isinstance(key, str) else key
        return g.seq(self._captured(Region.MARK, self._literal(head)), written, g.alt(*values))

    def _gap_mark(self) -> Node:
        return self._captured(Region.MARK, self._space())

    def _tag(self, region: Region, begin: Node, content: Node, end: Node) -> Node:
        parts = self._captured(region, begin, "begin"), content, self._captured(region, end, "end")
        return self._captured(region, self.g.seq(*parts), "tag")

    def _captured(self, region: Region, node: Node, role: str = "text") -> Node:
        return self.g.capture(f"{self.made.pointer}{region.value}", role, node)

    def _literal(self, text: str) -> Node:
        """Add a literal, with white space in place of the glue."""
        if not text:
            return self.g.empty()
        pieces = text.split(self.style.glue) if self.style.glue else [text]
        nodes = [self.vocabulary.spelling.add_mark(self.g, piece) for piece in pieces]
        return self.g.seq(nodes[0], *(x for n in nodes[1:] for x in (self._space(), n)))

    def _key(self, key: Any, place: str) -> str:
        if not isinstance(key, str) or not key:
            raise SpecError("a key must be a string that is not empty", place)
        try:
            key.encode()
        except UnicodeEncodeError:
            raise SpecError("a key contains half of a surrogate pair", place) from None
        return "".join(self.style.escapes.get(c, c) for c in key)

    def _names(self, listed: list[str]) -> Node:
        """Add the names of additional keys."""
        bound = Bound(self.g.limits.pattern_states, self.made.schema_pointer, self.g.budget)
        tree = parse("[a-zA-Z_][a-zA-Z0-9_]*", pointer="", limits=self.g.limits)
        rejected = [words(listed), *(_holding(text, bound) for text in self.made.excludes)]
        names = intersection([from_tree(tree, bound, search=False)], rejected, bound)
        return names.to_node(self.g, inside_json=False)

    def _is_excluded(self, text: str) -> bool:
        return any(excluded in text for excluded in self.made.excludes)

    def _space(self) -> Node:
        if self.made.whitespace == "compact":
            return self.g.empty()
        if self._gap < 0:
            g = self.g
            blanks = g.repeat(g.chars(((9, 9), (32, 32))), 0, self.made.most_blanks)
            node = g.alt(g.empty(), g.bytes(b" "), g.seq(g.bytes(b"\n"), blanks))
            self._gap = g.ref(g.rule("white space between elements", node))
        return self._gap

    # -- cases ------------------------------------------------------------------------------------
    def _cases(self, schema: Any, place: str) -> list[Case]:
        self._depth += 1
        if self._depth > self.g.limits.spec_depth:
            raise LimitExceeded("spec_depth", self.g.limits.spec_depth, self._depth, place)
        cases = self._cases_at(*self._followed(schema, place))
        self._depth -= 1
        return cases

    def _cases_at(self, schema: Any, place: str) -> list[Case]:
        if schema is True:
            schema = {}
        if schema is False:
            return []
        for word in ("anyOf", "oneOf"):
            if word in schema:
                self._check_keywords(schema, {word}, place)
                if not isinstance(schema[word], list) or not schema[word]:
                    raise SpecError("must be a list of schemas", f"{place}/{word}")
                branches = enumerate(schema[word])
                return [c for k, b in branches for c in self._cases(b, f"{place}/{word}/{k}")]
        if "const" in schema or "enum" in schema:
            return self._values(schema, place)
        types = schema.get("type", list(TYPES))
        types = [types] if isinstance(types, str) else types
        if not isinstance(types, list) or any(kind not in TYPES for kind in types):
            raise SpecError("type must name types of JSON", f"{place}/type")
        return self._typed(schema, [kind for kind in TYPES if kind in types], place)

    def _typed(self, schema: dict[str, Any], types: list[str], place: str) -> list[Case]:
        cases = []
        if "string" in types:
            self._check_keywords(schema, _beside("string", STRING_KEYWORDS), place)
            cases.append(Case("string", lambda guard: self._string(schema, guard, place), -1))
        if self.style.nested:
            for kind in types:
                if kind in ("object", "array"):
                    cases.append(Case(kind, None, self._container(schema, kind, place)))
        plain = [k for k in types if k != "string" and not (self.style.nested and k not in SCALARS)]
        if "integer" in plain and "number" in plain:
            plain.remove("integer")
        # types that the style names differently are different cases
        groups: dict[str, list[str]] = {}
        for kind in plain:
            groups.setdefault(self.style.types.get(kind, ""), []).append(kind)
        for kinds in groups.values():
            node = self._json({**schema, "type": kinds}, place)
            cases.append(Case(kinds[0], None, node, self._integers(schema, kinds, place)))
        return cases

    def _values(self, schema: dict[str, Any], place: str) -> list[Case]:
        """Return the cases of constants: strings raw, other values as JSON."""
        word = "const" if "const" in schema else "enum"
        values = [schema["const"]] if word == "const" else schema["enum"]
        if not isinstance(values, list) or not values:
            raise SpecError("enum must be a list with at least one value", f"{place}/enum")
        self._check_keywords(schema, {word, "type"}, place)
        types = schema.get("type", list(TYPES))
        cases = []
        if "string" in types:
            strings = [value for value in values if isinstance(value, str)]
            for text in strings:
                cases.append(Case("string", self._constant(text, f"{place}/{word}"), -1))
        rest = [value for value in values if not isinstance(value, str) and _fits(value, types)]
        groups: dict[str, list[Any]] = {}
        for value in rest:
            groups.setdefault(_kind(value), []).append(value)
        for kind, some in groups.items():
            if self.style.nested and kind not in SCALARS:
                raise UnsupportedSchema(f"{place}/{word}", word, f"a constant {kind} in this style")
            sub = {key: value for key, value in schema.items() if key != word}
            sub["enum"] = some
            integers = self._integers(sub, [kind], place)
            cases.append(Case(kind, None, self._json(sub, place), integers))
        return cases

    def _integers(
        self, schema: dict[str, Any], kinds: list[str], place: str
    ) -> Callable[[], Node] | None:
        if not {"integer", "number"}.intersection(kinds):
            return None
        return lambda: self._json({**schema, "type": "integer"}, place)

    def _with_open_integers(self, cases: list[Case]) -> list[Case]:
        """Add a case for the second name of integers if the schema allows several types."""
        if OPEN_INTEGER not in self.style.types or len({case.kind for case in cases}) < 2:
            return cases
        more = [case.integers() for case in cases if case.integers is not None]
        return [*cases, *(Case(OPEN_INTEGER, None, node) for node in more)]

    def _constant(self, text: str, place: str) -> Callable[[str], Node]:
        def raw(guard: str) -> Node:
            if guard in text:
                message = f"{text!r} contains {guard!r}, which would end it"
                raise UnsupportedSchema(place, place.rpartition("/")[2], message)
            return self.g.fail() if self._is_excluded(text) else self.g.bytes(text.encode())

        return raw

    def _json(self, schema: Any, place: str) -> Node:
        """Add JSON text; the subschema gets the definitions of the root schema."""
        for word in ("$defs", "definitions"):
            if isinstance(self.root, dict) and word in self.root:
                schema = {**schema, word: self.root[word]}
        return self.build_schema(
            self.g, schema, pointer=place, extra_keys=self.made.extra_keys,
            any_order=self.made.any_order, whitespace=self.made.whitespace,
            most_blanks=self.made.most_blanks, indent=self.made.indent,
            separators=self.made.separators, spelling=self.made.spelling,
            excludes=self.made.excludes,
        )  # fmt: skip

    def _container(self, schema: dict[str, Any], kind: str, place: str) -> Node:
        """Add an object or a list as elements: one rule for each location, which may recur."""
        key = f"{kind} {place}" if schema.keys() - ANNOTATIONS else f"any {kind}"
        if key not in self._rules:
            rule = self.g.declare(key)
            self._rules[key] = self.g.ref(rule)
            keywords = OBJECT_KEYWORDS if kind == "object" else ARRAY_KEYWORDS
            inner = {k: v for k, v in schema.items() if k in keywords}
            self._check_keywords(schema, _beside(kind, keywords), place)
            body = self._members(inner, place) if kind == "object" else self._list(inner, place)
            self.g.define(rule, body)
        return self._rules[key]

    def _list(self, schema: dict[str, Any], place: str) -> Node:
        item = self._element("item", schema.get("items", True), f"{place}/items", self.style.item)
        least, most = self._bounds(schema, "minItems", "maxItems", place)
        return self.g.repeat(self.g.seq(self._gap_mark(), item), least, most)

    @staticmethod
    def _bounds(schema: dict[str, Any], low: str, high: str, place: str) -> tuple[int, int | None]:
        for name in (low, high):
            size = schema.get(name, 0)
            if type(size) is not int or not 0 <= size <= MOST:
                raise SpecError(f"must be a count of at most {MOST:,}", f"{place}/{name}")
        return schema.get(low, 0), schema.get(high)

    # -- strings ----------------------------------------------------------------------------------
    def _string(self, schema: dict[str, Any], guard: str, place: str) -> Node:
        """Add a raw string without its end."""
        g = self.g
        least, most = self._bounds(schema, "minLength", "maxLength", place)
        patterns = [schema["pattern"]] if "pattern" in schema else []
        if not all(isinstance(pattern, str) for pattern in patterns):
            raise SpecError("must be a string", f"{place}/pattern")
        if schema.get("format") in PATTERNS:
            patterns.append(PATTERNS[schema["format"]])
            most = min(MOST if most is None else most, MOST_OF_FORMATS.get(schema["format"], MOST))
        if patterns:
            return self._matching(patterns, least, most, guard, f"{place}/pattern")
        banned = [tuple(text.encode()) for text in (guard, *self.made.excludes)]
        return g.dispatch((), excludes=banned, open_end=True, min_chars=least, max_chars=most)

    def _matching(
        self, patterns: list[str], least: int, most: int | None, guard: str, place: str
    ) -> Node:
        bound = Bound(self.g.limits.pattern_states, place, self.g.budget)
        trees = [parse(pattern, pointer=place, limits=self.g.limits) for pattern in patterns]
        asked = [from_tree(tree, bound, search=True) for tree in trees]
        found = intersection(asked, [_holding(guard, bound)], bound)
        return bounded_node(self.g, found, least, most, bound, inside_json=False)

    # -- schemas ----------------------------------------------------------------------------------
    def _followed(self, schema: Any, place: str) -> tuple[Any, str]:
        """Follow references to definitions, and allOf of one schema; return schema and pointer."""
        for _ in range(FOLLOWED):
            if not isinstance(schema, dict | bool):
                raise SpecError("must be a JSON Schema, an object or a boolean", place)
            if isinstance(schema, bool):
                return schema, place
            if _is_one(schema.get("allOf")):
                self._check_keywords(schema, {"allOf"}, place)
                schema, place = schema["allOf"][0], f"{place}/allOf/0"
                continue
            if "$ref" not in schema:
                return schema, place
            self._check_keywords(schema, {"$ref"}, place)
            reference = str(schema["$ref"])
            target: Any = self.root
            for step in path_of(reference):
                target = target.get(step) if isinstance(target, dict) else None
            if reference.partition("/")[0] != "#" or target is None:
                raise UnsupportedSchema(
                    place, "$ref", "does not resolve to a definition of the schema"
                )
            schema, place = target, self.made.schema_pointer + reference[1:]
        raise UnsupportedSchema(place, "$ref", "references form a cycle")

    @staticmethod
    def _check_keywords(schema: dict[str, Any], known: Iterable[str], place: str) -> None:
        for keyword in schema:
            if keyword not in known and keyword not in ANNOTATIONS:
                message = f"{keyword!r} can't be enforced here in an XML style"
                raise UnsupportedSchema(f"{place}", keyword, message)


def _is_raw(case: Case) -> bool:
    return case.raw is not None


def _region_of(case: Case, style: Style) -> Region:
    """Return the region that begins a value."""
    if case.raw is not None:
        return Region.STRING
    if style.nested and case.kind in ("object", "array"):
        return Region.OBJECT if case.kind == "object" else Region.ARRAY
    return Region.JSON


def _is_one(schemas: Any) -> bool:
    return isinstance(schemas, list) and len(schemas) == 1


def _holding(text: str, bound: Bound) -> CharAutomaton:
    """Return an automaton of all texts that contain this one."""
    return from_tree(cat([Chars(((ord(c), ord(c)),)) for c in text]), bound, search=True)


def _beside(kind: str, enforced: Iterable[str]) -> set[str]:
    """Return the keywords allowed for a type: enforced ones, and keywords of other types."""
    others = (words for other, words in APPLY_TO.items() if other != kind)
    return {*enforced, *(word for words in others for word in words)}


def _fits(value: Any, types: Any) -> bool:
    """Whether a constant has one of the types; 1.0 is an integer."""
    kind = _kind(value)
    if kind == "number" and float(value).is_integer() and "integer" in types:
        return True
    return kind in types or (kind == "integer" and "number" in types)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    kinds = {bool: "boolean", int: "number", float: "number", str: "string", dict: "object"}
    return kinds.get(type(value), "array")


def build_xml(
    grammar: Grammar, vocabulary: TagVocabulary, build_schema: BuildSchema, made: JsonSchema
) -> Node:
    """Add the arguments of a call in the style of ``made``.

    Raises:
        UnsupportedSchema, SpecError: with the pointer of a schema that the style cannot express.
    """
    return XmlBuilder(grammar, vocabulary, build_schema, made).build()
