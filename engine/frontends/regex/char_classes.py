"""Named sets of characters of ECMA-262: class escapes, Unicode properties, case folding.

Source   Unicode 14.0, in two tables next to this file, each loaded on first use in a millisecond
         (deriving the categories from ``unicodedata`` took 100 ms):

         unicode_properties.json   name -> "370-373 375 ..."
         case_folding.json         the mappings C and S of CaseFolding.txt, which Canonicalize uses
                                   with the flags i and u: distance -> the characters that fold to
                                   the character at this distance, as "41-5a" or "100-12e/2"
                                   (every second one)
"""

import json
from functools import cache
from itertools import permutations
from pathlib import Path

from ...grammar.ir import ANY_CHAR, Ranges
from .charset import complement, intersect, normalise, union, with_partners

DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
#: WhiteSpace and LineTerminator of the standard
SPACE: Ranges = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
    (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
#: LineTerminator
LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
#: characters that JSON strings may contain without an escape (RFC 8259, section 7)
JSON_UNESCAPED: Ranges = complement(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)))
CLASSES = {
    "d": DIGIT, "D": complement(DIGIT), "w": WORD, "W": complement(WORD),
    "s": SPACE, "S": complement(SPACE),
}  # fmt: skip
CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D, "0": 0x00}

_LONG_NAMES = {
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
}  # fmt: skip
_LONG_PROPERTIES = {
    "Alpha": "Alphabetic", "Lower": "Lowercase", "Upper": "Uppercase", "space": "White_Space",
    "AHex": "ASCII_Hex_Digit", "EPres": "Emoji_Presentation", "ExtPict": "Extended_Pictographic",
}  # fmt: skip
_FOLDING = Path(__file__).parent / "case_folding.json"
_PROPERTIES = Path(__file__).parent / "unicode_properties.json"


@cache
def _table() -> dict[str, str]:
    """Return ranges by name; categories have the prefix "Category=", scripts "Script "."""
    found: dict[str, str] = {}
    for names, ranges in json.loads(_PROPERTIES.read_text()).items():
        first, *others = names.split()
        for name in [f"Script {other}" for other in others] or [first]:
            found[name] = ranges
    return found


def _listed(name: str) -> Ranges | None:
    ranges = _table().get(name)
    if ranges is None:
        return None
    pairs = [each.partition("-") for each in ranges.split()]
    return normalise((int(low, 16), int(high or low, 16)) for low, _, high in pairs)


def _binary(name: str) -> Ranges | None:
    """Return the ranges of a binary property, or None."""
    name = _LONG_PROPERTIES.get(name, name)
    if name == "Any":
        return ANY_CHAR
    if name == "ASCII":
        return ((0, 0x7F),)
    if name == "ASCII_Hex_Digit":
        return ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66))
    if name == "Assigned":
        return complement(_category("Cn") or ())
    if name == "White_Space":
        return union(intersect(SPACE, complement(((0xFEFF, 0xFEFF),))), ((0x85, 0x85),))
    return None if " " in name else _listed(name)


def property_ranges(name: str) -> Ranges | None:
    """Return the ranges of ``\\p{name}``, or None for an unknown property."""
    kind, _, value = name.partition("=")
    if kind in ("Script", "sc") and value:
        return _listed(f"Script {value}")
    if kind in ("General_Category", "gc") and value:
        return _category(value)
    found = _category(name)
    return _binary(name) if found is None else found


def _category(name: str) -> Ranges | None:
    short = _LONG_NAMES.get(name, name)
    if short == "LC":
        return union(*(_listed(f"Category={each}") or () for each in ("Lu", "Ll", "Lt")))
    if short not in _LONG_NAMES.values():
        return None
    names = (each for each in _table() if each.startswith(f"Category={short}"))
    return union(*(_listed(each) or () for each in names))


def _folded() -> dict[int, int]:
    """Map each character that does not fold to itself to its folded one."""
    found = {}
    for distance, runs in json.loads(_FOLDING.read_text()).items():
        for run in runs.split():
            span, _, step = run.partition("/")
            low, _, high = span.partition("-")
            for c in range(int(low, 16), int(high or low, 16) + 1, int(step or 1)):
                found[c] = c + int(distance)
    return found


@cache
def _alike() -> tuple[list[int], list[int]]:
    """Return all pairs of characters that fold to the same one, sorted, as two lists."""
    groups: dict[int, list[int]] = {}
    for c, folded in _folded().items():
        groups.setdefault(folded, [folded]).append(c)
    pairs = sorted(pair for group in groups.values() for pair in permutations(group, 2))
    return [c for c, _ in pairs], [other for _, other in pairs]


def any_case(ranges: Ranges) -> Ranges:
    """Add all characters that fold to the same ones."""
    return with_partners(ranges, *_alike())
