"""Places of a schema -> rules.

A place becomes a node: a shared rule, a rule with its content (scalars), or a rule of its own (what
may hold objects or arrays), which is declared at once and defined later from a queue. So recursion
costs nothing, and neither a deep schema nor a long chain of references grows the stack.

Invariants   I1 one place, one node: places are remembered by the identities of their schemas.
             I2 rules are made in the order of the schema, so equal schemas give equal grammars.
Cost         linear in the schema; a quarter of a microsecond for a property with a plain scalar, which
             makes no object of its own, about one for other schemas.
Not here     what schemas mean (reader, shapes), how values are written (objects, arrays, strings,
             numbers, values).
"""

from libc.stdint cimport uint32_t

from .keywords cimport KeywordsC
from .places cimport Places
from .shapes cimport Arrays, Located, Objects, Shape
from ...hashing cimport U64MapC
from ...pool cimport vector


cdef class Builder(Places):
    cdef bint failed    # whether a rule without any text was referred to before that was known
    cdef U64MapC single     # the node of a place of one schema, by its identity
    cdef dict several       # of others, once there is one
    cdef list queue     # of (rule, shapes, where)
    cdef list named         # places that rules are named for; they let go of their schemas at the end
    cdef size_t defined

    cdef uint32_t one_place(self, Located where) except? 0xFFFFFFFF
    cdef uint32_t plain(self, KeywordsC* found) except? 0xFFFFFFFF
    cdef uint32_t strings(self, values, bint is_checked) except? 0xFFFFFFFF
    cdef uint32_t new_rule(self, Located where, uint32_t body) except? 0xFFFFFFFF
    cdef uint32_t node(self, tuple shapes, Located where) except? 0xFFFFFFFF
    cdef int finish(self) except -1
    cdef uint32_t any_value(self) except? 0xFFFFFFFF
    cdef uint32_t alternatives(self, tuple shapes, Located where) except? 0xFFFFFFFF
    cdef uint32_t one(self, Shape shape) except? 0xFFFFFFFF
    cdef uint32_t object(self, Objects facet) except? 0xFFFFFFFF
    cdef uint32_t array(self, Arrays facet) except? 0xFFFFFFFF
    cdef int name_part(self, uint32_t* node, Located where, n) except -1
    cdef int add_numbers(self, list shapes, vector[uint32_t]* nodes) except -1
