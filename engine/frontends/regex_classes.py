"""Character classes of ECMA-262: escapes, general categories."""

import unicodedata
from functools import cache

from ..ir import ANY_CHAR, Ranges
from .charset import complement, normalise, union

DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
#: WhiteSpace and LineTerminator of the standard
SPACE: Ranges = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
    (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
#: all but the line terminators
DOT: Ranges = complement(((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)))
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
    "Format": "Cf", "Private_Use": "Co", "Unassigned": "Cn",
}  # fmt: skip


@cache
def _categories() -> dict[str, Ranges]:
    """All characters by two-letter category, of the Unicode version that Python carries. About 0.2
    s, once.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    for low, high in ANY_CHAR:
        start, name = low, unicodedata.category(chr(low))
        for c in range(low + 1, high + 1):
            other = unicodedata.category(chr(c))
            if other != name:
                found.setdefault(name, []).append((start, c - 1))
                start, name = c, other
        found.setdefault(name, []).append((start, high))
    return {name: normalise(ranges) for name, ranges in found.items()}


def property_ranges(name: str) -> Ranges | None:
    """What ``\\p{name}`` matches; None where that is not a general category (scripts and the like
    are not known).
    """
    if name == "Any":
        return ANY_CHAR
    if name == "ASCII":
        return ((0, 0x7F),)
    short = name.removeprefix("General_Category=").removeprefix("gc=")
    short = _LONG_NAMES.get(short, short)
    if short == "LC":
        return union(*(_categories()[each] for each in ("Lu", "Ll", "Lt")))
    if short not in _LONG_NAMES.values():
        return None
    return union(*(ranges for each, ranges in _categories().items() if each.startswith(short)))
