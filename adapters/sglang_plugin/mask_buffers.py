"""Mask buffers: memory of token masks, and their application to logits.

Representation   int32, shape (rows, ceil(V / 32)); bit t % 32 of word t // 32 set: token t is
                 allowed. A buffer is reused when its copy to the device is done; on a GPU it is
                 pinned.
Invariants       I1 an allocated mask allows everything.
                 I2 a buffer is not written while a copy may still read it.
                 I3 nothing raises: if memory is short, the allocated mask cannot be filled, and
                    each grammar that tries aborts its own request.
Cost             a step resets the rows of the last step and writes its own. A call into torch
                 between two steps takes 5-30 us, because its code is no longer in the processor's
                 caches. So views are reused, and logits are accessed by address.
Threads          the scheduler's only.
"""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from engine import Bitmask, apply_bitmask_at

_log = logging.getLogger(__name__)

#: buffers whose copies may run at once; with more, a step allocates its own memory
MAX_BUFFERS = 4


class _View(NamedTuple):
    """The first rows of a buffer: for SGLang, and for the engine."""

    tensor: torch.Tensor
    held: Bitmask


class _Buffer:
    """Memory for several rows. ``used``: number of leading rows that may hold a mask."""

    __slots__ = ("_views", "copied", "rows", "taken", "tensor", "used", "words")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.rows, self.words = tensor.shape
        self._views: dict[int, _View] = {}
        self.used = 0
        self.taken = False
        self.copied: Any = None  # an event of the device

    def first(self, rows: int) -> _View:
        """Return the first rows, with all tokens allowed."""
        if self.used:
            self._view(self.used).held.allow_all()
        self.used = rows
        return self._view(rows)

    def _view(self, rows: int) -> _View:
        if rows not in self._views:
            tensor = self.tensor[:rows]
            self._views[rows] = _View(tensor, Bitmask(tensor.numpy()))
        return self._views[rows]

    def is_free(self) -> bool:
        return not self.taken or (self.copied is not None and bool(self.copied.query()))


class MaskBuffers:
    """The mask buffers of one worker.

    Args:
        can_pin: whether host memory can be pinned: there is a device to copy to.
        device_kernel: returns the kernel that applies a mask to logits on the device; called when
            it is first needed.
    """

    def __init__(
        self, *, can_pin: bool, device_kernel: Callable[[], Callable[[Any, Any], None]]
    ) -> None:
        self._pin = can_pin
        self._device_kernel = device_kernel
        self._kernel: Callable[[Any, Any], None] | None = None
        self._buffers: list[_Buffer] = []
        # the last rows returned, and the request for them if the next one may be equal
        self._tensor: torch.Tensor | None = None
        self._held: Bitmask | None = None
        self._asked = (0, 0)
        self.failures = 0

    def allocate(self, vocab_size: int, rows: int, device: Any) -> torch.Tensor:
        """Return rows for one step in which every token is allowed."""
        if self._held is not None and self._asked == (vocab_size, rows):
            self._held.allow_all()
            return self._tensor
        words = (vocab_size + 31) // 32
        try:
            if self._pin and str(device) == "cpu":
                # a draft tree: SGLang copies it, and only torch knows when the copy is done
                return self._new(rows, words)
            mask = self._take(rows, words)
            if mask is self._tensor and not self._pin:
                # without a device, a step has ended when the next one begins
                self._asked = (vocab_size, rows)
            return mask
        except Exception:
            self._failed("allocating masks")
            return torch.full((1, 1), -1, dtype=torch.int32).expand(rows, words)

    def move(self, mask: torch.Tensor, device: Any) -> torch.Tensor:
        """Return the mask on the device; the copy may still run."""
        try:
            if str(device).startswith("cpu"):
                return mask
            moved = mask.to(device, non_blocking=True)
            self._mark_copied(mask)
            return moved
        except Exception:
            self._failed("copying a mask")
            return mask

    def hold(self, mask: torch.Tensor) -> Bitmask:
        """Return a mask's memory for the engine.

        Raises:
            TypeError, ValueError, RuntimeError: not a mask in host memory.
        """
        if self._held is not None and mask is self._tensor:
            return self._held
        return Bitmask(mask.numpy())

    def apply(self, logits: torch.Tensor, mask: torch.Tensor) -> None:
        """Set the logits of tokens that are not allowed to minus infinity, in place."""
        try:
            if not logits.is_cpu:
                if self._kernel is None:
                    self._kernel = self._device_kernel()
                self._kernel(logits, mask)
            elif logits.dtype is torch.float32 and logits.is_contiguous():
                held = self.hold(mask)
                width, rest = divmod(logits.numel(), held.height)
                if rest:
                    raise ValueError(f"a mask of {held.height} rows for {logits.numel()} logits")
                apply_bitmask_at(logits.data_ptr(), held.height, width, held)
            else:
                _apply_slowly(logits, mask)
        except Exception:
            # accept_token checks every token again, so a wrong one aborts its request
            self._failed("applying a mask")

    # -- buffers -----------------------------------------------------------------------------------
    def _new(self, rows: int, words: int) -> torch.Tensor:
        return torch.full((rows, words), -1, dtype=torch.int32, pin_memory=self._pin)

    def _take(self, rows: int, words: int) -> torch.Tensor:
        buffer = self._free_buffer(rows, words)
        if buffer is None:
            return self._new(rows, words)
        buffer.taken, buffer.copied = self._pin, None
        self._tensor, self._held = buffer.first(rows)
        self._asked = (0, 0)
        return self._tensor

    def _free_buffer(self, rows: int, words: int) -> _Buffer | None:
        """Return a free buffer that is large enough; replace one that is too small."""
        for number, buffer in enumerate(self._buffers):
            if buffer.is_free():
                if buffer.rows < rows or buffer.words != words:
                    self._buffers[number] = buffer = _Buffer(self._new(_rounded(rows), words))
                return buffer
        if len(self._buffers) >= MAX_BUFFERS:
            return None
        self._buffers.append(_Buffer(self._new(_rounded(rows), words)))
        return self._buffers[-1]

    def _mark_copied(self, mask: torch.Tensor) -> None:
        for buffer in self._buffers:
            if buffer.tensor.data_ptr() == mask.data_ptr():
                buffer.copied = torch.cuda.Event()
                buffer.copied.record()

    def _failed(self, what: str) -> None:
        self.failures += 1
        _log.exception("switchyard: %s failed", what)


def _rounded(rows: int) -> int:
    """Round up to a power of two, at least 16: batches grow one by one."""
    return max(16, 1 << (rows - 1).bit_length())


def _apply_slowly(logits: torch.Tensor, mask: torch.Tensor) -> None:
    """Mask logits of any dtype and layout."""
    bits = torch.arange(32, dtype=torch.int32)
    allowed = ((mask[..., None] >> bits) & 1).flatten(1)[:, : logits.shape[-1]].bool()
    logits.masked_fill_(~allowed, float("-inf"))
