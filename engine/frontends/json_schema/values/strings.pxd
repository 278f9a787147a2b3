"""JSON strings of a schema as IR; the implementation documents their dfa."""

from libc.stdint cimport uint32_t

from ..evaluator cimport Evaluator
from ..json_text cimport JsonText
from ..schema_types cimport Strings

# ``strings`` None: any string. ``separate``: a pattern becomes a rule of its own, so that it is not determinised
# together with the alternatives beside it
cdef uint32_t build_string(JsonText text, Strings strings, Evaluator evaluator, bint separate=*) except? 0xFFFFFFFF
# the text between the quotes
cdef uint32_t build_inside(JsonText text, Strings strings, Evaluator evaluator, bint is_key=*) except? 0xFFFFFFFF
