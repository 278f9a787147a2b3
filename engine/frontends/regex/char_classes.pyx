"""Sets of characters, and the named ones of ECMA-262: class escapes, Unicode properties, case folding.

A set is a tuple of sorted, disjoint, inclusive ranges (low, high) of Unicode scalar values.

Cost     linear in the ranges.
Caches   the named sets, which are the same for all clients. They are read together, and when the first compiler
         is made: a client cannot measure which of them others have used.
Source   the Unicode Character Database, in two tables next to this file, which ``tools.unicode_tables`` writes with
         their version; 6 ms and 1.6 MB (deriving the categories from ``unicodedata`` took 100 ms):

         unicode_properties.json   General_Category (without Cn), Script and the binary properties: name ->
                                   "370-373 375 ..."; Script_Extensions: the scripts of a character -> such
                                   ranges; aliases -> names
         case_folding.json         the mappings C and S of CaseFolding.txt, which Canonicalize uses
                                   with the flags i and u: distance -> the characters that fold to
                                   the character at this distance, as "41-5a" or "100-12e/2"
                                   (every second one)

         Names are those of ECMA-262, tables 66 and 67 and PropertyValueAliases.txt: without loose matching, blocks,
         or properties of strings, which only the flag v has.
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

# the package's file: that of a compiled module is the library
FOLDING = Path(package.__file__).parent / "case_folding.json"
PROPERTIES = Path(package.__file__).parent / "unicode_properties.json"


@cache
def properties():
    """Return all sets by the names that stand between \\p{ and }."""
    cdef dict table = json.loads(PROPERTIES.read_text()), shared = {}, found, scripts, binary
    cdef dict categories = read_sets(table["General_Category"], shared)
    categories["Cn"] = complement(union(*categories.values()))
    for group in ("C", "L", "M", "N", "P", "S", "Z"):
        categories[group] = union(*[ranges for name, ranges in categories.items() if name[0] == group])
    categories["LC"] = union(*[categories[name] for name in ("Lu", "Ll", "Lt")])
    scripts = read_sets(table["Script"], shared)
    scripts["Unknown"] = complement(union(*scripts.values()))
    binary = read_sets(table["Binary"], shared)
    binary["Any"], binary["ASCII"], binary["Assigned"] = ANY_CHAR, ((0, 0x7F),), complement(categories["Cn"])
    extended = extended_scripts(scripts, read_sets(table["Script_Extensions"], shared), table["Script aliases"])
    found = with_aliases(categories, table["General_Category aliases"])
    for names, sets in (
        (("General_Category", "gc"), found),
        (("Script", "sc"), with_aliases(scripts, table["Script aliases"])),
        (("Script_Extensions", "scx"), with_aliases(extended, table["Script aliases"])),
    ):
        found = found | {f"{name}={value}": ranges for name in names for value, ranges in sets.items()}
    return found | with_aliases(binary, table["Binary aliases"])


cdef dict read_sets(dict texts, dict shared):
    """Return sets by name. Equal ranges, of which there are many, share a tuple."""
    cdef dict found = {}
    cdef list ranges
    for name, text in texts.items():
        ranges = []
        for each in (<str>text).split():
            known = shared.get(each)
            if known is None:
                low, _, high = (<str>each).partition("-")
                known = shared[each] = (int(low, 16), int(high or low, 16))
            ranges.append(known)
        # only Cs has surrogates
        found[name] = normalise(ranges) if name == "Cs" else tuple(ranges)
    return found


cdef dict with_aliases(dict sets, dict aliases):
    return sets | {alias: sets[name] for alias, name in aliases.items() if name in sets}


cdef dict extended_scripts(dict scripts, dict extensions, dict aliases):
    """Return the sets of Script_Extensions: those of Script, except for characters that are listed with the scripts
    that use them. ``extensions``: these by names of scripts, such as "Beng Deva".
    """
    cdef dict used = {}
    rest = complement(union(*extensions.values()))
    for names, ranges in extensions.items():
        for name in names.split():
            used.setdefault(aliases.get(name, name), []).append(ranges)
    return {name: union(intersect(ranges, rest), *used.get(name, ())) for name, ranges in scripts.items()}


def property_ranges(str name):
    return properties().get(name)


cdef dict foldings():
    """Map each character that does not fold to itself to its folded one."""
    cdef dict found = {}
    for distance, runs in json.loads(FOLDING.read_text())["distances"].items():
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
