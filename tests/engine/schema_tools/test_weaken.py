"""Taking keywords out of a schema makes it weaker, never narrower; `jsonschema` is the judge."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from engine.json_pointer import pointer_of
from engine.schema_tools.document import schemas_below
from engine.schema_tools.weaken import Weakening
from tests.turns import draws

UNIQUE = {"uniqueItems": True}
ODD = {"type": "array", "uniqueItems": True}
TWO = {"properties": {"a": {}, "b": {}}}
CLOSED = {"unevaluatedProperties": False}

#: name -> (schema, pointer, keyword, what it becomes, places that change, a value it must accept)
CASES: dict[str, tuple[Any, str, str, Any, list[str], Any]] = {
    "a leaf": (ODD, "/uniqueItems", "uniqueItems", {"type": "array"}, ["/uniqueItems"], [1, 2]),
    "named by its schema": (
        {"items": ODD}, "/items", "uniqueItems",
        {"items": {"type": "array"}}, ["/items/uniqueItems"], [[1]],
    ),
    "named by a value inside of it": (
        {"type": "string", "enum": ["a", "b"]}, "/enum/1", "enum",
        {"type": "string"}, ["/enum"], "a",
    ),
    "a name that a pointer escapes": (
        {"properties": {"a/b~": ODD}}, "/properties/a~1b~0/uniqueItems", "uniqueItems",
        {"properties": {"a/b~": {"type": "array"}}}, ["/properties/a~1b~0/uniqueItems"], {},
    ),
    "a property that is called like a keyword": (
        {"properties": {"not": ODD, "oneOf": ODD}}, "/properties/not/uniqueItems", "uniqueItems",
        {"properties": {"not": {"type": "array"}, "oneOf": ODD}}, ["/properties/not/uniqueItems"],
        {"not": [1]},
    ),
    "below anyOf, allOf, properties, items": (
        {"anyOf": [{"allOf": [{"properties": {"a": {"items": ODD}}}]}, {"type": "null"}]},
        "/anyOf/0/allOf/0/properties/a/items/uniqueItems", "uniqueItems",
        {"anyOf": [{"allOf": [{"properties": {"a": {"items": {"type": "array"}}}}]},
                   {"type": "null"}]},
        ["/anyOf/0/allOf/0/properties/a/items/uniqueItems"], None,
    ),
    "below then and dependentSchemas": (
        {"if": {"type": "array"}, "then": {"dependentSchemas": {"a": UNIQUE}}},
        "/then/dependentSchemas/a/uniqueItems", "uniqueItems",
        {"if": {"type": "array"}, "then": {"dependentSchemas": {"a": {}}}},
        ["/then/dependentSchemas/a/uniqueItems"], [1, 1],
    ),
    "below propertyNames": (
        {"propertyNames": {"pattern": "^a"}}, "/propertyNames/pattern", "pattern",
        {"propertyNames": {}}, ["/propertyNames/pattern"], {"a": 1},
    ),
    "below not: not goes": (
        {"not": {"items": ODD}, "type": "array"}, "/not/items/uniqueItems", "uniqueItems",
        {"type": "array"}, ["/not"], [1],
    ),
    "below two nots: the outer one goes": (
        {"not": {"not": UNIQUE}}, "/not/not/uniqueItems", "uniqueItems", {}, ["/not"], [1, 2],
    ),
    "below if: all three go": (
        {"if": UNIQUE, "then": {"maxItems": 1}, "else": {"minItems": 9}, "type": "array"},
        "/if/uniqueItems", "uniqueItems", {"type": "array"}, ["/else", "/if", "/then"], [1],
    ),
    "else alone": (
        {"if": UNIQUE, "else": {"minItems": 9}}, "/else", "else",
        {"if": UNIQUE}, ["/else"], [1],
    ),
    "oneOf becomes anyOf": (
        {"oneOf": [{"minimum": 1}, {"maximum": 5}]}, "/oneOf", "oneOf",
        {"anyOf": [{"minimum": 1}, {"maximum": 5}]}, ["/oneOf"], 0,
    ),
    "below oneOf: oneOf becomes anyOf first": (
        {"oneOf": [UNIQUE, {"maxItems": 0}]}, "/oneOf/0/uniqueItems", "uniqueItems",
        {"anyOf": [UNIQUE, {"maxItems": 0}]}, ["/oneOf"], [1, 2],
    ),
    "below oneOf beside anyOf: oneOf goes": (
        {"oneOf": [UNIQUE, {"type": "null"}], "anyOf": [{"type": "array"}]},
        "/oneOf/0/uniqueItems", "uniqueItems", {"anyOf": [{"type": "array"}]}, ["/oneOf"], [1],
    ),
    "below not below oneOf: both change": (
        {"oneOf": [{"not": UNIQUE}, {"type": "null"}]}, "/oneOf/0/not/uniqueItems", "uniqueItems",
        {"anyOf": [{}, {"type": "null"}]}, ["/oneOf", "/oneOf/0/not"], [1, 1],
    ),
    "below contains": (
        {"contains": ODD}, "/contains/uniqueItems", "uniqueItems",
        {"contains": {"type": "array"}}, ["/contains/uniqueItems"], [[1]],
    ),
    "below contains with maxContains: contains goes": (
        {"contains": ODD, "maxContains": 1}, "/contains/uniqueItems", "uniqueItems",
        {"maxContains": 1}, ["/contains"], [[1], [2, 2]],
    ),
    "minContains, without which one is needed": (
        {"contains": {"type": "null"}, "minContains": 0}, "/minContains", "minContains",
        {}, ["/contains", "/minContains"], [1],
    ),
    "maxContains": (
        {"contains": {"type": "null"}, "maxContains": 1}, "/maxContains", "maxContains",
        {"contains": {"type": "null"}}, ["/maxContains"], [None],
    ),
    "patternProperties, beside what is about the rest": (
        {"patternProperties": {"^a": {}}, "additionalProperties": False, "required": ["a"]},
        "/patternProperties/^a", "pattern",
        {"required": ["a"]}, ["/additionalProperties", "/patternProperties"], {"a": 1},
    ),
    "properties, next to a keyword that allows the rest": (
        {"properties": {"a": {}}, "additionalProperties": True}, "/properties", "properties",
        {"additionalProperties": True}, ["/properties"], {"a": 1},
    ),
    "prefixItems, beside what is about the rest": (
        {"prefixItems": [{"type": "null"}], "items": False}, "/prefixItems", "prefixItems",
        {}, ["/items", "/prefixItems"], [None],
    ),
    "minimum of draft 4": (
        {"minimum": 1, "exclusiveMinimum": True}, "/minimum", "minimum",
        {}, ["/exclusiveMinimum", "/minimum"], None,
    ),
    "a listing keyword, seen from its own schema": (
        {**TWO, **CLOSED}, "/properties", "properties",
        {}, ["/properties", "/unevaluatedProperties"], {"a": 1},
    ),
    "a listing keyword, seen from above": (
        {"allOf": [{"anyOf": [TWO]}], **CLOSED}, "/allOf/0/anyOf/0/properties", "properties",
        {"allOf": [{"anyOf": [{}]}]},
        ["/allOf/0/anyOf/0/properties", "/unevaluatedProperties"], {"a": 1},
    ),
    "a listing keyword, seen through a reference": (
        {"allOf": [{"$ref": "#/$defs/x"}], **CLOSED, "$defs": {"x": TWO}},
        "/$defs/x/properties", "properties",
        {"allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {}}},
        ["/$defs/x/properties", "/unevaluatedProperties"], {"a": 1},
    ),
    "a listing keyword of another value": (
        {"properties": {"a": TWO}, **CLOSED}, "/properties/a/properties", "properties",
        {"properties": {"a": {}}, **CLOSED}, ["/properties/a/properties"], {"a": {"c": 1}},
    ),
    "items that unevaluatedItems sees": (
        {"contains": {"type": "null"}, "unevaluatedItems": False, **CLOSED}, "/contains",
        "contains", CLOSED, ["/contains", "/unevaluatedItems"], [None],
    ),
    "a keyword that lists nothing": (
        {"allOf": [{**TWO, "minProperties": 1}], **CLOSED}, "/allOf/0/minProperties",
        "minProperties", {"allOf": [TWO], **CLOSED}, ["/allOf/0/minProperties"], {"a": 1},
    ),
    "a definition used in a property": (
        {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": ODD}},
        "/$defs/x/uniqueItems", "uniqueItems",
        {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "array"}}},
        ["/$defs/x/uniqueItems"], {"a": [1]},
    ),
    "a definition used below not as well: not goes first": (
        {"properties": {"a": {"$ref": "#/$defs/x"}}, "not": {"items": {"$ref": "#/$defs/x"}},
         "$defs": {"x": ODD}},
        "/$defs/x/uniqueItems", "uniqueItems",
        {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": ODD}}, ["/not"], [1],
    ),
    "a definition used by a definition below not": (
        {"not": {"$ref": "#/$defs/y"}, "$defs": {"x": ODD, "y": {"items": {"$ref": "#/$defs/x"}}}},
        "/$defs/x/uniqueItems", "uniqueItems",
        {"$defs": {"x": ODD, "y": {"items": {"$ref": "#/$defs/x"}}}}, ["/not"], [1],
    ),
    "negation in a circle: both go": (
        {"items": {"$ref": "#/$defs/x"},
         "$defs": {"x": {"not": {"items": {"$ref": "#/$defs/y"}}, **UNIQUE},
                   "y": {"not": {"items": {"$ref": "#/$defs/x"}}}}},
        "/$defs/x/uniqueItems", "uniqueItems",
        {"items": {"$ref": "#/$defs/x"}, "$defs": {"x": UNIQUE, "y": {}}},
        ["/$defs/x/not", "/$defs/y/not"], [[1]],
    ),
    "a not that only holds the definition": (
        {"not": {"$defs": {"x": ODD}, "type": "null"}, "items": {"$ref": "#/not/$defs/x"}},
        "/not/$defs/x/uniqueItems", "uniqueItems",
        {"not": {"$defs": {"x": {"type": "array"}}, "type": "null"},
         "items": {"$ref": "#/not/$defs/x"}},
        ["/not/$defs/x/uniqueItems"], [[1]],
    ),
    "a definition at a place of its own": (
        {"items": {"$ref": "#/components/x"}, "components": {"x": {"not": ODD}}},
        "/components/x/not/uniqueItems", "uniqueItems",
        {"items": {"$ref": "#/components/x"}, "components": {"x": {}}}, ["/components/x/not"],
        [[1, 1]],
    ),
    "a pointer without its #": (
        {"items": {"$ref": "/components/x"}, "components": {"x": {"not": ODD}}},
        "/components/x/not/uniqueItems", "uniqueItems",
        {"items": {"$ref": "/components/x"}, "components": {"x": {}}}, ["/components/x/not"],
        None,
    ),
    "an index written with zeros": (
        {"allOf": [{"items": {"not": {"$ref": "#/allOf/01"}}}, ODD]}, "/allOf/1/uniqueItems",
        "uniqueItems", {"allOf": [{"items": {}}, ODD]}, ["/allOf/0/items/not"], [1],
    ),
    "a reference that leaves the document": (
        {"properties": {"a": {"$ref": "https://example.org/x", "type": "array"}}},
        "/properties/a/$ref", "$ref",
        {"properties": {"a": {"type": "array"}}}, ["/properties/a/$ref"], None,
    ),
    "a reference that may name anything stands below not": (
        {"items": ODD, "not": {"$dynamicRef": "#x"}}, "/items/uniqueItems", "uniqueItems",
        {"items": ODD}, ["/not"], None,
    ),
    "a reference that leaves the document, below oneOf, changes nothing": (
        {"items": ODD, "oneOf": [{"$ref": "https://example.org/x"}]}, "/items/uniqueItems",
        "uniqueItems", {"items": {"type": "array"}, "oneOf": [{"$ref": "https://example.org/x"}]},
        ["/items/uniqueItems"], None,
    ),
    "a relative reference may be the document's own base": (
        {"$id": "https://example.org/x", "items": ODD, "not": {"$ref": "x"}},
        "/items/uniqueItems", "uniqueItems",
        {"$id": "https://example.org/x", "items": ODD}, ["/not"], None,
    ),
    "the document's own base is the document": (
        {"$id": "https://example.org/x#", "properties": {"a": ODD},
         "items": {"not": {"$ref": "https://example.org/x#/properties/a"}}},
        "/properties/a/uniqueItems", "uniqueItems",
        {"$id": "https://example.org/x#", "properties": {"a": ODD}, "items": {}}, ["/items/not"],
        [],
    ),
    "an anchor below not": (
        {"items": {"$anchor": "x", **ODD}, "not": {"$ref": "#x"}}, "/items/uniqueItems",
        "uniqueItems", {"items": {"$anchor": "x", **ODD}}, ["/not"], 1,
    ),
    "an inner base is in the way of the references below it": (
        {"items": {"$id": "x", "items": {"$ref": "#/$defs/y"}, "$defs": {"y": {}}}},
        "/items/$id", "$id",
        {"items": {"$id": "x", "items": {}, "$defs": {"y": {}}}}, ["/items/items/$ref"], None,
    ),
    "met through what is applied in place": (
        {"properties": {"a": {}}, "allOf": [{"$ref": "#/$defs/x"}],
         "$defs": {"x": {"minProperties": 1}}},
        "/minProperties", "minProperties",
        {"properties": {"a": {}}, "allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {}}},
        ["/$defs/x/minProperties"], {"a": 1},
    ),
    "nowhere to be found: what is applied in place goes": (
        {"properties": {"a": {}}, "allOf": [UNIQUE]}, "", "minProperties",
        {"properties": {"a": {}}}, ["/allOf"], {"a": 1},
    ),
    "nowhere to be found, and nothing applied: only the type is left": (
        {"items": {"type": "array", "minItems": 1, "title": "t"}}, "/items", "enum",
        {"items": {"type": "array", "title": "t"}}, ["/items/minItems"], [[1]],
    ),
}  # fmt: skip


def judge(schema: Any) -> Draft202012Validator:
    return Draft202012Validator(schema)


def weaken(schema: Any, pointer: str, keyword: str) -> tuple[Any, tuple[str, ...]] | None:
    weakening = Weakening(schema)
    changed = weakening.take_out(pointer, keyword)
    return None if changed is None else (weakening.schema, changed)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_a_schema_becomes_and_what_is_said_to_change(case: tuple[Any, ...]):
    schema, pointer, keyword, becomes, places, _ = case
    before = repr(schema)
    assert weaken(schema, pointer, keyword) == (becomes, tuple(places))
    assert repr(schema) == before, "what was given is never changed"


#: references that no judge follows, a word of draft 4, and another document inside
NOT_JUDGED = ("example.org", "$dynamicRef", "exclusiveMinimum", "'$id'")
JUDGED = {n: case for n, case in CASES.items() if not any(w in repr(case[0]) for w in NOT_JUDGED)}


@pytest.mark.parametrize("case", JUDGED.values(), ids=JUDGED.keys())
def test_a_value_stays_accepted(case: tuple[Any, ...]):
    schema, _, _, becomes, _, value = case
    assert judge(schema).is_valid(value)
    assert judge(becomes).is_valid(value)


@pytest.mark.parametrize(("most", "is_changed"), [(4, True), (3, False)])
def test_a_schema_with_too_many_uses_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, most: int, is_changed: bool
):
    """Two steps to the keyword, for what must go instead, and two for what must go with it."""
    monkeypatch.setattr("engine.schema_tools.weaken.MAX_STEPS", most)
    assert (weaken(ODD, "/uniqueItems", "uniqueItems") is not None) == is_changed


HOPELESS = {
    "a place that does not exist": ({"type": "array"}, "/items/uniqueItems/x", "y", True),
    "a boolean": (False, "", "type", False),
    "what is taken out is named elsewhere": (
        {"not": {"items": ODD}, "items": {"$ref": "#/not/items"}}, "/not", "not", False,
    ),
    "a oneOf with a branch that is named elsewhere": (
        {"oneOf": [ODD, {}], "items": {"$ref": "#/oneOf/0"}}, "/oneOf", "oneOf", False,
    ),
    "a reference to what is no schema": (
        {"properties": {"not": ODD}, "items": {"$ref": "#/properties"}},
        "/properties/not/uniqueItems", "uniqueItems", False,
    ),
    "a place in an unknown keyword": ({"x": {"y": ODD}}, "/x/y/uniqueItems", "uniqueItems", False),
}  # fmt: skip


@pytest.mark.parametrize("case", HOPELESS.values(), ids=HOPELESS.keys())
def test_where_nothing_can_go_without_harm_nothing_changes(case: tuple[Any, ...]):
    schema, pointer, keyword, may_empty = case
    weakening = Weakening(schema)
    changed = weakening.take_out(pointer, keyword)
    assert changed is None or may_empty
    assert changed is not None or weakening.schema == schema


def test_pointers_lead_back_to_the_schema_that_was_given():
    inner = {"oneOf": [{"items": {"oneOf": [ODD, {"type": "null"}]}}, {"type": "null"}]}
    weakening = Weakening(inner)
    place = "/oneOf/0/items/oneOf/0/uniqueItems"
    assert weakening.take_out(place, "uniqueItems") == ("/oneOf", "/oneOf/0/items/oneOf")
    now = "/anyOf/0/items/anyOf/0/uniqueItems"
    assert weakening.given(now) == place
    assert weakening.take_out(now, "uniqueItems") == (place,)


# -- drawn schemas ---------------------------------------------------------------------------------

SCALARS = [None, True, 0, 1, 2, "", "a", "ab"]
VALUES: list[Any] = [
    *SCALARS,
    *([], [0], [0, 0], [0, 1], [1, "a", None], [[0, 0]], [["a"], 1], [{"a": 1}], [{}, {}]),
    *({}, {"a": 0}, {"b": "a"}, {"a": 0, "b": 1}, {"c": None}, {"a": {"a": 1}}, {"a": [0, 0]}),
    *({"a": {"b": [1]}, "c": 2}, {"a": 1, "b": 2, "c": 3}, {"b": {}}, {"b": {"a": 0, "c": 0}}),
]
#: groups of keywords that mean something together; a drawn schema has one to three groups
GROUPS = (
    *(("type",), ("minItems",), ("maxItems",), ("required",), ("minProperties",), ("uniqueItems",)),
    *(("enum",), ("minimum",), ("dependentRequired",), ("propertyNames",), ("dependentSchemas",)),
    *(("not",), ("oneOf",), ("oneOf", "anyOf"), ("anyOf",), ("allOf",), ("$ref",), ("$ref",)),
    *(("if", "then"), ("if", "then", "else"), ("prefixItems", "items"), ("items",)),
    *(("contains",), ("contains", "minContains"), ("contains", "maxContains")),
    *(("properties", "additionalProperties"), ("patternProperties", "additionalProperties")),
    *(("properties", "unevaluatedProperties"), ("patternProperties", "unevaluatedProperties")),
    *(("allOf", "unevaluatedProperties"), ("anyOf", "unevaluatedProperties"), ("properties",)),
    *(("$ref", "unevaluatedProperties"), ("$ref", "unevaluatedItems"), ("not", "properties")),
    *(("prefixItems", "unevaluatedItems"), ("contains", "unevaluatedItems")),
)


class Drawing:
    """A schema out of a source of chance. Definition x may use y; y uses nothing: no judge ends on
    references in a circle."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def whole(self) -> dict[str, Any]:
        x, y = self._schema(2, ("y",)), self._schema(1, ())
        return {**self._schema(3, ("x", "y", "x")), "$defs": {"x": x, "y": y}}

    def _schema(self, depth: int, names: tuple[str, ...]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for _ in range(self._random.randint(1, 2 if depth < 3 else 3)):
            for keyword in self._random.choice(GROUPS):
                value = self._value(keyword, depth - 1, names)
                if value is not None:
                    made.setdefault(keyword, value)
        return made

    def _below(self, depth: int, names: tuple[str, ...]) -> Any:
        if depth <= 0 or self._random.random() < 0.1:
            return self._random.choice(
                [True, {}, {"type": "integer"}, {"const": 0}, {"minimum": 1}]
            )
        return self._schema(depth, names)

    def _value(self, keyword: str, depth: int, names: tuple[str, ...]) -> Any:
        pick, below = self._random.choice, lambda: self._below(depth, names)
        match keyword:
            case "$ref":
                return f"#/$defs/{pick(names)}" if names else None
            case "type":
                return pick(["array", "object", "integer", ["string", "array"]])
            case "required":
                return pick([["a"], ["b"], ["a", "b"]])
            case "uniqueItems":
                return True
            case "enum":
                return self._random.sample(VALUES, 5)
            case "dependentRequired":
                return {pick("abc"): [pick("abc")]}
            case "minimum" | "minItems" | "maxItems" | "minProperties" | "minContains":
                return pick([0, 1, 2])
            case "maxContains":
                return pick([0, 1])
            case "properties" | "dependentSchemas":
                return {name: below() for name in self._random.sample("abc", pick([1, 2]))}
            case "patternProperties":
                return {pick(["^a", "^[ab]", "c"]): below()}
            case "allOf" | "anyOf" | "oneOf" | "prefixItems":
                return [below() for _ in range(pick([1, 2, 2, 3]))]
            case "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" | "items":
                return pick([False, False, below()])
        return below()


def keywords_of(schema: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every keyword that could be refused, by its place."""
    if not isinstance(schema, dict):
        return
    for keyword in schema:
        if keyword not in ("$defs",):
            yield (*place, keyword)
    for child, at in schemas_below(schema, place):
        yield from keywords_of(child, at)
    for name, child in schema.get("$defs", {}).items():
        yield from keywords_of(child, (*place, "$defs", name))


@pytest.mark.campaign
@draws(1500, suppress_health_check=list(HealthCheck))
@given(random=st.randoms(use_true_random=True))
def test_a_weaker_schema_accepts_all_that_the_schema_accepts(random: Random):
    """Three keywords of a drawn schema are refused, one after the other."""
    whole = Drawing(random).whole()
    weakening = Weakening(whole)
    accepted = [value for value in VALUES if judge(whole).is_valid(value)]
    for _ in range(3):
        places = list(keywords_of(weakening.schema))
        if not places or not accepted:
            return
        place = random.choice(places)
        weakening.take_out(pointer_of(place), place[-1])
        now = judge(weakening.schema)
        for value in accepted:
            assert now.is_valid(value), (whole, weakening.schema, pointer_of(place), value)


@draws(100)
@given(random=st.randoms(use_true_random=True))
def test_whatever_is_refused_goes_in_the_end(random: Random):
    """Refused again and again, a keyword's place is empty after as many steps as it is deep."""
    whole = Drawing(random).whole()
    for place in keywords_of(whole):
        weakening = Weakening(whole)
        pointer = pointer_of(place)
        for _ in range(2 * len(place) + 8):
            left = [at for at in keywords_of(weakening.schema)
                    if weakening.given(pointer_of(at)) == pointer]  # fmt: skip
            if not left or (left[0][-1] == "anyOf" and place[-1] == "oneOf"):
                break
            assert weakening.take_out(pointer_of(left[0]), left[0][-1])
        else:
            raise AssertionError((whole, pointer))
