"""Tables of Unicode, from a small database."""

from pathlib import Path

import pytest

from engine.frontends.regex.char_classes import FOLDING, PROPERTIES
from tools.unicode_tables import BINARY, BINARY_FILES, main, tables

#: file -> its lines; binary properties without a character are added to the first file
FILES = {
    "PropertyValueAliases.txt": """\
# PropertyValueAliases-99.1.0.txt
gc ; Lu ; Uppercase_Letter
gc ; Nd ; Decimal_Number ; digit
gc ; M  ; Mark ; Combining_Mark # Mc | Me | Mn
sc ; Qaac ; Coptic ; Copt
sc ; Vaii ; Vai
sc ; Yiii ; Yi
age; 1.1 ; V1_1
""",
    "PropertyAliases.txt": """\
# Binary
AHex   ; ASCII_Hex_Digit
WSpace ; White_Space ; space
Dash   ; Dash
""",
    "extracted/DerivedGeneralCategory.txt": """\
0041..0043 ; Lu # [3] LATIN
0045       ; Lu
0030..0031 ; Nd
0378..10FFFF ; Cn
""",
    "Scripts.txt": "0041 ; Coptic\n0042..0043 ; Yi\n",
    "ScriptExtensions.txt": "0042 ; Copt Yiii # comment\n",
    "PropList.txt": "0030..0031 ; ASCII_Hex_Digit\n0041 ; ASCII_Hex_Digit\n0020 ; White_Space\n",
    "DerivedNormalizationProps.txt": "037A ; FC_NFKC; 0020 03B9\n",
    "CaseFolding.txt": """\
0041; C; 0061; # A
0042; C; 0062;
0043; C; 0063;
0100; C; 0101;
0102; C; 0103;
0104; C; 0105;
0130; F; 0069 0307;
0130; T; 0069;
1E9E; S; 00DF;
""",
}


def database(folder: Path, **changed: str) -> Path:
    files = dict.fromkeys(BINARY_FILES, "") | FILES
    others = [name for name in BINARY if name not in ("ASCII_Hex_Digit", "White_Space")]
    files["PropList.txt"] += "".join(f"0041 ; {name}\n" for name in others)
    aliases = "".join(f"{name}_ ; {name}\n" for name in others if name != "Dash")
    files["PropertyAliases.txt"] += aliases
    for name, content in (files | changed).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    return folder


def test_tables_are_those_of_the_database(tmp_path: Path) -> None:
    made = tables(database(tmp_path))
    properties, folding = made["unicode_properties.json"], made["case_folding.json"]
    assert properties["version"] == folding["version"] == "99.1.0"
    assert properties["General_Category"] == {"Lu": "41-43 45", "Nd": "30-31"}
    assert properties["General_Category aliases"] == {
        "Uppercase_Letter": "Lu", "Decimal_Number": "Nd", "digit": "Nd", "Mark": "M",
        "Combining_Mark": "M",
    }  # fmt: skip
    assert properties["Script"] == {"Coptic": "41", "Yi": "42-43"}
    assert properties["Script aliases"] == {
        "Qaac": "Coptic", "Copt": "Coptic", "Vaii": "Vai", "Yiii": "Yi",
    }  # fmt: skip
    assert properties["Script_Extensions"] == {"Copt Yiii": "42"}
    binary, aliases = properties["Binary"], properties["Binary aliases"]
    assert isinstance(binary, dict) and isinstance(aliases, dict)
    assert binary.keys() == set(BINARY)
    assert (binary["ASCII_Hex_Digit"], binary["White_Space"]) == ("30-31 41", "20")
    # the standard has only one alias of White_Space; Dash is its own
    assert aliases["space"] == "White_Space" and not {"WSpace", "Dash"} & aliases.keys()
    assert folding["distances"] == {"-7615": "1e9e", "1": "100-104/2", "32": "41-43"}


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("PropertyValueAliases.txt", "gc ; Lu ; Uppercase_Letter\n", "not with its version"),
        ("PropList.txt", "0020 ; White_Space\n", "no file lists ASCII_Hex_Digit, Alphabetic"),
    ],
)
def test_an_incomplete_database_is_refused(
    tmp_path: Path, file: str, content: str, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        tables(database(tmp_path, **{file: content}))


def test_the_command_needs_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    before = [path.read_bytes() for path in (PROPERTIES, FOLDING)]
    assert main([]) == 2
    assert "FOLDER" in capsys.readouterr().err
    assert before == [path.read_bytes() for path in (PROPERTIES, FOLDING)]
