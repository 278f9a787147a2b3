"""Masks are all-allowed when they are handed out, and nothing about them raises."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the SGLang worker's own environment has torch")

from adapters.sglang_plugin.mask_buffers import MaskBuffers  # noqa: E402

from .standins import no_kernel  # noqa: E402


def masks() -> MaskBuffers:
    return MaskBuffers(can_pin=False, device_kernel=no_kernel)


def test_a_buffer_is_used_again_and_allows_everything_again() -> None:
    made = masks()
    first = made.allocate(100, 3, "cpu")
    assert first.shape == (3, 4) and first.dtype == torch.int32 and bool((first == -1).all())
    first.zero_()
    second = made.allocate(100, 2, "cpu")
    assert second.data_ptr() == first.data_ptr() and bool((second == -1).all())
    second.zero_()
    assert bool((made.allocate(100, 40, "cpu") == -1).all())
    assert bool((made.allocate(64, 2, "cpu") == -1).all())


class Event:
    """A copy that is done when the test says so."""

    def __init__(self) -> None:
        self.done = False

    def record(self) -> None: ...

    def query(self) -> bool:
        return self.done


def test_a_buffer_whose_copy_is_under_way_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Event] = []

    def event() -> Event:
        events.append(Event())
        return events[-1]

    monkeypatch.setattr(torch.cuda, "Event", event)
    made = masks()
    made._pin = True
    monkeypatch.setattr(
        made, "_new", lambda rows, words: torch.full((rows, words), -1, dtype=torch.int32)
    )
    first = made.allocate(64, 2, "cuda")
    first.zero_()
    made._mark_copied(first)
    second = made.allocate(64, 2, "cuda")
    assert second.data_ptr() != first.data_ptr()
    events[0].done = True
    third = made.allocate(64, 2, "cuda")
    assert third.data_ptr() == first.data_ptr() and bool((third == -1).all())
    # neither of those that are out is handed out again, however many are wanted
    held = {made.allocate(64, 2, "cuda").data_ptr() for _ in range(1)}
    assert not held & {second.data_ptr(), third.data_ptr()}
    many = [made.allocate(64, 2, "cuda") for _ in range(10)]
    assert len({each.data_ptr() for each in many} | {second.data_ptr(), third.data_ptr()}) == 12


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("transposed", [False, True])
def test_logits_of_other_tokens_become_minus_infinity(dtype: Any, transposed: bool) -> None:
    made = masks()
    mask = made.allocate(70, 2, "cpu")
    mask[0] = torch.tensor([5, 0, 1])
    logits = torch.ones((70, 2), dtype=dtype).T if transposed else torch.ones((2, 70), dtype=dtype)
    made.apply(logits, mask)
    assert logits[0].isfinite().nonzero().flatten().tolist() == [0, 2, 64]
    assert bool(logits[1].isfinite().all())
    assert made.failures == 0


def test_what_fails_is_counted_and_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = masks()
    mask = made.allocate(64, 2, "cpu")
    made.apply(torch.ones((3, 64)), mask)
    made.apply(torch.ones((2, 64), device="meta"), mask)
    assert made.failures == 2
    assert made.move(mask, "no such device") is mask
    assert made.failures == 3

    def fail(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(made, "_new", fail)
    poor = made.allocate(6400, 1000, "cpu")
    assert poor.shape == (1000, 200) and bool((poor == -1).all()) and made.failures == 4


def test_a_mask_stays_where_it_is_on_the_cpu() -> None:
    made = masks()
    mask = made.allocate(64, 2, "cpu")
    assert made.move(mask, "cpu") is mask
    assert np.shares_memory(mask.numpy(), made.move(mask, torch.device("cpu")).numpy())
