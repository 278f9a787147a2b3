"""The benchmark's check of masks on a device finds a wrong one."""

import pytest

torch = pytest.importorskip("torch")

from adapters.sglang_plugin.mask_buffers import MaskBuffers  # noqa: E402
from bench.gpu.kernel import measure  # noqa: E402

WIDTH = 1_000  # no multiple of 32


def test_the_processors_masks_are_equal_bit_for_bit() -> None:
    found = measure("cpu", WIDTH, [1, 40], 0.001)
    assert found["findings"] == []
    assert [each["batch"] for each in found["records"]] == [1, 1, 1, 40, 40, 40]


@pytest.mark.parametrize(("row", "token"), [(0, 0), (39, WIDTH - 1)])
def test_one_wrong_logit_is_found(monkeypatch: pytest.MonkeyPatch, row: int, token: int) -> None:
    apply = MaskBuffers.apply

    def wrong(masks: MaskBuffers, logits: torch.Tensor, mask: torch.Tensor) -> None:
        apply(masks, logits, mask)
        logits[row, token] = 7.0

    monkeypatch.setattr(MaskBuffers, "apply", wrong)
    assert len(measure("cpu", WIDTH, [40], 0.001)["findings"]) == 3


def test_a_mask_that_could_not_be_applied_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MaskBuffers, "hold", lambda *_: None)
    assert any(
        each.startswith("mask_failures") for each in measure("cpu", 64, [2], 0.001)["findings"]
    )
