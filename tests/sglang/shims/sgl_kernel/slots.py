"""Which slots of the key-value cache belong to which place of a request.

Representation   ``req_to_token`` (requests, context): the slot of every place of a request. A
                 request's new places are [start, end), and ``out_cache_loc`` holds the slots of the
                 new places of all requests of a batch, one request after the other.
Not here         speculative decoding's tree (speculative.py).
"""

import ctypes
from collections.abc import Iterator
from typing import Any

from torch import Tensor


def assign_req_to_token_pool_cpu(
    req_pool_indices: Tensor,
    req_to_token: Tensor,
    start_offset: Tensor,
    end_offset: Tensor,
    out_cache_loc: Tensor,
    *_: Any,
) -> None:
    """Notes the new slots in the table."""
    for row, places, part in _new_places(req_pool_indices, start_offset, end_offset):
        req_to_token[row, places] = out_cache_loc[part].to(req_to_token.dtype)


def assign_draft_cache_locs_contiguous_cpu(
    req_pool_indices: Tensor,
    req_to_token: Tensor,
    seq_lens: Tensor,
    out_cache_loc: Tensor,
    pool_len: int,
    topk: int,
    steps: int,
) -> None:
    """Reads the slots of each request's drafts, which follow those of its text."""
    size = topk * steps
    for number, (row, length) in enumerate(
        zip(req_pool_indices.tolist(), seq_lens.tolist(), strict=True)
    ):
        slots = req_to_token[row, length : length + size]
        out_cache_loc[number * size : (number + 1) * size] = slots.to(out_cache_loc.dtype)


def assign_extend_cache_locs_cpu(
    req_pool_indices: Tensor,
    req_to_token: Tensor,
    start_offset: Tensor,
    end_offset: Tensor,
    out_cache_loc: Tensor,
    *_: Any,
) -> None:
    """Reads the new slots out of the table."""
    for row, places, part in _new_places(req_pool_indices, start_offset, end_offset):
        out_cache_loc[part] = req_to_token[row, places].to(out_cache_loc.dtype)


def fill_accept_out_cache_loc_cpu(
    accept_index: Tensor, out_cache_loc: Tensor, accept_out_cache_loc: Tensor
) -> None:
    """Keeps the slots of accepted tokens, in order; -1 marks a token that was not accepted."""
    accepted = accept_index.flatten()
    accepted = accepted[accepted >= 0].long()
    accept_out_cache_loc[: accepted.numel()] = out_cache_loc[accepted]


def copy_all_layer_kv_cache_cpu(
    data_ptrs: Tensor, strides: Tensor, tgt_loc: Tensor, src_loc: Tensor
) -> None:
    """Moves slots of every layer's buffer, given as addresses and bytes per slot.

    All are read before the first is written: a slot may be source and target.
    """
    sources, targets = src_loc.tolist(), tgt_loc.tolist()
    for buffer, size in zip(data_ptrs.tolist(), strides.tolist(), strict=True):
        slots = [ctypes.string_at(buffer + source * size, size) for source in sources]
        for target, slot in zip(targets, slots, strict=True):
            ctypes.memmove(buffer + target * size, slot, size)


def _new_places(rows: Tensor, starts: Tensor, ends: Tensor) -> Iterator[tuple[int, slice, slice]]:
    """For each request: its row, its new places, and where its slots lie in the batch's list."""
    first = 0
    for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True):
        yield row, slice(start, end), slice(first, first + end - start)
        first += end - start
