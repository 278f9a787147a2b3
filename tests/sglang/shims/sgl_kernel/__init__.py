"""A stand-in for sgl_kernel, which PyPI has only for CUDA.

``torch.ops.sgl_kernel`` stays empty but for names that modules look up when they are imported, so
the server finds no special processor and every layer takes its torch-native path. Other names that
the server imports are implemented here in torch (slots.py, speculative.py), or raise when they are
called.
"""

from collections.abc import Callable
from typing import Any

import torch

from .slots import (
    assign_draft_cache_locs_contiguous_cpu,
    assign_extend_cache_locs_cpu,
    assign_req_to_token_pool_cpu,
    copy_all_layer_kv_cache_cpu,
    fill_accept_out_cache_loc_cpu,
)
from .speculative import (
    build_tree_kernel_efficient_cpu,
    fill_bonus_tokens_cpu,
    reconstruct_indices_from_tree_mask,
    verify_tree_greedy_cpu,
)

__version__ = "0.0.0"
__all__ = [
    "assign_draft_cache_locs_contiguous_cpu",
    "assign_extend_cache_locs_cpu",
    "assign_req_to_token_pool_cpu",
    "build_tree_kernel_efficient_cpu",
    "copy_all_layer_kv_cache_cpu",
    "fill_accept_out_cache_loc_cpu",
    "fill_bonus_tokens_cpu",
    "reconstruct_indices_from_tree_mask",
    "verify_tree_greedy_cpu",
]


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*_: Any, **__: Any) -> None:
        raise NotImplementedError(f"sgl_kernel.{name} has no stand-in for a CPU")

    return missing


#: the module of Qwen-VL's processor imports models that ask for them on every CPU
for _name in (
    "fused_qk_gemma_rmsnorm_cpu",
    "fused_qk_gemma_rmsnorm_with_gate_cpu",
    "fused_qkvzba_split_reshape_cat_contiguous_cpu",
    "fused_sigmoid_mul_cpu",
):
    setattr(torch.ops.sgl_kernel, _name, __getattr__(_name))
