"""Attention over a tree of drafts, which the torch-native backend lacks: a plug-in of the server.

Speculative decoding asks the model about a whole tree of drafts at once (the forward mode "target
verify"). The backend that runs on any CPU reads such a batch as ordinary text, which fails. This
wraps its ``forward_extend``: every draft sees the text so far and those drafts that it follows.
The server finds it by the entry point in tree_verification-1.0.dist-info, beside this file.

Cost             one attention a request and layer; enough for a tiny model.
Not here         which drafts are accepted (sgl_kernel/speculative.py).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

WRAPPED = "sglang.srt.layers.attention.torch_native_backend.TorchNativeAttnBackend.forward_extend"


def register() -> None:
    """Called by the server in each of its processes."""
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    HookRegistry.register(WRAPPED, forward_extend, HookType.AROUND)


def forward_extend(
    original: Callable[..., Tensor],
    backend: Any,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layer: Any,
    forward_batch: Any,
    save_kv_cache: bool = True,
    **options: Any,
) -> Tensor:
    """The backend's own method for every other batch; shapes as there: q (tokens, heads * size)."""
    if not forward_batch.forward_mode.is_target_verify():
        return original(backend, q, k, v, layer, forward_batch, save_kv_cache, **options)
    _save(backend, layer, forward_batch, k, v)
    width = forward_batch.spec_info.draft_token_num
    queries = q.view(forward_batch.batch_size, width, layer.tp_q_head_num, layer.qk_head_dim)
    seen = [_attend(backend, layer, forward_batch, row, one) for row, one in enumerate(queries)]
    return torch.cat(seen).view(q.shape[0], -1)


def _save(backend: Any, layer: Any, batch: Any, k: Tensor, v: Tensor) -> None:
    """Puts the drafts' keys and values where the batch says."""
    from sglang.srt.mem_cache.memory_pool import KVWriteLoc

    place = KVWriteLoc(batch.out_cache_loc, backend.swa_out_cache_loc)
    backend.token_to_kv_pool.set_kv_buffer(layer, place, k, v)


def _attend(backend: Any, layer: Any, batch: Any, row: int, queries: Tensor) -> Tensor:
    """One request: (width, heads, size) in, the same out."""
    width, length = queries.shape[0], int(batch.seq_lens[row])
    request = batch.req_pool_indices[row]
    slots = backend.req_to_token_pool.req_to_token[request, : length + width].long()
    pool = backend.token_to_kv_pool
    keys, values = (
        buffer[slots].movedim(0, 1).to(queries.dtype)
        for buffer in (pool.get_key_buffer(layer.layer_id), pool.get_value_buffer(layer.layer_id))
    )
    heard = scaled_dot_product_attention(
        queries.movedim(0, 1)[None],
        keys[None],
        values[None],
        attn_mask=_mask(batch.spec_info.custom_mask, row, width, length),
        enable_gqa=layer.tp_q_head_num != layer.tp_k_head_num,
        scale=layer.scaling,
    )
    return heard[0].movedim(1, 0)


def _mask(trees: Tensor, row: int, width: int, length: int) -> Tensor:
    """(width, length + width): all of the text, then the request's own part of the trees."""
    tree = trees.view(-1)[row * width * width : (row + 1) * width * width].view(width, width)
    return torch.cat([torch.ones(width, length, dtype=torch.bool), tree.bool()], dim=1)
