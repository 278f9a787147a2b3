"""Strings: lengths, patterns and formats, all judged on the decoded value.

A length alone is a counted repetition, a pattern or format alone is emitted as it stands. Together
they stay so where the pattern's own lengths lie within the bounds, or where one repeated class can
take the bounds over as its counts (``^[a-z]{1,4000}$``, ``^#.*$``); otherwise all of them are
intersected in one automaton, with the complements of what is
not to match and of the texts that it is not. With a length beside it, a format that has one is taken in its short
form, which rules a few rare texts out.

Beside ``excludes`` of a structural tag, values with a pattern or a format hold what these say, as in
xgrammar; all other values, and all keys, hold nothing excluded.

What patterns and formats become is kept for the next grammar (``fragment``).
"""

from libc.stdint cimport uint32_t

from .evaluate cimport Evaluator
from .schema_types cimport Strings
from .text cimport Text

cdef uint32_t build_string(Text text, Strings strings, Evaluator evaluator, bint apart=*) except? 0xFFFFFFFF
cdef uint32_t build_inside(Text text, Strings strings, Evaluator evaluator, bint is_key=*) except? 0xFFFFFFFF
