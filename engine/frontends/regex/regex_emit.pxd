"""Trees of regular expressions -> IR, as they stand.

A repetition stays a counted repetition, characters that follow one another become one literal. Inside
a JSON string every character may be written in any spelling.

Cost       linear in the tree; what a tree holds twice is emitted twice and interned.
Not here   which trees may be emitted as they stand (regex).
"""

from libc.stdint cimport uint32_t

from ...grammar.ir cimport Grammar
from .regex_tree cimport Tree

cpdef uint32_t emit(Grammar grammar, Tree tree, bint inside_json) except? 0xFFFFFFFF
