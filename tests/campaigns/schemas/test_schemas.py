"""A slice of the campaign of random schemas finds nothing; `make campaign` runs all of it."""

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from multiprocessing import connection
from random import Random
from typing import Any

import jsonschema
import pytest

import engine
from tests.conformance.schemas import COMPOSED, TOPICS
from tests.vocabularies import small_vocabulary

from .__main__ import composed_case, unique_cases
from .cases import Case, Outcome, at_most
from .compositions import composition
from .instances import Promise, has_plain_order, in_order_of, keywords
from .shrink import leads_back, shrunk, smaller
from .unique_items import UNIQUE_SCHEMAS
from .walks import Stuck, Walker, hints
from .watched import Workers

pytestmark = pytest.mark.campaign

#: compositions of the slice
SLICE, SEED = 300, 0
#: seconds of one phase: a busy machine must not fail a test
PATIENCE = 120.0
#: found in the clock, which is no matter of a test
TIMED = frozenset({"slow compile"})


def found(cases: Iterable[Case]) -> tuple[list[tuple[str, str, str]], Counter[str]]:
    """The findings (case, category, words), and all counts."""
    findings, counts = [], Counter[str]()
    with Workers(2) as workers:
        for case, outcome in workers.outcomes(cases, PATIENCE):
            counts += outcome.counts
            counts[outcome.result] += 1
            findings += [(case.name, *each) for each in outcome.findings if each[0] not in TIMED]
    return findings, counts


def test_random_compositions_compile_walk_and_take_their_instances() -> None:
    cases = (composed_case(SEED, number, real_share=0) for number in range(SLICE))
    findings, counts = found(cases)
    assert findings == []
    assert counts["compiled"] > SLICE / 2
    assert counts["walks"] > 20 * counts["unfinished walks"]
    assert min(counts["valid instances"], counts["invalid instances"]) > SLICE


def test_ordinary_unique_items_are_never_stuck() -> None:
    cases = list(unique_cases())
    findings, counts = found(cases)
    assert findings == []
    assert counts["compiled"] == len(cases)
    assert len(UNIQUE_SCHEMAS) >= 50


# -- the generator --------------------------------------------------------------------------------
def test_compositions_are_well_formed_the_same_again_and_of_all_keywords() -> None:
    seen = set()
    for number in range(400):
        schema = composition(SEED, number)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema == composition(SEED, number)
        assert not leads_back(schema)
        seen.update(keywords(schema))
    assert seen >= {*COMPOSED, *(word for words in TOPICS.values() for word in words)}


@pytest.mark.parametrize(
    ("schema", "value", "is_promised"),
    [
        ({}, 0.5, True),
        ({}, 0.123456789, False),
        ({}, 1e300, False),
        ({"type": "string"}, "a@b", True),
        ({"format": "date"}, "a@b", True),
        ({"format": "email"}, "ann@example.com", True),
        # narrower than the RFC: not every address is taken
        ({"format": "email"}, "ann@example.", False),
        ({"not": {"format": "email"}}, "ann@example.com", False),
        ({"not": {"format": "email"}}, "ann", True),
    ],
)
def test_promised_instances(schema: Any, value: Any, is_promised: bool) -> None:
    assert (value in Promise(schema)) == is_promised


def test_the_order_of_a_schema() -> None:
    """That of `properties`, then of `required`; listed objects keep theirs."""
    schema = {"properties": {"b": {}, "a": {"properties": {"d": {}}}}, "required": ["c"]}
    value = {"z": 0, "c": 1, "a": {"e": 2, "d": 3}, "b": 4}
    assert json.dumps(in_order_of(schema, value)) == json.dumps(
        {"b": 4, "a": {"d": 3, "e": 2}, "c": 1, "z": 0}
    )
    assert list(in_order_of({"enum": [{"z": 0, "a": 1}], **schema}, {"z": 0, "a": 1})) == ["z", "a"]
    assert has_plain_order(schema) and not has_plain_order({"allOf": [schema]})


# -- walks ----------------------------------------------------------------------------------------
def test_hints_are_names_and_values_of_the_schema() -> None:
    schema = {"required": ["a"], "properties": {"a": {"enum": [1, {"b": 2}]}, "c": {"const": "x"}}}
    assert {b'"a"', b"1", b'{"b": 2}', b'"x"', b"[]"} <= set(hints(schema, Random(0)))


def test_an_empty_mask_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Blocked:
        def __init__(self, _: Any) -> None:
            pass

        def fill_bitmask(self, mask: Any) -> None:
            mask[:] = 0

    compiled = engine.Compiler(small_vocabulary()).compile_json_schema(True)
    monkeypatch.setattr("tests.campaigns.schemas.walks.engine.Matcher", Blocked)
    with pytest.raises(Stuck):
        Walker(small_vocabulary()).walk(compiled, Random(0))


def spin() -> None:
    while True:
        pass


def test_the_judge_gives_up() -> None:
    with at_most(60.0):
        pass
    with pytest.raises(TimeoutError), at_most(0.01):
        spin()


# -- the watchdog ---------------------------------------------------------------------------------
def hang_or_die(pipe: connection.Connection) -> None:
    """A worker that hangs in a case named "hang", and dies in any other."""
    case = pipe.recv()
    pipe.send("compile")
    if case.name == "hang":
        time.sleep(3600)
    os._exit(3)


def test_a_worker_that_hangs_or_dies_costs_its_case_only() -> None:
    with Workers(1, hang_or_die) as workers:
        cases = [Case("hang", True), Case("die", True), Case("die too", True)]
        outcomes = {
            case.name: outcome.findings for case, outcome in workers.outcomes(cases, deadline=1.0)
        }
    assert outcomes == {
        "hang": [("hang", "compile: over 1 s")],
        "die": [("died", "compile: exit code 3")],
        "die too": [("died", "compile: exit code 3")],
    }


# -- the shrinker ---------------------------------------------------------------------------------
class UniqueItemsFail:
    """Workers that find something in every schema with a true `uniqueItems` and `items`."""

    def outcomes(self, cases: list[Case], _: float) -> Iterator[tuple[Case, Outcome]]:
        for case in cases:
            outcome = Outcome()
            if {"uniqueItems", "items"} <= set(keywords(case.schema)):
                outcome.find("stuck", "found")
            yield case, outcome


def test_a_finding_is_shrunk_to_the_keywords_that_cause_it() -> None:
    inner = {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 5}
    schema = {"anyOf": [{"properties": {"a": inner}}, {"type": "null"}], "required": ["a"]}
    workers: Any = UniqueItemsFail()
    small = shrunk(workers, Case("0", schema), "stuck")
    assert small is not None and small[0].schema == {"items": True, "uniqueItems": True}
    assert shrunk(workers, Case("0", {"type": "array"}), "stuck") is None


def test_smaller_schemas_are_well_formed() -> None:
    schema = {"enum": [1], "$ref": "#/$defs/leaf", "$defs": {"leaf": {"not": {"type": "null"}}}}
    made = list(smaller(schema))
    assert {"enum": [1], "$defs": {"leaf": {"not": {"type": "null"}}}} in made
    assert not any(each.get("enum") == [] for each in made)
    assert all("leaf" in each["$defs"] for each in made if "$ref" in each)
