"""Everything that depends on SGLang's version.

Tested with   0.5.23. Any other version is refused by name, because an interface that moved would
              leave answers unconstrained. ``SWITCHYARD_SGLANG_UNTESTED=1`` skips this check.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

TESTED = ("0.5.23",)
UNTESTED_VARIABLE = "SWITCHYARD_SGLANG_UNTESTED"

Create = Callable[[Any, Any, int, Any], Any]
Status = Callable[[], "dict[str, Any] | None"]


class UnsupportedSGLang(RuntimeError):
    """The plug-in was not tested with this version of SGLang."""


@dataclass(slots=True)
class SGLangApi:
    """The interfaces of one SGLang version that the plug-in uses."""

    version: str

    def add_backend(self, name: str, create: Create) -> None:
        """Make ``name`` a choice of ``--grammar-backend`` that calls ``create``."""
        from sglang.srt.arg_groups.choices import (
            GRAMMAR_BACKEND_CHOICES,
            add_grammar_backend_choices,
        )
        from sglang.srt.constrained.base_grammar_backend import register_grammar_backend

        if name not in GRAMMAR_BACKEND_CHOICES:
            add_grammar_backend_choices([name])
        register_grammar_backend(name, create)

    def add_status(self, status: Status) -> None:
        """Add the result of ``status``, called in the scheduler's process, to /server_info at
        ``internal_states[i]["switchyard"]``.
        """
        from sglang.srt.plugins.hook_registry import HookRegistry, HookType

        def extend(result: Any, *_: Any, **__: Any) -> Any:
            found = status()
            if found is not None:
                result.internal_state["switchyard"] = found
            return result

        target = (
            "sglang.srt.managers.scheduler_components.internal_state."
            "SchedulerInternalStateController.get_internal_state"
        )
        _hook_once(HookRegistry, target, extend, HookType.AFTER)

    def add_tree_walk(self, walk: Callable[..., bool]) -> None:
        """Let ``walk`` fill the masks of draft trees; SGLang fills those for which it is false."""
        from sglang.srt.speculative import spec_utils

        original = spec_utils.traverse_tree
        if getattr(original, "switchyard", False):
            return

        def traverse_tree(
            retrieve_next_token: Any,
            retrieve_next_sibling: Any,
            draft_tokens: Any,
            grammar: Any,
            allocate_token_bitmask: Any,
            vocab_size: int | None = None,
        ) -> None:
            tree = (retrieve_next_token, retrieve_next_sibling, draft_tokens)
            if not walk(grammar, *tree, allocate_token_bitmask):
                original(*tree, grammar, allocate_token_bitmask, vocab_size)

        traverse_tree.switchyard = True  # type: ignore[attr-defined]
        spec_utils.traverse_tree = traverse_tree

    def stands_alone(self, server_args: Any) -> bool:
        """Whether no other rank must make the same decisions as this one."""
        ranks = [getattr(server_args, name, 1) or 1 for name in ("tp_size", "pp_size")]
        return all(count == 1 for count in ranks)

    def speculates_by_ngrams(self, server_args: Any) -> bool:
        """Whether the server uses n-gram speculation."""
        return str(getattr(server_args, "speculative_algorithm", None)).upper() == "NGRAM"

    def add_drafts(self, offer: Callable[[Any, Any, Any], None]) -> None:
        """Call ``offer`` with each batch's (requests, drafts, follows), which it may change."""
        from sglang.srt.speculative.ngram_worker import NGRAMWorker

        original = NGRAMWorker._prepare_draft_tokens
        if getattr(original, "switchyard", False):
            return

        def prepare(worker: Any, batch: Any) -> Any:
            drafts, follows = original(worker, batch)
            if batch.has_grammar:
                offer(batch.reqs, drafts, follows)
            return drafts, follows

        prepare.switchyard = True  # type: ignore[attr-defined]
        NGRAMWorker._prepare_draft_tokens = prepare

    def device_kernel(self) -> Callable[[Any, Any], None]:
        """Return SGLang's kernel that applies a mask on a GPU: (logits, mask)."""
        from sglang.kernels.ops.grammar.bitmask_ops import apply_token_bitmask_inplace_triton

        kernel: Callable[[Any, Any], None] = apply_token_bitmask_inplace_triton
        return kernel

    def can_pin(self) -> bool:
        """Whether host memory can be pinned for copies to the device."""
        from sglang.srt.utils.common import is_pin_memory_available

        return bool(is_pin_memory_available())

    def reasoning_end(self, tokenizer: Any) -> str | None:
        """Return the text that ends the model's thinking; None without a reasoning parser."""
        from sglang.srt.parser.reasoning_parser import ReasoningParser
        from sglang.srt.runtime_context import get_serving

        name = get_serving().reasoning_parser
        if not name:
            return None
        parser = ReasoningParser(model_type=name, stream_reasoning=False, tokenizer=tokenizer)
        end: str = parser.detector.think_end_token
        return end

    def strict_thinking(self) -> bool:
        """Whether the server runs with ``--enable-strict-thinking``."""
        from sglang.srt.runtime_context import get_serving

        return bool(get_serving().enable_strict_thinking)

    def json_whitespace(self) -> tuple[int | None, str | None]:
        """Return the server's options for white space in JSON: maximum characters, a pattern."""
        from sglang.srt.runtime_context import get_serving

        serving = get_serving()
        most = 0 if serving.constrained_json_disable_any_whitespace else None
        if most is None:
            most = serving.constrained_json_max_whitespace_cnt
        return most, serving.constrained_json_whitespace_pattern

    def most_thinking(self) -> int | None:
        """Return the bound of ``SGLANG_MAX_THINK_TOKENS`` in tokens; None: no bound."""
        from sglang.srt.environ import envs

        most: int = envs.SGLANG_MAX_THINK_TOKENS.get()
        return most if most >= 0 else None


def _hook_once(registry: Any, target: str, hook: Callable[..., Any], kind: Any) -> None:
    known = [each for _, each, _ in registry._hooks.get(target, ())]
    if not any(getattr(each, "switchyard", False) for each in known):
        hook.switchyard = True  # type: ignore[attr-defined]
        registry.register(target, hook, kind)


def check() -> SGLangApi:
    """Return the interfaces of the installed SGLang.

    Raises:
        UnsupportedSGLang: not one of ``TESTED``.
    """
    installed = metadata.version("sglang")
    if installed not in TESTED and os.environ.get(UNTESTED_VARIABLE) != "1":
        raise UnsupportedSGLang(
            f"Switchyard's plug-in supports SGLang {', '.join(TESTED)}, got {installed}. "
            f"{UNTESTED_VARIABLE}=1 skips this check."
        )
    return SGLangApi(installed)
