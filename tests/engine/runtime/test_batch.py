"""A batch writes what single fills write, in any thread."""

import numpy as np
import pytest

import engine
from tests.engine.cases import CASES
from tests.engine.harness import compile_case, new_mask, tokenise
from tests.vocabularies import small_vocabulary

FEW = CASES[::4]


def matchers_on_the_way(compiler: engine.Compiler) -> list[engine.Matcher]:
    """For each case a matcher at its start, one in the middle of its first sample, one at its end.

    And one that was stopped there.
    """
    found = []
    for case in FEW:
        compiled = compile_case(compiler, case)
        found.append(engine.Matcher(compiled))
        if not case.samples:
            continue
        text = case.samples[0].encode()
        for part in (text[: len(text) // 2], text):
            matcher = engine.Matcher(compiled)
            for token in tokenise(compiled.vocabulary, part, 16):
                assert matcher.accept_token(token)
            found.append(matcher)
        stopped = found[-1].fork()
        assert stopped.accept_token(small_vocabulary().stop_token_ids[-1])
        found.append(stopped)
    return found


def single_masks(matchers: list[engine.Matcher]) -> np.ndarray:
    out = new_mask(small_vocabulary()).repeat(len(matchers), axis=0)
    for row, matcher in enumerate(matchers):
        matcher.fill_bitmask(out, row)
    return out


@pytest.mark.parametrize("threads", [None, 1, 2, 3, 8, 100])
def test_cold_and_warm_batches_equal_single_fills(threads: int | None) -> None:
    expected = single_masks(matchers_on_the_way(engine.Compiler(small_vocabulary())))
    words = small_vocabulary().words
    matchers = matchers_on_the_way(engine.Compiler(small_vocabulary()))
    rows = list(range(len(matchers)))[::-1]
    for _ in range(2):
        mask = np.full((len(matchers) + 2, words + 3), -1, dtype=np.int32)
        engine.fill_bitmask_batch(matchers, mask, rows, threads=threads)
        assert np.array_equal(mask[rows, :words], expected)
        assert not mask[rows, words:].any()
        assert (mask[len(matchers) :] == -1).all()


def test_a_batch_heavy_enough_for_helpers_by_itself() -> None:
    """Hundreds of cold grammars, which no caller asked to be shared out."""
    schemas = [{"properties": {f"key{n}": {"enum": [n, "x"]}}} for n in range(200)]

    def matchers() -> list[engine.Matcher]:
        compiler = engine.Compiler(small_vocabulary())
        found = [engine.Matcher(compiler.compile_json_schema(schema)) for schema in schemas]
        assert all(matcher.accept_bytes(b'{"') for matcher in found)
        return found

    expected = single_masks(matchers())
    mask = np.zeros_like(expected)
    engine.fill_bitmask_batch(matchers(), mask, list(range(len(schemas))))
    assert np.array_equal(mask, expected)


def test_one_matcher_may_have_many_rows() -> None:
    compiled = engine.Compiler(small_vocabulary()).compile_regex("[a-f]+")
    matcher = engine.Matcher(compiled)
    mask = new_mask(small_vocabulary()).repeat(3, axis=0)
    engine.fill_bitmask_batch([matcher, matcher.fork(), matcher], mask, [2, 0, 1], threads=2)
    assert mask[0].any()
    assert (mask == mask[0]).all()


def test_matchers_of_two_generations_of_one_grammar() -> None:
    limits = engine.Limits(generation_bytes=1)
    compiled = engine.Compiler(small_vocabulary(), limits=limits).compile_json_schema(True)
    matchers = [engine.Matcher(compiled) for _ in range(6)]
    assert all(matcher.accept_bytes(b'["') for matcher in matchers)
    mask = new_mask(small_vocabulary()).repeat(6, axis=0)
    engine.fill_bitmask_batch(matchers, mask, range(6), threads=3)
    assert np.array_equal(mask, single_masks(matchers))
    assert (mask == mask[0]).all()


def test_an_empty_batch_is_none() -> None:
    mask = new_mask(small_vocabulary())
    engine.fill_bitmask_batch([], mask, [], threads=4)
    engine.fill_bitmask_batch([], mask, [])
    assert not mask.any()


def test_a_mask_that_meets_a_limit_takes_no_other_with_it() -> None:
    fits = engine.Compiler(small_vocabulary()).compile_regex("[a-f]+")
    large = engine.Compiler(
        small_vocabulary(),
        limits=engine.Limits(rows=20),
        features=engine.Features(cross_grammar=False),
    ).compile_json_schema(True)
    matchers = [engine.Matcher(grammar) for grammar in (fits, large, fits)]
    mask = new_mask(small_vocabulary()).repeat(3, axis=0)
    with pytest.raises(engine.LimitExceeded, match="rows: at most 20 allowed, got 21"):
        engine.fill_bitmask_batch(matchers, mask, [0, 1, 2], threads=2)
    assert np.array_equal(mask[[0, 2]], single_masks([matchers[0], matchers[2]]))


@pytest.mark.parametrize(
    ("rows", "threads", "error", "says"),
    [
        ([0], None, ValueError, "got 1 rows for 2 matchers"),
        ([1, 1], None, ValueError, "rows must not repeat"),
        ([0, 2], None, IndexError, r"rows\[1\] must be in 0..1, got 2"),
        ([0, -1], None, IndexError, "got -1"),
        ([0, 1], 0, ValueError, "threads must be >= 1, got 0"),
    ],
)
def test_what_a_batch_refuses(
    rows: list[int], threads: int | None, error: type[Exception], says: str
) -> None:
    compiled = engine.Compiler(small_vocabulary()).compile_regex("a+")
    matchers = [engine.Matcher(compiled) for _ in range(2)]
    mask = new_mask(small_vocabulary()).repeat(2, axis=0)
    with pytest.raises(error, match=says):
        engine.fill_bitmask_batch(matchers, mask, rows, threads=threads)
    assert not mask.any()


def test_a_bitmask_that_is_too_narrow_is_refused() -> None:
    compiled = engine.Compiler(small_vocabulary()).compile_regex("a+")
    mask = np.zeros((1, small_vocabulary().words - 1), dtype=np.int32)
    with pytest.raises(ValueError, match="a bitmask needs"):
        engine.fill_bitmask_batch([engine.Matcher(compiled)], mask, [0])
