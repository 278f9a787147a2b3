"""Switches for parts of the engine, for ablations and tests.

Answers never depend on them, only cost.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    #: keep and reuse automaton-only masks between grammars of one compiler, and in the store
    cross_grammar: bool = True
    #: remember a row's whole mask, so that a second visit is a copy
    mask_memo: bool = True
    #: pass the caller's origin on in tail position, so that right recursion takes constant rows
    tail_references: bool = True
    #: counts of repetitions in registers; off: every repetition is unrolled
    count_registers: bool = True
