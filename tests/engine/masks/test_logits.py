"""Masks laid over logits say what their bits say, at every width."""

import numpy as np
import pytest

import engine


@pytest.mark.parametrize("width", [1, 31, 32, 33, 64, 100, 257])
@pytest.mark.parametrize("padding", [0, 2])
def test_what_is_not_allowed_becomes_minus_infinity(width: int, padding: int) -> None:
    rng = np.random.default_rng(width)
    words = (width + 31) // 32 + padding
    mask = rng.integers(-(1 << 31), 1 << 31, (4, words), dtype=np.int64).astype(np.int32)
    mask[1], mask[2] = -1, 0
    logits = rng.standard_normal((4, width), dtype=np.float32)
    allowed = np.unpackbits(mask.view(np.uint8), axis=1, bitorder="little")[:, :width] == 1
    expected = np.where(allowed, logits, -np.inf)
    by_address = logits.copy()
    engine.apply_bitmask(logits, mask)
    assert np.array_equal(logits, expected)
    engine.apply_bitmask_at(by_address.ctypes.data, 4, width, engine.Bitmask(mask))
    assert np.array_equal(by_address, expected)


@pytest.mark.parametrize(("rows", "words"), [(1, 2), (2, 1), (3, 2)])
def test_a_mask_of_another_shape_is_refused(rows: int, words: int) -> None:
    with pytest.raises(ValueError, match=r"logits of shape \(2, 40\) need a bitmask"):
        engine.apply_bitmask(
            np.zeros((2, 40), dtype=np.float32), np.zeros((rows, words), dtype=np.int32)
        )


def test_other_numbers_than_float32_are_refused() -> None:
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        engine.apply_bitmask(np.zeros((1, 32)), np.zeros((1, 1), dtype=np.int32))


def test_nothing_is_done_to_no_logits() -> None:
    engine.apply_bitmask(np.zeros((2, 0), dtype=np.float32), np.zeros((2, 1), dtype=np.int32))


@pytest.mark.parametrize(
    ("address", "rows", "width"), [(0, 1, 32), (64, -1, 32), (64, 1, -1), (64, 2, 32), (64, 1, 33)]
)
def test_what_can_be_no_logits_is_not_written_to(address: int, rows: int, width: int) -> None:
    with pytest.raises(ValueError, match="logits of"):
        engine.apply_bitmask_at(address, rows, width, np.zeros((1, 1), dtype=np.int32))
    engine.apply_bitmask_at(0, 1, 0, np.zeros((1, 1), dtype=np.int32))
