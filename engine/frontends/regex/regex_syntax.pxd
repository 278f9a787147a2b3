"""Trees of regular expressions, with the facts that decide how a tree is emitted.

    Chars(ranges)   one character        Cat(parts)   Alt(parts)
    Repeat(body, minimum, maximum)       maximum None: unbounded; laziness does not change the language
    START, END      the anchors ^ and $
    Look(body, ahead, negated)           (?=X) (?!X) (?<=X) (?<!X)
    Automaton(states)                    the texts of a CharAutomaton, if there is no expression

Facts        least, most   shortest and longest match in characters (most None: unbounded); anchors and looks
                           count as empty. An Automaton is unbounded, and only the empty text is distinguished
             anchored      the tree contains an anchor or a look
Invariants   I1 ``cat``, ``alt``, ``repeat`` and ``look`` construct all trees and flatten them: a Cat contains no
                Cat, an Alt no Alt.
             I2 a Chars may be empty; it matches nothing.
             I3 trees are immutable and compare by content.
Cost         ``emit`` is linear in the tree; equal subtrees are interned. A repetition stays a counted repetition,
             and adjacent characters become one literal.
Not here     anchors and the choice of a translation (front_end), automata (char_nfa, char_automaton).
"""

cdef class Tree:
    cdef readonly object least, most
    cdef readonly bint anchored


cdef class Chars(Tree):
    cdef readonly tuple ranges


cdef class Cat(Tree):
    cdef readonly tuple parts


cdef class Alt(Tree):
    cdef readonly tuple parts


cdef class Repeat(Tree):
    cdef readonly Tree body
    cdef readonly object minimum, maximum


cdef class Anchor(Tree):
    cdef readonly str sign


cdef class Automaton(Tree):
    cdef readonly object states


cdef class Look(Tree):
    cdef readonly Tree body
    cdef readonly bint ahead, negated
