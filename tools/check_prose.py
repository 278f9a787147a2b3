"""Check documents, docstrings, comments and messages for phrases that are nearly always unclear.

    python -m tools.check_prose [PATH ...]      without paths: DOCUMENTS and SOURCES

Prints ``file:line: phrase: advice`` for each finding, and exits with 1 if there is any.

The check reads documents without headings and code, and of sources the comments and the string
literals that contain a space. Add a phrase to PHRASES only if it has hardly any correct use: false
alarms make people ignore a check.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
#: patterns of documents, relative to the root
DOCUMENTS: Final = ("*.md", "docs/**/*.md", "bench/*.md", "engine/*.md")
#: folders of sources whose prose is clean
SOURCES: Final = ("adapters", "app", "bench", "cache", "engine", "tests", "tools")
#: the test of this check quotes unclear phrases
EXCEPT: Final = ROOT / "tests" / "test_check_prose.py"
SUFFIXES: Final = (".py", ".pyx", ".pxd", ".pyi")

#: a pattern and the advice for it. A space matches any whitespace, also a line break
PHRASES: Final = {
    # A question may begin with these words; a statement should not.
    r"\b(What|Who|Whatever) [^.?!:;\0]*[.!:;]": "begin with a noun, not with a relative clause",
    r"\b(of|for|by|with|from) what (is|are|was|were|has|have|stands|lies|comes)\b": "use a noun",
    r"\b(who|whom)ever\b": "name the actor",
    r"\b(no|some|every|any)body\b": "name the actor",
    r"\b(he|him|himself|his)\b": "name the actor, or use 'they'",
    r"\b(is|are|was|were|be|been|being) told\b(?! apart)": "say who reports it, and how",
    r"\btells? of\b": "use 'describes' or 'reports'",
    r"\bends? the start\b": "use 'aborts startup'",
    r"\b(means?|says?|said) nothing\b": "use 'is invalid' or 'has no effect'",
    r"\btak(e|es|en|ing) away\b": "use 'remove' or 'delete'",
    r"\b(left|leaves?|leaving) alone\b": "use 'not changed'",
    r"\ball the same\b": "use 'still' or 'anyway'",
    r"\bas (it|they) likes?\b": "say which values are allowed",
    r"\b(is|are|be) no good\b": "say what is wrong",
    r"\bstand(s|ing)? (behind|beside|side by side)\b": "use 'follows', 'next to' or 'is'",
    r"\bl(ies|ie|ying) (there|beside|side by side)\b": "use 'is', 'next to' or 'adjacent'",
    r"\bthat (is|are) there\b": "use 'cached', 'present' or 'existing'",
    r"\b(is|are|was|were|be|been) made again\b": "use 'rebuilt' or 'recomputed'",
    r"\bso many (are|were|of)\b": "give the number a name",
    r"\berrands?\b": "use 'background task'",
}
_COMPILED: Final = [
    (re.compile(pattern.replace(" ", r"\s+")), advice) for pattern, advice in PHRASES.items()
]

_CODE_IN_DOCUMENTS: Final = re.compile(
    r"^```.*?^```$|^#.*?$|^    .*?$|`[^`]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL
)
_STRING: Final = "|".join(
    (
        r'"""(?:\\.|[^\\])*?"""',
        r"'''(?:\\.|[^\\])*?'''",
        r'"(?:\\.|[^"\\\n])*"',
        r"'(?:\\.|[^'\\\n])*'",
    )
)
_PROSE_IN_SOURCES: Final = re.compile(rf"(?P<string>{_STRING})|(?P<comment>\#[^\n]*)", re.DOTALL)
#: stands for code: no phrase matches across it
_CODE: Final = "\0"


class Finding(NamedTuple):
    """One phrase in a text; ``line`` starts at 1."""

    line: int
    phrase: str
    advice: str


def prose_of_document(text: str) -> str:
    """Return Markdown with headings and code blanked out; positions do not change."""

    def blank(match: re.Match[str]) -> str:
        # a word in inline code is a noun of its sentence
        filler = "x" if match[0][0] == "`" and "\n" not in match[0] else _CODE
        return re.sub(r"[^\n]", filler, match[0])

    return _CODE_IN_DOCUMENTS.sub(blank, text)


def prose_of_source(text: str) -> str:
    """Return comments and strings with spaces; all other characters are blanked out."""
    kept = list(re.sub(r"[^\s]", _CODE, text))
    for match in _PROSE_IN_SOURCES.finditer(text):
        if match["comment"] or " " in match[0]:
            prose = re.sub(r"``[^`\n]*``", lambda code: "x" * len(code[0]), match[0])
            prose = re.sub(r"^#:?", lambda mark: " " * len(mark[0]), prose)
            kept[match.start() : match.end()] = prose
    return "".join(kept)


def findings(prose: str) -> list[Finding]:
    """Return the phrases in prose, in order."""
    found = [
        Finding(prose.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), advice)
        for pattern, advice in _COMPILED
        for match in pattern.finditer(prose)
    ]
    return sorted(found)


def check(path: Path) -> list[Finding]:
    """Return the findings of a file."""
    text = path.read_text("utf-8")
    return findings(prose_of_document(text) if path.suffix == ".md" else prose_of_source(text))


def files_of(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the documents and sources among the paths and below them."""
    for path in paths:
        below = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (
            file for file in below if file.suffix in (*SUFFIXES, ".md") and file.resolve() != EXCEPT
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.check_prose")
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH")
    paths: list[Path] = parser.parse_args(arguments).paths
    if not paths:
        paths = [path for pattern in DOCUMENTS for path in sorted(ROOT.glob(pattern))]
        paths += [ROOT / source for source in SOURCES]
    status = 0
    for file in files_of(paths):
        for line, phrase, advice in check(file):
            sys.stdout.write(f"{file}:{line}: {phrase!r}: {advice}\n")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
