"""Attention of draft models, which the torch-native backend lacks: a plug-in of the server.

EAGLE, MTP and standalone draft models write ``topk`` branches of ``steps`` tokens behind the text
so far, one token of each branch a step. The server finds this by the entry point in
draft_decoding-1.0.dist-info, beside this file.

Representation   a request's draft slots follow those of its text in the table of slots, one branch
                 behind the other: branch k's token of step i is at length + k * steps + i.
Not here         which drafts make the tree, and which are accepted (sgl_kernel/speculative.py); the
                 attention that verifies them (tree_verification.py).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

FACTORY = "sglang.srt.speculative.draft_utils.DraftBackendFactory"


def register() -> None:
    """Called by the server in each of its processes."""
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    for name, around in (
        ("create_decode_backend", create_decode_backend),
        ("create_draft_extend_backend", create_draft_extend_backend),
    ):
        HookRegistry.register(f"{FACTORY}.{name}", around, HookType.AROUND)


def create_decode_backend(original: Callable[[Any], Any], factory: Any) -> Any:
    if _is_foreign(factory) or factory.speculative_num_steps <= 1:
        return original(factory)
    return DraftSteps(factory.draft_model_runner, factory.topk, factory.speculative_num_steps)


def create_draft_extend_backend(original: Callable[[Any], Any], factory: Any) -> Any:
    if _is_foreign(factory):
        return original(factory)
    from sglang.srt.layers.attention.torch_native_backend import TorchNativeAttnBackend

    return _named(TorchNativeAttnBackend(factory.draft_model_runner))


def _is_foreign(factory: Any) -> bool:
    from sglang.srt.runtime_context import attention_backends

    return "torch_native" not in (factory.draft_attn_backend, *attention_backends())


def _named(backend: Any) -> Any:
    backend.prefill_attention_backend_str = "torch_native"
    backend.decode_attention_backend_str = "torch_native"
    return backend


class DraftSteps:
    """One backend for each step but the last, whose tokens no model reads."""

    def __init__(self, runner: Any, topk: int, steps: int) -> None:
        self.attn_backends = [_named(_step(runner, topk, steps, at)) for at in range(steps - 1)]

    def init_forward_metadata(self, forward_batch: Any) -> None:
        for backend in self.attn_backends:
            backend.init_forward_metadata(forward_batch)


def _step(runner: Any, topk: int, steps: int, at: int) -> Any:
    from sglang.srt.layers.attention.torch_native_backend import TorchNativeAttnBackend

    class Step(TorchNativeAttnBackend):  # type: ignore[misc]
        def forward_decode(
            self, q: Tensor, k: Tensor, v: Tensor, layer: Any, batch: Any, *_: Any, **__: Any
        ) -> Tensor:
            """Shapes: q (requests * topk, heads * size)."""
            from sglang.srt.mem_cache.memory_pool import KVWriteLoc

            place = KVWriteLoc(batch.out_cache_loc, self.swa_out_cache_loc)
            self.token_to_kv_pool.set_kv_buffer(layer, place, k, v)
            queries = q.view(-1, topk, layer.tp_q_head_num, layer.qk_head_dim)
            out = [
                self._attend(layer, queries[row, branch], self._slots(batch, row, branch))
                for row in range(queries.shape[0])
                for branch in range(topk)
            ]
            return torch.stack(out).view(q.shape[0], -1)

        def _slots(self, batch: Any, row: int, branch: int) -> Tensor:
            length = int(batch.seq_lens[row])
            first = length + branch * steps
            table = self.req_to_token_pool.req_to_token[batch.req_pool_indices[row]]
            return torch.cat([table[:length], table[first : first + at + 1]]).long()

        def _attend(self, layer: Any, query: Tensor, slots: Tensor) -> Tensor:
            """(heads, size) in, the same out."""
            pool, number = self.token_to_kv_pool, layer.layer_id
            keys, values = (
                buffer[slots].movedim(0, 1).to(query.dtype)
                for buffer in (pool.get_key_buffer(number), pool.get_value_buffer(number))
            )
            heard = scaled_dot_product_attention(
                query[None, :, None],
                keys[None],
                values[None],
                enable_gqa=layer.tp_q_head_num != layer.tp_k_head_num,
                scale=layer.scaling,
            )
            return heard[0, :, 0]

    return Step(runner)
