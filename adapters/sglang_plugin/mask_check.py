"""A mask compared with SGLang's at the start of a server.

The table of internals (internals.py) sees names and parameters. This check sees two behaviours
behind them: which bit of a mask stands for which token, and that a mask on the server's device
leaves exactly its tokens.
"""

from typing import Any

import torch

from .mask_buffers import MaskBuffers

#: tokens of the check: the first and the last of a word, and some between
_TOKENS = (0, 1, 31, 32, 63, 70)
_WIDTH = 96


def check_masks(set_bits: Any, masks: MaskBuffers, device: str) -> None:
    """
    Args:
        set_bits: SGLang's function that allows tokens in a row of a mask.

    Raises:
        RuntimeError: a mask of SGLang has other bits, or applying it leaves other tokens.
    """
    mask = torch.zeros(2, _WIDTH // 32, dtype=torch.int32)
    set_bits(mask, list(_TOKENS), 1, is_allowed=True)
    logits = torch.zeros(2, _WIDTH, dtype=torch.float32, device=device)
    failures = masks.failures
    masks.apply(logits, masks.move(mask, device))
    left = [tuple((row > float("-inf")).nonzero().flatten().tolist()) for row in logits.cpu()]
    if masks.failures != failures:
        raise RuntimeError(
            "the grammar backend 'switchyard' cannot run here: a mask cannot be applied on the "
            f"device {device!r}; the log above says why"
        )
    if left != [(), _TOKENS]:
        raise RuntimeError(
            "the grammar backend 'switchyard' cannot run here: masks of no token and of the tokens "
            f"{_TOKENS} leave the logits of {left[0]} and {left[1]} on the device {device!r}"
        )
