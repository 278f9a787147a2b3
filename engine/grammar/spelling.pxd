"""How characters are spelled in bytes: UTF-8, and every legal spelling inside a JSON string.

Source: RFC 3629 (UTF-8 without surrogates), RFC 8259 section 7 (strings). A code point inside a
JSON string may stand as itself (not U+0000..001F, quote or backslash), as a short escape, or as
\\uXXXX with hexadecimal digits in either case; above U+FFFF as a pair of surrogates. Ranges given
here hold no surrogates.
"""

from libc.stdint cimport uint32_t

from ..automata.nfa cimport NfaC

cdef uint32_t short_escape(uint32_t c) noexcept nogil
cdef void emit_utf8(NfaC* nfa, uint32_t low, uint32_t high, uint32_t s, uint32_t t) noexcept nogil
cdef void emit_json_char(
    NfaC* nfa, uint32_t* ranges, uint32_t n, uint32_t s, uint32_t t
) noexcept nogil
