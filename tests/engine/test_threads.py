"""Grammars that many threads share give the masks that one thread gives."""

import threading

import pytest

import engine
from tests.engine.cases import CASES, Case
from tests.engine.harness import compile_case, new_mask, tokenise
from tests.vocabularies import small_vocabulary

THREADS = 8


def masks_of(compiled: engine.Compiled, case: Case) -> list[bytes]:
    """The masks on the way through every sample."""
    found, mask = [], new_mask(compiled.vocabulary)
    for sample in case.samples:
        matcher = engine.Matcher(compiled)
        for token in tokenise(compiled.vocabulary, sample.encode(), 16):
            matcher.fill_bitmask(mask)
            found.append(mask.tobytes())
            assert matcher.accept_token(token)
        matcher.fill_bitmask(mask)
        found.append(mask.tobytes())
    return found


def in_threads(work) -> list:  # type: ignore[no-untyped-def, type-arg]
    """What every thread gets out of ``work``, all begun together."""
    found: list[object] = [None] * THREADS
    ready = threading.Barrier(THREADS)

    def run(number: int) -> None:
        ready.wait()
        try:
            found[number] = work(number)
        except BaseException as error:
            found[number] = error

    threads = [threading.Thread(target=run, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


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
