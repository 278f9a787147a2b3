"""What runs a model: SGLang over HTTP, transformers on this CPU, or noise.

Importing this package imports neither torch nor httpx: each worker loads what it needs when it is
first named.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base import Chunk, FinishReason, Generation, Health, Worker, WorkerError

if TYPE_CHECKING:
    from .noise import NoiseWorker
    from .sglang import SGLangWorker
    from .transformers import TransformersWorker

_LAZY = {
    "NoiseWorker": ".noise",
    "SGLangWorker": ".sglang",
    "TransformersWorker": ".transformers",
}

__all__ = [
    "Chunk",
    "FinishReason",
    "Generation",
    "Health",
    "NoiseWorker",
    "SGLangWorker",
    "TransformersWorker",
    "Worker",
    "WorkerError",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name], __name__), name)
