"""Workers: model runners. SGLang over HTTP, transformers in this process, or noise.

Importing this package imports neither torch nor httptools nor the engine: the module of a worker is
loaded at its first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base import (
    ALONE,
    SAMPLING_OPTIONS,
    Bootstrap,
    Chunk,
    FailureReason,
    Generation,
    Half,
    Health,
    Image,
    PromptImage,
    PromptTooLong,
    Receive,
    Run,
    SamplingOptions,
    TextPath,
    TextRun,
    TokenLogprob,
    Worker,
    WorkerError,
)
from .lora_adapters import (
    MAX_NAME_CHARS,
    MAX_PATH_CHARS,
    AdapterHost,
    AdapterOutcome,
    is_adapter_name,
    is_adapter_path,
)
from .stop_strings import StopStrings

if TYPE_CHECKING:
    from .noise import NoiseWorker as NoiseWorker
    from .sglang import SGLangWorker as SGLangWorker
    from .transformers import TransformersWorker as TransformersWorker

#: worker -> (its module, the extra that it needs)
_LAZY = {
    "NoiseWorker": (".noise", None),
    "SGLangWorker": (".sglang", "gateway"),
    "TransformersWorker": (".transformers", "embedded"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, extra = _LAZY[name]
    try:
        return getattr(import_module(module, __name__), name)
    except ModuleNotFoundError as error:
        if extra is None or (error.name or "").startswith(("adapters", "engine")):
            raise
        message = f"{name} needs {error.name}: pip install 'switchyard[{extra}]'"
        raise ModuleNotFoundError(message, name=error.name) from error
