"""Unique items and keys: whether a word may end depends on the words before it.

A rule with `RuleC.differs` marks a word that must be unique in its array or object. Rows do not
know the text, so an arena offers two steps where such a word would be complete: `step_unique` lets
it end and reports this, `step_blocked` does not let it end. A `UniquenessState` knows the text and
chooses (`follow`). Rows, transitions and masks stay those of the grammar without the condition. A
mask is the row's mask without the tokens that end a repeated word, or leave only repeated words.

Stuck        A text is stuck if its current item can only become a repeated one: no more values
             begin like it than used items do. Values are counted, not spellings
             (`continuations`). The front end guarantees that there are more values than
             required items.
Candidates   `repeat_candidates` finds the tokens of a mask that must be checked one by one. Listed
             candidates depend on the row alone: tokens that end an item and continue after a comma,
             and tokens that end an item with brackets, because its members may be in another
             order. The others are found by following the used items that begin like the text
             along the vocabulary's trie (`walk`).
Cost         nothing in other grammars. A mask: the trie nodes on used items, and about two
             microseconds for each candidate.
Threads      under the arena's mutex.
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..earley.rows cimport Arena

cdef enum:
    QUOTE = 0x22
    COMMA = 0x2C
    MINUS = 0x2D
    POINT = 0x2E
    ZERO = 0x30
    NINE = 0x39
    COLON = 0x3A
    UPPER_E = 0x45
    OPENING_BRACKET = 0x5B
    BACKSLASH = 0x5C
    CLOSING_BRACKET = 0x5D
    LOWER_A = 0x61
    LOWER_E = 0x65
    LOWER_U = 0x75
    OPENING_BRACE = 0x7B
    CLOSING_BRACE = 0x7D
    SPACE = 0x20

cdef enum:
    # white space characters skipped between two values: a line of a layout has at most 2,561
    MAX_BLANKS = 4_000

cdef const char* SPACES     # the characters of white space

cdef extern from "unique_items/uniqueness.h" namespace "unique_items" nogil:
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


cdef inline bint is_end(uint8_t byte) noexcept nogil:
    return byte == COMMA or byte == CLOSING_BRACKET or byte == CLOSING_BRACE


cdef inline bint is_digit(uint8_t byte) noexcept nogil:
    return ZERO <= byte <= NINE


cdef uint32_t follow(
    Arena arena, uint32_t configuration, const uint8_t* data, size_t n, UniquenessState* state) noexcept nogil
cdef bint awaits_unique(Arena arena, uint32_t configuration) noexcept nogil
cdef uint32_t after_blank(Arena arena, uint32_t configuration) noexcept nogil
# whether only white space may come
cdef bint is_blank(Arena arena, uint32_t configuration) noexcept nogil
