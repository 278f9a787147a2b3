"""Specs made to hurt: each is compiled and used, or refused by the name of a bound, after bounded work.

Nothing here measures time. Specs that took minutes or gigabytes without a bound are called REGRESSION.
"""

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import engine
from engine.errors import LimitExceeded, SpecError, UnsupportedSchema
from engine.frontends.json_schema import build_json_schema
from engine.frontends.regex.char_automaton import Bound
from engine.frontends.regex.char_nfa import from_tree
from engine.frontends.regex.regex_syntax import parse
from engine.grammar.ir import Grammar
from engine.limits import Limits
from tests.engine.frontends.random_schemas import byte_vocabulary, takes
from tests.engine.harness import new_mask


def compiled(spec: Any, limits: Limits | None = None) -> engine.Compiled:
    """A pattern or a schema."""
    compiler = engine.Compiler(byte_vocabulary(), limits=limits)
    return (
        compiler.compile_regex(spec)
        if isinstance(spec, str)
        else compiler.compile_json_schema(spec)
    )


def searched(pattern: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern, **more}


def chain(length: int, link: Callable[[Any], Any], end: Any) -> dict[str, Any]:
    defs = {f"d{n}": link({"$ref": f"#/$defs/d{n + 1}"}) for n in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{length}": end}}


def nested(levels: int, wrap: Callable[[Any], Any], inner: Any) -> Any:
    for _ in range(levels):
        inner = wrap(inner)
    return inner


def twice(end: Any) -> dict[str, Any]:
    """A schema that meets itself at each of 60 levels."""
    return chain(60, lambda ref: {"allOf": [ref, {**ref, "title": ""}]}, end)


CLASSES = r"[\p{L}\p{N}]{1,50}-\p{Lu}" * 20
STRING = {"type": "string"}


def dependent(pairs: int) -> dict[str, Any]:
    """Alternatives of places inside places: each pair multiplies them at every level."""
    return {
        "additionalProperties": {"$ref": "#"},
        "dependentRequired": {f"a{n}": [f"b{n}"] for n in range(pairs)},
        "if": {"dependentSchemas": {"x": {"properties": {"p0": {**STRING, "maxLength": 1}}}}},
        "then": {},
    }


def without_one_of(branches: int) -> dict[str, Any]:
    """An object of this must have members whose values are such objects: nothing fits."""
    typed = {"a": STRING, "b": {"type": "integer"}, "c": {"type": "boolean"}}
    return {
        "additionalProperties": {"$ref": "#"},
        "not": {"type": "object", "properties": typed},
        "oneOf": [
            {"dependentSchemas": {f"k{n}": {"properties": typed}, f"m{n}": {"required": ["c"]}}}
            for n in range(branches)
        ],
    }


# (name, spec, a text that it takes)
TAKEN = [
    ("REGRESSION what depends on members, in members", dependent(5), '{"a0":{"x":1},"b0":"p0"}'),
    ("counts of counts", searched("^(a{1000}){1000}$"), '"' + "a" * 1_000_000 + '"'),
    ("open counts of counts", "((a{0,1000}){0,1000}){0,1000}", "aaa"),
    ("stars of stars", "((a*)*)*", "aaa"),
    ("a count of a thousand million", "(ab|c){0,999999999}", "abcc"),
    ("REGRESSION a thousand million times nothing", searched("^(()()){999999999}a$"), '"a"'),
    ("a thousand million times one of two nothings", "((()|()){99999999}){99999999}", ""),
    ("a thousand million anchors", searched("(^){999999999}a"), '"ab"'),
    ("REGRESSION counts of counts of counts", "((a{1,99999}){1,99999}){1,99999}", "a" * 5_000),
    ("counts of counts that are searched for", searched("((a{1,99999}){1,99999}){1,99999}"), '"' + "b" * 999 + 'a"'),
    ("stars of the same", searched("((a|a)*)*b"), '"' + "a" * 5_000 + 'b"'),
    ("many ways to read many optional letters", searched("(a?){500}a{500}", minLength=3), '"' + "a" * 999 + '"'),
    ("a search for 1,000 words", searched("|".join(f"word{n}" for n in range(1_000))), '"one word77 more"'),
    ("a search that would grow", searched("(a|b)*a(a|b){20}"), '"' + "ab" * 12 + '"'),
    ("a search for anything and a count", searched(".*a.{1000}"), '"a' + "b" * 1000 + '"'),
    ("a pattern and a length", searched("^(ab)+$", maxLength=10**6), '"' + "ab" * 5_000 + '"'),
    ("large subsets", searched("(a?){500}a{500}", maxLength=9_000), '"' + "a" * 600 + '"'),
    ("REGRESSION an enum of 100,000", {"enum": [f"value number {n}" for n in range(100_000)]}, '"value number 77"'),
    ("REGRESSION 50,000 optional keys", {"type": "object", "properties": {f"name {n}": STRING for n in range(50_000)}}, '{"name 7":"","name 49999":""}'),
    ("many words and a length", searched(r"^(?:\S+\s+){0,49}\S+$", maxLength=500), '"a b  cd"'),
    ("many alternatives", searched("|".join(f"^w{n}$" for n in range(2000))), '"w77"'),
    ("a class of many ranges", searched(f"[{''.join(map(chr, range(0x4E00, 0x7000, 2)))}]"), '"一"'),
    ("REGRESSION a pattern that is slow to minimise", {**searched("^a{3000}$"), "enum": ["b", "a" * 3000]}, '"' + "a" * 3000 + '"'),
    ("REGRESSION a chain of objects", chain(5_000, lambda ref: {"type": "object", "properties": {"a": ref}}, STRING), '{"a":{}}'),
    ("a chain of references", chain(5_000, lambda ref: ref, STRING), '""'),
    ("twice the same reference", chain(60, lambda ref: {"anyOf": [ref, {**ref, "title": ""}]}, STRING), '""'),
    ("twice the same reference under enum", {**chain(60, lambda ref: {"allOf": [ref, {**ref, "maxLength": 9}]}, STRING), "enum": ["a"]}, '"a"'),
    ("REGRESSION twice the same patterns of keys", twice({"patternProperties": {"^a": STRING}}), '{"a":"","b":1}'),
    ("REGRESSION twice the same counted items", twice({"type": "array", "contains": {"const": 1}}), "[1,2]"),
    ("REGRESSION twice the same member that must be somewhere", twice({"type": "object", "not": {"additionalProperties": STRING}}), '{"a":1}'),
    ("REGRESSION twice the same evaluated items", {**twice({"type": "array", "contains": {"const": 1}}), "unevaluatedItems": False}, "[1,1]"),
    ("2,000 optional keys", {"type": "object", "properties": {f"key_{n}": STRING for n in range(2000)}}, '{"key_7":""}'),
    ("a prefix of 20,000", {"prefixItems": [{"type": "integer"}] * 20_000}, "[1,2]"),
    ("a thousand million elements", {"type": "array", "maxItems": 10**9}, "[1]"),
    ("bounds that bound nothing", {"type": "string", "maxLength": 10**300}, '""'),
    ("bounds with 309 digits", {"type": "number", "minimum": -1.7e308, "maximum": 1.7976931348623157e308}, "1e300"),
    ("bounds with 324 digits", {"type": "number", "exclusiveMinimum": 5e-324, "maximum": 1e-300}, "1e-305"),
    ("100,000 branches", {"anyOf": [{"const": n} for n in range(100_000)]}, "99999"),
    ("keys and values that are NUL", {"properties": {"\0": {"const": "\0"}}, "additionalProperties": False}, '{"\\u0000":"\\u0000"}'),
    ("patterns of NUL", searched("^\0\\x00\\0$"), '"\\u0000\\u0000\\u0000"'),
    ("a lone surrogate beside something", searched("^\ud800|a$"), '"a"'),
    ("a key that no text spells", {"type": "object", "properties": {"\ud800": STRING}}, '{"a":1}'),
    ("nested values under enum", {"const": nested(120, lambda x: [x], 1), **chain(0, lambda ref: ref, {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/d0"}}]})}, "[" * 120 + "1" + "]" * 120),
]  # fmt: skip


@pytest.mark.parametrize(("name", "spec", "text"), TAKEN, ids=[case[0] for case in TAKEN])
def test_what_looks_dangerous_is_taken_where_it_is_not(name: str, spec: Any, text: str) -> None:
    made = compiled(spec)
    engine.Matcher(made).fill_bitmask(new_mask(made.vocabulary))
    assert takes(made, text)
    assert not takes(made, text + "x")


def backwards(length: int) -> dict[str, Any]:
    """Objects that need one another, met in the order in which a pass over them finds out least."""
    defs: dict[str, Any] = {
        f"d{n}": {
            "type": "object",
            "required": ["a"],
            "properties": {"a": {"$ref": f"#/$defs/d{n + 1}"}},
        }
        for n in range(length)
    }
    order = [{"$ref": f"#/$defs/d{n}"} for n in reversed(range(length + 1))]
    return {
        "$defs": {**defs, f"d{length}": STRING},
        "type": "array",
        "prefixItems": order,
        "minItems": length,
    }


# (name, spec, the bound's name)
BOUNDED = [
    ("depth of items", nested(10_000, lambda x: {"items": x}, {}), "spec_depth"),
    ("depth of anyOf", nested(10_000, lambda x: {"anyOf": [x]}, {}), "spec_depth"),
    ("depth of an annotation", {"default": nested(10_000, lambda x: [x], 1)}, "spec_depth"),
    ("depth of groups", "(" * 5_000 + "a" + ")" * 5_000, "spec_depth"),
    ("depth of allOf by references", chain(1_000, lambda ref: {"allOf": [ref]}, STRING), "spec_depth"),
    ("length of a pattern", "a" * 20_001, "pattern_chars"),
    ("REGRESSION a search for a long text", searched("a" * 20_000), "pattern_states"),
    ("REGRESSION a search for a counted text", searched("(ab){5000}"), "pattern_states"),
    ("REGRESSION a search for a long sequence of classes", searched("[ab]" * 5_000), "pattern_states"),
    ("a search for counts of counts", searched("(a{1000}){1000}", minLength=3), "pattern_states"),
    ("counts of counts and a length", searched("(a{1000}){1000}", maxLength=10**7), "pattern_states"),
    ("a pattern of 1 MB", searched("a" * 1_000_000), "pattern_chars"),
    ("REGRESSION classes of many ranges and a length", searched(CLASSES, maxLength=900), "rule_edges"),
    ("REGRESSION many ways to anchor", searched("(^|a|$)" * 2_000 + "b"), "pattern_states"),
    ("values of enum", {"enum": list(range(100_001))}, "enum_values"),
    ("REGRESSION values times schemas", {"enum": list(range(10_000)), "anyOf": [{"minimum": n, "maximum": n} for n in range(900)]}, "value_checks"),
    ("a long constant", {"const": "k" * 3_000_000}, "rule_edges"),
    ("REGRESSION rules that become productive one by one", backwards(3_000), "compile_steps"),
    ("REGRESSION a long key above many values", {"properties": {"k" * 10**6: {"properties": {f"p{n}": searched(f"a{n}") for n in range(40)}}}}, "pointer_characters"),
    ("8 MB", {"title": "x" * (8 << 20)}, "spec_bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "spec", "limit"), BOUNDED, ids=[case[0] for case in BOUNDED])
def test_what_is_too_large_is_refused_by_the_bounds_name(name: str, spec: Any, limit: str) -> None:
    with pytest.raises(LimitExceeded) as caught:
        compiled(spec)
    assert caught.value.limit == limit
    assert caught.value.got > caught.value.maximum


@pytest.mark.parametrize("branches", [2, 3, 4])
def test_a_recursion_without_an_end_is_found_within_the_budget(branches: int) -> None:
    """REGRESSION: this took seconds, uncounted."""
    grammar = Grammar()
    with pytest.raises(SpecError, match="nothing can satisfy"):
        build_json_schema(grammar, without_one_of(branches))
    assert 0 < grammar.budget.spent < grammar.budget.limit // 4


def test_the_values_of_a_place_are_counted_once() -> None:
    """REGRESSION: they were counted along each way to it, 40 to the fourth, uncounted."""
    members = {f"p{n}": {"$ref": "#/$defs/o"} for n in range(40)}
    closed = {"type": "object", "additionalProperties": False}
    defs = {"o": {**closed, "properties": {**members, "name": {"type": "string"}}}}
    items = {"$ref": "#/$defs/o"}
    grammar = Grammar()
    build_json_schema(
        grammar,
        {"type": "array", "uniqueItems": True, "minItems": 2, "items": items, "$defs": defs},
    )
    assert 0 < grammar.budget.spent < 2_000


def test_unique_items_are_counted_as_deep_as_they_are_nested() -> None:
    def array(items: Any) -> dict[str, Any]:
        return {"type": "array", "uniqueItems": True, "minItems": 1, "items": items}

    build_json_schema(Grammar(), nested(12, lambda x: array({"properties": {"a": x}}), STRING))
    long = chain(
        4_000, lambda ref: {"type": "object", "required": ["a"], "properties": {"a": ref}}, {}
    )
    with pytest.raises(UnsupportedSchema, match="can't be guaranteed"):
        build_json_schema(
            Grammar(), {**array({"$ref": "#/$defs/d0"}), "minItems": 2, "$defs": long["$defs"]}
        )


def test_the_work_of_a_compile_is_bounded() -> None:
    limits = Limits(compile_steps=5_000)
    with pytest.raises(LimitExceeded) as caught:
        compiled(dependent(5), limits)
    error = caught.value
    assert (error.limit, error.maximum) == ("compile_steps", 5_000)
    assert error.got > error.maximum


def test_a_costly_compile_is_cancelled() -> None:
    """REGRESSION: the compile ran on for hours, with the GIL."""
    budget = engine.WorkBudget(Limits(compile_steps=1 << 60))
    spec = {"properties": {f"p{n}": dependent(8) for n in range(200)}}
    timer = threading.Timer(0.01, budget.cancel)
    timer.start()
    with pytest.raises(engine.Cancelled):
        build_json_schema(Grammar(budget=budget), spec)
    timer.join()


def test_compiles_of_one_request_share_a_budget() -> None:
    spec = dependent(4)
    alone = Grammar()
    build_json_schema(alone, spec)
    limits = Limits(compile_steps=3 * alone.budget.spent // 2)
    budget = engine.WorkBudget(limits)
    build_json_schema(Grammar(limits, budget), spec)
    assert budget.spent == alone.budget.spent
    with pytest.raises(LimitExceeded) as caught:
        build_json_schema(Grammar(limits, budget), spec)
    assert (caught.value.limit, caught.value.maximum) == ("compile_steps", limits.compile_steps)


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_alternatives_are_bounded(keyword: str) -> None:
    """Alternatives that only list values do not count; more alternatives than allowed are refused unread."""
    branches: list[Any] = [{"type": "string", "maxLength": n} for n in range(1, 5)]
    limits = Limits(alternatives=4)
    assert takes(
        compiled({"anyOf": [*branches, {"const": 7}, {"const": "a" * 9}]}, Limits(alternatives=5)),
        "7",
    )
    unread = {keyword: [*branches, {"maxLength": 9}, {"type": "no type"}]}
    with pytest.raises(UnsupportedSchema) as caught:
        compiled(unread, limits)
    assert caught.value.pointer == f"/{keyword}"


ROWS = [
    # (name, pattern, a text): rows have an item for each place where a match may have begun
    ("REGRESSION a text in which a long match may begin anywhere", "[ab]*(ab){5000}", b"ab" * 3_000),
    ("many counts at once", "[ab]*a[ab]{5000}", b"ab" * 3_000),
]  # fmt: skip


@pytest.mark.parametrize(("name", "pattern", "text"), ROWS, ids=[case[0] for case in ROWS])
def test_rows_that_grow_with_the_text_are_bounded(name: str, pattern: str, text: bytes) -> None:
    made = compiled(pattern, Limits(most_generation_bytes=16 << 20))
    with pytest.raises(LimitExceeded) as caught:
        engine.Matcher(made).accept_bytes(text)
    error = caught.value
    assert (error.limit, error.maximum) == ("most_generation_bytes", 16 << 20)
    assert error.got > error.maximum
    assert engine.Matcher(made).accept_bytes(text[:100]), "a new matcher begins anew"
    short = compiled(pattern, Limits(row_items=50))
    with pytest.raises(LimitExceeded) as caught:
        engine.Matcher(short).accept_bytes(text)
    assert (caught.value.limit, caught.value.maximum) == ("row_items", 50)


def test_value_checks_are_bounded() -> None:
    schema = {"enum": [1, 2, 3], "minimum": 2}
    assert takes(compiled(schema, Limits(value_checks=3)), "2")
    with pytest.raises(LimitExceeded) as caught:
        compiled({"properties": {"a": schema}}, Limits(value_checks=2))
    error = caught.value
    assert (error.limit, error.maximum, error.got) == ("value_checks", 2, 3)
    assert error.pointer == "/properties/a/enum"


def test_automata_that_are_slow_to_minimise_stay_as_they_are() -> None:
    letters, long = (
        from_tree(parse(pattern, pointer="", limits=Limits()), Bound(20_000, ""), search=False)
        for pattern in (r"\p{L}{500}", "a{2000}|b{2000}")
    )
    assert long.minimal().size == 4_000
    assert letters.minimal() is letters


# -- deep stacks ----------------------------------------------------------------------------------


def deep_under_enum() -> dict[str, Any]:
    """A value of 120 levels whose innermost schema is behind 120 references that are not yet followed."""
    arrays = chain(120, lambda ref: {"type": "array", "items": ref}, {"$ref": "#/$defs/e0"})
    more = {f"e{n}": {"allOf": [{"$ref": f"#/$defs/e{n + 1}"}]} for n in range(120)}
    defs = {**arrays["$defs"], **more, "e120": {"type": "integer"}}
    return {"const": nested(120, lambda x: [x], 1), "$ref": "#/$defs/d0", "$defs": defs}


def test_a_refusal_does_not_depend_on_how_deep_the_caller_stands() -> None:
    """REGRESSION: judging a value and reading schemas for it were bounded one by one, not together."""

    def below(frames: int) -> None:
        if frames:
            return below(frames - 1)
        with pytest.raises(LimitExceeded) as caught:
            build_json_schema(Grammar(), deep_under_enum())
        assert caught.value.limit == "spec_depth"
        return None

    below(0)
    below(min(300, sys.getrecursionlimit() // 3))


# -- what is no JSON ------------------------------------------------------------------------------

# (a Python value, the pointer of the part that is no JSON)
NO_JSON: list[tuple[Any, str]] = [
    ({"properties": {1: {}}}, "/properties"),
    ({"const": {"a": [{None: 1}]}}, "/const/a/0"),
    ({"enum": [1, (2, 3)]}, "/enum/1"),
    ({"required": ("a",)}, "/required"),
    ({"title": b"x"}, "/title"),
    ({"properties": {"a/b": {"x-note": {1, 2}}}}, "/properties/a~1b/x-note"),
    ({"default": 1j}, "/default"),
]


@pytest.mark.parametrize(("schema", "pointer"), NO_JSON)
def test_what_is_no_json_is_refused_with_its_place(schema: Any, pointer: str) -> None:
    """REGRESSION: keys that are no strings."""
    with pytest.raises(SpecError) as caught:
        build_json_schema(Grammar(), schema, pointer="/base")
    assert caught.value.pointer == "/base" + pointer


# -- numbers beyond what doubles keep apart -------------------------------------------------------

# (bounds, texts within, texts beyond)
LARGE = 10**31 + 5
NUMBERS = [
    ({"type": "integer", "maximum": -LARGE}, [-LARGE, -LARGE - 1], [1 - LARGE]),
    ({"type": "integer", "maximum": LARGE}, [LARGE, LARGE - 1], [LARGE + 1]),
    ({"type": "number", "maximum": -LARGE}, [-LARGE, -LARGE - 1], [1 - LARGE]),
    ({"type": "number", "minimum": -LARGE}, [-LARGE, 1 - LARGE, 0.5], [-LARGE - 1]),
    ({"type": "number", "minimum": 10**31}, [10**31, "1e32"], ["1e31", "1.0e31"]),
    ({"type": "number", "maximum": 10**25}, [10**25, "9e23"], ["9.99999999999999999999e24"]),
    ({"type": "number", "exclusiveMinimum": 5e-324}, ["1e-300"], ["0." + "0" * 323 + "50001"]),
    ({"type": "number", "exclusiveMaximum": 5e-324}, ["0", "-1"], ["0." + "0" * 323 + "4940656"]),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "good", "bad"), NUMBERS)
def test_large_and_small_bounds_hold_exactly(schema: Any, good: list[Any], bad: list[Any]) -> None:
    """REGRESSION: bounds of more than 28 digits were rounded, and doubles were met on their other side."""
    made = compiled(schema)
    assert [text for text in map(str, good) if not takes(made, text)] == []
    assert [text for text in map(str, bad) if takes(made, text)] == []
