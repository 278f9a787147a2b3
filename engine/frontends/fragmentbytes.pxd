"""A fragment's bytes, as they lie in a store.

    artifact   magic "SYP1" | version (artifact) | number of nodes | nodes
    node       kind | what its kind has:
                 EMPTY, FAIL          nothing
                 BYTES, TEXT          how many values, and them
                 CHARS, JSON_CHARS    how many ranges; each low's distance from the high before, and
                                      high's from low
                 SEQ, ALT             how many children, and them
                 REPEAT, BOUNDED      child | minimum | maximum + 1, 0: none
                 GRAPH                states | how many edges | from, child, to of each | how many
                                      finals, and them
    child      by how many nodes it stands before its parent
    number     as in varint; magic and version take four bytes each

Invariants   I1 what is taken is a fragment as a front end could have made it: children stand before
                their parents and no deeper than ``MOST_DEPTH``, SEQ and ALT are flat, ranges ascend,
                every index lies where it may. It may still be another pattern's: that it is not is the
                business of the store's MAC.
Cost         linear in the nodes and their operands.
Not here     which fragments are worth it (fragment).
"""

from .fragment cimport Fragment

cdef bytes bytes_of_fragment(Fragment fragment)
# None where anything is off
cdef Fragment fragment_from(bytes data)
