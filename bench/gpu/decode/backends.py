"""Grammar backends for the loop: the engines of bench.engines, each with its own batch calls.

All of them fill the same buffers, which are the plug-in's: pinned on a GPU, one row for each row of
the batch. Ours compiles as the plug-in does (adapters.sglang_plugin.compiling): with its default
threads, and masks ahead for the time of a prompt. The peers compile in a pool of threads.
"""

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import torch

from adapters.sglang_plugin.compiling import Compilations
from adapters.sglang_plugin.grammar_specs import GrammarSpec
from adapters.sglang_plugin.mask_buffers import MaskBuffers
from adapters.sglang_plugin.settings import Settings
from engine import Compiled, Namespaces

from ... import engines
from ...formats import LLAMA
from ...vocabularies import Loaded
from ..device_kernel import device_kernel
from .answers import Row

NONE, OURS = "no grammar", "switchyard"
#: threads that compile or fill for a peer, at most; the loop and the device's driver need others
MAX_THREADS = 8


class Backend(Protocol):
    """A backend. ``compile`` returns at once, ``start`` creates the state of a row, ``fill`` writes
    the masks of some rows of the batch and leaves other rows as they are. ``accept``: false, or an
    exception, if the token does not fit.
    """

    name: str

    def compile(self, row: Row) -> Future[Any]: ...
    def start(self, compiled: Any) -> Any: ...
    def fill(self, states: Sequence[Any], rows: Sequence[int], mask: torch.Tensor) -> None: ...
    def accept(self, state: Any, token: int) -> bool: ...


class Ours:
    """See the file's header. ``prompt_tokens``: of the prompt before each row."""

    name = OURS

    def __init__(self, loaded: Loaded, masks: MaskBuffers, prompt_tokens: int) -> None:
        engine = engines.Ours(loaded)
        compiler = engine.compiler
        self._compilations = Compilations(
            Namespaces(compiler, lambda: compiler, most=0), Settings()
        )
        self._masks, self._prompt_tokens = masks, prompt_tokens
        self._fill_batch = engine.fill_batch
        self.start, self.accept = engine.start, engine.accept

    def compile(self, row: Row) -> Future[Any]:
        spec = GrammarSpec("structural_tag", row.spec)
        return self._compilations.start(spec, self._prompt_tokens, _compiled)

    def fill(self, states: Sequence[Any], rows: Sequence[int], mask: torch.Tensor) -> None:
        self._fill_batch(states, self._masks.hold(mask), rows)


def _compiled(made: Compiled | Exception) -> Compiled:
    if isinstance(made, Exception):
        raise made
    return made


class _Peer:
    """A peer with a pool that compiles."""

    def __init__(self, name: str, engine: Any) -> None:
        self.name, self._engine = name, engine
        self._threads = max(1, min(MAX_THREADS, (os.cpu_count() or 1) // 2))
        self._pool = ThreadPoolExecutor(self._threads, f"{name}-compile")
        self.start, self.accept = engine.start, engine.accept

    def compile(self, row: Row) -> Future[Any]:
        return self._pool.submit(self._engine.compile_tags, LLAMA, row.tags)


class XGrammar(_Peer):
    def __init__(self, loaded: Loaded) -> None:
        super().__init__("xgrammar", engines.XGrammar(loaded))
        self._fill = self._engine.filler(self._threads).batch_fill_next_token_bitmask

    def fill(self, states: Sequence[Any], rows: Sequence[int], mask: torch.Tensor) -> None:
        self._fill(list(states), mask, list(rows))


class LLGuidance(_Peer):
    def __init__(self, loaded: Loaded) -> None:
        super().__init__("llguidance", engines.LLGuidance(loaded, padding=0))
        self._executor = self._engine.executor(self._threads)
        self._fill = self._engine.library.numpy.fill_next_token_bitmask_par

    def fill(self, states: Sequence[Any], rows: Sequence[int], mask: torch.Tensor) -> None:
        self._fill(self._executor, list(zip(states, rows, strict=True)), mask.numpy())


def mask_buffers(device: str) -> MaskBuffers:
    """Return the plug-in's buffers for a device."""
    return MaskBuffers(can_pin=device != "cpu", device_kernel=device_kernel)


def make(name: str, loaded: Loaded, masks: MaskBuffers, prompt_tokens: int) -> Backend | None:
    """Return a backend by its name; None: no grammar."""
    if name == NONE:
        return None
    if name == OURS:
        return Ours(loaded, masks, prompt_tokens)
    return XGrammar(loaded) if name == "xgrammar" else LLGuidance(loaded)
