"""Schemas as IR rules: ``build_json_schema`` and the builder behind it.

A place, a tuple of schemas that apply to one value, becomes a node: a shared rule, a rule with its content
(scalars), or a rule of its own (arrays and objects). The latter is declared at once and defined later from a
queue, so that neither recursion nor deep schemas nor long chains of references grow the stack.

If lines are indented, a place is built once for each depth at which it occurs. Recursion would never end, so
places more than ``EXACT_LEVELS`` below their shallowest depth, or deeper than ``MAX_DEPTH``, get the depth
DEEP, and so does everything inside them.

Invariants   I1 one place at one depth has one node: places are identified by their schema objects.
             I2 rules are created in the order of the schema, so equal schemas give equal grammars.
Cost         linear in the schema: 0.25 us for a property with a plain scalar type, about 1 us for others.
Not here     the meaning of schemas (reader, schema_types); values (objects, arrays, strings, numbers).
"""

from libc.stdint cimport uint32_t

from ...native.hashing cimport U64MapC
from ...native.pool cimport vector
from .document cimport KeywordsC
from .json_text cimport JsonText
from .reader cimport SchemaReader
from .schema_types cimport Arrays, Location, Objects, SchemaType

cdef dict without_narrowing(dict options)


cdef class Builder:
    cdef SchemaReader reader
    cdef JsonText text
    cdef Location root
    cdef bint any_order     # listed keys may stand in any order
    cdef size_t unordered   # objects of up to so many listed keys have them in any order, unless they are counted
    cdef bint extra_last    # additional keys follow the listed ones
    cdef uint32_t first_rule    # rules of the grammar before
    cdef bint failed        # a rule was referenced before it turned out to have no text
    cdef U64MapC single     # node of a place of one schema, by the schema's address and the depth
    cdef dict several       # node of another place, by addresses and depth
    cdef dict shallowest    # indented: the least depth of a place
    cdef vector[uint32_t] free      # indented: shared rules of unconstrained values by depth
    cdef list queue         # (rule, alternatives, location, depth) of declared rules, by depth
    cdef list names         # locations that rules are named after; they release their schemas at the end
    cdef size_t defined

    # The node of a place inside the current value. Its rule may be undefined until ``result``
    cdef uint32_t place(self, tuple place) except? 0xFFFFFFFF
    # the same for one schema under a keyword of another one
    cdef uint32_t schema(self, schema, Location above, str keyword, key) except? 0xFFFFFFFF
    cdef uint32_t one_place(self, Location where, int depth) except? 0xFFFFFFFF
    cdef int exact_depth(self, key, int depth) except -1
    cdef uint32_t plain(self, KeywordsC* keywords) except? 0xFFFFFFFF
    cdef uint32_t strings(self, values, bint is_checked) except? 0xFFFFFFFF
    cdef uint32_t new_rule(self, Location where, uint32_t body) except? 0xFFFFFFFF
    cdef uint32_t node(self, tuple alternatives, Location where, int depth) except? 0xFFFFFFFF
    cdef result(self, uint32_t node, str pointer)
    cdef bint is_narrower(self)
    cdef int abandon(self) except -1
    cdef contradiction(self, Location where)
    cdef Location impossible_part(self, Location where)
    cdef bint is_impossible(self, tuple place) except -1
    cdef Location impossible_member(self, Location where)
    cdef impossible_key(self, Location where)
    cdef int define_declared(self) except -1
    # prepare for the values of a rule, declared at this depth
    cdef int enter(self, int depth) except -1
    cdef int release_names(self) except -1
    cdef uint32_t any_value(self, int depth) except? 0xFFFFFFFF
    cdef uint32_t free_rule(self, int which) except? 0xFFFFFFFF
    cdef uint32_t free_body(self, int which) except? 0xFFFFFFFF
    cdef uint32_t alternatives(self, tuple alternatives, Location where) except? 0xFFFFFFFF
    cdef uint32_t one(self, SchemaType schema_type) except? 0xFFFFFFFF
    cdef uint32_t object(self, Objects constraint) except? 0xFFFFFFFF
    cdef uint32_t array(self, Arrays constraint) except? 0xFFFFFFFF
    # the text of arrays; ``text`` is that of all other values
    cdef JsonText array_text(self)
    # the listed values of a place, as its node has them, and the node of a place of one value
    cdef int add_listed(self, list values, vector[uint32_t]* nodes) except -1
    cdef uint32_t constant(self, value) except? 0xFFFFFFFF
    cdef int name_part(self, uint32_t* node, Location where, n) except -1
    cdef int add_numbers(self, list alternatives, vector[uint32_t]* nodes) except -1
