"""A held bitmask stands for its buffer, and what is no bitmask or no matcher is a clear error."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from tests.vocabularies import small_vocabulary

COMPILED = engine.Compiler(small_vocabulary()).compile_regex("a[bc]*")
WORDS = small_vocabulary().words


def matcher() -> engine.Matcher:
    return engine.Matcher(COMPILED)


def bitmask(rows: int = 1) -> np.ndarray:
    return np.zeros((rows, WORDS), dtype=np.int32)


def test_a_held_bitmask_is_filled_as_its_buffer_is() -> None:
    plain, memory = bitmask(3), bitmask(3)
    held = engine.Bitmask(memory)
    matchers = [matcher(), matcher()]
    assert matchers[1].accept_bytes(b"a")
    for into in (plain, held):
        engine.fill_bitmask_batch(matchers, into, [2, 0])
        matchers[1].fill_bitmask(into, 1)
    assert plain.any(axis=1).all() and np.array_equal(plain, memory)
    held.allow_all()
    assert bool((memory == -1).all())
    engine.Bitmask(bitmask(0)).allow_all()


NONE: dict[str, Callable[[], Any]] = {
    "matcher of no grammar": lambda: engine.Matcher(None),  # type: ignore[arg-type]
    "parser of no grammar": lambda: engine.Parser(None),  # type: ignore[call-arg]
    "no text": lambda: matcher().accept_bytes(None),  # type: ignore[arg-type]
    "inspecting nothing": lambda: engine.inspect(None),  # type: ignore[arg-type]
    "batch of no matcher": lambda: engine.fill_bitmask_batch([None], bitmask(), [0]),  # type: ignore[list-item]
    "batch of something else": lambda: engine.fill_bitmask_batch([7], bitmask(), [0]),  # type: ignore[list-item]
    "batch into nothing": lambda: engine.fill_bitmask_batch([matcher()], None, [0]),
    "mask into nothing": lambda: matcher().fill_bitmask(None),
    "tree of no matcher": lambda: engine.fill_bitmask_tree(None, [1], [-1], bitmask()),  # type: ignore[arg-type]
    "tree into nothing": lambda: engine.fill_bitmask_tree(matcher(), [1], [-1], None),
    "no logits": lambda: engine.apply_bitmask(None, bitmask()),
    "logits under nothing": lambda: engine.apply_bitmask(np.zeros((1, 32), np.float32), None),
    "nothing held": lambda: engine.Bitmask(None),
    "compiler of no vocabulary": lambda: engine.Compiler(None),  # type: ignore[arg-type]
    "vocabulary of nothing": lambda: engine.Vocabulary(None, stop_token_ids=[1]),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("call", NONE.values(), ids=NONE.keys())
def test_nothing_in_a_thing_s_place_is_an_error(call: Callable[[], Any]) -> None:
    with pytest.raises((TypeError, AttributeError)):
        call()


@pytest.mark.parametrize("dtype", [np.int64, np.uint32, np.float32])
def test_other_memory_is_refused(dtype: Any) -> None:
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        engine.Bitmask(np.zeros((1, 4), dtype=dtype))
    with pytest.raises(ValueError, match=r"not C.contiguous"):
        engine.Bitmask(np.zeros((4, 4), dtype=np.int32).T)
