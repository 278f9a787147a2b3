"""Multiples, exactly: of the decimal that is written, whatever a double makes of it."""

from typing import Any

import pytest

from engine.errors import LimitExceeded, SpecError
from engine.frontends.json_schema import build_json_schema
from engine.grammar.ir import Grammar
from tests.engine.frontends.accepting import check_table, compiler


def num(divisor: float, **keywords: Any) -> dict[str, Any]:
    return {"type": "number", "multipleOf": divisor, **keywords}


def whole(divisor: float, **keywords: Any) -> dict[str, Any]:
    return {"type": "integer", "multipleOf": divisor, **keywords}


MULTIPLES = [
    (whole(1), "0 1 -7 1.0 10 -0", "0.5 1.01"),
    (whole(2), "0 2 -4 10 2.0 1000000000000000000000", "1 3 -5 11 1.0 1000000000000000000001"),
    (whole(7), "0 7 -14 700 7000000000000000000007", "1 8 -6 71"),
    (whole(100), "0 100 -200 12300", "1 10 50 12301"),
    (whole(0.5), "0 1 2 -3", "0.5 1.5"),
    (whole(1.5), "0 3 -6 9", "1 2 1.5 4.5"),
    (whole(3, minimum=4, maximum=10), "6 9", "3 0 -3 5 12"),
    (whole(3, exclusiveMinimum=6, exclusiveMaximum=12), "9", "6 12 8"),
    (whole(5, maximum=-3), "-5 -10 -100", "0 5 -3 -4"),
    (num(1), "0 5 -3 5.0 5.000", "0.5 5.1"),
    (num(0.01), "0 0.01 1.13 19.99 -0.07 4.350 1 0.10", "0.001 1.135 -0.005"),
    (num(0.1), "0.1 0.3 0.7 1 -2.5 0.30", "0.05 0.31"),
    (num(0.5), "0 0.5 -1.5 2 2.0 2.50", "0.25 0.3 1.55"),
    (num(0.25), "0.25 0.5 0.75 1 -0.250", "0.2 0.7 0.125"),
    (num(1.5), "0 1.5 3 -4.5 3.0", "1 0.5 2.5"),
    (num(2.0), "0 2 4.0 -6", "1 3.0 0.2"),
    (num(1e-5), "0.00001 1.00002 3", "0.000001 0.000015"),
    (num(12.34), "0 12.34 24.68 -12.340", "12.33 1"),
    (num(0.1, minimum=0, maximum=1), "0 0.1 0.9 1 1.0", "-0.1 1.1 0.15"),
    (num(0.1, exclusiveMinimum=0, exclusiveMaximum=1), "0.1 0.9", "0 1 1.0 0.95"),
    (num(0.5, minimum=-1.2, maximum=-0.4), "-1 -0.5 -1.0", "-1.5 0 -0.7 -1.2"),
    ({"multipleOf": 3}, '3 "a" null [] 0', "1 4 2.5"),
    ({"allOf": [whole(2), {"multipleOf": 3}]}, "0 6 -12 60", "2 3 4 9"),
    ({"allOf": [num(0.2), {"multipleOf": 0.3}]}, "0 0.6 1.2 6", "0.2 0.3 0.9"),
    ({"anyOf": [whole(2), whole(3)]}, "2 3 4 6 9", "1 5 7"),
    ({"enum": [1, 2, 3, 4.5, "a"], "multipleOf": 1.5}, '3 4.5 "a"', "1 2"),
    ({"enum": [0.3, 0.35], "multipleOf": 0.1}, "0.3 0.30", "0.35"),
    ({"properties": {"price": num(0.01, minimum=0)}}, '{"price":19.99} {"price":0.07}', '{"price":0.001} {"price":-1.5}'),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "good", "bad"), MULTIPLES, ids=str)
def test_a_number_is_a_multiple_of_the_decimal_that_is_written(
    schema: Any, good: str, bad: str
) -> None:
    check_table(schema, good, bad)


@pytest.mark.parametrize(
    "schema",
    [whole(5, minimum=1, maximum=4), num(2, exclusiveMinimum=0, exclusiveMaximum=2)],
    ids=str,
)
def test_bounds_without_a_multiple_between_them_are_refused(schema: Any) -> None:
    with pytest.raises(SpecError, match="nothing can satisfy"):
        compiler().compile_json_schema(schema)


def test_a_divisor_of_too_many_states_is_refused_by_its_place() -> None:
    with pytest.raises(LimitExceeded) as caught:
        compiler().compile_json_schema({"items": {"type": "integer", "multipleOf": 123_457}})
    assert (caught.value.limit, caught.value.pointer) == ("pattern_states", "/items/multipleOf")


def test_large_multiples_of_one_schema_share_a_bound() -> None:
    """REGRESSION: each was bounded by itself. Results that the process keeps are charged as if
    rebuilt, so a schema is not accepted because it was sent before.
    """
    schema = {"properties": {f"p{n}": whole(19_990 - 7 * n) for n in range(60)}}
    spent = []
    for _ in range(3):
        grammar = Grammar()
        with pytest.raises(LimitExceeded) as caught:
            build_json_schema(grammar, schema)
        assert caught.value.limit == "compile_steps"
        spent.append(grammar.budget.spent)
    assert len(set(spent)) == 1


def test_both_signs_of_a_multiple_share_an_automaton() -> None:
    one_sided, both = Grammar(), Grammar()
    build_json_schema(one_sided, whole(4_999, minimum=0))
    build_json_schema(both, whole(4_999))
    assert both.budget.spent < 1.1 * one_sided.budget.spent


def states_of(schema: Any) -> int:
    return int(compiler().compile_json_schema(schema).stats()["states"])


@pytest.mark.parametrize("other", [whole(101), num(0.3), {"not": whole(101)}], ids=str)
def test_multiples_beside_one_another_are_not_multiplied(other: Any) -> None:
    """REGRESSION: two of 9,973 and 9,967 took 4 s to compile, as one automaton."""
    alone = states_of(whole(97)) + states_of(other)
    assert states_of({"anyOf": [whole(97), other]}) < 2 * alone
    check_table({"anyOf": [whole(97), whole(101)]}, "0 97 -101 9797 194.0", "1 98 -102 97.5")
