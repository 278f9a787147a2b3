"""Pinned memory on a machine without an accelerator, for LoRA adapters: a plug-in of the server.

SGLang's layers with adapters, and their backend for any CPU, keep some tensors in pinned memory,
which torch has only beside an accelerator. There, copies to the device are what needs it; a CPU
reads ordinary memory. This lets the functions that ask for it return ordinary tensors.
The server finds it by the entry point in pinned_memory-1.0.dist-info, beside this file.

Not here         anything that is computed: all numbers are torch's and SGLang's.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor


def register() -> None:
    """Called by the server in each of its processes."""
    if torch.accelerator.is_available():
        return
    torch.tensor = _unpinned(torch.tensor)
    torch.empty = _unpinned(torch.empty)
    torch.zeros = _unpinned(torch.zeros)
    Tensor.pin_memory = lambda tensor, *_: tensor  # type: ignore[assignment, method-assign]


def _unpinned(make: Callable[..., Tensor]) -> Any:
    @wraps(make)
    def made(*arguments: Any, pin_memory: bool = False, **options: Any) -> Tensor:
        return make(*arguments, **options)

    return made
