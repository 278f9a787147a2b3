"""All that can't be enforced is taken out of a schema, and said; nothing else is."""

from importlib import import_module
from typing import Any

import pytest

from engine import (
    Cancelled,
    Compiler,
    LimitExceeded,
    Limits,
    Relaxations,
    SpecError,
    UnsupportedSchema,
    WorkBudget,
    attempts_of,
    relax,
)
from engine.schema_tools import MAX_ROUNDS
from tests.engine.frontends.random_schemas import byte_vocabulary

#: what no engine can enforce, however good it becomes: it leaves the document
AWAY = {"$ref": "https://example.org/schema"}

#: patterns that are ill-formed in ECMA-262, and mean different things in other dialects
FOREIGN = [r"a\Z", r"\h+", "a{,2}", "a++", "(?>a)"]

#: name -> (schema, what it comes to, places)
CASES: dict[str, tuple[Any, Any, list[str]]] = {
    "nothing": ({"type": "object"}, {"type": "object"}, []),
    "true": (True, True, []),
    "one": ({"items": AWAY, "type": "array"}, {"items": {}, "type": "array"}, ["/items/$ref"]),
    "several": (
        {"properties": {"a": AWAY, "b": {"type": "null"}, "c": {"items": AWAY}}},
        {"properties": {"a": {}, "b": {"type": "null"}, "c": {"items": {}}}},
        ["/properties/a/$ref", "/properties/c/items/$ref"],
    ),
    "syntax of other dialects": (
        {"properties": {p: {"type": "string", "pattern": p} for p in FOREIGN}},
        {"properties": {p: {"type": "string"} for p in FOREIGN}},
        [f"/properties/{p}/pattern" for p in sorted(FOREIGN)],
    ),
    "a key in the syntax of another dialect": (
        {"patternProperties": {r"a\Z": {"type": "null"}}},
        {},
        ["/patternProperties"],
    ),
    "options of llguidance": (
        {"x-guidance": {"key_separator": " : "}, "type": "object"},
        {"type": "object"},
        ["/x-guidance"],
    ),
    "a branch of oneOf": (
        {"oneOf": [{"type": "array", "items": AWAY}, {"type": "null"}]},
        {"anyOf": [{"type": "array", "items": {}}, {"type": "null"}]},
        ["/oneOf", "/oneOf/0/items/$ref"],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_a_schema_comes_to(case: tuple[Any, Any, list[str]]):
    schema, comes_to, places = case
    found = relax(schema)
    assert found.error is None
    assert found.schema == comes_to
    assert sorted(place.pointer for place in found.places) == places


#: name -> (style, schema, what it comes to, places)
STYLED: dict[str, tuple[str, Any, Any, list[str]]] = {
    "values that contain their end": (
        "qwen_xml",
        {"properties": {"a": {"enum": ["x", "</parameter>", "y", "</parameter>2", 5]}}},
        {"properties": {"a": {"enum": ["x", "y", 5]}}},
        ["/properties/a/enum/1", "/properties/a/enum/3"],
    ),
    "the only value": (
        "qwen_xml",
        {"properties": {"a": {"enum": ["</parameter>"]}, "b": {"const": "</parameter>"}}},
        {
            "properties": {
                "a": {"type": "string", "pattern": r"^<\/parameter"},
                "b": {"type": "string", "pattern": r"^<\/parameter"},
            }
        },
        ["/properties/a/enum", "/properties/b/const"],
    ),
    "REGRESSION the only value keeps its beginning": (
        "glm_xml",
        {
            "properties": {
                "a": {"const": "x.</arg_value>y"},
                "b": {"anyOf": [{"const": "</arg_value>"}, {"const": "z"}]},
                "c": {"const": "</arg_value>", "type": "string", "pattern": "v"},
            }
        },
        {
            "properties": {
                "a": {"type": "string", "pattern": r"^x\.<\/arg_value"},
                "b": {
                    "anyOf": [
                        {"type": "string", "pattern": r"^<\/arg_value"}, {"const": "z"}
                    ]
                },
                "c": {"type": "string", "pattern": "v"},
            }
        },
        ["/properties/a/const", "/properties/b/anyOf/0/const", "/properties/c/const"],
    ),
    "REGRESSION a value that contains such a text keeps its type": (
        "minimax_m3_xml",
        {"properties": {"a": {"const": ["]<]minimax[>["]}}},
        {"properties": {"a": {"type": "array"}}},
        ["/properties/a/const"],
    ),
    "all values but one": (
        "qwen_xml",
        {"properties": {"a": {"enum": ["</parameter>1", "</parameter>2", "x"]}}},
        {"properties": {"a": {"enum": ["x"]}}},
        ["/properties/a/enum/0", "/properties/a/enum/1"],
    ),
    "a value of a definition inside of a former oneOf": (
        "cohere_xml",
        {
            "properties": {"l": {"oneOf": [{"items": AWAY}, {"items": {"$ref": "#/$defs/e"}}]}},
            "$defs": {"e": {"enum": ["</cofl:value>", "x", [["</cofl:value>"]], "y"]}},
        },
        {
            "properties": {"l": {"anyOf": [{"items": {}}, {"items": {"$ref": "#/$defs/e"}}]}},
            "$defs": {"e": {"enum": ["x", "y"]}},
        },
        [
            "/$defs/e/enum/0",
            "/$defs/e/enum/2",
            "/properties/l/oneOf",
            "/properties/l/oneOf/0/items/$ref",
        ],
    ),
    "several additional keys": (
        "qwen_xml",
        {"type": "object", "allOf": [{"minProperties": 2}]},
        {"type": "object", "allOf": [{}]},
        ["/allOf/0/minProperties"],
    ),
    "a style that can": (
        "qwen_xml",
        {"properties": {"l": {"items": {"enum": ["</parameter>"]}, "uniqueItems": True}}},
        {"properties": {"l": {"items": {"enum": ["</parameter>"]}, "uniqueItems": True}}},
        [],
    ),
    "arguments that are no objects": (
        "qwen_xml", {"type": ["object", "null"]}, {"type": ["object", "null"]}, []
    ),
}  # fmt: skip


#: hosts of at most 253 characters, or of fewer with a hyphen at the end: no register counts both
LONG = r"^(?=.{1,253}$|.{1,99}-$)(?:[a-z](?:[a-z-]{0,61}[0-9])?\.)+[a-z]{2,63}$"
#: name -> (schema of a property, what it comes to, the keyword, the limit that it exceeds)
LIMITED: dict[str, tuple[Any, Any, str, str]] = {
    "REGRESSION a pattern": (
        {"type": "string", "pattern": LONG}, {"type": "string"}, "pattern", "pattern_states"
    ),
    "REGRESSION a large step": (
        {"type": "number", "multipleOf": 1234.567891},
        {"type": "number"},
        "multipleOf",
        "pattern_states",
    ),
    "a long pattern": (
        {"type": "string", "pattern": "a" * 20_001}, {"type": "string"}, "pattern", "pattern_chars"
    ),
    "a pattern of keys": (
        {"patternProperties": {LONG: {"type": "null"}, "^a": {"type": "null"}}},
        {},
        "patternProperties",
        "pattern_states",
    ),
    "REGRESSION edges of a pattern": (
        {"type": "string", "pattern": "^" + r"[\p{L}0-9]" * 400 + "$"},
        {"type": "string"},
        "pattern",
        "rule_edges",
    ),
    "REGRESSION edges of a pattern and a length": (
        {"type": "string", "pattern": r"[\p{L}_]{40}" * 4, "maxLength": 900},
        {"type": "string", "maxLength": 900},
        "pattern",
        "rule_edges",
    ),
    "REGRESSION edges of a constant": (
        {"type": "string", "const": "k" * 300_000}, {"type": "string"}, "const", "rule_edges"
    ),
    "REGRESSION values times schemas": (
        {
            "enum": [[n] for n in range(2_000)],
            "allOf": [{"items": {"minimum": n}} for n in range(300)],
        },
        {"enum": [[n] for n in range(2_000)]},
        "allOf",
        "value_checks",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LIMITED.values(), ids=LIMITED.keys())
def test_a_keyword_beyond_a_limit_is_relaxed_by_name(case: tuple[Any, Any, str, str]):
    schema, comes_to, keyword, limit = case
    found = relax({"properties": {"a": schema, "b": {"minimum": 3}}})
    assert found.error is None
    assert found.schema == {"properties": {"a": comes_to, "b": {"minimum": 3}}}
    (place,) = found.places
    assert (place.pointer, place.keyword) == (f"/properties/a/{keyword}", keyword)
    assert place.reason.startswith(f"{limit}: at most {getattr(Limits(), limit):,} allowed, got ")


@pytest.mark.parametrize("count", [10, 60])
def test_what_many_places_have_in_common_is_built_once(count: int):
    """REGRESSION: ten host names spent all steps of a request, which was refused."""
    one = WorkBudget()
    assert relax({"type": "string", "pattern": LONG}, budget=one).error is None
    good = {"type": "string", "pattern": "a.{9}b", "maxLength": 50}
    members = {f"p{n}": {"type": "string", "pattern": LONG} for n in range(count)}
    budget = WorkBudget()
    found = relax({"properties": {**members, "good": good}}, budget=budget)
    assert found.error is None
    assert {place.pointer for place in found.places} == {
        f"/properties/{name}/pattern" for name in members
    }
    assert found.schema["properties"]["good"] == good
    assert budget.spent < 3 * one.spent


def test_relaxations_of_one_request_share_what_they_build():
    limits = Limits()
    caches, budget, attempts = Relaxations(limits), WorkBudget(), attempts_of(limits)
    for name in "abcdefghijklmnopqrst":
        schema = {"properties": {name: {"type": "string", "pattern": LONG}}}
        found = caches.of(schema, budget=budget, attempts=attempts)
        assert [place.pointer for place in found.places] == [f"/properties/{name}/pattern"]
    assert budget.spent < limits.compile_steps // 5


def test_distinct_patterns_beyond_a_limit_end_with_the_steps_of_the_request():
    members = {f"p{n}": {"type": "string", "pattern": f"{n}.{{14}}b"} for n in range(60)}
    members = {name: {**member, "maxLength": 99} for name, member in members.items()}
    budget = WorkBudget()
    error = relax({"properties": members}, budget=budget).error
    assert isinstance(error, LimitExceeded) and error.limit == "compile_steps"
    assert budget.spent < 1.1 * Limits().compile_steps


def test_an_error_of_edges_names_the_place():
    schema = {"properties": {"a": {"const": "k" * 300_000}}}
    with pytest.raises(LimitExceeded) as caught:
        Compiler(byte_vocabulary()).compile_json_schema(schema)
    assert (caught.value.limit, caught.value.pointer) == ("rule_edges", "/properties/a")


@pytest.mark.parametrize("case", STYLED.values(), ids=STYLED.keys())
def test_what_a_schema_of_styled_arguments_comes_to(case: tuple[str, Any, Any, list[str]]):
    style, schema, comes_to, places = case
    found = relax(schema, style=style)
    assert found.error is None
    assert found.schema == comes_to
    assert sorted(place.pointer for place in found.places) == places
    assert not [place for place in found.places if place.keyword not in place.pointer.split("/")]
    assert relax(schema).schema == schema or "$ref" in str(schema)


def test_a_relaxed_value_of_an_enum_is_named_by_its_keyword():
    (place,) = relax({"enum": [{"a": "</parameter>"}, {"a": "b"}]}, style="qwen_xml").places
    assert (place.pointer, place.keyword) == ("/enum/0", "enum")
    assert (place.refused, place.refused_keyword) == ("/enum/0", "enum")
    assert "'</parameter>'" in place.reason


def test_each_place_says_which_keyword_was_refused_and_why():
    (place, inner) = relax({"oneOf": [{"items": AWAY}]}).places
    assert (place.pointer, place.keyword) == ("/oneOf", "oneOf")
    assert (inner.pointer, inner.keyword) == ("/oneOf/0/items/$ref", "$ref")
    assert place.refused == inner.refused == "/oneOf/0/items/$ref"
    assert "leaves the document" in place.reason


#: name -> (schema, the error that stays)
REFUSED: dict[str, tuple[Any, SpecError]] = {
    "ill-formed": ({"type": "strnig"}, SpecError("unknown type 'strnig'", "/type")),
    "ill-formed, behind what is relaxed": (
        {"oneOf": [{"properties": {"a": AWAY, "b": {"type": "strnig"}}}, {"type": "null"}]},
        SpecError("unknown type 'strnig'", "/oneOf/0/properties/b/type"),
    ),
    "satisfied by nothing": (
        {"type": "string", "enum": [1]},
        SpecError("nothing can satisfy this schema", ""),
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_what_means_nothing_stays_refused(case: tuple[Any, SpecError]):
    schema, error = case
    found = relax(schema)
    assert type(found.error) is SpecError
    assert (found.error.pointer, found.error.message) == (error.pointer, error.message)


def test_a_limit_stays_a_limit():
    """One that no keyword exceeds alone."""
    schema = {"items": AWAY, "properties": {f"a{n}": {"enum": [n, None]} for n in range(20)}}
    error = relax(schema, limits=Limits(ir_nodes=20)).error
    assert isinstance(error, LimitExceeded)
    assert (error.limit, error.maximum, error.got) == ("ir_nodes", 20, 21)


@pytest.mark.parametrize("more", [0, 1])
def test_so_many_refusals_are_relaxed_and_no_more(more: int):
    schema = {"properties": {f"p{n}": AWAY for n in range(MAX_ROUNDS + more)}}
    found = relax(schema)
    assert len(found.places) == MAX_ROUNDS
    assert isinstance(found.error, UnsupportedSchema) == bool(more)


@pytest.mark.parametrize(("most", "relaxed"), [(7, 0), (8, 1), (15, 1), (16, 2)])
def test_a_large_schema_is_looked_at_less_often(
    monkeypatch: pytest.MonkeyPatch, most: int, relaxed: int
):
    """The document has eight values: itself, two words, three members, two references."""
    schema = {"title": "", "properties": {"a": AWAY, "b": AWAY, "c": {}}}
    monkeypatch.setattr(import_module("engine.schema_tools.relax"), "MAX_VALUES", most)
    found = relax(schema)
    assert len(found.places) == relaxed
    assert isinstance(found.error, UnsupportedSchema) == (relaxed < 2)


def test_what_is_left_alone_stays_refused_at_its_place():
    schema = {"items": {"not": {"items": AWAY}}, "allOf": [{"$ref": "#/items/not"}]}
    found = relax(schema)
    assert isinstance(found.error, UnsupportedSchema)
    assert found.schema == schema


def test_a_relaxation_is_remembered() -> None:
    """REGRESSION: a schema was relaxed anew with every request that had it."""
    kept, schema = Relaxations(Limits()), {"anyOf": [{"items": AWAY}, {"type": "null"}]}
    budgets = [WorkBudget(), WorkBudget()]
    made, again = (kept.of(schema, budget=budget) for budget in budgets)
    assert made == again == relax(schema) and made.places
    assert budgets[0].spent > 0 == budgets[1].spent
    assert (kept.stats()["relaxations_made"], kept.stats()["relaxation_hits"]) == (1, 1)
    assert kept.of(schema, extra_keys="last", budget=WorkBudget()).places
    assert kept.stats()["relaxations"] == 2


def test_so_many_bytes_of_relaxations_are_kept() -> None:
    schemas = [{"title": str(n), "items": AWAY} for n in range(3)]
    kept = Relaxations(Limits())
    kept.of(schemas[0], budget=WorkBudget())
    size = kept.stats()["relaxation_bytes"]
    for most, held in ((2 * size, 2), (2 * size - 1, 1), (size, 1), (size - 1, 0)):
        kept = Relaxations(Limits(), most_bytes=most)
        for schema in schemas:
            kept.of(schema, budget=WorkBudget())
        assert kept.stats()["relaxations"] == held
        assert kept.stats()["relaxation_bytes"] <= most


def test_what_the_budget_decided_is_remembered_only_if_it_was_whole() -> None:
    limits = Limits(compile_steps=50)
    kept, schema = Relaxations(limits), {"items": AWAY, "enum": list(range(50))}
    part = WorkBudget(limits)
    part.spend(1)
    for budget, count in ((part, 0), (WorkBudget(limits), 1)):
        error = kept.of(schema, budget=budget).error
        assert isinstance(error, LimitExceeded) and error.limit == "compile_steps"
        assert kept.stats()["relaxations"] == count
    cancelled = WorkBudget(limits)
    cancelled.cancel()
    with pytest.raises(Cancelled):
        kept.of({"items": AWAY, "enum": list(range(2_000))}, budget=cancelled)
    assert kept.stats()["relaxations"] == 1


def test_an_error_that_is_remembered_holds_no_traceback() -> None:
    """REGRESSION: its frames hold the schema."""
    relaxations = Relaxations(Limits())
    schema = {"minLength": 2, "maxLength": 1, "type": "string"}
    for _ in range(2):
        error = relaxations.of(schema, budget=WorkBudget()).error
        assert isinstance(error, SpecError)
        assert (error.__traceback__, error.__context__, error.__cause__) == (None, None, None)
