"""Styled text: JSON values whose strings and keys are written without JSON's quotes and escapes.

    RawText    the inside of a string is its characters as they are. The text that ends it, the guard, does not
               occur in it, so it ends at the first occurrence. ``excludes``, as in JSON, are not in strings
               without a pattern or format, and not in keys
    KeyText    the inside of a key: additional keys are identifiers, and listed keys may have escapes
    PythonText  Python's literals: JSON text with other constants, whose strings may also stand in single quotes,
               without escapes then
    BareText   objects are members with a style's text before, between and behind them (automata.json_objects).
               Members may repeat their key at their end; that of an additional member is any additional key
    ItemText   arrays are items, each with a style's text before and behind it

Invariants   I1 every text of the grammar has one value. I2 raw strings without guards exist in every alphabet;
                a listed string that contains a guard is refused by name (``root``).
"""

from libc.stdint cimport uint32_t

from .json_text cimport NO_NODE, JsonText
from .schema_types cimport Location


cdef class RawText(JsonText):
    cdef str guard                  # "": none
    cdef tuple banned               # texts: excludes
    cdef tuple never                # ranges of characters that no string contains, whatever its pattern
    cdef uint32_t begin, end        # the quotes of strings; EMPTY: none
    cdef Location root              # of the document; None: listed values without a text are dropped

    cdef tuple guards(self)         # the guard and excludes
    # any string with a length; the strings that an automaton accepts, ``is_patterned``: also with excludes
    cdef uint32_t free(self, minimum, maximum) except? NO_NODE
    cdef uint32_t accepted(self, automaton, minimum, maximum, bound, bint is_patterned=?) except? NO_NODE


cdef class KeyText(RawText):
    cdef object escapes             # by character
    cdef str end_text               # ends a bare key, which cannot contain it or begin like white space; "": none
    cdef str barred                 # is no additional key; None: every identifier is one


cdef class PythonText(JsonText):
    cdef RawText single             # strings in single quotes


cdef class BareText(RawText):
    cdef KeyText keys
    # texts before the first member, before the others, behind a key, and behind the last member
    cdef uint32_t first_part, next_part, key_part, last_part
    cdef bytes brackets             # two, or none
    cdef bytes other_null           # another spelling, or none
    # behind the key at the end of a member; NO_NODE: members do not repeat their key
    cdef uint32_t key_end
    cdef str key_label              # of the region of a repeated key

    cdef uint32_t ended(self, uint32_t key, uint32_t value) except? NO_NODE


cdef class ItemText(JsonText):
    cdef uint32_t item_begin, item_end, last_part


# the PythonText that all schemas of a grammar with this JSON text and these constants share; (): Python's
cdef PythonText python_text_of(JsonText like, tuple constants)
cdef RawText new_raw_text(JsonText like, str guard, tuple excludes, uint32_t begin, uint32_t end)
cdef BareText new_bare_text(
    JsonText like, str guard, tuple excludes, uint32_t begin, uint32_t end, escapes, tuple parts, bytes brackets)
cdef ItemText new_item_text(JsonText like, uint32_t begin, uint32_t end, uint32_t last)
cdef str ended_by(str text, str guard)
# the refusal of a listed string that contains its end, or of a key of a listed object that has no text; it names
# the list below ``where`` or elsewhere in the document
cdef unwritable(Location where, Location root, str text, str message)
