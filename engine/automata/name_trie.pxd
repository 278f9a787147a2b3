"""Texts, read byte by byte as the inside of a JSON string: which of them the bytes may still spell.

    names      "id", "if", "io"   sorted by their characters; a name keeps the number it was given
    spot       names low..high-1 agree in their first `depth` characters, which are spelled; `stage`
               and `value` tell how much of the next character is: bytes of its UTF-8, or an escape
    step       a byte, and the spot behind it

A name is spelled in every way that is legal in JSON: each character as itself, by its short escape,
or as \\uXXXX in either case, in surrogate pairs beyond U+FFFF. Names that are `spelled` are given as they
are written, escapes and all, and are written so alone.

Invariants   I1 a spot with stage BETWEEN and one name is the same whatever way led there.
Cost         sorting, once; the steps of a spot are linear in its names. Nothing is written out: a
             spelling has about 14 bytes for each character, most of which nobody ever visits.
Not here     spellings in automata that are built whole (spelling).
"""

from libc.stdint cimport uint8_t, uint32_t
from ..native.pool cimport vector

from ..native.word_table cimport WordTableC
from .dfa_state cimport DfaStateC

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

cdef struct TextC:
    # a name that is still to be sorted
    const uint32_t* points
    uint32_t n, number

cdef struct SpotC:
    uint32_t low, high, depth, stage, value

cdef struct SpotsC:
    # names with the spots met so far
    NamesC names
    WordTableC spots
    vector[uint32_t] states   # by spot: its state, 0: none yet (rule_automata)

cdef struct ChoiceC:
    # of names: those numbered first..last whose bit in `taken` is not set (NULL: none is)
    uint32_t first, last
    const uint32_t* taken

cdef struct StepC:
    SpotC to
    uint8_t byte

cdef size_t names_bytes(const NamesC* names) noexcept nogil
cdef size_t spots_bytes(const SpotsC* spots) noexcept nogil
cdef void sort_names(vector[TextC]* texts, NamesC* out) noexcept nogil
cdef SpotC start_of(NamesC* names) noexcept nogil
cdef uint32_t name_at(NamesC* names, const SpotC* spot, const ChoiceC* choice) noexcept nogil
cdef void list_steps(
    NamesC* names, const SpotC* spot, const ChoiceC* choice, vector[StepC]* out
) noexcept nogil
cdef void read_texts(SpotsC* out, const uint32_t* words, uint32_t n, bint spelled) noexcept nogil
cdef void texts_state(SpotsC* spots, uint32_t number, DfaStateC* out) noexcept nogil
cdef uint32_t number_spot(SpotsC* spots, const SpotC* spot) noexcept nogil
cdef SpotC spot_at(SpotsC* spots, uint32_t number) noexcept nogil


cdef inline ChoiceC every_name() noexcept nogil:
    cdef ChoiceC choice
    choice.first, choice.last = 0, NO_NAME
    choice.taken = NULL
    return choice
