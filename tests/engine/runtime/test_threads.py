"""Grammars that many threads share give the masks that one thread gives."""

import random

import numpy as np
import pytest

import engine
from tests.engine.cases import CASES, Case
from tests.engine.harness import (
    THREADS,
    compile_case,
    in_threads,
    masks_of,
    new_mask,
    tokenise,
)
from tests.engine.memory_log import MemoryLog
from tests.vocabularies import small_vocabulary

pytestmark = pytest.mark.usefixtures("every_mask_shared")


@pytest.mark.parametrize("case", CASES[::5], ids=lambda case: case.name)
def test_one_cold_grammar_in_many_threads(case: Case) -> None:
    expected = masks_of(compile_case(engine.Compiler(small_vocabulary()), case), case)
    shared = compile_case(engine.Compiler(small_vocabulary()), case)
    assert in_threads(lambda _: masks_of(shared, case)) == [expected] * THREADS


def test_many_grammars_of_one_compiler_in_many_threads() -> None:
    cases = CASES[2::7]
    alone = engine.Compiler(small_vocabulary())
    expected = [masks_of(compile_case(alone, case), case) for case in cases]
    shared = engine.Compiler(small_vocabulary())

    def work(number: int) -> list[list[bytes]]:
        order = [(k + number) % len(cases) for k in range(len(cases))]
        found = {k: masks_of(compile_case(shared, cases[k]), cases[k]) for k in order}
        return [found[k] for k in range(len(cases))]

    assert in_threads(work) == [expected] * THREADS


def test_batches_of_one_grammar_in_many_threads() -> None:
    case = next(case for case in CASES if case.name == "schema-record")
    compiled = compile_case(engine.Compiler(small_vocabulary()), case)

    def work(number: int) -> bytes:
        matchers = [engine.Matcher(compiled) for _ in range(6)]
        text = case.samples[0].encode()
        for k, matcher in enumerate(matchers):
            assert matcher.accept_bytes(text[: 2 * k])
        mask = new_mask(small_vocabulary()).repeat(6, axis=0)
        engine.fill_bitmask_batch(matchers, mask, list(range(6)))
        return mask.tobytes()

    found = in_threads(work)
    assert found == [found[0]] * THREADS
    assert isinstance(found[0], bytes)


# -- everything at once ----------------------------------------------------------------------------
def events_of(compiled: engine.Compiled, case: Case) -> list[object]:
    """The events of the parser for every sample."""
    found: list[object] = []
    for sample in case.samples:
        parser = compiled.parser()
        try:
            for token in tokenise(compiled.vocabulary, sample.encode(), 16):
                found += parser.feed(token)
            found += parser.finish()
        except engine.LimitExceeded as error:
            found.append(error.limit)
    return found


def masks_backwards(compiled: engine.Compiled, case: Case) -> list[bytes]:
    """``masks_of``, rolling back from the end of every sample."""
    found, mask = [], new_mask(compiled.vocabulary)
    for sample in case.samples:
        matcher, masks = engine.Matcher(compiled), []
        tokens = list(tokenise(compiled.vocabulary, sample.encode(), 16))
        for token in tokens:
            assert matcher.accept_token(token)
        for left in range(len(tokens), -1, -1):
            matcher.fill_bitmask(mask)
            masks.append(mask.tobytes())
            if left:
                matcher.rollback(1)
        found += masks[::-1]
    return found


def masks_in_a_batch(compiled: engine.Compiled, case: Case) -> list[bytes]:
    """``masks_of``, all places at once."""
    matchers = []
    for sample in case.samples:
        matcher = engine.Matcher(compiled)
        for token in tokenise(compiled.vocabulary, sample.encode(), 16):
            matchers.append(matcher.fork())
            assert matcher.accept_token(token)
        matchers.append(matcher)
    masks = np.zeros((len(matchers), compiled.vocabulary.words), dtype=np.int32)
    engine.fill_bitmask_batch(matchers, masks, range(len(matchers)), threads=2)
    return [mask.tobytes() for mask in masks]


def forced_of(compiled: engine.Compiled, case: Case) -> list[tuple[bytes, bool]]:
    """The forced bytes after every token of every sample, and whether the text may end."""
    found = []
    for sample in case.samples:
        matcher = engine.Matcher(compiled)
        for token in tokenise(compiled.vocabulary, sample.encode(), 16):
            found.append((matcher.forced_bytes(), matcher.can_stop()))
            assert matcher.accept_token(token)
    return found


QUESTIONS = (masks_of, masks_backwards, masks_in_a_batch, events_of, forced_of)


@pytest.mark.parametrize("part", range(8))
def test_everything_at_once_changes_no_answer(part: int) -> None:
    """Eight threads compile, ask, prepare and measure, while all that can be dropped is dropped."""
    cases = CASES[part::24]
    alone = engine.Compiler(small_vocabulary())
    expected = {
        (case.name, ask): ask(compile_case(alone, case), case)
        for case in cases
        for ask in QUESTIONS
    }
    limits = engine.Limits(
        generation_bytes=50_000,
        mask_bytes=5_000,
        token_mask_bytes=20_000,
        automaton_bytes=20_000,
        kept_grammars=6,
    )
    shared = engine.Compiler(small_vocabulary(), limits=limits, store=MemoryLog())

    def work(number: int) -> list[tuple[str, str]]:
        rng, wrong = random.Random(number), []
        for _ in range(40):
            case, ask = rng.choice(cases), rng.choice(QUESTIONS)
            compiled = compile_case(shared, case)
            if rng.random() < 0.2:
                compiled.prepare(3)
            if ask(compiled, case) != expected[case.name, ask]:
                wrong.append((case.name, ask.__name__))
            sizes = compiled.stats()
            assert sizes["mask_bytes"] <= 5_000
            assert compiled.held_bytes() > 0
            if rng.random() < 0.1:
                shared.flush()
                assert shared.stats()["grammars"] <= 6
        return wrong

    assert in_threads(work) == [[]] * THREADS


@pytest.mark.parametrize("case", CASES[3::10], ids=lambda case: case.name)
def test_parsers_and_matchers_of_one_cold_grammar(case: Case) -> None:
    """REGRESSION: parsers looked at automata that other threads were still building."""
    alone = compile_case(engine.Compiler(small_vocabulary()), case)
    expected = [events_of(alone, case), masks_of(alone, case)]
    shared = compile_case(engine.Compiler(small_vocabulary()), case)
    ask = (events_of, masks_of)
    found = in_threads(lambda number: ask[number % 2](shared, case))
    assert found == expected * (THREADS // 2)
