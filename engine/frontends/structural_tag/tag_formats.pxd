"""Formats of structural tags, parsed and checked: the output of the reader, the input of the builder.

``pointer`` is a format's JSON pointer in the caller's document. A *mark* begins, ends or triggers a tag. It is a
literal text (``str``) or a token id (``int``).

Invariants   I1 every text is encodable in UTF-8; triggers, patterns of arms and excludes are not empty.
             I2 elements, tags, triggers, ends and arms are not empty.
             I3 the begin of every tag of Triggered starts with a trigger, and every trigger starts a begin.
             I4 free text in a tag has excludes or a bound, or the tag has an end that is not empty.
Cost         formats hold no reference cycles, so they are not tracked by the garbage collector.
"""

from libc.stdint cimport uint32_t


cdef class Format:
    cdef readonly str pointer


cdef class ConstString(Format):
    cdef readonly str value


cdef class JsonSchema(Format):
    cdef readonly object schema
    cdef readonly str schema_pointer
    # options of frontends.json_schema
    cdef readonly str extra_keys, spelling, whitespace
    cdef readonly bint any_order
    cdef readonly bint unordered          # of a style: arguments have any order if they are few
    cdef readonly uint32_t most_blanks
    cdef readonly object max_items, max_length  # None: no bound
    cdef readonly object indent, separators     # of json.dumps; None: not given
    cdef readonly int depth               # levels of indentation around the value
    cdef readonly tuple element_space     # of a style: in place of its glue, behind elements; None: flexible
    cdef readonly tuple excludes
    cdef readonly object style            # of tag_styles; None: JSON
    cdef readonly bint guarded            # of a style: JSON strings do not contain the end of their element
    cdef readonly bint loose              # accept any JSON, however badly written (loose_json)


cdef class Regex(Format):
    cdef readonly str pattern


cdef class GrammarText(Format):
    cdef readonly str text
    cdef readonly str syntax              # of frontends.grammar_text
    cdef readonly bint inside_json        # the texts as the inside of a JSON string
    cdef readonly bint readable           # refuse grammars whose texts the event parser cannot read


cdef class AnyText(Format):
    cdef readonly tuple excludes
    cdef readonly object max_chars, max_tokens      # None: no bound


cdef class Token(Format):
    cdef readonly object token


# minimum..maximum tokens, none of them excluded; a maximum of None is no bound
cdef class OtherTokens(Format):
    cdef readonly tuple excludes
    cdef readonly object minimum, maximum


cdef class Sequence(Format):
    cdef readonly tuple elements


cdef class Or(Sequence):
    pass


cdef class Repetition(Format):
    cdef readonly Format content
    cdef readonly object minimum, maximum           # maximum None: no bound


cdef class Tag(Format):
    cdef readonly object begin
    cdef readonly Format content
    cdef readonly tuple ends


cdef class Triggered(Format):
    cdef readonly tuple triggers, tags, excludes
    cdef readonly bint at_least_one, stop_after_first


# free text in which each pattern of an arm requires the arm's format; then text continues if ``loop``
cdef class Dispatch(Format):
    cdef readonly tuple arms              # (mark, Format)
    cdef readonly tuple excludes
    cdef readonly bint loop


cdef class TagsWithSeparator(Format):
    cdef readonly tuple tags
    cdef readonly str separator
    cdef readonly bint at_least_one, stop_after_first


# Without __init__: a request has one of each for every tool, and a call of the type takes 120 ns longer
cdef JsonSchema new_json_schema(str pointer, schema, str schema_pointer)
cdef Tag new_tag(str pointer, begin, Format content, tuple ends)

# whether only the end of the enclosing tag bounds some text of the format
cdef bint is_endless(Format format) except -1
# whether the format is unbounded free text, which repeating does not change
cdef bint is_text(Format format) except -1

# the texts among the triggers that begin with no other one, ascending
cdef list shortest_of(tuple triggers)
# the one of them that a text begins with: with I3 the shortest trigger; None: there is none
cdef str trigger_of(str text, list shortest)
