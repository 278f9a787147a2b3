"""Texts, read byte by byte as the inside of a JSON string: which of them the bytes may still spell.

    names      "id", "if", "io"   sorted by their characters; a name keeps the number it was given
    name_node       names low..high-1 agree in their first `depth` characters, which are spelled; `stage`
               and `value` tell how much of the next character is: bytes of its UTF-8, or an escape
    step       a byte, and the name_node behind it

A name is spelled in every way that is legal in JSON: each character as itself, by its short escape,
or as \\uXXXX in either case, in surrogate pairs beyond U+FFFF. Names that are `spelled` are given as they
are written, escapes and all, and are written so alone.

Invariants   I1 a name_node with stage BETWEEN and one name is the same whatever way led there.
Cost         sorting, once; the steps of a name_node are linear in its names. Nothing is written out: a
             spelling has about 14 bytes for each character, most of which nobody ever visits.
Not here     spellings in automata that are built whole (spelling).
"""

from libc.stdint cimport uint32_t, uint8_t

from ..grammar.ir cimport LAYOUT_PARTS
from ..grammar.lowered cimport LoweredGrammar
from ..native.pool cimport vector
from ..native.word_table cimport WordTableC
from .determinize cimport DfaStateC
from .rule_automata cimport Automata

cdef enum:
    NO_NAME = 0xFFFFFFFF

cdef enum:
    # stages; value is what was read of the character: bytes, hexadecimal digits, or both units
    BETWEEN = 0
    IN_UTF8 = 1           # 1..3: so many bytes
    ESCAPED = 4           # behind a backslash
    IN_HEX = 5            # 5..8: so many digits more than 5
    BEHIND_HIGH = 9       # a surrogate pair's first unit is whole
    HIGH_ESCAPED = 10
    IN_LOW_HEX = 11       # 11..14

cdef struct NamesC:
    vector[uint32_t] points   # characters of all names, sorted names one behind the other
    vector[uint32_t] off      # by place: where it begins; one more at the end
    vector[uint32_t] numbers  # by place
    bint spelled              # the names are given as they are spelled: there is no other spelling

cdef struct NameC:
    # a name that is still to be sorted
    const uint32_t* points
    uint32_t n, number

cdef struct NameNodeC:
    uint32_t low, high, depth, stage, value

cdef struct NameTrieC:
    # names with the trie met so far
    NamesC names
    WordTableC nodes
    vector[uint32_t] states   # by name_node: its state, 0: none yet (rule_automata)

cdef struct ChoiceC:
    # of names: those numbered first..last whose bit in `taken` is not set (NULL: none is)
    uint32_t first, last
    const uint32_t* taken

cdef struct StepC:
    NameNodeC to
    uint8_t byte

cdef size_t names_bytes(const NamesC* names) noexcept nogil
cdef size_t name_trie_bytes(const NameTrieC* trie) noexcept nogil
cdef void sort_names(vector[NameC]* texts, NamesC* out) noexcept nogil
cdef NameNodeC name_trie_root(NamesC* names) noexcept nogil
cdef uint32_t name_at(NamesC* names, const NameNodeC* name_node, const ChoiceC* choice) noexcept nogil
cdef void list_steps(
    NamesC* names, const NameNodeC* name_node, const ChoiceC* choice, vector[StepC]* out
) noexcept nogil
cdef void build_name_trie(NameTrieC* out, const uint32_t* words, uint32_t n, bint spelled) noexcept nogil
cdef void name_trie_state(NameTrieC* trie, uint32_t number, DfaStateC* out) noexcept nogil
cdef uint32_t name_node_number(NameTrieC* trie, const NameNodeC* name_node) noexcept nogil
cdef NameNodeC name_node_at(NameTrieC* trie, uint32_t number) noexcept nogil


cdef inline ChoiceC every_name() noexcept nogil:
    cdef ChoiceC choice
    choice.first, choice.last = 0, NO_NAME
    choice.taken = NULL
    return choice


# -- excluded names --------------------------------------------------------------------------------
# The inside of a JSON string that is none of some texts (keys that an object does not list).
#
# The automaton is that of any string body with the few differences that the texts make: beside the
# body's states, which lie in the body's own rule, it has a state for each place in the spelling of a
# text. Such a state is *like* the body's state in the same place: it has only the edges that go on
# with a spelling; every other byte does what it does there, and leaves the spellings for good. So the
# masks are the body's but for the tokens that would complete a text (row_masks). States are made as they
# are visited.
#
# Invariants   I1 like(target(q, b)) = target(like(q), b) for each edge b of q.
#              I2 q differs from like(q) only where a text is complete: there the rule can't end.
# Not here     how texts are spelled (name_trie).

cdef void build_text_except(Automata automata, uint32_t rule) noexcept nogil
cdef void grow_text_except(Automata automata, uint32_t state) noexcept nogil


# -- json objects ----------------------------------------------------------------------------------
# JSON objects: their members, listed ones in their order or in any, as an automaton made state by state.
#
#     {  opened  ws  F  "  names  "  B  ws  C  :  D  ws  E  value  S  ws  T  ,  U  ws  V  "  ...   or }
#
# A state is a place: what was read of the object's form, and i, the lowest listed member that may
# still come (in B to E the one whose value is due). From there come the members up to the next
# required one: so it takes the names of an interval of numbers, and how far they are spelled (name_trie).
# In any order a state has the set of the members that were written instead of the lowest one.
# White space and values are references, and so is a member that isn't listed, key and all.
#
# In a layout, the comma, the colon and the last bracket are references that hold their white space; an
# object without members has none:
#
#     {  opened  opening  F  "  names  "  B  colon  D  value  S  comma  U  "  ...   or closing   or } behind opened
#
# Invariants   I1 a text has one way through the states; only a member that isn't listed goes beside
#                 the listed ones, under names that are none of theirs.
#              I2 members, and what isn't listed, that no text has are left out.
# Cost         sorting the names on the first visit; then a state costs about as many steps as names
#              fit it. An object of 4,000 optional members: one item in a row, not 4,000.
# Threads      under the arena's mutex.
# Not here     what schemas ask of members (frontends.json_schema.objects).

cdef struct ObjectC:
    NamesC names
    vector[uint32_t] values       # by member: its rule
    vector[uint32_t] due          # the next required member, from this one on; NO_NAME: none
    vector[uint32_t] required     # as bits
    WordTableC sets               # of members, as bits; the first one is empty
    uint32_t extra, space         # rules, NO_RULE: none
    uint32_t[LAYOUT_PARTS] layout     # rules of its parts, with LAID_OUT; NO_RULE: nothing
    uint32_t flags                # as in flat
    WordTableC positions          # the first one is the start
    vector[uint32_t] states       # by place: its state, 0: none yet (rule_automata)

cdef size_t object_bytes(const ObjectC* obj) noexcept nogil
cdef void object_start(ObjectC* obj, LoweredGrammar ir, uint32_t node) noexcept nogil
cdef void object_state(ObjectC* obj, uint32_t number, DfaStateC* out) noexcept nogil
