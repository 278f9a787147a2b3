r"""Names of ``\p{...}`` and letters of either case, against Node and against Python's Unicode."""

import json
import shutil
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from engine.errors import UnsupportedSchema
from engine.frontends.regex.char_classes import (
    PROPERTIES,
    alike,
    any_case,
    intersect,
    normalise,
    properties,
    property_ranges,
)
from engine.frontends.regex.regex_syntax import parse
from engine.grammar.ir import Ranges
from engine.limits import Limits
from tools.unicode_tables import BINARY

JUDGE = Path(__file__).with_name("unicode_judge.js")
TABLE = json.loads(PROPERTIES.read_text())
VERSION = TABLE["version"]
#: all names, in parts that Node judges in about a second
NAMES = sorted(properties())
PARTS = 16
#: names that other dialects or other parts of Unicode have, but ECMA-262 with the flag u has not
UNKNOWN = [
    "Latin", "IsLatin", "InBasic_Latin", "L&", "lu", "letter", "ascii", "alphabetic", "Alphabetic=Yes",
    "Block=Basic_Latin", "gc", "gc=", "sc=latin", "Script", "Script=Hrkt", "scx=Katakana_Or_Hiragana",
    "Other_Math", "Hyphen", "Grapheme_Link", "Expands_On_NFC", "IDS_Unary_Operator", "ID_Compat_Math_Start",
    "Modifier_Combining_Mark", "InCB=Linker", "Numeric_Value=1", "Age=6.0", "Category=Lu", "Script Latin",
    "WSpace", "alnum", "XPosixAlpha", "", " L", "L ", "^L",
]  # fmt: skip
#: properties of strings, which only the flag v has
STRINGS = [
    "Basic_Emoji", "Emoji_Keycap_Sequence", "RGI_Modifier_Sequence", "RGI_Flag_Sequence",
    "RGI_Emoji_Flag_Sequence", "RGI_Emoji_Tag_Sequence", "RGI_Emoji_ZWJ_Sequence", "RGI_Emoji",
]  # fmt: skip

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="needs Node, whose regular expressions are the judge"
)


def judged(**asked: Any) -> dict[str, Any]:
    done = subprocess.run(
        ["node", JUDGE], input=json.dumps({"names": [], "letters": [], **asked}),
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    answer: dict[str, Any] = json.loads(done.stdout)
    answer["is_same"] = VERSION.startswith(answer["unicode"])
    return answer


@needs_node
@pytest.mark.share
@pytest.mark.parametrize("part", range(PARTS))
def test_every_name_has_the_characters_that_node_finds(part: int) -> None:
    """Of another Unicode version, only characters that both have assigned are compared."""
    names = NAMES[part::PARTS]
    answer = judged(names=["Assigned", *names])
    theirs, ours = answer["found"], properties()
    both = intersect(ranges_of(theirs["Assigned"]), ours["Assigned"])
    wrong = []
    for name in names:
        if theirs[name] is None:
            # a script of a later version
            wrong += [name] if answer["is_same"] else []
        elif answer["is_same"]:
            wrong += [name] if ranges_of(theirs[name]) != ours[name] else []
        else:
            # properties of characters rarely change
            differ = characters(intersect(ranges_of(theirs[name]), both)) ^ characters(
                intersect(ours[name], both)
            )
            wrong += [name] if len(differ) > 50 else []
    assert wrong == []


@needs_node
def test_node_knows_no_name_that_is_refused() -> None:
    """Except an alias that its library adds to the standard's."""
    found = judged(names=[name for name in UNKNOWN if name] + STRINGS)["found"]
    assert {name for name, ranges in found.items() if ranges is not None} <= {"WSpace"}


@needs_node
def test_letters_of_either_case_are_those_of_node() -> None:
    letters, others = alike()
    answer = judged(letters=sorted({*letters, *others}))
    wrong = []
    for text, matched in answer["alike"].items():
        c = int(text)
        if characters(any_case(((c, c),))) != set(matched):
            wrong.append(c)
    assert len(wrong) <= (0 if answer["is_same"] else 100)


def ranges_of(pairs: list[list[int]]) -> Ranges:
    return normalise((low, high) for low, high in pairs)


def characters(ranges: Ranges) -> set[int]:
    return {c for low, high in ranges for c in range(low, high + 1)}


def test_the_names_are_all_those_of_the_standard() -> None:
    """table-binary-unicode-properties has 53 rows, and table-nonbinary-unicode-properties three."""
    assert len(BINARY) == 50 and {*BINARY, "Any", "ASCII", "Assigned"} <= properties().keys()
    assert len({*TABLE["Binary aliases"].values()}) == 45
    kinds = {name.partition("=")[0] for name in properties() if "=" in name}
    assert kinds == {"General_Category", "gc", "Script", "sc", "Script_Extensions", "scx"}


def test_sets_are_normal_and_have_no_surrogates() -> None:
    assert [name for name, ranges in properties().items() if normalise(ranges) != ranges] == []


@pytest.mark.parametrize("name", [*UNKNOWN, *STRINGS])
def test_other_names_are_refused_by_name(name: str) -> None:
    assert property_ranges(name) is None
    with pytest.raises(UnsupportedSchema) as caught:
        parse(rf"a\p{{{name}}}", pointer="/pattern", limits=Limits())
    assert f"position 2: the property {name!r}" in caught.value.message


# (name, an alias)
ALIASES = [
    ("RI", "Regional_Indicator"), ("EComp", "Emoji_Component"), ("ExtPict", "Extended_Pictographic"),
    ("IDS", "ID_Start"), ("Hex", "Hex_Digit"), ("space", "White_Space"), ("gc=digit", "Decimal_Number"),
    ("scx=Qaai", "Script_Extensions=Inherited"), ("sc=Qaac", "Script=Coptic"), ("sc=Zzzz", "Script=Unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "alias"), ALIASES)
def test_aliases_are_the_same_set(name: str, alias: str) -> None:
    assert property_ranges(name) == property_ranges(alias) != ()


def test_script_extensions_list_the_scripts_that_use_a_character() -> None:
    danda, thaana = 0x964, 0x60C
    assert danda in characters(property_ranges("scx=Deva") or ())
    assert danda not in characters(property_ranges("sc=Deva") or ())
    assert danda not in characters(property_ranges("scx=Common") or ())
    assert thaana in characters(property_ranges("scx=Thaa") or ())


def test_categories_are_those_of_python_where_it_has_the_character() -> None:
    """REGRESSION: to ask Python for every character took 100 ms of the first compile.

    Python may carry another version: then some characters have moved.
    """
    moved = []
    of_character = {
        c: name.removeprefix("gc=")
        for name in properties()
        if name.startswith("gc=") and len(name) == 5 and name != "gc=LC"
        for c in characters(properties()[name])
    }
    for c in range(0x110000):
        python, ours = unicodedata.category(chr(c)), of_character.get(c, "Cs")
        if python != ours and "Cn" not in (python, ours):
            moved.append(c)
    assert len(moved) <= (0 if unicodedata.unidata_version == VERSION else 30)
