"""The inside of a JSON string that is none of some texts (keys that an object does not list).

The automaton is that of any string body with the few differences that the texts make: beside the
body's states, which lie in the body's own rule, it has a state for each place in the spelling of a
text. Such a state is *like* the body's state in the same place: it has only the edges that go on
with a spelling; every other byte does what it does there, and leaves the spellings for good. So the
masks are the body's but for the tokens that would complete a text (row_masks). States are made as they
are visited.

Invariants   I1 like(target(q, b)) = target(like(q), b) for each edge b of q.
             I2 q differs from like(q) only where a text is complete: there the rule can't end.
Not here     how texts are spelled (name_trie).
"""

from libc.stdint cimport uint32_t

from .rule_automata cimport Automata

cdef void build_other_text(Automata automata, uint32_t rule) noexcept nogil
cdef void grow_other_text(Automata automata, uint32_t state) noexcept nogil
