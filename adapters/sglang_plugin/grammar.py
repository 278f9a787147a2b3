"""The grammar of one request, as SGLang drives it.

Invariants   I1 only accept_token raises, and only ValueError: SGLang then aborts the request. Any
                other exception would end the whole server.
             I2 after an internal error the mask allows only stop tokens, and accepting one raises.
                So the request ends with an error, never as a short answer that looks complete.
             I3 a token that does not fit is refused, whatever the mask allowed.
             I4 a grammar is terminated if a stop token has ended it, and only then.
             I5 the object is truthy (SGLang tests it).
Threads      the scheduler's thread; compile threads create the objects.
"""

import logging
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from sglang.srt.constrained.base_grammar_backend import BaseGrammarObject, GrammarStats

from engine import Bitmask, Compiled, EngineError, Matcher, MatcherCounters, fill_bitmask_batch

from .mask_buffers import MaskBuffers
from .mask_prefetcher import MaskPrefetcher

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class GrammarCounters:
    """Counters of a scheduler's process, and nanoseconds of the scheduler's time.

    ``steps`` counts batches whose masks were filled, ``limits`` grammars that exceeded a limit of
    the engine while in use. ``errors`` must stay 0. ``MatcherCounters`` counts accepted tokens.
    """

    refused_tokens: int = 0
    rollbacks: int = 0
    steps: int = 0
    fills: int = 0
    fill_ns: int = 0
    apply_ns: int = 0
    trees: int = 0
    tree_ns: int = 0
    limits: int = 0
    errors: int = 0


class Shared:
    """The objects that all grammars of a worker share."""

    __slots__ = ("counters", "masks", "prefetcher", "stop_ids", "stop_row", "tally")

    def __init__(
        self,
        masks: MaskBuffers,
        stop_token_ids: Sequence[int],
        words: int,
        prefetcher: MaskPrefetcher | None = None,
    ) -> None:
        self.masks = masks
        self.prefetcher = prefetcher
        self.counters, self.tally = GrammarCounters(), MatcherCounters()
        self.stop_ids = frozenset(stop_token_ids)
        self.stop_row = torch.zeros(words, dtype=torch.int32)
        for number in stop_token_ids:
            bit = 1 << (number % 32)
            self.stop_row[number // 32] |= bit - (1 << 32) if bit >> 31 else bit


class SwitchyardGrammar(BaseGrammarObject):  # type: ignore[misc]
    """See the file's header.

    Args:
        compiled: the compiled grammar, shared between requests.
        shared: the worker's shared objects.
        stats: statistics for SGLang's metrics.
    """

    def __init__(
        self, compiled: Compiled, shared: Shared, stats: GrammarStats | None = None
    ) -> None:
        super().__init__()
        self.grammar_stats = stats
        self._compiled = compiled
        self._shared = shared
        self._matcher: Matcher | None = Matcher(compiled, shared.tally)  # None: it failed
        self._failure = ""
        self._is_over = False  # read more often than it changes
        self._ignored = 0  # tokens after the end; rollback counts them

    # -- tokens ------------------------------------------------------------------------------------
    def accept_token(self, token: int) -> None:
        """
        Raises:
            ValueError: the token does not fit, or an error of ours.
        """
        shared, matcher = self._shared, self._matcher
        taken = False
        if matcher is not None:
            try:
                taken = matcher.accept_token(token) or self._is_past_the_end()
                if token in shared.stop_ids:
                    self._is_over = matcher.is_terminated()
                if taken and shared.prefetcher is not None:
                    shared.prefetcher.submit(matcher)
            except Exception as error:
                self._fail("accepting a token", error)
                taken = False
        if not taken:
            self._refuse(token)
        self.current_token = token

    def _is_past_the_end(self) -> bool:
        """Count a token after the stop token; SGLang's loop may overrun by one."""
        self._ignored += self._is_over
        return self._is_over

    def _refuse(self, token: int) -> NoReturn:
        if self._matcher is None:
            raise ValueError(self._failure)
        self._shared.counters.refused_tokens += 1
        raise ValueError(f"the token {token} does not fit the grammar")

    def rollback(self, k: int) -> None:
        """Undo the last ``k`` tokens."""
        try:
            ignored = min(k, self._ignored)
            self._ignored -= ignored
            if self._matcher is not None:
                self._matcher.rollback(k - ignored)
                self._is_over = self._matcher.is_terminated()
            self._shared.counters.rollbacks += 1
        except Exception as error:
            self._fail("taking tokens back", error)

    def is_terminated(self) -> bool:
        """Whether a stop token has ended the answer."""
        return self._is_over

    # -- masks -------------------------------------------------------------------------------------
    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:
        """Return masks for a batch, with every token allowed."""
        return self._shared.masks.allocate(vocab_size, batch_size, device)

    def move_vocab_mask(self, vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
        """Return the masks of a batch on the device."""
        return self._shared.masks.move(vocab_mask, device)

    def apply_vocab_mask(self, logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        """Apply the masks of a batch to its logits (float32), in place."""
        start = time.perf_counter_ns()
        shared = self._shared
        shared.masks.apply(logits, vocab_mask)
        shared.counters.apply_ns += time.perf_counter_ns() - start

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Fill the mask of one row."""
        counters = self._shared.counters
        start = time.perf_counter_ns()
        self._fill(vocab_mask, idx)
        counters.fills += 1
        counters.fill_ns += time.perf_counter_ns() - start

    def _fill(self, vocab_mask: torch.Tensor, row: int) -> None:
        if self._matcher is not None:
            try:
                self._matcher.fill_bitmask(self._shared.masks.hold(vocab_mask), row)
                return
            except Exception as error:
                self._fail("making a mask", error)
        self._allow_stop_only(vocab_mask, row)

    def _allow_stop_only(self, vocab_mask: torch.Tensor, row: int) -> None:
        stop = self._shared.stop_row
        try:
            vocab_mask[row, : stop.shape[0]] = stop
            vocab_mask[row, stop.shape[0] :] = 0
        except Exception as error:  # memory that cannot be written: accept_token will raise
            self._fail("making a mask", error)

    @staticmethod
    def fill_vocab_mask_batched(entries: Sequence[Any], vocab_mask: torch.Tensor) -> None:
        """Fill the rows of ``entries`` in one call; other rows do not change."""
        foreign = [each for each in entries if not isinstance(each.grammar, SwitchyardGrammar)]
        if foreign:  # SGLang's filters of thinking
            for entry in foreign:
                entry.grammar.fill_vocab_mask(vocab_mask, entry.row)
            entries = [each for each in entries if isinstance(each.grammar, SwitchyardGrammar)]
        if not entries:
            return
        start = time.perf_counter_ns()
        shared = entries[0].grammar._shared
        try:
            fill_bitmask_batch(
                [entry.grammar._matcher for entry in entries],
                shared.masks.hold(vocab_mask),
                [entry.row for entry in entries],
            )
        except Exception:
            # one of them has failed: fill each one separately
            for entry in entries:
                entry.grammar._fill(vocab_mask, entry.row)
        counters = shared.counters
        counters.steps += 1
        counters.fills += len(entries)
        counters.fill_ns += time.perf_counter_ns() - start

    # -- draft trees -------------------------------------------------------------------------------
    def fill_tree(
        self,
        children: Sequence[int],
        siblings: Sequence[int],
        tokens: Sequence[int],
        mask: torch.Tensor,
    ) -> None:
        """Fill the masks after each node of a draft tree that the grammar accepts.

        Rows of other nodes do not change. Node 0 is the matcher's position; -1: no child, no
        sibling.
        """
        counters = self._shared.counters
        start = time.perf_counter_ns()
        self._fill(mask, 0)
        matcher = self._matcher
        if matcher is not None and not self._is_over:
            try:
                _walk(matcher, children, siblings, tokens, self._shared.masks.hold(mask))
            except Exception as error:
                self._fail("walking a draft tree", error)
                self._allow_stop_only(mask, 0)
        counters.trees += 1
        counters.tree_ns += time.perf_counter_ns() - start

    def forced_tokens(self, most: int) -> list[int]:
        """Return at most ``most`` tokens that must come next, as the tokenizer writes them."""
        matcher = self._matcher
        if matcher is None or matcher.compiled.vocabulary.encode is None:
            return []
        try:
            return matcher.forced_tokens(most)
        except Exception as error:
            self._fail("looking for drafts", error)
            return []

    # -- the rest ----------------------------------------------------------------------------------
    def copy(self) -> "SwitchyardGrammar":
        """Return a grammar in its initial state, for another request."""
        stats = self.grammar_stats
        return SwitchyardGrammar(self._compiled, self._shared, stats)

    def _fail(self, what: str, error: Exception) -> None:
        """Make the request end with an error."""
        self._matcher, self._is_over = None, False
        number = secrets.token_hex(4)
        if isinstance(error, EngineError):
            self._shared.counters.limits += 1
            self._failure = f"{what} failed: {error} ({number})"
            _log.warning("switchyard: %s", self._failure)
        else:
            self._shared.counters.errors += 1
            self._failure = f"{what} failed: internal error {number}"
            _log.error("switchyard: %s", self._failure, exc_info=error)

    def __repr__(self) -> str:
        return f"SwitchyardGrammar(failure={self._failure!r})"


def _walk(
    matcher: Matcher,
    children: Sequence[int],
    siblings: Sequence[int],
    tokens: Sequence[int],
    rows: Bitmask,
) -> None:
    """Fill the masks of a draft tree; rows of rejected nodes stay all-allowed.

    ``engine.fill_bitmask_tree`` would clear these rows, but SGLang samples from them too.
    """
    todo = [(children[0], matcher)]
    while todo:
        node, parent = todo.pop()
        while node != -1:
            at = parent.fork()
            if at.accept_token(tokens[node]) and not at.is_terminated():
                at.fill_bitmask(rows, node)
                todo.append((children[node], at))
            node = siblings[node]


def walk_tree(grammar: Any, children: Any, siblings: Any, tokens: Any, mask: torch.Tensor) -> bool:
    """Fill the masks of SGLang's draft tree; return False for a foreign grammar."""
    if not isinstance(grammar, SwitchyardGrammar):
        return False
    grammar.fill_tree(children.tolist(), siblings.tolist(), tokens.tolist(), mask)
    return True
