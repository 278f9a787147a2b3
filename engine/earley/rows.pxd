"""Rows: interned Earley sets, and the arena they live in.

A row is the state of an Earley recogniser between two bytes, reduced to what affects the future: a
set of items (automaton state, goal, origin). The goal is the rule whose end is awaited. Equal sets
are the same row. Counts are not part of a row: a row with registers is a *configuration*, as in a
counter automaton, and matchers hold configurations.

    row             kernel items (canonical order), then predicted ones; waiters by rule; live
                    bytes; accept flag
    registers       values of the kernel's counted items, then the parent configurations with
                    registers
    configuration   (row, registers); registers 0 if neither the row nor an origin counts anything
    item            origin: SELF (predicted here), a configuration without registers, or the ordinal
                    of a parent in the registers

Invariants     I1 ids are never reused within an arena; 0 is dead or unknown; configuration BOTTOM
                  is below the root.
               I2 completed items are not part of a row, only the accept flag is.
               I3 a configuration that is not dead can continue or stop.
               I4 a counted item is in a row only while it may continue. Its class distinguishes
                  counts below the minimum from others, so registers matter only to the next class.
               I5 `saturated` of a configuration has all registers saturated: further from both
                  bounds than one token can count. It has the same mask.
               I6 only `end_token`, between a token's last byte and the next token, counts tokens.
                  Only text without references counts them, so their registers are those of kernel
                  items.
Cost           a known transition is one look-up; a new one is linear in the items concerned and in
               those that it completes.
Threads        under the arena's mutex, which the callers hold.
Sources        J. Earley, CACM 13(2), 1970.
               J. Leo, TCS 82, 1991 (tail references).
               J. Aycock, R. Horspool, The Computer Journal 45(6), 2002 (nullable references advance
               at prediction).
Not here       masks (row_masks), histories (matcher).
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t
from libcpp.mutex cimport mutex

from ..automata.rule_automata cimport Automata, StateC
from ..grammar.lowered cimport RuleC
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..native.resources cimport WorkBudget
from ..native.word_table cimport WordTableC

cdef enum:
    DEAD = 0
    BOTTOM = 1

cdef enum:
    # flags of a result of step_unique: a configuration, and whether a rule with unique words was
    # completed
    CONFIGURATION = 0x7FFFFFFF
    ENDS_UNIQUE = 0x80000000

cdef enum:
    NO_SLOT = 0xFFFF

cdef enum:
    ITEM_SELF = 1
    ITEM_PARENT = 2

cdef enum:
    BELOW_MINIMUM = 1
    PLENTY = 2

cdef struct ItemC:
    uint32_t state, goal, origin
    uint16_t ordinal, slot
    uint8_t flags, count_class

cdef struct WaiterC:
    uint32_t rule, item, target

cdef struct RowC:
    uint64_t live[4]
    uint64_t hash
    uint32_t item_off, n_kernel, n_items
    uint32_t waiter_off, n_waiters
    uint32_t key_off, key_len
    uint16_t n_slots
    uint8_t accept, has_tokens, has_tabled      # has_tabled: an item takes bytes in a tabled rule
    uint8_t repeats                             # two items are in one state, with different origins
    uint8_t counts_tokens                       # a kernel item does
    uint8_t may_not_end                         # all kernel items count tokens: a token may not end
    uint8_t has_unique                       # a rule with unique words is predicted

cdef struct ConfigurationC:
    uint32_t row, registers, saturated

cdef struct SeedC:
    uint32_t state, goal, origin, value

cdef class Arena:
    cdef Automata automata
    cdef bint tail_references
    cdef uint32_t item_limit, row_limit
    cdef size_t byte_limit
    cdef uint32_t mask_items                  # limit on the items met for one mask
    cdef uint64_t work, most_work             # of a mask or an exploration, while ``counts_work``
    cdef bint counts_work
    cdef uint32_t error, error_got            # the first limit that this call exceeded (rule_automata)
    cdef readonly uint32_t root
    cdef mutex guard
    cdef vector[RowC] rows
    cdef vector[ItemC] items
    cdef vector[WaiterC] waiters
    cdef vector[uint32_t] row_keys
    cdef vector[uint32_t] row_table           # open addressing over rows
    cdef vector[ConfigurationC] configurations
    cdef U64MapC configuration_ids
    cdef WordTableC register_sets             # sequences of registers; number 0 is empty
    cdef U64MapC byte_memo, blocked_memo, token_memo, completion_memo, end_memo
    cdef U64MapC text_memo                    # configuration, ordinary token -> configuration
    # scratch of the row under constructio
    cdef vector[SeedC] seeds
    cdef vector[uint64_t] completed
    # indices into the above, for more than FEW entries
    cdef U64MapC seed_places, completed_places, item_places
    cdef uint32_t items_placed
    cdef vector[uint32_t] key
    cdef vector[uint32_t] registers
    cdef vector[uint32_t] predicted_at        # by rule: build number of the last row with it
    cdef vector[uint32_t] seen_at             # by state: build number of the last row with it
    cdef uint32_t build_number
    cdef bint accept
    # whether rules with unique words were completed, and whether they may not be
    cdef bint ended_unique, blocks_unique

    cdef int open(
        self, Automata automata, bint tail_references, uint32_t item_limit, uint32_t row_limit,
        size_t byte_limit, uint32_t mask_items, WorkBudget budget
    ) except -1
    cdef void charge(self, WorkBudget budget) noexcept
    cdef int settle(self, uint32_t error) except -1
    cdef size_t bytes_held(self) noexcept nogil
    cdef uint32_t step(self, uint32_t configuration, uint8_t byte) noexcept nogil
    cdef uint32_t step_unique(self, uint32_t configuration, uint8_t byte) noexcept nogil
    cdef uint32_t step_blocked(self, uint32_t configuration, uint8_t byte) noexcept nogil
    cdef uint32_t scan(self, uint32_t configuration, uint8_t byte) noexcept nogil
    cdef uint32_t step_token(self, uint32_t configuration, uint32_t token) noexcept nogil
    cdef uint32_t end_token(self, uint32_t configuration) noexcept nogil
    cdef bint may_end_token(self, uint32_t configuration) noexcept nogil
    cdef uint32_t completion(self, uint32_t origin, uint32_t goal) noexcept nogil
    cdef uint32_t merge_all(self, vector[uint32_t]* configurations) noexcept nogil
    cdef void seed_kernel(self, uint32_t configuration) noexcept nogil
    cdef uint32_t merge(self, uint32_t a, uint32_t b) noexcept nogil
    cdef uint32_t origin_of(self, uint32_t configuration, ItemC* item) noexcept nogil
    cdef uint32_t value_of(self, uint32_t configuration, ItemC* item) noexcept nogil
    cdef bint accepts(self, uint32_t configuration) noexcept nogil

    cdef void begin(self) noexcept nogil
    cdef void seed(self, uint32_t state, uint32_t goal, uint32_t origin, uint32_t value) noexcept nogil
    cdef bint is_seeded(self, SeedC* seed, RuleC* rule) noexcept nogil
    cdef bint is_completed(self, uint64_t key) noexcept nogil
    cdef void fail(self, uint32_t error, uint32_t got) noexcept nogil
    cdef void count_work(self, uint32_t most_items) noexcept nogil
    cdef uint32_t stop_counting(self) noexcept nogil
    cdef bint may_work(self, uint32_t work) noexcept nogil
    cdef bint is_cancelled(self) noexcept nogil
    cdef uint32_t keep(self, U64MapC* memo, uint64_t key, uint32_t result) noexcept nogil
    cdef uint32_t take_error(self) noexcept nogil
    cdef void advance(self, uint32_t target, uint32_t goal, uint32_t origin, uint32_t value) noexcept nogil
    cdef bint may_end(self, StateC* state, uint32_t value) noexcept nogil
    cdef bint may_go_on(self, StateC* state, uint32_t value) noexcept nogil
    cdef void close_seed(self, SeedC seed) noexcept nogil
    cdef void complete(self, uint32_t goal, uint32_t origin) noexcept nogil
    cdef uint32_t finish(self) noexcept nogil
    cdef uint32_t intern(self) noexcept nogil
    cdef void make_key(self) noexcept nogil
    cdef uint32_t intern_row(self) noexcept nogil
    cdef uint32_t make_row(self, uint64_t hash) noexcept nogil
    cdef void predict(self, RowC* row) noexcept nogil
    cdef void predict_from(self, RowC* row, uint32_t at) noexcept nogil
    cdef void predict_behind(self, RowC* row, ItemC item, uint32_t target) noexcept nogil
    cdef void predict_item(self, RowC* row, ItemC* item) noexcept nogil
    cdef uint32_t intern_configuration(self, uint32_t row, uint32_t registers) noexcept nogil
    cdef uint32_t saturated_registers(self, uint32_t row, uint32_t registers) noexcept nogil
    cdef uint32_t saturate(self, uint32_t rule, uint32_t value) noexcept nogil
    cdef bint is_counted_state(self, uint32_t state) noexcept nogil
