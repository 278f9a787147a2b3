"""Requests that wait for one grammar share its compilation; a failure is its own only."""

import gc
import threading
import weakref
from concurrent.futures import Future
from typing import Any

import pytest

from adapters.sglang_plugin import compiling
from adapters.sglang_plugin.compiling import Compilations
from adapters.sglang_plugin.grammar_specs import (
    GrammarSpec,
    ThinkingRegion,
    Whitespace,
    compile_grammar,
)
from adapters.sglang_plugin.settings import Settings
from engine import Compiled, Compiler, Limits, Namespaces, SpecError, WorkBudget
from tests.engine.frontends.random_schemas import byte_vocabulary

GOOD, BAD = GrammarSpec("regex", "a+"), GrammarSpec("regex", "(")


@pytest.fixture
def compilations() -> Compilations:
    return Compilations(Namespaces.one(Compiler(byte_vocabulary())), Settings())


def start(compilations: Compilations, wanted: GrammarSpec) -> Future[Any]:
    return compilations.start(wanted, 100, lambda made: [made])


class Gate:
    """Holds compilations back until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened = threading.Event()
        self.entered = 0

        def compile_late(compiler: Compiler, wanted: GrammarSpec, budget: WorkBudget) -> Compiled:
            self.entered += 1
            assert self.opened.wait(60)
            return compile_grammar(compiler, wanted, budget)

        monkeypatch.setattr(compiling, "compile_grammar", compile_late)


def test_what_was_compiled_is_known_afterwards(compilations: Compilations) -> None:
    assert compilations.known(GOOD) is None
    (made,) = start(compilations, GOOD).result(60)
    assert isinstance(made, Compiled)
    assert compilations.known(GOOD) is made
    compilations._compilers.shared.clear()
    assert compilations.known(GOOD) is None


def test_those_who_wait_for_one_grammar_share_it(
    compilations: Compilations, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    futures = [start(compilations, GOOD) for _ in range(5)]
    gate.opened.set()
    results = [future.result(60) for future in futures]
    assert gate.entered == 1
    assert len({id(made) for (made,) in results}) == 1 and len({id(each) for each in results}) == 5
    assert compilations.counts["shared_compiles"] == 4


def test_cancelling_one_leaves_the_others(
    compilations: Compilations, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    first, second = start(compilations, GOOD), start(compilations, GOOD)
    assert first.cancel()
    gate.opened.set()
    assert isinstance(second.result(60)[0], Compiled)


def test_cancelling_all_ends_the_compilation(
    compilations: Compilations, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, ended = threading.Event(), threading.Event()

    def compile_for_ever(compiler: Compiler, wanted: GrammarSpec, budget: WorkBudget) -> Compiled:
        entered.set()
        try:
            while not ended.wait(0.001):
                budget.spend(1)
        finally:
            ended.set()
        raise AssertionError

    monkeypatch.setattr(compiling, "compile_grammar", compile_for_ever)
    futures = [start(compilations, GOOD), start(compilations, GOOD)]
    assert entered.wait(60)
    assert futures[0].cancel() and not ended.is_set()
    assert futures[1].cancel()
    # another one does not join what was cancelled
    monkeypatch.undo()
    assert isinstance(start(compilations, GOOD).result(60)[0], Compiled)
    assert ended.wait(60)
    assert compilations.counts["compile_failures"] == 0


def test_what_nobody_waits_for_any_more_is_not_compiled(
    compilations: Compilations, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    busy = [start(compilations, GrammarSpec("regex", "a" * n)) for n in (1, 2)]
    late = start(compilations, GOOD)
    assert late.cancel()
    gate.opened.set()
    assert all(isinstance(future.result(60)[0], Compiled) for future in busy)
    after = start(compilations, GrammarSpec("regex", "z"))
    assert isinstance(after.result(60)[0], Compiled)
    assert gate.entered == 3


def test_who_joins_what_is_being_left_is_served(
    compilations: Compilations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REGRESSION: the last future is cancelled, and the pool saw that before it was left."""
    begun: list[Any] = []
    monkeypatch.setattr(compilations._pool, "submit", lambda *call: begun.append(call))
    monkeypatch.setattr(compilations, "_leave", lambda *_: None)
    first = start(compilations, GOOD)
    assert first.cancel()
    run, *arguments = begun.pop()
    run(*arguments)
    second = start(compilations, GOOD)
    for run, *arguments in begun:
        run(*arguments)
    assert isinstance(second.result(0)[0], Compiled)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_what_was_delivered_lives_as_long_as_its_future(
    compilations: Compilations, is_cancelled: bool
) -> None:
    """REGRESSION: without waiting for a garbage collection."""

    class Delivered:
        def __init__(self, _: Any = None) -> None:
            pass

    held = Delivered()
    known = weakref.ref(held)
    gc.disable()
    try:
        future = compilations.start(GOOD, 100, lambda _, held=held: held)
        del held
        if is_cancelled:
            future.cancel()
        else:
            future.result(60)
        compilations._pool.shutdown()
        del future
        assert known() is None
    finally:
        gc.enable()


def test_a_refusal_is_delivered_and_then_known(compilations: Compilations) -> None:
    assert compilations.known(BAD) is None
    for _ in range(2):
        (made,) = start(compilations, BAD).result(60)
        assert isinstance(made, SpecError)
        with pytest.raises(SpecError):
            compilations.known(BAD)
    assert compilations.counts["compile_failures"] == 2


SCHEMA = '{"type": "integer"}'
TAG = '{"format": {"type": "any_text"}}'
THINKING = ThinkingRegion("</think>", 9)


@pytest.mark.parametrize(
    "wanted",
    [
        GrammarSpec("json", SCHEMA),
        GrammarSpec("json", SCHEMA, whitespace=Whitespace(2)),
        GrammarSpec("json", SCHEMA, THINKING),
        GrammarSpec("structural_tag", TAG),
        GrammarSpec("structural_tag", TAG, THINKING),
        GrammarSpec("regex", "a+", THINKING),
    ],
    ids=repr,
)
def test_the_text_of_a_known_grammar_is_not_parsed(
    compilations: Compilations, monkeypatch: pytest.MonkeyPatch, wanted: GrammarSpec
) -> None:
    (made,) = start(compilations, wanted).result(60)

    def fail(_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(compilations._compilers.shared, "parse", fail)
    assert isinstance(made, Compiled)
    assert compilations.known(wanted) is made


def test_specs_that_differ_in_one_part_have_different_grammars(compilations: Compilations) -> None:
    specs = [
        GrammarSpec("json", SCHEMA),
        GrammarSpec("json", SCHEMA, whitespace=Whitespace(2)),
        GrammarSpec("json", SCHEMA, whitespace=Whitespace(3)),
        GrammarSpec("json", SCHEMA, whitespace=Whitespace(is_spaced=True)),
        GrammarSpec("json", SCHEMA, THINKING),
        GrammarSpec("json", SCHEMA, ThinkingRegion("</think>", 8)),
        GrammarSpec("json", SCHEMA, ThinkingRegion("</think>", 9, ("<tool_call>",))),
        GrammarSpec("json", SCHEMA, ThinkingRegion("</thinks>", 9)),
        GrammarSpec("structural_tag", TAG, THINKING),
        GrammarSpec("regex", SCHEMA, THINKING),
        GrammarSpec("ebnf", 'root ::= "a"', THINKING),
    ]
    made = [start(compilations, each).result(60)[0] for each in specs]
    assert all(isinstance(each, Compiled) for each in made)
    assert len({id(each) for each in made}) == len(specs)


@pytest.mark.parametrize("error", [RuntimeError("x"), MemoryError(), RecursionError()])
def test_whatever_goes_wrong_is_told(
    compilations: Compilations, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: Any) -> Compiled:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(compiling, "compile_grammar", fail)
        assert start(compilations, GOOD).result(60) == [error]
    assert isinstance(start(compilations, GOOD).result(60)[0], Compiled)


def test_a_deliverer_that_fails_fails_its_own_request_only(compilations: Compilations) -> None:
    def fail(_: Any) -> Any:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        compilations.start(GOOD, 0, fail).result(60)
    assert compilations.known(GOOD) is not None


def test_a_grammar_that_is_found_again_is_not_the_next_to_go() -> None:
    """REGRESSION: the compiler heard of no use, and dropped what was used most."""
    compiler = Compiler(byte_vocabulary(), limits=Limits(kept_grammars=2))
    compilations = Compilations(Namespaces.one(compiler), Settings())
    start(compilations, GOOD).result(60)
    start(compilations, GrammarSpec("regex", "b")).result(60)
    assert compilations.known(GOOD) is not None
    start(compilations, GrammarSpec("regex", "c")).result(60)
    hits = compiler.stats()["grammar_hits"]
    compile_grammar(compiler, GOOD)
    assert compiler.stats()["grammar_hits"] == hits + 1


def test_a_grammar_lives_as_long_as_the_compiler_keeps_it(compilations: Compilations) -> None:
    start(compilations, GOOD).result(60)
    # the thread that compiled may still hold it
    start(compilations, GrammarSpec("regex", "b")).result(60)
    compilations._compilers.shared.clear()
    compilations._pool.shutdown()
    compilations.prefill.wait()
    gc.collect()
    assert compilations.known(GOOD) is None


def test_masks_ahead_hold_no_compilation_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """They wait in a line of their own, which is short."""
    monkeypatch.setattr(compiling, "MAX_AHEAD", 3)
    compilations = Compilations(Namespaces.one(Compiler(byte_vocabulary())), Settings())
    gate, prepared = threading.Event(), []
    assert compilations.prefill.submit(gate.wait, 60)
    monkeypatch.setattr(compilations, "_prepare", lambda made, tokens: prepared.append(tokens))
    for number in range(4):
        wanted = GrammarSpec("regex", f"a{{{number}}}")
        compilations.start(wanted, number, lambda made: made).result(60)
    # the pool's own work comes after the answer's
    compilations._pool.shutdown()
    gate.set()
    compilations.prefill.wait()
    assert prepared == [0, 1]


@pytest.mark.parametrize(
    ("us", "most", "looks"), [(1e6, 50.0, True), (0, 50.0, False), (1e6, 0, False)]
)
def test_the_longer_the_prompt_the_more_masks_are_made_ahead(
    us: float, most: float, looks: bool
) -> None:
    settings = Settings(prefill_us_per_token=us, prefill_most_ms=most)
    compilations = Compilations(Namespaces.one(Compiler(byte_vocabulary())), settings)
    (made,) = start(compilations, GrammarSpec("json", "{}")).result(60)
    compilations._pool.shutdown()
    compilations.prefill.wait()
    assert (made.stats()["masks_made"] > 0) is looks


def test_namespaces_compile_apart(compilations: Compilations) -> None:
    """A grammar that one namespace has compiled is unknown, and compiled again, in another."""
    compiler = Compiler(byte_vocabulary())
    made = Namespaces(compiler, lambda: Compiler(byte_vocabulary()), most=2)
    apart = Compilations(made, Settings())
    one, two = (GrammarSpec("regex", "a+", namespace=name * 32) for name in "12")
    assert apart.known(one) is None
    start(apart, one).result(60)
    assert apart.known(one) is not None
    assert apart.known(two) is apart.known(GOOD) is None
    start(apart, two).result(60)
    assert apart.counts["compiles"] == 2
    assert compiler.stats()["compiles"] == 0
