"""LoRA adapters: their names, and workers that load and unload them.

An adapter changes a model's weights, but not its tokens or its chat template. A generation names
the adapter that answers it, or none (Generation.lora).
"""

from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeGuard, runtime_checkable

#: characters of a name; those on Hugging Face have at most 96
MAX_NAME_CHARS: Final = 128
#: characters of the place of an adapter's files, as the worker knows it
MAX_PATH_CHARS: Final = 4096


def is_adapter_name(name: Any) -> TypeGuard[str]:
    """Return whether a name may be part of a model id. "*" stands for all adapters of a model."""
    return _is_plain(name, MAX_NAME_CHARS) and name != "*"


def is_adapter_path(path: Any) -> TypeGuard[str]:
    """Return whether a worker may be asked to load an adapter from here."""
    return _is_plain(path, MAX_PATH_CHARS)


def _is_plain(text: Any, most: int) -> bool:
    is_text = isinstance(text, str) and 0 < len(text) <= most
    return is_text and text.isprintable() and text == text.strip()


@dataclass(frozen=True, slots=True)
class AdapterOutcome:
    """Whether a worker did what it was asked to, and if not, why."""

    is_done: bool
    reason: str = ""


@runtime_checkable
class AdapterHost(Protocol):
    """A worker that loads and unloads adapters while it runs. No method raises."""

    async def load_adapter(self, name: str, path: str, *, pinned: bool) -> AdapterOutcome:
        """Load the files at ``path``. ``pinned``: keep them in the GPU's memory."""
        ...

    async def unload_adapter(self, name: str) -> AdapterOutcome:
        """Take no more generations for an adapter, wait for those that run, and unload it."""
        ...
