"""A server whose masks differ from SGLang's does not start."""

from typing import Any

import pytest

pytest.importorskip("torch", reason="the SGLang worker's own environment has torch")
pytest.importorskip("sglang", reason="the SGLang worker's own environment has SGLang")

from adapters.sglang_plugin import versions
from adapters.sglang_plugin.mask_buffers import MaskBuffers
from adapters.sglang_plugin.mask_check import check_masks

from .standins import no_kernel


def masks() -> MaskBuffers:
    return MaskBuffers(can_pin=False, device_kernel=no_kernel)


def test_sglangs_masks_are_ours() -> None:
    check_masks(versions.installed().set_bits, masks(), "cpu")


def test_another_order_of_bits_is_found() -> None:
    def reversed_bits(mask: Any, tokens: list[int], row: int, *, is_allowed: bool) -> None:
        swapped = [number // 32 * 32 + 31 - number % 32 for number in tokens]
        versions.installed().set_bits(mask, swapped, row, is_allowed=is_allowed)

    with pytest.raises(RuntimeError, match=r"leave the logits of \(\) and \(0, 30, 31"):
        check_masks(reversed_bits, masks(), "cpu")


def test_a_mask_that_is_not_applied_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MaskBuffers, "apply", lambda *_: None)
    with pytest.raises(RuntimeError, match=r"leave the logits of \(0, 1, 2"):
        check_masks(versions.installed().set_bits, masks(), "cpu")


def test_a_mask_that_cannot_be_applied_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """REGRESSION: the message was that of a mask with other bits."""

    def fails(*_: Any) -> Any:
        raise OSError("no kernel")

    monkeypatch.setattr("adapters.sglang_plugin.mask_buffers.apply_bitmask_at", fails)
    with pytest.raises(RuntimeError, match="cannot be applied on the device 'cpu'"):
        check_masks(versions.installed().set_bits, masks(), "cpu")
