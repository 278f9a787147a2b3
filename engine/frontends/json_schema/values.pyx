"""Values of enum and const: see the header file."""

from libc.stdint cimport uint32_t

from ...native.pool cimport vector
from .contents cimport identity
from .document cimport has_key
from .text cimport Text

from decimal import Decimal

#: up to here, every whole number is a double
EXACT = 2**53


cdef int add_values(Text text, list values, vector[uint32_t]* alternatives) except -1:
    """Adds alternatives, one for all strings, so that they share their quotes."""
    cdef list strings = [], others = []
    for value in unique(values) if len(values) > 1 else values:
        if isinstance(value, str):
            strings.append(value)
        else:
            others.append(value)
    if strings:
        alternatives.push_back(text.quoted(text.texts(strings)))
    for value in others:
        alternatives.push_back(value_node(text, value))
    return 0


cdef list unique(list values):
    """The last of equal values, at the place of the first."""
    for value in values:
        if not isinstance(value, str):
            return list({identity(value): value for value in values}.values())
    return once(values)


cdef list once(list texts):
    """Without repetitions."""
    return list(dict.fromkeys(texts)) if len(texts) > 1 else texts


cdef uint32_t value_node(Text text, value) except? 0xFFFFFFFF:
    cdef vector[uint32_t] parts
    cdef int depth
    if isinstance(value, str):
        return text.literal(value)
    if value is None or isinstance(value, bool):
        return text.bytes(b"null" if value is None else b"true" if value else b"false")
    if isinstance(value, (int, float)):
        return number_node(text, value)
    depth, text.depth = text.depth, text.below()
    if isinstance(value, list):
        for item in value:
            parts.push_back(value_node(text, item))
    else:
        for key, item in value.items():
            parts.push_back(member(text, key, value_node(text, item)))
    text.depth = depth
    return listed(text, b"[", &parts, b"]") if isinstance(value, list) else listed(text, b"{", &parts, b"}")


cdef uint32_t member(Text text, str key, uint32_t value) except? 0xFFFFFFFF:
    cdef uint32_t space = text.space()
    cdef uint32_t[5] parts = [text.literal(key), space, text.colon(), space, value]
    return text.seq(parts, 5)


cdef uint32_t number_node(Text text, value) except? 0xFFFFFFFF:
    """Unless it is canonical, a large float may be its digits, too, where they are the decimal that it is
    written as (1e+22, not 1e+23).
    """
    cdef uint32_t[3] parts
    cdef uint32_t zero
    cdef str digits = repr(value)
    if "e" in digits and has_key(text.document, "uniqueItems"):
        digits = format(Decimal(digits), "f")
        value = Decimal(digits)
    elif isinstance(value, float) and value.is_integer() and (
        "e" not in digits or not text.canonical and Decimal(digits) == int(value)
    ):
        digits = str(int(value))
    if "e" in digits or text.canonical:
        return text.bytes(digits.encode())
    zero = text.bytes(b"0")
    parts[0] = text.bytes(digits.encode())
    if "." in digits:
        parts[1] = text.repeat(zero, 0, None)
        return text.seq(parts, 2)
    if abs(value) > EXACT:
        if not isinstance(value, float):
            return parts[0]
        parts[1] = text.bytes(repr(value).encode())
        return text.alt(parts, 2)
    parts[1], parts[2] = text.bytes(b"."), text.repeat(zero, 1, None)
    parts[1] = text.seq(&parts[1], 2)
    parts[2] = text.empty
    parts[1] = text.alt(&parts[1], 2)
    return text.seq(parts, 2)


cdef uint32_t listed(Text text, bytes begin, vector[uint32_t]* items, bytes end) except? 0xFFFFFFFF:
    cdef vector[uint32_t] parts
    cdef uint32_t space = text.space()
    cdef size_t k
    for k in range(items.size()):
        if k:
            parts.push_back(space)
            parts.push_back(text.comma())
            parts.push_back(space)
        parts.push_back(items[0][k] if k else text.first(items[0][k]))
    if items.size():
        parts.push_back(text.closing())
    return text.bracketed(begin, text.seq(parts.data(), parts.size()), end)
