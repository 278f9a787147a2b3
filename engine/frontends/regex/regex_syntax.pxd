"""The tree of a regular expression, with the facts that decide how it is emitted.

    Chars(ranges)   one character        Cat(parts)   Alt(parts)
    Repeat(body, minimum, maximum)       maximum None: no upper bound; laziness does not change a
                                         language
    START, END      the anchors ^ and $
    Look(body, ahead, negated)           (?=X) (?!X) (?<=X) (?<!X)
    Automaton(states)                    what a CharAutomaton accepts, for what has no expression

Facts        least, most   shortest and longest match in characters (most None: no longest); anchors
                           and looks count as empty. Of an Automaton: none is longer, and at most the empty text
           is shorter
             anchored      an anchor or a look stands somewhere below
Invariants   I1 trees are made by ``cat``, ``alt``, ``repeat`` and ``look`` only, which flatten: a
             Cat holds no Cat, an Alt no Alt.
             I2 a Chars may be empty; it matches nothing.
             I3 trees are immutable; equal ones compare equal.
Not here     reading patterns (regex_syntax), languages (regex, char_automaton).
"""

from libc.stdint cimport uint32_t

from ...grammar.ir cimport Grammar

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


cpdef Tree cat(parts)
cpdef Tree alt(parts)
cpdef Tree repeat(Tree body, minimum, maximum)
cpdef Tree look(Tree body, bint ahead, bint negated)


# -- regex emit ------------------------------------------------------------------------------------
# Trees of regular expressions -> IR, as they stand.
#
# A repetition stays a counted repetition, characters that follow one another become one literal. Inside
# a JSON string every character may be written in any spelling.
#
# Cost       linear in the tree; what a tree holds twice is emitted twice and interned.
# Not here   which trees may be emitted as they stand (regex).

cpdef uint32_t emit(Grammar grammar, Tree tree, bint inside_json) except? 0xFFFFFFFF
