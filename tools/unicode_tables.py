"""Tables of the Unicode Character Database that regular expressions need.

    apt-get download unicode-data && dpkg-deb -x unicode-data_*.deb ucd
    python -m tools.unicode_tables ucd/usr/share/unicode

The folder is one version of the database as unicode.org publishes it in ``ucd``, with ``emoji`` and
``extracted``. The command writes ``engine/frontends/regex/unicode_properties.json`` and
``case_folding.json``, which ``engine/frontends/regex/char_classes.pyx`` describes.

A new version changes what patterns mean: raise ``SPEC_VERSION`` in ``engine/versions.py``, then run
``python -m tests.engine.meanings``.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine.frontends import regex as target

#: table-binary-unicode-properties of ECMA-262, without Any, ASCII and Assigned, which no file has
BINARY = (
    "ASCII_Hex_Digit", "Alphabetic", "Bidi_Control", "Bidi_Mirrored", "Case_Ignorable", "Cased",
    "Changes_When_Casefolded", "Changes_When_Casemapped", "Changes_When_Lowercased",
    "Changes_When_NFKC_Casefolded", "Changes_When_Titlecased", "Changes_When_Uppercased", "Dash",
    "Default_Ignorable_Code_Point", "Deprecated", "Diacritic", "Emoji", "Emoji_Component",
    "Emoji_Modifier", "Emoji_Modifier_Base", "Emoji_Presentation", "Extended_Pictographic",
    "Extender", "Grapheme_Base", "Grapheme_Extend", "Hex_Digit", "IDS_Binary_Operator",
    "IDS_Trinary_Operator", "ID_Continue", "ID_Start", "Ideographic", "Join_Control",
    "Logical_Order_Exception", "Lowercase", "Math", "Noncharacter_Code_Point", "Pattern_Syntax",
    "Pattern_White_Space", "Quotation_Mark", "Radical", "Regional_Indicator", "Sentence_Terminal",
    "Soft_Dotted", "Terminal_Punctuation", "Unified_Ideograph", "Uppercase", "Variation_Selector",
    "White_Space", "XID_Continue", "XID_Start",
)  # fmt: skip
BINARY_FILES = (
    "PropList.txt",
    "DerivedCoreProperties.txt",
    "DerivedNormalizationProps.txt",
    "extracted/DerivedBinaryProperties.txt",
    "emoji/emoji-data.txt",
)

Points = set[int]


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m tools.unicode_tables FOLDER\n")
        return 2
    made, folder = tables(Path(arguments[0])), Path(target.__file__).parent
    for name, table in made.items():
        (folder / name).write_text(json.dumps(table, indent=1) + "\n")
    sys.stdout.write(f"Unicode {made['unicode_properties.json']['version']}\n")
    return 0


def tables(folder: Path) -> dict[str, dict[str, object]]:
    """Return the tables by the names of their files.

    Raises:
        OSError: a file is missing.
        ValueError: a file has no version, or lacks a property.
    """
    heading = (folder / "PropertyValueAliases.txt").read_text().splitlines()[0]
    version = re.fullmatch(r"# PropertyValueAliases-([\d.]+)\.txt", heading)
    if version is None:
        raise ValueError(f"PropertyValueAliases.txt begins with {heading!r}, not with its version")
    categories = _values(folder / "extracted/DerivedGeneralCategory.txt")
    # the complement of all others
    categories.pop("Cn", None)
    properties = {
        "version": version[1],
        "General_Category": _named(categories),
        "General_Category aliases": _value_aliases(folder, "gc"),
        "Script": _named(_values(folder / "Scripts.txt")),
        "Script aliases": _value_aliases(folder, "sc"),
        "Script_Extensions": _named(_values(folder / "ScriptExtensions.txt")),
        "Binary": _named(_binary(folder)),
        "Binary aliases": _property_aliases(folder),
    }
    folding = {"version": version[1], "distances": _foldings(folder / "CaseFolding.txt")}
    return {"unicode_properties.json": properties, "case_folding.json": folding}


def _rows(path: Path) -> Iterator[list[str]]:
    """Yield the fields of each line that has any."""
    for line in path.read_text("utf-8").splitlines():
        fields = [field.strip() for field in line.partition("#")[0].split(";")]
        if fields != [""]:
            yield fields


def _points(field: str) -> range:
    low, _, high = field.partition("..")
    return range(int(low, 16), int(high or low, 16) + 1)


def _values(path: Path) -> dict[str, Points]:
    """Return the characters of each value in a file of "characters ; value"."""
    found: dict[str, Points] = {}
    for characters, value, *_ in _rows(path):
        found.setdefault(value, set()).update(_points(characters))
    return found


def _binary(folder: Path) -> dict[str, Points]:
    listed: dict[str, Points] = {}
    for name in BINARY_FILES:
        for value, points in _values(folder / name).items():
            listed.setdefault(value, set()).update(points)
    missing = [name for name in BINARY if name not in listed]
    if missing:
        raise ValueError(f"no file lists {', '.join(missing)}")
    return {name: listed[name] for name in BINARY}


def _property_aliases(folder: Path) -> dict[str, str]:
    """Return alias -> name; of White_Space, ECMA-262 has only the second alias, ``space``."""
    rows = {name: [short, *more] for short, name, *more in _rows(folder / "PropertyAliases.txt")}
    return {rows[name][-1]: name for name in BINARY if rows[name][-1] != name}


def _value_aliases(folder: Path, kind: str) -> dict[str, str]:
    """Return alias -> the name that the other files use."""
    found = {}
    for short, *names in (
        fields for property_, *fields in _rows(folder / "PropertyValueAliases.txt")
        if property_ == kind
    ):  # fmt: skip
        main_name, others = (short, names) if kind == "gc" else (names[0], [short, *names[1:]])
        found.update(dict.fromkeys((name for name in others if name != main_name), main_name))
    return found


def _named(sets: dict[str, Points]) -> dict[str, str]:
    return {name: _ranges(points) for name, points in sorted(sets.items())}


def _ranges(points: Iterable[int]) -> str:
    """Return "370-373 375 ..."."""
    runs: list[list[int]] = []
    for point in sorted(points):
        if runs and point == runs[-1][1] + 1:
            runs[-1][1] = point
        else:
            runs.append([point, point])
    return " ".join(f"{low:x}" if low == high else f"{low:x}-{high:x}" for low, high in runs)


def _foldings(path: Path) -> dict[str, str]:
    """Return distance -> the characters of the mappings C and S, as "41-5a" or "100-12e/2"."""
    by_distance: dict[int, list[int]] = {}
    for character, status, mapping, *_ in _rows(path):
        if status in "CS":
            folded, point = int(mapping, 16), int(character, 16)
            by_distance.setdefault(folded - point, []).append(point)
    return {str(distance): _steps(points) for distance, points in sorted(by_distance.items())}


def _steps(points: list[int]) -> str:
    """Return runs of every character, or of every second one."""
    runs: list[list[int]] = []
    for point in sorted(points):
        if runs:
            low, high, step = runs[-1]
            gap = point - high
            if gap == step or (low == high and gap in (1, 2)):
                runs[-1] = [low, point, gap]
                continue
        runs.append([point, point, 0])
    return " ".join(
        f"{low:x}" if low == high else f"{low:x}-{high:x}" + ("/2" if step == 2 else "")
        for low, high, step in runs
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
