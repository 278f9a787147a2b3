"""Sets of characters, and the named ones of ECMA-262: class escapes, Unicode properties, case folding.

A set is a tuple of sorted, disjoint, inclusive ranges (low, high) of Unicode scalar values.

Cost     linear in the ranges.
Caches   the named sets, which are the same for all clients. They are read together, and when the first compiler
         is made: a client cannot measure which of them others have used.
Source   Unicode 14.0, in two tables next to this file, loaded in 7 ms (deriving the categories from
         ``unicodedata`` took 100 ms):

         unicode_properties.json   name -> "370-373 375 ..."
         case_folding.json         the mappings C and S of CaseFolding.txt, which Canonicalize uses
                                   with the flags i and u: distance -> the characters that fold to
                                   the character at this distance, as "41-5a" or "100-12e/2"
                                   (every second one)
"""

from ...native.resources cimport WorkBudget, spend

import json
from bisect import bisect_left
from functools import cache
from itertools import permutations
from pathlib import Path

from ...grammar.ir import ANY_CHAR
from .. import regex as package

cdef enum:
    LAST = 0x10FFFF
    FIRST_SURROGATE = 0xD800
    LAST_SURROGATE = 0xDFFF
    # ranges that a union gathers before it merges them
    MERGED = 4096


# -- sets ------------------------------------------------------------------------------------------
cpdef tuple normalise(ranges):
    """Sort and merge ranges, and remove surrogates."""
    cdef list out = []
    cdef int low, high, start = 0, end = -2
    cdef bint has_surrogates = False
    for low, high in sorted(ranges):
        if low > high:
            continue
        has_surrogates |= low <= LAST_SURROGATE and high >= FIRST_SURROGATE
        if end >= 0 and low <= end + 1:
            end = max(end, high)
            continue
        if end >= 0:
            out.append((start, end))
        start, end = low, high
    if end >= 0:
        out.append((start, end))
    if has_surrogates:
        return intersect(tuple(out), ANY_CHAR)
    return tuple(out)


def union(*sets):
    return union_of(list(sets), None)


cdef tuple union_of(list sets, WorkBudget budget):
    cdef list pairs = []
    cdef set seen = set()
    cdef tuple ranges
    cdef Py_ssize_t most = MERGED
    for ranges in sets:
        # named sets are cached, so repeated ones are identical
        if id(ranges) in seen:
            continue
        seen.add(id(ranges))
        if budget is not None:
            spend(budget, 1 + len(ranges) // RANGES_PER_STEP)
        pairs.extend(ranges)
        if len(pairs) > most:
            pairs = list(normalise(pairs))
            most = max(<Py_ssize_t>MERGED, 2 * len(pairs))
    return normalise(pairs)


cpdef tuple intersect(tuple a, tuple b):
    cdef list out = []
    cdef Py_ssize_t i = 0, j = 0
    cdef int a_low, a_high, b_low, b_high
    while i < len(a) and j < len(b):
        a_low, a_high = a[i]
        b_low, b_high = b[j]
        if max(a_low, b_low) <= min(a_high, b_high):
            out.append((max(a_low, b_low), min(a_high, b_high)))
        if a_high < b_high:
            i += 1
        else:
            j += 1
    return tuple(out)


def complement(ranges):
    cdef list out = []
    cdef int low, high, start = 0
    for low, high in ranges:
        if low > start:
            out.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        out.append((start, LAST))
    return intersect(tuple(out), ANY_CHAR)


cpdef tuple char(int c):
    return ((c, c),)


cpdef bint contains(tuple ranges, int c):
    cdef int low, high
    for low, high in ranges:
        if low <= c <= high:
            return True
    return False


# -- named sets ------------------------------------------------------------------------------------
DIGIT = ((0x30, 0x39),)
WORD = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
#: WhiteSpace and LineTerminator of the standard
SPACE = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
    (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)
#: LineTerminator
LINE_ENDS = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
#: characters that JSON strings may contain without an escape (RFC 8259, section 7)
JSON_UNESCAPED = complement(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)))
CLASSES = {
    "d": DIGIT, "D": complement(DIGIT), "w": WORD, "W": complement(WORD),
    "s": SPACE, "S": complement(SPACE),
}
CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D, "0": 0x00}

LONG_NAMES = {
    "Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll",
    "Titlecase_Letter": "Lt", "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M",
    "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc", "Enclosing_Mark": "Me", "Number": "N",
    "Decimal_Number": "Nd", "Letter_Number": "Nl", "Other_Number": "No", "Punctuation": "P",
    "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps",
    "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi", "Final_Punctuation": "Pf",
    "Other_Punctuation": "Po", "Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc",
    "Modifier_Symbol": "Sk", "Other_Symbol": "So", "Separator": "Z", "Space_Separator": "Zs",
    "Line_Separator": "Zl", "Paragraph_Separator": "Zp", "Other": "C", "Control": "Cc",
    "Format": "Cf", "Private_Use": "Co", "Unassigned": "Cn", "Surrogate": "Cs",
    "Combining_Mark": "M", "digit": "Nd", "punct": "P", "cntrl": "Cc",
}
LONG_PROPERTIES = {
    "Alpha": "Alphabetic", "Lower": "Lowercase", "Upper": "Uppercase", "space": "White_Space",
    "AHex": "ASCII_Hex_Digit", "EPres": "Emoji_Presentation", "ExtPict": "Extended_Pictographic",
}
# the package's file: that of a compiled module is the library
FOLDING = Path(package.__file__).parent / "case_folding.json"
PROPERTIES = Path(package.__file__).parent / "unicode_properties.json"


@cache
def properties():
    """Return all sets by name; categories have the prefix "Category=", scripts "Script "."""
    cdef dict found = {
        "Any": ANY_CHAR, "ASCII": ((0, 0x7F),), "ASCII_Hex_Digit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
        "White_Space": union(intersect(SPACE, complement(((0xFEFF, 0xFEFF),))), ((0x85, 0x85),)),
    }
    for names, ranges in json.loads(PROPERTIES.read_text()).items():
        first, *others = names.split()
        pairs = [each.partition("-") for each in ranges.split()]
        ranges = normalise((int(low, 16), int(high or low, 16)) for low, _, high in pairs)
        for name in [f"Script {other}" for other in others] or [first]:
            found[name] = ranges
    listed = [name for name in found if name.startswith("Category=")]
    for short in {"LC", *LONG_NAMES.values()}:
        parts = ("Lu", "Ll", "Lt") if short == "LC" else (short,)
        beginnings = tuple(f"Category={part}" for part in parts)
        found[f"Category={short}"] = union(*(found[name] for name in listed if name.startswith(beginnings)))
    found["Assigned"] = complement(found["Category=Cn"])
    return found


def property_ranges(str name):
    known = properties()
    kind, _, value = name.partition("=")
    if kind in ("Script", "sc") and value:
        return known.get(f"Script {value}")
    if kind in ("General_Category", "gc") and value:
        return known.get(f"Category={LONG_NAMES.get(value, value)}")
    found = known.get(f"Category={LONG_NAMES.get(name, name)}")
    return known.get(LONG_PROPERTIES.get(name, name)) if found is None and " " not in name else found


cdef dict foldings():
    """Map each character that does not fold to itself to its folded one."""
    cdef dict found = {}
    for distance, runs in json.loads(FOLDING.read_text()).items():
        for run in runs.split():
            span, _, step = run.partition("/")
            low, _, high = span.partition("-")
            for c in range(int(low, 16), int(high or low, 16) + 1, int(step or 1)):
                found[c] = c + int(distance)
    return found


@cache
def alike():
    """Return all pairs of characters that fold to the same one, sorted, as two lists."""
    cdef dict groups = {}
    for c, folded in foldings().items():
        groups.setdefault(folded, [folded]).append(c)
    pairs = sorted(pair for group in groups.values() for pair in permutations(group, 2))
    return [c for c, _ in pairs], [other for _, other in pairs]


def any_case(tuple ranges):
    cdef list found = [], characters, others
    cdef Py_ssize_t k
    cdef int low, high, other
    characters, others = alike()
    for low, high in ranges:
        k = bisect_left(characters, low)
        while k < len(characters) and <int>characters[k] <= high:
            other = others[k]
            if not low <= other <= high:
                found.append((other, other))
            k += 1
    return normalise([*ranges, *found]) if found else ranges


def load_tables():
    properties()
    alike()
