"""The device's side of a step: the pass, copies, masks and the choice of tokens, all queued.

On a GPU nothing here waits but ``tokens``. Copies to the device run on a stream of their own, and
the main stream waits for them by an event. On a CPU the same calls compute at once.

Invariants   I1 the host writes ``control`` after ``tokens`` has returned the tokens of the last
                step; their copy was queued behind the last reading of ``control`` by a copy.
             I2 the copy stream overwrites the device's control after the last step has used it.
             I3 a mask's memory on the device belongs to the copy stream, and is marked as used by
                the main stream, so that it is not reused before the kernel has run.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from adapters.sglang_plugin.mask_buffers import MaskBuffers

from .model import Pass

#: a token that is not steered
FREE = -1
#: added to the logit of a steered token, and to those of likely tokens in free rows
STEER, LIKELY = 1e4, 10.0
#: the last token of any prompt
START = 1

Arrays = np.ndarray[Any, Any]


def host_memory(*size: int, pinned: bool) -> torch.Tensor:
    """Return memory for token ids that copies to a device can read while the host goes on."""
    return torch.empty(size, dtype=torch.int64, pin_memory=pinned)


class DeviceQueue:
    """See the file's header. ``likely``: tokens that are likely where no token is steered;
    ``prompt``: slots before each row.
    """

    def __init__(
        self, model: Pass, masks: MaskBuffers, *, likely: Sequence[int], prompt: int
    ) -> None:
        self._model, self._masks, self._prompt = model, masks, prompt
        self.rows, self.width = model.logits.shape
        self.device = model.logits.device
        self._on_gpu = model.is_graph
        self._control, self._drawn = (
            host_memory(*size, pinned=self._on_gpu) for size in ((2, self.rows), (self.rows,))
        )
        self._on_device = torch.empty((2, self.rows), dtype=torch.int64, device=self.device)
        self._noise = torch.empty_like(model.logits)
        self._likely = torch.tensor(likely, device=self.device)
        if self._on_gpu:
            self._copies = torch.cuda.Stream()
            self._passed, self._copied, self._chosen, self._used = (
                torch.cuda.Event() for _ in range(4)
            )

    def reset(self, positions: Arrays) -> None:
        """Let all rows begin at these positions behind the prompt."""
        self._model.tokens.fill_(START)
        self._model.positions.copy_(torch.from_numpy(positions + self._prompt))
        self.synchronize()

    def run_pass(self) -> None:
        """Queue the pass over the last tokens."""
        self._model.run()
        if self._on_gpu:
            self._passed.record()

    def pass_is_over(self) -> bool:
        """Whether the device waits for the host."""
        return self._on_gpu and bool(self._passed.query())

    def tokens(self) -> Arrays:
        """Wait for the tokens of the last step."""
        if self._on_gpu:
            self._chosen.synchronize()
        found: Arrays = self._drawn.numpy()
        return found

    def allocate(self) -> torch.Tensor:
        """Return a mask for this step that allows everything."""
        return self._masks.allocate(self.width, self.rows, self.device)

    def choose(self, steer: Arrays, ends: Arrays, mask: torch.Tensor | None) -> None:
        """Queue the choice of a token for each row, and the input of the next pass.

        ``steer``: the wanted token, or FREE. ``ends``: 1 where a new row begins with the next step.
        """
        control = self._control.numpy()
        control[0], control[1] = steer, ends
        moved = self._move(mask)
        wanted, is_over = self._on_device[0], self._on_device[1].bool()
        tokens = self._draw(wanted, moved)
        self._drawn.copy_(tokens, non_blocking=True)
        if self._on_gpu:
            self._chosen.record()
        model = self._model
        model.tokens.copy_(torch.where(is_over, START, tokens))
        model.positions.copy_(torch.where(is_over, self._prompt, model.positions + 1))
        if self._on_gpu:
            self._used.record()

    def synchronize(self) -> None:
        """Wait until the queue is empty."""
        if self._on_gpu:
            torch.cuda.synchronize()

    def _move(self, mask: torch.Tensor | None) -> torch.Tensor | None:
        if not self._on_gpu:
            self._on_device.copy_(self._control)
            return mask
        main = torch.cuda.current_stream()
        with torch.cuda.stream(self._copies):
            # an event that was never recorded holds nothing back
            self._copies.wait_event(self._used)
            self._on_device.copy_(self._control, non_blocking=True)
            moved = None if mask is None else self._masks.move(mask, self.device)
            self._copied.record()
        main.wait_event(self._copied)
        if moved is not None:
            moved.record_stream(main)
        return moved

    def _draw(self, wanted: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        logits, is_free = self._model.logits, wanted == FREE
        logits.scatter_add_(1, wanted.clamp(min=0)[:, None], STEER * (~is_free).float()[:, None])
        more = LIKELY * is_free.float()[:, None].expand(-1, len(self._likely))
        logits.index_add_(1, self._likely, more)
        if mask is not None:
            self._masks.apply(logits, mask)
        # the largest of p / e, e from an exponential distribution, is drawn with probability p
        return logits.softmax(-1).div_(self._noise.exponential_()).argmax(-1)
