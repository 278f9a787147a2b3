"""Speculative decoding's tree of drafts, greedily verified.

Representation   B trees of n nodes each; node 0 is the token that is already sure. A node's number
                 within its tree is 0..n-1, its index within the batch tree * n + number. A tree is
                 known by ``tree_mask`` (B, n, n): [i, j] says that j is i itself or an ancestor of
                 it; or by two links of each node: its first child (``next_token``) and the next
                 child of its parent (``next_sibling``), -1 for none.
Invariants       I1 children have larger numbers than their parent.
Not here         the attention that sees the tree (tree_verification.py), slots (slots.py).
"""

from collections.abc import Iterator

import torch
from torch import Tensor


def build_tree_kernel_efficient_cpu(
    parent_list: Tensor,
    selected_index: Tensor,
    verified_seq_len: Tensor,
    tree_mask: Tensor,
    positions: Tensor,
    retrieve_index: Tensor,
    retrieve_next_token: Tensor,
    retrieve_next_sibling: Tensor,
    topk: int,
    depth: int,
    width: int,
    tree_mask_mode: int,
) -> None:
    """Fills in place, from a draft model's choices: masks, positions, indices and links.

    ``selected_index`` (B, n - 1): for each node but the first its number among all drafts; drafts
    of one parent are ``topk`` in a row, and the parent of group g is the draft ``parent_list[g]``,
    for group 0 node 0.
    """
    masks = tree_mask[: len(verified_seq_len) * width * width].view(-1, width, width)
    masks.copy_(torch.eye(width, dtype=torch.bool).expand_as(masks))
    for row, chosen in enumerate(selected_index.tolist()):
        parents = [0]
        for draft in chosen:
            group = draft // topk
            parent = 0 if group == 0 else chosen.index(int(parent_list[row, group])) + 1
            masks[row, len(parents)] |= masks[row, parent]
            parents.append(parent)
        for node in range(width - 1, 0, -1):
            retrieve_next_sibling[row, node] = retrieve_next_token[row, parents[node]]
            retrieve_next_token[row, parents[node]] = node
    depths = masks.sum(-1) - 1
    positions.view(-1, width).copy_(depths + verified_seq_len[:, None])
    retrieve_index.copy_(torch.arange(retrieve_index.numel()).view_as(retrieve_index))


def reconstruct_indices_from_tree_mask(
    tree_mask: Tensor,
    verified_seq_len: Tensor,
    positions: Tensor,
    retrieve_index: Tensor,
    retrieve_next_token: Tensor,
    retrieve_next_sibling: Tensor,
    batch_size: int,
    width: int,
) -> None:
    """Fills in place, from masks: every node's position in its text, its index, its two links."""
    mask = tree_mask[: batch_size * width * width].view(batch_size, width, width).bool()
    ancestors = mask & torch.ones(width, width, dtype=torch.bool).tril(-1)
    number = torch.arange(width)
    # numbers grow from parent to child, so the largest ancestor is the parent
    parent = torch.where(ancestors, number, -1).amax(-1)
    later = number[None, :] > number[:, None]
    same_parent = (parent[:, :, None] == parent[:, None, :]) & (parent[:, :, None] >= 0)
    shape = (batch_size, width)
    positions.view(shape).copy_(ancestors.sum(-1) + verified_seq_len[:, None])
    retrieve_index.view(shape).copy_(torch.arange(batch_size * width).view(shape))
    retrieve_next_token.view(shape).copy_(_first(ancestors.transpose(1, 2)))
    retrieve_next_sibling.view(shape).copy_(_first(same_parent & later))


def verify_tree_greedy_cpu(
    *,
    predicts: Tensor,
    accept_index: Tensor,
    accept_token_num: Tensor,
    candidates: Tensor,
    retrive_index: Tensor,
    retrive_next_token: Tensor,
    retrive_next_sibling: Tensor,
    target_predict: Tensor,
) -> None:
    """Walks down every tree while the model's own choice is a child; fills the first three.

    ``accept_token_num`` counts accepted drafts, without node 0. The names are the server's own.
    """
    chosen = target_predict.flatten()
    for row in range(candidates.shape[0]):
        tree = _Tree(candidates[row], retrive_next_token[row], retrive_next_sibling[row])
        index = retrive_index[row].tolist()
        own = chosen[retrive_index[row].long()].tolist()
        path = [index[node] for node in tree.greedy_path(own, accept_index.shape[1])]
        accept_index[row, : len(path)] = torch.tensor(path, dtype=accept_index.dtype)
        accept_token_num[row] = len(path) - 1
        predicts[path] = chosen[path].to(predicts.dtype)


def fill_bonus_tokens_cpu(
    accept_tokens: Tensor, accept_lens: Tensor, bonus_tokens: Tensor, stride: int
) -> None:
    """The last accepted token of each request; ``accept_tokens`` has ``stride`` of each."""
    last = torch.arange(accept_lens.shape[0]) * stride + accept_lens.long() - 1
    bonus_tokens[: last.numel()] = accept_tokens.flatten()[last].to(bonus_tokens.dtype)


class _Tree:
    """One request's drafts: each node's token and its two links."""

    def __init__(self, tokens: Tensor, first_child: Tensor, sibling: Tensor) -> None:
        self._tokens: list[int] = tokens.tolist()
        self._first_child: list[int] = first_child.tolist()
        self._sibling: list[int] = sibling.tolist()

    def greedy_path(self, chosen: list[int], longest: int) -> list[int]:
        """Node 0 and the drafts below it that the model would have chosen itself.

        ``chosen``: the model's token after each node; ``longest``: nodes that a path may have.
        """
        path = [0]
        while len(path) < longest:
            wanted = chosen[path[-1]]
            fits = (node for node in self._children(path[-1]) if self._tokens[node] == wanted)
            node = next(fits, None)
            if node is None:
                break
            path.append(node)
        return path

    def _children(self, node: int) -> Iterator[int]:
        child = self._first_child[node]
        while child >= 0:
            yield child
            child = self._sibling[child]


def _first(marks: Tensor) -> Tensor:
    """The first true place along the last dimension, -1 where there is none."""
    return torch.where(marks.any(-1), marks.int().argmax(-1), -1)
