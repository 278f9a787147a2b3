"""The effects of a request's budget, a cancellation and a remembered refusal on compiles."""

import threading
from typing import Any

import pytest

import engine
from engine import (
    Cancelled,
    Compiler,
    LimitExceeded,
    Limits,
    Matcher,
    SpecError,
    UnsupportedSchema,
    from_caches,
)
from tests.engine.harness import THREADS, in_threads, new_mask
from tests.vocabularies import small_vocabulary

GOOD: dict[str, Any] = {"type": "string", "pattern": "^[ab]{2,9}c$", "maxLength": 5}

LOOKS = r"^(?=.*[0-9])(?=.*[a-z])(?!.*\s).{8,64}x?$"


def compiler(**limits: Any) -> Compiler:
    return Compiler(small_vocabulary(), limits=Limits(**limits))


def counted(one: Compiler, *names: str) -> list[int]:
    stats = one.stats()
    return [stats[name] for name in names]


def steps_of(schema: Any) -> int:
    budget = engine.WorkBudget()
    compiler().compile_json_schema(schema, budget=budget)
    return budget.spent


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        pytest.param({"$ref": "https://a.example/b"}, UnsupportedSchema, id="REGRESSION"),
        pytest.param({"allOf": [{"type": "string"}, {"type": "null"}]}, SpecError, id="empty"),
        pytest.param({"pattern": "a" * 20_001}, LimitExceeded, id="a bound"),
    ],
)
def test_a_refusal_is_remembered(schema: Any, kind: type[Exception]) -> None:
    one, errors = compiler(), []
    for _ in range(3):
        with pytest.raises(kind) as caught:
            one.compile_json_schema(schema)
        errors.append(caught.value)
    assert counted(one, "refused", "refusal_hits", "refusals") == [1, 2, 1]
    assert len({id(error) for error in errors}) == 3
    assert len({(type(error), str(error), str(vars(error))) for error in errors}) == 1


def test_so_many_refusals_are_remembered() -> None:
    one = compiler(kept_refusals=2)
    specs = [{"type": "string", "minLength": 2, "maxLength": n} for n in (0, 1)]
    specs.append({"type": "array", "minItems": 2, "maxItems": 1})
    for spec in [*specs, *reversed(specs)]:
        with pytest.raises(SpecError):
            one.compile_json_schema(spec)
    # of three, the first to be asked for again are the last two
    assert counted(one, "refused", "refusal_hits", "refusals") == [4, 2, 2]


def test_refusals_go_with_the_grammars() -> None:
    one = compiler()
    for _ in range(2):
        with pytest.raises(SpecError):
            one.compile_regex("(")
        one.clear()
    assert counted(one, "refused", "refusal_hits") == [2, 0]


def test_a_cancelled_compile_is_not_remembered() -> None:
    one, budget = compiler(), engine.WorkBudget()
    budget.spend(1_000)
    budget.cancel()
    with pytest.raises(Cancelled):
        one.compile_json_schema({"enum": [f"value {n}" for n in range(2_000)]}, budget=budget)
    assert counted(one, "refused", "refusals", "compiles") == [0, 0, 0]


def test_specs_of_one_request_share_its_budget() -> None:
    one = compiler(compile_steps=2 * steps_of(GOOD) - 1)
    budget = engine.WorkBudget(one.limits)
    one.compile_json_schema({**GOOD, "title": "alike"}, budget=budget)
    with pytest.raises(LimitExceeded) as caught:
        one.compile_json_schema(GOOD, budget=budget)
    assert caught.value.limit == "compile_steps"
    # the other spec had a part in that: nothing is remembered
    assert counted(one, "refused", "refusals") == [1, 0]
    one.compile_json_schema(GOOD)


def test_as_many_steps_as_the_bound_are_enough() -> None:
    one = compiler(compile_steps=steps_of(GOOD))
    for _ in range(2):
        one.compile_json_schema(GOOD)
    assert counted(one, "compiles", "grammar_hits", "refused") == [1, 1, 0]


def test_one_step_more_than_the_bound_is_refused_once_and_for_all() -> None:
    one = compiler(compile_steps=steps_of(GOOD) - 1)
    for _ in range(2):
        with pytest.raises(LimitExceeded, match="compile_steps"):
            one.compile_json_schema(GOOD)
    assert counted(one, "compiles", "refused", "refusal_hits") == [0, 1, 1]


def test_caches_alone_compile_nothing() -> None:
    """A new spec gives None, a cached grammar itself, and a cached refusal is raised again."""
    one = compiler()

    def good(budget: engine.WorkBudget) -> engine.Compiled:
        return one.compile_json_schema(GOOD, budget=budget)

    def bad(budget: engine.WorkBudget) -> engine.Compiled:
        return one.compile_regex("(", budget=budget)

    assert from_caches(good) is None and from_caches(bad) is None
    assert counted(one, "compiles", "refused", "refusals") == [0, 0, 0]
    kept = one.compile_json_schema(GOOD)
    assert from_caches(good) is kept
    with pytest.raises(SpecError):
        one.compile_regex("(")
    with pytest.raises(SpecError):
        from_caches(bad)
    assert counted(one, "compiles", "refused", "refusal_hits") == [1, 1, 1]


def test_what_is_kept_costs_nothing() -> None:
    one, nothing = compiler(), engine.WorkBudget(Limits(compile_steps=0))
    nothing.cancel()
    with pytest.raises(Cancelled):
        one.compile_json_schema(GOOD, budget=nothing)
    kept = one.compile_json_schema(GOOD)
    nothing = engine.WorkBudget(Limits(compile_steps=0))
    assert one.compile_json_schema(GOOD, budget=nothing) is kept
    assert nothing.spent == 0


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"type": "integer", "multipleOf": 9_973}, id="multiples"),
        pytest.param({"type": "string", "pattern": "a[ab]{9}$"}, id="a search"),
        pytest.param({"type": "string", "pattern": LOOKS}, id="looks"),
        pytest.param({"type": "string", "pattern": "^(?:aaa)*b$", "minLength": 900}, id="lengths"),
        pytest.param(
            {"properties": {f"p{n}": {"items": {"enum": [n, [n]]}} for n in range(500)}},
            id="members",
        ),
    ],
)
def test_all_that_can_grow_counts_and_ends_when_it_is_cancelled(spec: Any) -> None:
    steps = steps_of(spec)
    assert steps > 2_000
    budget = engine.WorkBudget(Limits(compile_steps=steps))
    budget.cancel()
    with pytest.raises(Cancelled):
        compiler().compile_json_schema(spec, budget=budget)
    assert budget.spent < steps


@pytest.mark.parametrize("leader_ends", [Cancelled("left"), LimitExceeded("compile_steps", 1, 2)])
def test_where_the_leader_gives_up_the_next_one_takes_over(
    monkeypatch: pytest.MonkeyPatch, leader_ends: Exception
) -> None:
    one, built, enough = compiler(), [], threading.Event()
    build = one._build

    def build_late(*asked: Any) -> engine.Compiled:
        built.append(asked)
        if len(built) == 1:
            assert enough.wait(60)
            raise leader_ends
        return build(*asked)

    monkeypatch.setattr(one, "_build", build_late)
    used = engine.WorkBudget()
    used.spend(1)

    def work(number: int) -> bool:
        try:
            if number == 0:
                one.compile_json_schema(GOOD, budget=used)
            else:
                while not built:
                    threading.Event().wait(0.001)
                if number == 1:
                    enough.set()
                one.compile_json_schema(GOOD)
        except (Cancelled, LimitExceeded):
            return False
        return True

    assert sorted(in_threads(work)) == [False] + [True] * (THREADS - 1)
    assert len(built) == 2 and counted(one, "compiles") == [1]


def test_a_schema_costs_the_same_where_its_strings_are_kept() -> None:
    """REGRESSION: one pattern is asked for by a string, and judges a value elsewhere."""
    pattern = {"type": "string", "pattern": "^(a|b)*a(a|b){6}z?$"}
    schema = {
        "properties": {
            "s": {"allOf": [pattern, {"pattern": "^[abz]{3,40}$"}]},
            "o": {"properties": {"e": {"allOf": [{"enum": ["aaaaaaaa", "c"]}, pattern]}}},
        }
    }
    assert len({steps_of(schema) for _ in range(2)}) == 1


def test_token_masks_that_the_table_drops_count_for_the_grammars_that_use_them() -> None:
    """REGRESSION: grammars were measured before their token masks were dropped from the table, and
    the masks that they kept alive counted nowhere: 30 MB counted as 22.
    """
    one = Compiler(small_vocabulary(), limits=Limits(token_mask_bytes=60_000))
    mask, kept = new_mask(one.vocabulary), []
    while one.stats()["token_mask_evictions"] < 2:
        number = len(kept)
        kept.append(
            one.compile_regex(f"(item{number}|[a-f\\d]{{3,9}})(-[A-Za-z {number}]+)*\\.com")
        )
        matcher = Matcher(kept[-1])
        for byte in b"abcd-":
            matcher.fill_bitmask(mask)
            assert matcher.accept_bytes(bytes([byte]))
        matcher.fill_bitmask(mask)
    for number in range(1 + len(kept) // 16):
        kept.append(one.compile_json_schema({"const": number}))
    # the last one is measured with the next one
    assert one.stats()["grammar_bytes"] == sum(each.held_bytes() for each in kept[:-1])
