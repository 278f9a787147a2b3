"""docs/grammars.md: its grammars of the notations hold for all texts that tests know, and what it says is so."""

import random
import re
from functools import cache
from pathlib import Path

import pytest

import engine
from engine.errors import LimitExceeded, SpecError, UnsupportedSchema
from engine.frontends.grammar_text.lark import COMMON
from tests.engine.frontends.grammar_text.grammar_cases import CASES, MISTAKES
from tests.engine.frontends.regex.regex_cases import ILL_FORMED, MATCHES, PEOPLE
from tests.engine.frontends.structural_tag.tag_specs import compiler_of, letters

TEXT = (Path(__file__).parents[4] / "docs" / "grammars.md").read_text()
HEADINGS = {
    "regex": "Regular expressions",
    "ebnf": "xgrammar's EBNF",
    "gbnf": "llama.cpp's GBNF",
    "lark": "Lark",
}
SYNTAXES = list(HEADINGS)


def part(syntax: str, name: str) -> str:
    section = TEXT.split(f"\n## {HEADINGS[syntax]}\n", 1)[1].split("\n## ", 1)[0]
    return section.split(f"\n### {name}\n", 1)[1].split("\n### ", 1)[0]


def block(syntax: str, name: str, language: str) -> str:
    found = re.findall(
        rf"^```{language}\n(.*?)\n```$", part(syntax, name), re.DOTALL | re.MULTILINE
    )
    assert len(found) == 1
    return found[0]


def rows(name: str, row: str) -> list[tuple[str, ...]]:
    found = []
    for syntax in SYNTAXES:
        for each in re.findall(row, part(syntax, name), re.MULTILINE):
            found.append((syntax, each[0].replace("⏎", "\n"), *each[1:]))
    return found


ERRORS = rows("Errors", r"^\| `(.+)` \| ([\d, ]+) \| (.+) \|$")
REFUSED = rows("Refused", r"^\| `(.+)` \| (.+) \|$")
EXAMPLES = rows("Example", r"^\| `(.+)` \| `(.+)` \|$")


#: flags that a name seems to begin with: a grammar can't say that they are taken first
FLAGS = re.compile(r"[/\"][isu]+\w")


@cache
def compiler() -> engine.Compiler:
    return compiler_of()


@cache
def compiled(syntax: str, text: str) -> engine.Compiled:
    if syntax == "regex":
        return compiler().compile_regex(text)
    return compiler().compile_grammar(text, syntax)


def takes(syntax: str, grammar: str, text: str) -> bool:
    matcher = engine.Matcher(compiled(syntax, grammar))
    return all(matcher.accept_token(i) for i in letters(text)) and matcher.can_stop()


def is_written_so(syntax: str, text: str) -> bool:
    """The verdict of the document's grammar of the notation."""
    return takes("ebnf", block(syntax, "Notation", "ebnf"), text)


# -- the notations --------------------------------------------------------------------------------


def known(syntax: str) -> list[str]:
    """Texts that are read."""
    if syntax == "regex":
        patterns = [case[0] for case in (*MATCHES, *PEOPLE) if "\ud800" not in case[0]]
        return [*patterns, block(syntax, "Example", syntax)]
    texts = [case.text for case in CASES if case.syntax == syntax]
    texts += [block(syntax, "Example", syntax)]
    if syntax == "ebnf":
        texts += [block(each, "Notation", "ebnf") for each in SYNTAXES]
    return [*texts, COMMON] if syntax == "lark" else texts


def changed(syntax: str) -> list[str]:
    """Such texts with a character left out, another one put in, or two of them swapped."""
    rng = random.Random(7)
    made = []
    for text in [text for text in known(syntax) if len(text) < 200]:
        for _ in range(100):
            at = rng.randrange(len(text) + 1)
            sign = rng.choice("ab1\\\"'/|()[]{}*+?~-^$.,:=<>%#! \n" + text)
            rest = rng.choice(
                [text[at:], text[at + 1 :], text[at + 1 : at + 2] + text[at : at + 1]]
            )
            made.append(text[:at] + rng.choice(["", sign]) + rest)
    return made


def kind(syntax: str, message: str) -> str:
    """The error without its place, names and numbers; for a pattern in a grammar nothing else."""
    words = re.sub(r"^line \d+, column \d+: ", "", message)
    if syntax != "regex" and words.startswith("pattern, "):
        return "pattern, position"
    return re.sub(r"(?<!\w)'[^']*'|%\w+|[\d,]{4,}", "", words)


@cache
def told(syntax: str) -> list[str]:
    """The errors of the table whose grammars are well written."""
    found = [row for row in ERRORS if row[0] == syntax and is_written_so(syntax, row[1])]
    return [kind(syntax, message) for *_, message in found]


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_a_notation_has_what_is_read(syntax: str) -> None:
    assert [text for text in known(syntax) if not is_written_so(syntax, text)] == []


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_a_notation_and_its_errors_say_what_is_read(syntax: str) -> None:
    """Every text that is read is in the notation. A text in it that is not read is an error of
    the table, or of a schema, which has a pointer.
    """
    texts = [text for each, text, *_ in MISTAKES if each == syntax]
    if syntax == "regex":
        texts = [case[0] for case in ILL_FORMED]
    wrong = []
    for text in [*texts, *changed(syntax)]:
        try:
            compiled(syntax, text)
            message = None
        except (UnsupportedSchema, LimitExceeded):
            continue
        except SpecError as error:
            if error.pointer or FLAGS.search(text):
                continue
            message = "" if "nothing can satisfy this" in error.message else error.message
        expected = is_written_so(syntax, text)
        if message is None and not expected:
            wrong.append((text, "is read"))
        if message:
            assert re.match(r"line \d+, column \d+: |pattern, position \d+: ", message)
            words = kind(syntax, message)
            if expected and not any(each in words for each in told(syntax)):
                wrong.append((text, message))
    assert wrong == []


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_what_is_ill_written_is_not_in_the_notation(syntax: str) -> None:
    signs = (
        "is missing",
        "missing ]",
        "never closed",
        "is no element",
        "unmatched",
    )
    texts = [row[1] for row in ERRORS if row[0] == syntax and any(sign in row[3] for sign in signs)]
    assert texts
    assert [text for text in texts if is_written_so(syntax, text)] == []


# -- examples, refusals, errors -------------------------------------------------------------------


@pytest.mark.parametrize(("syntax", "taken", "not_taken"), EXAMPLES)
def test_an_example_takes_what_its_table_says(syntax: str, taken: str, not_taken: str) -> None:
    grammar = block(syntax, "Example", syntax)
    assert takes(syntax, grammar, taken)
    assert not takes(syntax, grammar, not_taken.replace("⏎", "\n"))


@pytest.mark.parametrize(("syntax", "text", "construct"), REFUSED)
def test_what_the_tables_call_refused_is_refused_by_name(syntax, text, construct) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        compiled(syntax, text)
    if syntax == "regex":
        assert caught.value.keyword == "pattern"
        assert f": {construct} can't be enforced" in caught.value.message
    else:
        assert caught.value.keyword == construct
        assert re.match(r"line \d+, column \d+: ", caught.value.message)


@pytest.mark.parametrize(("syntax", "text", "place", "message"), ERRORS)
def test_errors_name_their_place(syntax: str, text: str, place: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        compiled(syntax, text)
    assert not isinstance(caught.value, UnsupportedSchema)
    line, _, column = place.partition(", ")
    said = f"line {line}, column {column}: " if column else f"pattern, position {place}: "
    assert caught.value.message.startswith(said)
    assert message in caught.value.message


def test_every_terminal_of_the_library_is_named() -> None:
    names = re.findall(r"^([A-Z]\w*):", COMMON, re.MULTILINE)
    assert set(names) <= set(re.findall(r"`(\w+)`", part("lark", "Meaning")))
    for name in names:
        compiled("lark", f"start: A\n%import common.{name} -> A")


def test_the_tables_were_found() -> None:
    for table, least in ((ERRORS, 12), (EXAMPLES, 2)):
        assert min(sum(row[0] == syntax for row in table) for syntax in SYNTAXES) >= least
    assert {row[0] for row in REFUSED} == {"regex", "ebnf", "lark"}
