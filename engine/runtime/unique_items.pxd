"""Items and keys that must differ: rows say where one may end, the text whether it was there before.

A rule whose words must differ within their array (``RuleC.differs``) is completed twice over: once as
if nothing were asked, once as if the item could not end. Which of the two it is depends on the text,
which no row knows; a ``Place`` does (distinct.h). So rows, their memos and masks are those of the
grammar without the condition, and whoever follows a text asks at each byte that would complete such
a rule. A mask is that of the row, less the tokens that end a used item or leave none that is unused.

Stuck      a text whose item can only become a used one: no more values begin like it than used items
           do. Values are counted, not spellings (``Ways``). What lets a count start above zero, more
           values than items that must be there, is the front end's to guarantee (items).
Suspects   tokens that are looked at one by one. ``listed`` ones depend on the row: tokens that end an
           item and go on behind a comma, and those that end an item with brackets, whose members may
           be in another order. All others are found by following the used items that begin like the
           text along the vocabulary's trie (``walk``); a text that no used item begins with has none.

Cost     nothing where no rule differs. A mask: the trie's nodes that lie on used items, and about two
         microseconds for each token that is looked at.
Threads  under the arena's mutex, as the rows.
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.vector cimport vector as plain_vector

from ..earley.rows cimport Arena
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary

cdef extern from "runtime/unique_items.h" namespace "distinct" nogil:
    enum Mode "distinct::Mode":
        OUTSIDE "distinct::OUTSIDE"
        STRING "distinct::STRING"
        NEGATIVE "distinct::NEGATIVE"
        WHOLE "distinct::WHOLE"
        FRACTION "distinct::FRACTION"
        PENDING "distinct::PENDING"
        EXPONENT "distinct::EXPONENT"

    cppclass string_view "std::string_view":
        string_view()
        string_view(const char*, size_t)
        const char* data() const
        size_t size() const

    cppclass Cursor "distinct::Cursor":
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

    bint is_number "distinct::is_number" (Mode mode)
    bint is_whole "distinct::is_whole" (string_view escape)
    bint is_space "distinct::is_space" (uint8_t byte)
    Mode after "distinct::after" (Mode mode, uint8_t byte)

    cppclass Place "distinct::Place":
        Place()
        Place(const Place&)
        # an array whose items must differ is open, or an object with such keys
        bint is_open() const
        # an item was written that no other one may be equal to
        bint has_used() const
        void open(bint is_array)
        void read(uint8_t byte)
        # the item that ends here must differ, and was there before
        bint repeats()
        # whether a comma would end an item that must differ
        bint may_end() const
        uint32_t depth() const
        Mode mode() const
        string_view escape() const
        # of a level: how many items the one that stands or comes there must differ from; and those of them
        # that begin like it
        uint32_t used(uint32_t level) const
        Cursor cursor(uint32_t level) const

    cppclass Trials "distinct::Trials":
        Trials()
        Trials(const Place& before)
        void begin(Place& at) const

cdef struct SpotC:
    # where a value stands: an instance, brackets open within the value, the mode, and an escape that is
    # not whole
    uint32_t instance, depth
    Mode mode
    uint8_t n_escape
    char[12] escape


cdef class Ways:
    """How many values an item may still become, by instance, brackets open within it, and mode.

    Each value is counted once: characters raw if they may be, numbers without zeros behind a point that
    say nothing and without exponent, no white space. A count that reaches ``want`` is a lower bound.
    """
    cdef Arena arena
    cdef U64MapC numbers
    cdef vector[uint32_t] least         # by number: a lower bound, MANY: more than any text holds
    cdef vector[uint8_t] known          # by number: what the bound is
    cdef uint32_t nested                # calls within one another
    cdef readonly uint64_t steps        # over bytes

    cdef size_t bytes_held(self) noexcept nogil
    cdef bint is_stuck(self, uint32_t instance, const Place* place) noexcept nogil
    cdef bint is_spent(self, SpotC* spot, const Cursor* used) noexcept nogil
    cdef uint32_t count(self, uint32_t instance, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t counted(self, uint32_t instance, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t outside(self, uint32_t instance, uint32_t depth, uint32_t want) noexcept nogil
    cdef uint32_t spaced(self, uint32_t instance, uint32_t depth, uint8_t other, uint32_t want) noexcept nogil
    cdef bint is_blank(self, uint32_t instance) noexcept nogil
    cdef uint32_t behind(self, uint32_t instance, uint32_t depth, uint8_t byte, uint32_t want) noexcept nogil
    cdef uint32_t behind_escape(self, uint32_t instance, uint32_t character) noexcept nogil
    cdef uint32_t inside(self, uint32_t instance, uint32_t depth, uint32_t want) noexcept nogil
    cdef uint32_t escaped(self, SpotC* spot, const Cursor* used, uint32_t want) noexcept nogil
    cdef uint32_t longer(self, uint32_t instance, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t fraction(self, uint32_t instance, uint32_t depth, uint32_t want) noexcept nogil
    cdef uint32_t digits(self, uint32_t instance, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t ended_or(
        self, bint met, uint32_t instance, uint32_t depth, Mode mode, uint32_t want
    ) noexcept nogil
    cdef uint32_t ended(self, uint32_t instance, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t ends(self, uint32_t instance, uint32_t depth, uint32_t want) noexcept nogil
    cdef bint has_used(self, SpotC* spot, const Cursor* used, uint32_t n) noexcept nogil
    cdef bint is_open_to(self, uint32_t instance, string_view rest, bint is_inside) noexcept nogil
    cdef bint leaves(self, uint32_t instance) noexcept nogil
    cdef uint32_t go(self, uint32_t instance, uint8_t byte) noexcept nogil
    cdef uint32_t reach(self, uint32_t instance, uint8_t byte, bint is_inside) noexcept nogil
    cdef uint32_t past(self, uint32_t instance, uint32_t depth, uint8_t byte, bint* met) noexcept nogil


cdef class Suspects:
    """The tokens of a mask that a text may rule out."""
    cdef Arena arena
    cdef Vocabulary vocabulary
    cdef Ways ways
    cdef bint is_sorted
    # tokens that may end an item and go on behind a comma, or end one with a bracket: from within a
    # string, from elsewhere, and from where nothing is open that must differ
    cdef vector[uint32_t] quoting, ending, opening
    cdef vector[uint32_t] raising       # with an exponent
    cdef U64MapC numbers                # saturated instance and kind of place -> listed ones
    cdef vector[vector[uint32_t]] listed
    cdef size_t held
    cdef vector[uint32_t] found         # what ``look`` found
    # used items that begin like the text along a branch of the trie, and the depth of each one's item
    cdef plain_vector[Cursor] cursors
    cdef vector[uint32_t] depths

    cdef void look(self, uint32_t instance, const Place* place, const uint32_t* mask) noexcept nogil
    cdef uint32_t number(self, uint32_t instance, const Place* place, const uint32_t* mask) noexcept nogil
    cdef uint32_t is_listed(self, uint32_t instance, uint32_t token) noexcept nogil
    cdef size_t bytes_held(self) noexcept nogil
    cdef void drop(self) noexcept nogil
    cdef void sort_tokens(self) noexcept nogil
    cdef void sort_raising(self, uint8_t byte) noexcept nogil
    cdef void add_below(self, vector[uint32_t]* out, uint32_t node) noexcept nogil
    cdef void add_tokens(self, vector[uint32_t]* out, uint8_t byte) noexcept nogil
    cdef bint is_raised(self) noexcept nogil
    cdef void walk(self, uint32_t node, SpotC spot, size_t first, const uint32_t* mask) noexcept nogil
    cdef void walk_inside(self, uint32_t node, SpotC spot, size_t first, const uint32_t* mask) noexcept nogil
    cdef void narrow_inside(self, SpotC* spot, uint8_t byte, size_t first, size_t end) noexcept nogil
    cdef void walk_outside(self, uint32_t child, SpotC spot, size_t first, const uint32_t* mask) noexcept nogil
    cdef void walk_number(self, uint32_t child, SpotC spot, size_t first, const uint32_t* mask) noexcept nogil
    cdef void enter(self, uint32_t child, SpotC* spot, size_t first, const uint32_t* mask) noexcept nogil
    cdef void collect(self, uint32_t node, bint is_subtree, const uint32_t* mask) noexcept nogil


cdef Suspects new_suspects(Arena arena, Vocabulary vocabulary)

cdef uint32_t follow(
    Arena arena, uint32_t instance, const uint8_t* data, size_t n, Place* place) noexcept nogil
