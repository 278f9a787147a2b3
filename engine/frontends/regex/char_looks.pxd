"""Trees with look-around -> deterministic automata over characters.

    (?=X)   from here on the rest of the text must be one that begins with X: an *obligation*, a
            state of the deterministic automaton of X and any text, which goes along
    (?!X)   the same, and the rest must not be one
    (?<=X)  the automaton of any text and X, which runs from the beginning of the text on, must be
            in a final state here; with (?<!X) it must not
    \\b      both, of one character (regex_syntax)

A *configuration* is a state of the tree's own automaton with a set of obligations; a state of the
result is a set of configurations with one state of each automaton that looks behind. So look-around
may stand anywhere, repetitions included.

Invariants   I1 an obligation that holds whatever follows is dropped; one that can't hold any more
             takes its configuration with it.
             I2 of two configurations in one state the one with more obligations is dropped, if
             they include the other's.
             I3 what X looks behind for, and whether the text begins here, is settled where X
             begins: there is one automaton of X for each such context (one, if X has no anchors).
Cost         that of a subset construction, times the automata that go along: counted, and bounded
             by ``limits.pattern_states``.
Not here     look-ahead within look-behind, which regex_syntax refuses.
Source       obligations are those of alternating automata: Chandra, Kozen, Stockmeyer,
             Alternation, JACM 28(1), 1981; negation is settled by determinising what is negated.
"""

from .char_automaton cimport Bound, CharAutomaton


# ``is_search``: the tree ends in any text, so that what was found is found whatever follows.
cdef CharAutomaton looked(tree, Bound bound, bint is_search)
