"""Switches for optional parts of the engine, for ablation benchmarks and tests.

Answers never depend on them, only costs.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The switches; all are on by default."""

    #: share token masks and automata between grammars of one compiler, and in the log
    cross_grammar: bool = True
    #: cache masks of rows, so that a second visit is a copy
    mask_memo: bool = True
    #: pass the caller's origin on in tail position, so that right recursion takes a constant number
    #: of rows
    tail_references: bool = True
    #: count repetitions in registers; otherwise every repetition is unrolled
    count_registers: bool = True
