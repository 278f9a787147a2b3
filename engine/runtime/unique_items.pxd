"""Unique items and keys: whether a word may end depends on the words before it.

A rule with `RuleC.differs` marks a word that must be unique in its array or object. Rows do not
know the text, so an arena offers two steps where such a word would be complete: `step_unique` lets
it end and reports this, `step_blocked` does not let it end. A `UniquenessState` knows the text and
chooses (`follow`). Rows, transitions and masks stay those of the grammar without the condition. A
mask is the row's mask without the tokens that end a repeated word, or leave only repeated words.

Stuck        A text is stuck if its current item can only become a repeated one: no more values
             begin like it than used items do. Values are counted, not spellings
             (`ContinuationCounter`). The front end guarantees that there are more values than
             required items.
Candidates   `RepeatCandidates` finds the tokens of a mask that must be checked one by one. Listed
             candidates depend on the row alone: tokens that end an item and continue after a comma,
             and tokens that end an item with brackets, because its members may be in another
             order. The others are found by following the used items that begin like the text
             along the vocabulary's trie (`walk`).
Cost         nothing in other grammars. A mask: the trie nodes on used items, and about two
             microseconds for each candidate.
Threads      under the arena's mutex.
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.vector cimport vector as plain_vector

from ..earley.rows cimport Arena
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary

cdef extern from "runtime/unique_items.h" namespace "unique_items" nogil:
    enum Mode "unique_items::Mode":
        OUTSIDE "unique_items::OUTSIDE"
        STRING "unique_items::STRING"
        NEGATIVE "unique_items::NEGATIVE"
        WHOLE "unique_items::WHOLE"
        FRACTION "unique_items::FRACTION"
        PENDING "unique_items::PENDING"
        EXPONENT "unique_items::EXPONENT"

    cppclass string_view "std::string_view":
        string_view()
        string_view(const char*, size_t)
        const char* data() const
        size_t size() const

    cppclass Cursor "unique_items::Cursor":
        Cursor()
        Cursor(const Cursor&)
        uint32_t carried, raised, equal
        bint is_minus_zero
        uint32_t total() const
        string_view rest(uint32_t k) const
        uint32_t ended(Mode mode) const
        uint32_t longer(Mode mode) const
        uint32_t begun(string_view) const
        void narrow(uint8_t byte)
        void narrow_number(Mode mode, uint8_t byte)
        void narrow_escape(string_view)
        void next(uint64_t* bits) const

    bint is_number "unique_items::is_number" (Mode mode)
    bint is_whole "unique_items::is_whole" (string_view escape)
    bint is_space "unique_items::is_space" (uint8_t byte)
    Mode after "unique_items::after" (Mode mode, uint8_t byte)

    cppclass UniquenessState "unique_items::UniquenessState":
        UniquenessState()
        UniquenessState(const UniquenessState&)
        # an array with unique items is open, or an object with unique keys
        bint is_open() const
        # an item was written that later ones must not repeat
        bint has_used() const
        void open(bint is_array)
        void read(uint8_t byte)
        # the item that ends here must be unique, and repeats an earlier one
        bint repeats()
        # a comma would end an item that must be unique
        bint may_end() const
        uint32_t depth() const
        Mode mode() const
        string_view escape() const
        # of a level: the number of items that its current or next item must not repeat, and those
        # of them that begin like it
        uint32_t used(uint32_t level) const
        Cursor cursor(uint32_t level) const

    cppclass UniquenessSnapshot "unique_items::UniquenessSnapshot":
        UniquenessSnapshot()
        UniquenessSnapshot(const UniquenessState& before)
        void begin(UniquenessState& at) const

cdef struct ValuePositionC:
    # a position within a value: a configuration, open brackets within the value, the mode, and an
    # incomplete escape
    uint32_t configuration, depth
    Mode mode
    uint8_t n_escape
    char[12] escape


cdef class ContinuationCounter:
    """Counts the values that an item may still become, by configuration, open brackets, and mode.

    Each value counts once: with raw characters where allowed, numbers without insignificant zeros
    and
    without exponent, no white space. A count that reaches ``want`` is a lower bound.
    """
    cdef Arena arena
    cdef U64MapC numbers
    cdef vector[uint32_t] least         # by number: a lower bound; MANY: more than any text holds
    cdef vector[uint8_t] known          # by number: what is known of the bound
    cdef uint32_t nested                # current depth of nested calls
    cdef readonly uint64_t steps        # transitions over bytes so far

    cdef size_t bytes_held(self) noexcept nogil
    cdef bint is_stuck(self, uint32_t configuration, const UniquenessState* state) noexcept nogil
    cdef bint is_spent(self, ValuePositionC* position, const Cursor* used) noexcept nogil
    cdef uint32_t count(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t counted(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t outside(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil
    cdef uint32_t spaced(self, uint32_t configuration, uint32_t depth, uint8_t other, uint32_t want) noexcept nogil
    cdef bint is_blank(self, uint32_t configuration) noexcept nogil
    cdef uint32_t count_after(self, uint32_t configuration, uint32_t depth, uint8_t byte, uint32_t want) noexcept nogil
    cdef uint32_t after_escape(self, uint32_t configuration, uint32_t character) noexcept nogil
    cdef uint32_t inside(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil
    cdef uint32_t escaped(self, ValuePositionC* position, const Cursor* used, uint32_t want) noexcept nogil
    cdef uint32_t longer(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t fraction(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil
    cdef uint32_t digits(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t ended_or(
        self, bint met, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want
    ) noexcept nogil
    cdef uint32_t ended(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t ends(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil
    cdef bint has_used(self, ValuePositionC* position, const Cursor* used, uint32_t n) noexcept nogil
    cdef bint is_open_to(self, uint32_t configuration, string_view rest, bint is_inside) noexcept nogil
    cdef bint leaves(self, uint32_t configuration) noexcept nogil
    cdef uint32_t go(self, uint32_t configuration, uint8_t byte) noexcept nogil
    cdef uint32_t reach(self, uint32_t configuration, uint8_t byte, bint is_inside) noexcept nogil
    cdef uint32_t past(self, uint32_t configuration, uint32_t depth, uint8_t byte, bint* met) noexcept nogil


cdef class RepeatCandidates:
    """Finds the tokens of a mask that may repeat an item of the text."""
    cdef Arena arena
    cdef Vocabulary vocabulary
    cdef ContinuationCounter continuations
    cdef bint is_sorted
    # tokens that may end an item and continue after a comma, or end one with a bracket: within a
    # string, outside strings, and where no array with unique items is ope
    cdef vector[uint32_t] quoting, ending, opening
    cdef vector[uint32_t] raising       # tokens with an exponent
    cdef U64MapC numbers                # saturated configuration and kind of state -> index into ``listed``
    cdef vector[vector[uint32_t]] listed
    cdef size_t held
    cdef vector[uint32_t] found         # the result of ``look``
    # the used items that begin like the text along a branch of the trie, and the depth of each item
    cdef plain_vector[Cursor] cursors
    cdef vector[uint32_t] depths

    cdef void look(self, uint32_t configuration, const UniquenessState* state, const uint32_t* mask) noexcept nogil
    cdef uint32_t number(
        self, uint32_t configuration, const UniquenessState* state, const uint32_t* mask
    ) noexcept nogil
    cdef uint32_t is_listed(self, uint32_t configuration, uint32_t token) noexcept nogil
    cdef size_t bytes_held(self) noexcept nogil
    cdef void drop(self) noexcept nogil
    cdef void sort_tokens(self) noexcept nogil
    cdef void sort_raising(self, uint8_t byte) noexcept nogil
    cdef void add_below(self, vector[uint32_t]* out, uint32_t node) noexcept nogil
    cdef void add_tokens(self, vector[uint32_t]* out, uint8_t byte) noexcept nogil
    cdef bint is_raised(self) noexcept nogil
    cdef void walk(self, uint32_t node, ValuePositionC position, size_t first, const uint32_t* mask) noexcept nogil
    cdef void walk_inside(
        self, uint32_t node, ValuePositionC position, size_t first, const uint32_t* mask
    ) noexcept nogil
    cdef void narrow_inside(self, ValuePositionC* position, uint8_t byte, size_t first, size_t end) noexcept nogil
    cdef void walk_outside(
        self, uint32_t child, ValuePositionC position, size_t first, const uint32_t* mask
    ) noexcept nogil
    cdef void walk_number(
        self, uint32_t child, ValuePositionC position, size_t first, const uint32_t* mask
    ) noexcept nogil
    cdef void enter(self, uint32_t child, ValuePositionC* position, size_t first, const uint32_t* mask) noexcept nogil
    cdef void collect(self, uint32_t node, bint is_subtree, const uint32_t* mask) noexcept nogil


cdef RepeatCandidates new_repeat_candidates(Arena arena, Vocabulary vocabulary)

cdef uint32_t follow(
    Arena arena, uint32_t configuration, const uint8_t* data, size_t n, UniquenessState* state) noexcept nogil
