"""One thread makes a value that several want at once."""

import threading
from typing import Any

import pytest

import engine
from engine.frontends.regex import front_end as regex
from engine.native import single_flight
from engine.native.single_flight import SingleFlight
from tests.engine.harness import THREADS, in_threads
from tests.vocabularies import small_vocabulary

#: takes long enough for all to come
PATTERN = {"type": "string", "pattern": "^[ab]*a[ab]{10}$", "not": {"pattern": "bbb"}}


def test_one_makes_it_and_the_others_wait() -> None:
    under_way, made, waiting = SingleFlight(), [], threading.Semaphore(0)

    def work(number: int) -> bool:
        waiting.release()
        mine = under_way.begin("it")
        if mine is not None:
            for _ in range(THREADS):
                waiting.acquire()
            made.append(number)
        under_way.end("it", mine)
        return bool(made)

    assert in_threads(work) == [True] * THREADS
    again = under_way.begin("it")
    assert again is not None and len(made) >= 1
    under_way.end("it", again)


def test_different_things_are_made_side_by_side() -> None:
    under_way = SingleFlight()
    one, other = under_way.begin("one"), under_way.begin("other")
    assert one is not None and other is not None


def test_a_maker_that_is_gone_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_flight, "MAX_WAIT_SECONDS", 0.01)
    under_way = SingleFlight()
    gone = under_way.begin("it")
    assert under_way.begin("it") is None
    next_one = under_way.begin("it")
    assert next_one is not None
    under_way.end("it", gone)
    assert under_way.begin("it") is None, "the late one ends only its own"


def test_threads_that_want_one_spec_compile_it_once() -> None:
    compiler = engine.Compiler(small_vocabulary())
    found = in_threads(lambda _: compiler.compile_json_schema(PATTERN))
    assert all(each is found[0] for each in found) and isinstance(found[0], engine.Compiled)
    stats = compiler.stats()
    assert stats["compiles"] == 1 and stats["grammar_hits"] == THREADS - 1


def test_threads_that_want_one_refused_spec_all_hear_why() -> None:
    compiler = engine.Compiler(small_vocabulary())
    schema = {**PATTERN, "minLength": -1}
    found = in_threads(lambda _: compiler.compile_json_schema(schema))
    assert all(isinstance(each, engine.SpecError) for each in found)
    assert compiler.compile_json_schema(PATTERN).is_satisfiable()


def test_threads_with_different_specs_make_their_common_pattern_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, make = [], regex.search_automaton

    def counted(*given: Any) -> Any:
        made.append(given)
        return make(*given)

    monkeypatch.setattr(regex, "search_automaton", counted)
    compiler = engine.Compiler(small_vocabulary())
    compiler.compile_json_schema({"pattern": "(foo|bar).{0,50}(qux|quux)", "type": "string"})
    once = len(made)
    assert once > 0

    def work(number: int) -> engine.Compiled:
        schema = {
            "title": f"spec {number}",
            "pattern": "(fox|bat).{0,50}(qux|quux)",
            "type": "string",
        }
        return compiler.compile_json_schema(schema)

    assert all(isinstance(each, engine.Compiled) for each in in_threads(work))
    assert compiler.stats()["compiles"] == THREADS + 1
    assert len(made) == 2 * once
