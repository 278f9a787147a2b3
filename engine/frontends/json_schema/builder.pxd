"""Places of a schema -> rules.

A place becomes a node: a shared rule, a rule with its content (scalars), or a rule of its own (what
may hold objects or arrays), which is declared at once and defined later from a queue. So recursion
costs nothing, and neither a deep schema nor a long chain of references grows the stack.

Where lines are indented, a place is written out for each depth at which it stands. So recursion would
never end: EXACT_LEVELS below the shallowest depth of a place, and where a line would be indented by
more than MOST_DEPTH levels, it is that of no depth in particular (DEEP), and so is all inside it.

Invariants   I1 one place, one depth, one node: places are remembered by the identities of their schemas.
             I2 rules are made in the order of the schema, so equal schemas give equal grammars.
Cost         linear in the schema; a quarter of a microsecond for a property with a plain scalar, which
             makes no object of its own, about one for other schemas.
Not here     what schemas mean (reader, shapes), how values are written (objects, arrays, strings,
             numbers, values).
"""

from libc.stdint cimport uint32_t

from ...native.hashing cimport U64MapC
from ...native.pool cimport vector
from .keywords cimport KeywordsC
from .places cimport Places
from .schema_types cimport Arrays, Located, Objects, Shape


cdef class Builder(Places):
    cdef bint failed    # whether a rule without any text was referred to before that was known
    cdef U64MapC single     # the node of a place of one schema, by its identity and the depth
    cdef dict several       # of others, once there is one
    cdef dict shallowest    # where lines are indented: the depth at which a place stands first
    cdef vector[uint32_t] free      # where lines are indented: shared rules by depth, of free values only
    cdef list queue     # of (rule, shapes, where, depth), in the order of their depths
    cdef list named         # places that rules are named for; they let go of their schemas at the end
    cdef size_t defined

    cdef uint32_t one_place(self, Located where, int depth) except? 0xFFFFFFFF
    cdef int exact_depth(self, key, int depth) except -1
    cdef uint32_t plain(self, KeywordsC* found) except? 0xFFFFFFFF
    cdef uint32_t strings(self, values, bint is_checked) except? 0xFFFFFFFF
    cdef uint32_t new_rule(self, Located where, uint32_t body) except? 0xFFFFFFFF
    cdef uint32_t node(self, tuple shapes, Located where, int depth) except? 0xFFFFFFFF
    cdef int finish(self) except -1
    cdef uint32_t any_value(self, int depth) except? 0xFFFFFFFF
    cdef uint32_t free_rule(self, int which) noexcept
    cdef uint32_t declare_free(self, int which) except? 0xFFFFFFFF
    cdef uint32_t alternatives(self, tuple shapes, Located where) except? 0xFFFFFFFF
    cdef uint32_t one(self, Shape shape) except? 0xFFFFFFFF
    cdef uint32_t object(self, Objects facet) except? 0xFFFFFFFF
    cdef uint32_t array(self, Arrays facet) except? 0xFFFFFFFF
    cdef int name_part(self, uint32_t* node, Located where, n) except -1
    cdef int add_numbers(self, list shapes, vector[uint32_t]* nodes) except -1
